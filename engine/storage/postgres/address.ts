/** A database URL -> where its servers are, and what the client is told. Parameters of the engine's own are taken out of it. */
import { didYouMean } from '../../names.ts';
import { onOrOff, wholeNumber } from '../../settings/settings.ts';
import { StartError } from '../../problem.ts';

export interface PostgresAddress {
  readonly url: string;
  /** Connections for requests. */
  readonly pool: number;
  /** Off behind a pooler that gives each transaction another connection. */
  readonly prepared: boolean;
  /** How long a write waits for a row that another holds, in milliseconds. */
  readonly lockTimeout: number;
  /** For messages: without the password. */
  readonly shown: string;
}

interface UrlParameter<T> {
  readonly default: string;
  readonly expected: string;
  /** Returns undefined if the text is not valid. */
  readonly parse: (text: string) => T | undefined;
}

const parameters = {
  pool: { default: '10', ...wholeNumber(1, 1000) },
  prepared: { default: 'on', ...onOrOff() },
  lock_timeout: { default: '5000', ...wholeNumber(1, 3_600_000) },
} as const satisfies Record<string, UrlParameter<unknown>>;

/** Those that the client understands. */
const CLIENT = [
  'user',
  'password',
  'host',
  'port',
  'application_name',
  'options',
  'ssl',
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'uselibpqcompat',
];
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(parameters), ...CLIENT]);

/** What is set elsewhere. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['answer_timeout', 'the setting STATEMENT_TIMEOUT, in seconds'],
  ['statement_timeout', 'the setting STATEMENT_TIMEOUT, in seconds'],
  ['search_path', 'options=-c search_path=NAME, with %20 for the space and %3D for the second ='],
  ['target_session_attrs', 'the address of a proxy or a DNS name that leads to the primary'],
]);

/** Of `DATABASE_URL`, which names one server: what leads to the primary of several stands before them. */
export function parseAddress(text: string): PostgresAddress {
  const addresses = parseAddresses(text, 'DATABASE_URL');
  const [address] = addresses;
  const listed = new URL(address?.url ?? text).searchParams.get('host')?.split(',') ?? [];
  const servers = listed.length > 1 ? listed : addresses.map(({ shown }) => shown);
  if (address === undefined || servers.length > 1)
    throw new StartError(
      `DATABASE_URL names ${servers.length} servers (${servers.join(', ')}); expected one: the address of a proxy that leads to the primary (HAProxy, the endpoint of Patroni), or one DNS name`,
    );
  return address;
}

/** One for each host, in the order of the URL. `setting`: what the URL was given in. */
export function parseAddresses(text: string, setting: string): readonly PostgresAddress[] {
  return urlsIn(text, setting).map((url) => addressOf(url, setting));
}

function addressOf(url: URL, setting: string): PostgresAddress {
  for (const name of url.searchParams.keys()) if (!KNOWN.has(name)) throw new StartError(unknown(name, setting));
  const take = <T>(name: keyof typeof parameters, { parse, expected, default: fallback }: UrlParameter<T>): T => {
    const given = url.searchParams.get(name) ?? fallback;
    const value = parse(given);
    if (value === undefined) throw new StartError(`${setting} has ${name}=${given}; expected ${expected}`);
    return value;
  };
  const pool = take('pool', parameters.pool);
  const prepared = take('prepared', parameters.prepared);
  const lockTimeout = take('lock_timeout', parameters.lock_timeout);
  for (const name of Object.keys(parameters)) url.searchParams.delete(name);
  return { url: url.href, pool, prepared, lockTimeout, shown: `${url.host}${url.pathname}` };
}

/** The URL for each of several processes that share the connections of one. */
export function shareOf(text: string, setting: string, processes: number): string {
  const [address = '', query] = text.split(/\?(.*)/s);
  const shared = new URLSearchParams(query);
  const [{ pool } = { pool: 1 }] = parseAddresses(text, setting);
  shared.set('pool', String(Math.max(1, Math.floor(pool / processes))));
  return `${address}?${shared}`;
}

function unknown(name: string, setting: string): string {
  const instead = INSTEAD.get(name);
  if (instead !== undefined) return `${setting} has ${name}; use ${instead}`;
  return `${setting} has ${name}, which is not a known parameter${didYouMean(name, KNOWN)}`;
}

/** `//USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE` has a URL for each host. */
function urlsIn(text: string, setting: string): readonly URL[] {
  const [, head = '', hosts = '', rest = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  try {
    return hosts.split(',').map((host) => new URL(head + host + rest));
  } catch (error) {
    throw new StartError(`${setting} is not a URL; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE`, {
      cause: error,
    });
  }
}
