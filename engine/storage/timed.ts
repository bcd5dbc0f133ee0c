/**
 * A driver that measures how long statements take. Work that waits in a queue runs with the request that asked for it,
 * which the observer may ask for, and not with the one before it in the queue.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { andThen } from '../awaitable.ts';
import type { Driver, Reader, Snapshot, Statement, Values, Writer } from './driver.ts';
import { type AroundMethod, itself, readerThrough, writerThrough } from './methods.ts';

export type OnStatement = (sql: string, milliseconds: number) => void;

export function timedDriver(driver: Driver, onStatement: OnStatement): Driver {
  const around = timing(onStatement);
  const readers = new WeakMap<Reader, Reader>();
  const writers = new WeakMap<Writer, Writer>();
  const timedReads = (reader: Reader): Reader => readerThrough(around, reader);
  const timedWrites = (writer: Writer): Writer => writerThrough(around, writer);
  const timedSnapshot = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    ...timedReads(snapshot),
    texts: (statement, values) =>
      timedTexts(snapshot.texts(statement, values), (milliseconds) => onStatement(statement.sql, milliseconds)),
  });
  return {
    ...driver,
    ...timedReads(driver),
    read: (work, caller, single) => {
      const within = AsyncLocalStorage.snapshot();
      return driver.read((reader) => within(work, kept(readers, reader, timedReads)), caller, single);
    },
    scan: (work, ...how) => {
      const within = AsyncLocalStorage.snapshot();
      return driver.scan((reader) => within(work, timedReads(reader)), ...how);
    },
    write: (work, ...how) => {
      const within = AsyncLocalStorage.snapshot();
      return driver.write((writer) => within(work, kept(writers, writer, timedWrites)), ...how);
    },
    writeAlone: driver.writeAlone && timedAlone(driver.writeAlone, around),
    snapshot: (caller, heavy) => andThen(driver.snapshot(caller, heavy), timedSnapshot),
  };
}

/** The same wrapper for the same connection. */
function kept<T extends object>(all: WeakMap<T, T>, one: T, make: (one: T) => T): T {
  const known = all.get(one) ?? make(one);
  all.set(one, known);
  return known;
}

const timing =
  (onStatement: OnStatement): AroundMethod =>
  (ask, statementIn) =>
  (first, second) => {
    const started = performance.now();
    const result = ask(first, second);
    if (!(result instanceof Promise)) {
      onStatement(statementIn(first).sql, performance.now() - started);
      return result;
    }
    return result.finally(() => onStatement(statementIn(first).sql, performance.now() - started));
  };

const timedAlone =
  (write: NonNullable<Driver['writeAlone']>, around: AroundMethod): Driver['writeAlone'] =>
  async (statement, values, caller, row) =>
    around((one: Statement, bound: Values) => write(one, bound, caller, row), itself)(statement, values);

/** Only the time spent waiting for the database, not the time in which the client reads. */
async function* timedTexts(
  texts: AsyncIterable<readonly string[]>,
  onEnd: (milliseconds: number) => void,
): AsyncGenerator<readonly string[]> {
  const iterator = texts[Symbol.asyncIterator]();
  let milliseconds = 0;
  const next = async (): Promise<IteratorResult<readonly string[]>> => {
    const started = performance.now();
    try {
      return await iterator.next();
    } finally {
      milliseconds += performance.now() - started;
    }
  };
  try {
    for (let found = await next(); found.done !== true; found = await next()) yield found.value;
  } finally {
    onEnd(milliseconds);
    await iterator.return?.();
  }
}
