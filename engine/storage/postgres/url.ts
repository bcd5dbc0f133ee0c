/** A database URL -> what the client is told. Parameters of the engine's own are taken out of it. */
import { StartError } from '../../start-error.ts';

export interface Place {
  readonly url: string;
  /** Connections for requests, and as many again for lists that are streamed. */
  readonly pool: number;
  /** Off behind a pooler that gives each transaction another connection. */
  readonly prepared: boolean;
  /** How long a write waits for a row that another holds, in milliseconds. */
  readonly lockTimeout: number;
  /** For messages: without the password. */
  readonly shown: string;
}

const wholeNumber = (from: number, to: number) => ({
  expected: `an integer from ${from} to ${to}`,
  parse: (text: string): number | undefined =>
    /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to ? Number(text) : undefined,
});

const parameters = {
  pool: { default: '10', ...wholeNumber(1, 1000) },
  prepared: {
    default: 'on',
    expected: 'on or off',
    parse: (text: string): boolean | undefined => ({ on: true, off: false })[text],
  },
  lock_timeout: { default: '5000', ...wholeNumber(1, 3_600_000) },
} as const;

export function parsePlace(text: string): Place {
  const url = parseUrl(text);
  const take = <T>(name: keyof typeof parameters, parse: (value: string) => T | undefined): T => {
    const given = url.searchParams.get(name) ?? parameters[name].default;
    const value = parse(given);
    if (value === undefined)
      throw new StartError(`DATABASE_URL has ${name}=${given}; expected ${parameters[name].expected}`);
    url.searchParams.delete(name);
    return value;
  };
  if (url.searchParams.has('answer_timeout'))
    throw new StartError('DATABASE_URL has answer_timeout, which is the setting STATEMENT_TIMEOUT now, in seconds');
  const pool = take('pool', parameters.pool.parse);
  const prepared = take('prepared', parameters.prepared.parse);
  const lockTimeout = take('lock_timeout', parameters.lock_timeout.parse);
  return { url: url.href, pool, prepared, lockTimeout, shown: `${url.host}${url.pathname}` };
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch (error) {
    throw new StartError('DATABASE_URL is no URL; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE', {
      cause: error,
    });
  }
}
