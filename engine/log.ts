/** The log: JSON lines on standard error, without values of records, tokens or query strings. */
import { destination, type Logger, pino } from 'pino';
import type { Settings } from './settings/settings.ts';
import { printable, workerNumber } from './process.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

const STANDARD_ERROR = 2;
/** Maximum bytes buffered while the disk is full. */
const MAX_HELD = 1024 * 1024;

export function createLog({ logLevel }: Pick<Settings, 'logLevel'>): Log {
  // Write errors would end the service.
  const output = destination({ fd: STANDARD_ERROR, sync: true, maxLength: MAX_HELD }).on('error', () => undefined);
  return pino(
    {
      level: logLevel,
      base: workerNumber === undefined ? null : { worker: workerNumber },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    // JSON leaves some control characters unescaped.
    process.stderr.isTTY ? { write: (line) => void output.write(printable(line)) } : output,
  );
}

/** Messages that may contain values: PostgreSQL errors have an SQLSTATE, JSON.parse quotes its input. */
const SQLSTATE = /^(?!EPIPE$)[0-9A-Z]{5}$/;
const messageOf = ({ name, message, code }: Error & { readonly code?: unknown }): string => {
  if (typeof code === 'string' && SQLSTATE.test(code)) return 'the database rejected a statement';
  return name === 'SyntaxError' ? 'a text has an unexpected format' : message;
};

interface DescribedError {
  readonly name?: string;
  readonly message: string;
  readonly code?: unknown;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

export function describeError(error: unknown): DescribedError {
  // `instanceof` fails for errors of another realm.
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

export function errorText(error: unknown): string {
  const { name = 'Error', message, stack = '', cause } = describeError(error);
  return [`${name}: ${message}`, stack, ...(cause === undefined ? [] : [`because of ${cause.message}`])].join('\n');
}
