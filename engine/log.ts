/** The log: one JSON object in each line, on standard error. It has no values of records, no tokens and no query strings. */
import { destination, pino } from 'pino';
import type { Settings } from './settings.ts';

type Fields = Readonly<Record<string, unknown>>;

/** As much of a logger as is used. */
export interface Log {
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
}

const STANDARD_ERROR = 2;

export function createLog({ logLevel }: Pick<Settings, 'logLevel'>): Log {
  return pino(
    {
      level: logLevel,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    destination({ fd: STANDARD_ERROR, sync: true }),
  );
}

/** SQLSTATE: messages of the database's server may hold the values of a statement. */
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** What went wrong and where, and why; never what somebody wrote. */
export function describeError(error: unknown): object {
  // By its shape, not its class: errors may come from another realm.
  if (typeof error !== 'object' || error === null || !('stack' in error)) return { message: typeof error };
  const { name, message, code, stack, cause } = error as Error & { readonly code?: unknown };
  const frames = String(stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  const hidden = typeof code === 'string' && SQLSTATE.test(code);
  return {
    name,
    message: hidden ? 'the database refused a statement' : message,
    ...(code === undefined ? {} : { code }),
    stack: frames.join('\n'),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}
