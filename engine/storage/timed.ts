/** A driver that measures how long statements take. */
import { andThen, type Awaitable } from '../awaitable.ts';
import type { Driver, Reader, Snapshot, Statement, Values, Writer } from './driver.ts';

export type OnStatement = (sql: string, milliseconds: number) => void;

export function timedDriver(driver: Driver, onStatement: OnStatement): Driver {
  const readers = new WeakMap<Reader, Reader>();
  const writers = new WeakMap<Writer, Writer>();
  return {
    ...driver,
    ...timedReads(driver, onStatement),
    read: (work, caller, single) =>
      driver.read((reader) => work(kept(readers, reader, () => timedReads(reader, onStatement))), caller, single),
    scan: (work, caller, single) => driver.scan((reader) => work(timedReads(reader, onStatement)), caller, single),
    write: (work, caller, row) =>
      driver.write((writer) => work(kept(writers, writer, () => timedWrites(writer, onStatement))), caller, row),
    writeAlone: driver.writeAlone && timedAlone(driver.writeAlone, onStatement),
    snapshot: (caller, heavy) =>
      andThen(driver.snapshot(caller, heavy), (snapshot) => timedSnapshot(snapshot, onStatement)),
  };
}

/** The same wrapper for the same connection. */
function kept<T extends object>(all: WeakMap<T, T>, one: T, make: () => T): T {
  const known = all.get(one) ?? make();
  all.set(one, known);
  return known;
}

type RunStatement<T> = (statement: Statement, values: Values) => Awaitable<T>;

function timed<T>(run: RunStatement<T>, onStatement: OnStatement): RunStatement<T> {
  return (statement, values) => {
    const started = performance.now();
    const result = run(statement, values);
    if (!(result instanceof Promise)) {
      onStatement(statement.sql, performance.now() - started);
      return result;
    }
    return result.finally(() => onStatement(statement.sql, performance.now() - started));
  };
}

const timedAlone =
  (write: NonNullable<Driver['writeAlone']>, onStatement: OnStatement): Driver['writeAlone'] =>
  async (statement, values, caller, row) =>
    timed(() => write(statement, values, caller, row), onStatement)(statement, values);

const timedReads = (reader: Reader, onStatement: OnStatement): Reader => ({
  get: timed((statement, values) => reader.get(statement, values), onStatement),
  all: timed((statement, values) => reader.all(statement, values), onStatement),
  value: timed((statement, values) => reader.value(statement, values), onStatement),
  column: timed((statement, values) => reader.column(statement, values), onStatement),
  page: (wanted, caller) => timed(() => reader.page(wanted, caller), onStatement)(wanted.statement, wanted.values),
  count: timed((statement, values) => reader.count(statement, values), onStatement),
});

const timedWrites = (writer: Writer, onStatement: OnStatement): Writer => ({
  ...writer,
  ...timedReads(writer, onStatement),
  run: timed((statement, values) => writer.run(statement, values), onStatement),
});

const timedSnapshot = (snapshot: Snapshot, onStatement: OnStatement): Snapshot => ({
  ...snapshot,
  ...timedReads(snapshot, onStatement),
  texts: (statement, values) =>
    timedTexts(snapshot.texts(statement, values), (milliseconds) => onStatement(statement.sql, milliseconds)),
});

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
