/** Reads that run beside the requests, in the thread for scans: each on a session, which is a snapshot of its own. */
import type { Awaitable } from '../../awaitable.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import type { Reader, Row, Snapshot, Statement, Values } from '../driver.ts';
import type { Verb } from './scan-protocol.ts';
import { startThread, type Thread } from './thread.ts';

export interface Scanner {
  scan<T>(work: (reader: Reader) => Awaitable<T>): Promise<T>;
  snapshot(): Promise<Snapshot>;
  close(): Promise<void>;
}

type Ask = (verb: Verb, statement?: Statement, values?: Values) => Promise<unknown>;

const NOTHING: Statement = { sql: '' };
/** Sessions that are kept for the next one. */
const MAX_IDLE = 2;

/** A thread and its sessions that are free; they end together. */
interface Team {
  readonly thread: Thread;
  readonly idle: number[];
}

/** The thread starts when it is first wanted: many services never want it. */
export function createScanner(file: string): Scanner {
  let team: Team | undefined;
  let sessions = 0;

  const start = (): Team => ({ thread: startThread(file, () => (team = undefined)), idle: [] });

  async function snapshot(): Promise<Snapshot> {
    const { thread, idle } = (team ??= start());
    const session = idle.pop() ?? (sessions += 1);
    const ask: Ask = (verb, { sql } = NOTHING, values = []) => thread.ask({ session, verb, sql, values });
    let open = true;
    const close = async (): Promise<void> => {
      if (!open) return;
      open = false;
      await ask('end');
      if (idle.length < MAX_IDLE) idle.push(session);
      else await ask('close');
    };
    await ask('begin');
    return { ...readerOf(ask), texts: (statement, values) => texts(ask, statement, values), close };
  }

  async function scan<T>(work: (reader: Reader) => Awaitable<T>): Promise<T> {
    const reader = await snapshot();
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  }

  const close = async (): Promise<void> => {
    await team?.thread.stop();
  };
  return { scan, snapshot, close };
}

const readerOf = (ask: Ask): Reader => ({
  get: (statement, values) => ask('get', statement, values) as Promise<Row | undefined>,
  all: (statement, values) => ask('all', statement, values) as Promise<readonly Row[]>,
  value: (statement, values) => ask('value', statement, values) as Promise<SqlValue | undefined>,
  column: (statement, values) => ask('column', statement, values) as Promise<readonly SqlValue[]>,
  count: (statement, values) => ask('count', statement, values) as Promise<number>,
});

/** One piece is read ahead while its predecessor is sent, and no more: a slow reader slows the scan down. */
async function* texts(ask: Ask, statement: Statement, values: Values): AsyncGenerator<string> {
  await ask('open', statement, values);
  for (let next = ask('next'); ;) {
    const text = await next;
    if (typeof text !== 'string') return;
    next = ask('next');
    // It may fail while its predecessor is still being sent; it is awaited afterwards, or never.
    next.catch(() => undefined);
    yield text;
  }
}
