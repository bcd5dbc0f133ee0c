/** Lines of an export into an empty database, in one transaction. */
import { type Model, OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import { StartError } from '../../start-error.ts';
import type { SqlValue } from '../../field-types/field-type.ts';
import { type Column, encode } from '../columns.ts';
import { ConstraintError, type Dialect, type Driver, type Statement, type Writer } from '../driver.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { createTables, type Tables } from '../write/tables.ts';
import { refuseDangling } from './dangling.ts';
import { FORMAT, type Head, type Line, type PairLine, type Progress, type RecordLine } from './lines.ts';

const SEED: Statement = { sql: `insert into ${SEED_TABLE} (type, identifier) values (?, ?)` };
/** Statements that are under way at once. */
const TOGETHER = 200;

/** Opens the lines anew each time: a transaction may have to be repeated. */
export type Source = () => AsyncIterable<string>;

interface Import {
  readonly model: Model;
  readonly dialect: Dialect;
  readonly tables: Tables;
  readonly writer: Writer;
}

/** Answers how many lines were read after the head. Throws a StartError, and leaves the database empty, where one does not fit. */
export async function importLines(model: Model, driver: Driver, source: Source, progress: Progress): Promise<number> {
  const { dialect } = driver;
  const tables = createTables(dialect);
  // Records may refer to later ones, and to each other in circles.
  const deferred = dialect.deferred([
    ...[...model.types.values()].map(({ table }) => table),
    ...model.joinTables.map(({ name }) => name),
  ]);
  return driver.write(async (writer) => {
    await refuseFilled(model, writer, dialect);
    for (const sql of deferred.begin) await writer.run({ sql }, []);
    const count = await readAll({ model, dialect, tables, writer }, source, progress);
    await refuseDangling(model, writer, dialect);
    for (const sql of deferred.end) await writer.run({ sql }, []);
    return count;
  });
}

async function refuseFilled(model: Model, writer: Writer, { quote }: Dialect): Promise<void> {
  for (const { table, name } of model.types.values())
    if ((await writer.get({ sql: `select 1 from ${quote(table)} limit 1` }, [])) !== undefined)
      throw new StartError(
        `The database has records of ${name} already; an import needs an empty one. Nothing was changed.`,
      );
}

async function readAll(job: Import, source: Source, progress: Progress): Promise<number> {
  let head: Head | undefined;
  let done = 0;
  let running: Promise<unknown>[] = [];
  for await (const text of source()) {
    if (text === '') continue;
    if (!head) {
      head = headOf(text);
      continue;
    }
    done += 1;
    running.push(begun(importLine(job, text, done + 1)));
    if (running.length < TOGETHER) continue;
    await all(running);
    running = [];
    progress(done, head.lines);
  }
  await all(running);
  if (!head || done !== head.lines)
    throw new StartError(
      `The export ends after ${done} of ${head?.lines ?? 0} lines; it is not whole. Nothing was changed.`,
    );
  return done;
}

/** One that fails while others are begun is looked at with them. */
function begun(work: Promise<unknown>): Promise<unknown> {
  work.catch(() => undefined);
  return work;
}

/** None may still be under way when the transaction is taken back. */
async function all(running: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

function parse(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error itself quotes the line, and with it values of records.
    throw new StartError(`Line ${line} is not JSON. Nothing was changed.`);
  }
}

function headOf(text: string): Head {
  const head = parse(text, 1) as Head;
  if (head.format === FORMAT && Number.isSafeInteger(head.lines)) return head;
  throw new StartError('The first line is not that of an export of this engine. Nothing was changed.');
}

async function importLine(job: Import, text: string, number: number): Promise<void> {
  const line = parse(text, number) as Line;
  try {
    if ('pair' in line) await importPair(job, line);
    else if ('seed' in line) await job.writer.run(SEED, [line.seed, line.identifier]);
    else if ('sequence' in line) await moveSequence(job, line.sequence, line.last);
    else await importRecord(job, line);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new StartError(`Line ${number} (${whatOf(line)}) breaks a ${error.kind} constraint. Nothing was changed.`);
  }
}

/** Without its values. */
function whatOf(line: Line): string {
  if ('pair' in line) return `connection ${line.pair} of ${line.left} and ${line.right}`;
  if ('seed' in line) return `seed ${line.seed} ${line.identifier}`;
  return 'sequence' in line ? `sequence of ${line.sequence}` : `${line.type} ${line.identifier}`;
}

function typeOf({ model }: Import, name: string): RecordType {
  const type = model.types.get(name);
  if (type) return type;
  throw new StartError(`The export has records of ${name}, and no descriptor has this type. Nothing was changed.`);
}

async function importRecord(job: Import, line: RecordLine): Promise<void> {
  const type = typeOf(job, line.type);
  const table = job.tables.of(type);
  const known = new Map(table.columns.map((column) => [column.name, column]));
  refuseUnknown(type, line);
  const values = table.insertGiven.columns.map((name) => {
    if (name === type.identifier.column) return line.identifier;
    if (name === OPEN_COLUMN) return line.open ?? '{}';
    const column = known.get(name);
    return column ? valueOf(column, line, job.dialect) : null;
  });
  await job.writer.run(table.insertGiven.statement, values);
}

/** A field that the export does not know has its default, as in a record that is made. */
function valueOf({ name, field, nullable, default: otherwise }: Column, line: RecordLine, dialect: Dialect): SqlValue {
  const given = field ? line.fields[field.name] : line.references[name];
  if (given === undefined && otherwise !== null) return otherwise;
  if (given !== undefined && given !== null) return field ? encode(field, dialect.name, given) : Number(given);
  if (nullable) return null;
  throw new StartError(
    `${line.type} ${line.identifier} of the export has no ${field?.name ?? name}, and its descriptor requires one. Nothing was changed.`,
  );
}

/** Values that nothing here would keep. */
function refuseUnknown({ name, fields, references, open }: RecordType, line: RecordLine): void {
  const columns = new Set(references.map(({ column }) => column));
  const unknown = [
    ...Object.keys(line.fields).filter((key) => !fields.has(key)),
    ...Object.keys(line.references).filter((key) => !columns.has(key)),
    ...(line.open !== undefined && line.open !== '{}' && !open ? ['keys that no field names'] : []),
  ];
  if (unknown.length > 0)
    throw new StartError(
      `${name} ${line.identifier} of the export has ${unknown.join(', ')}, and its descriptor does not. Nothing was changed.`,
    );
}

async function importPair({ model, tables, writer }: Import, { pair, left, right }: PairLine): Promise<void> {
  const table = model.joinTables.find(({ name }) => name === pair);
  if (!table)
    throw new StartError(`The export has connections "${pair}", and no descriptor has them. Nothing was changed.`);
  await writer.run(tables.rows(table).insert, [left, right]);
}

async function moveSequence(job: Import, name: string, last: number): Promise<void> {
  const { table, identifier } = typeOf(job, name);
  for (const sql of job.dialect.sequence.move(table, identifier.column, last)) await job.writer.run({ sql }, []);
}
