/** The log: one JSON object in each line, on standard error. It has no values of records, no tokens and no query strings. */
import { destination, pino } from 'pino';
import type { Settings } from './settings.ts';
import { printable } from './terminal.ts';

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
    process.stderr.isTTY ? onTerminal() : standardError(),
  );
}

const standardError = () => destination({ fd: STANDARD_ERROR, sync: true });

/** JSON escapes only some of the characters that a terminal obeys. */
function onTerminal(): { write(line: string): void } {
  const terminal = standardError();
  return { write: (line) => void terminal.write(printable(line)) };
}

/** Messages that may hold values: those of the database's server have an SQLSTATE, those of JSON.parse quote the text. */
const SQLSTATE = /^[0-9A-Z]{5}$/;
const messageOf = ({ name, message, code }: Error & { readonly code?: unknown }): string => {
  if (typeof code === 'string' && SQLSTATE.test(code)) return 'the database refused a statement';
  return name === 'SyntaxError' ? 'a text has another form than expected' : message;
};

interface DescribedError {
  readonly name?: string;
  readonly message: string;
  readonly code?: unknown;
  /** Without the message. */
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** What went wrong and where, and why; never what somebody wrote. */
export function describeError(error: unknown): DescribedError {
  // By its shape, not its class: errors may come from another realm.
  if (typeof error !== 'object' || error === null || !('stack' in error)) return { message: typeof error };
  const { name, code, stack, cause } = error as Error & { readonly code?: unknown };
  const frames = String(stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line));
  return {
    name,
    message: messageOf(error as Error),
    ...(code === undefined ? {} : { code }),
    stack: frames.join('\n'),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

/** The same for people. */
export function errorText(error: unknown): string {
  const { name = 'Error', message, stack = '', cause } = describeError(error);
  return [`${name}: ${message}`, stack, ...(cause === undefined ? [] : [`because of ${cause.message}`])].join('\n');
}
