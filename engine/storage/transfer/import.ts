/** Imports the lines of an export into an empty database: each is checked like a create, and either all are inserted or none. */
import type { Model, RecordType } from '../../model/model.ts';
import { type Fault, Problem, type ProblemCode, StartError } from '../../problem.ts';
import { tablesOf, SEED_TABLE } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import type { Awaitable, Driver, Reader, Row, Writer } from '../driver.ts';
import { rowsInCircles } from '../migrate/change.ts';
import {
  type CheckLine,
  FORMAT,
  type Head,
  type LineSource,
  type LineText,
  type PairLine,
  type Progress,
  type RecordLine,
} from './lines.ts';
import { createLoader, createRows, type Loader, type RowOf, type Span, typeNamed } from './load.ts';
import { escapeStep } from '../../json/json.ts';

export interface LineFault {
  readonly line: number;
  readonly fault: Fault;
}

interface Intake {
  readonly source: LineSource;
  readonly check: CheckLine;
  readonly progress: Progress;
  /** The import ends after this many faults. */
  readonly mostFaults: number;
}

/** Lines were refused, and the database is unchanged. */
export class LinesRefused extends Error {
  readonly faults: readonly LineFault[];

  constructor(faults: readonly LineFault[]) {
    super();
    this.faults = faults;
  }
}

interface ImportRun {
  readonly model: Model;
  readonly dialect: Dialect;
  readonly writer: Writer;
  readonly loader: Loader;
  readonly rowOf: RowOf;
  readonly intake: Intake;
  readonly faults: LineFault[];
  /** Throws `LinesRefused` if it is the last one that is wanted. */
  readonly refuse: (line: number, fault: Fault) => void;
  /** By type: the greatest identifier that was used. */
  readonly sequences: Map<RecordType, number>;
}

/** Returns how many lines were read after the head. If it throws, the database is unchanged. */
export async function importLines(model: Model, driver: Driver, intake: Intake): Promise<number> {
  const { dialect } = driver;
  for (let slow: Span | undefined; ;) {
    let underWay: Span | undefined;
    try {
      return await driver.write(async (writer) => {
        const faults: LineFault[] = [];
        const refuse = (line: number, fault: Fault): void => {
          faults.push({ line, fault });
          if (faults.length >= intake.mostFaults) throw new LinesRefused(faults);
        };
        const loader = createLoader(writer, refuse, slow);
        try {
          return await importAll({
            model,
            dialect,
            writer,
            loader,
            rowOf: createRows(model, dialect, writer),
            intake,
            faults,
            refuse,
            sequences: new Map(),
          });
        } finally {
          underWay = loader.underWay();
        }
      });
    } catch (error) {
      if (!(error instanceof Problem) || !REFUSALS.has(error.code) || !underWay) throw error;
      // The database refused one of several rows, and does not say which.
      if (underWay.from < underWay.to && slow === undefined) slow = underWay;
      else
        throw new LinesRefused([
          { line: underWay.from, fault: { pointer: '', code: error.code, message: error.message } },
        ]);
    }
  }
}

/** Of single rows, as the database says it. */
const REFUSALS: ReadonlySet<ProblemCode> = new Set(['invalid-body', 'refused-by-database', 'unique-conflict']);

async function importAll(job: ImportRun): Promise<number> {
  const { model, dialect, writer, loader, faults } = job;
  await refuseFilled(model, writer, dialect);
  // Records may refer to later ones, and to each other in circles.
  const deferred = dialect.deferred(tablesOf(model));
  for (const sql of deferred.begin) await writer.run({ sql }, []);
  const seeds = await takeSeeds(writer);
  const count = await readAll(job);
  await loader.flush();
  for (const values of seeds) await writer.run(REMEMBER_SEED, values);
  await refuseDangling(job);
  if (faults.length > 0) throw new LinesRefused(faults);
  for (const sql of deferred.end) await writer.run({ sql }, []);
  await moveSequences(job);
  return count;
}

async function refuseFilled(model: Model, writer: Writer, { quote }: Dialect): Promise<void> {
  for (const { table, name } of model.types.values())
    if ((await writer.get({ sql: `select 1 from ${quote(table)} limit 1` }, [])) !== undefined)
      throw new StartError(
        `The database has records of ${name} already; an import needs an empty one. Nothing was changed.`,
      );
}

const REMEMBER_SEED = { sql: `insert into ${SEED_TABLE} (type, identifier) values (?, ?) on conflict do nothing` };

/** Seeds of this database whose records were deleted: the file may name them as well, and they stay deleted if it does not. */
async function takeSeeds(writer: Writer): Promise<readonly Row[]> {
  const seeds = await writer.all({ sql: `select type, identifier from ${SEED_TABLE}` }, []);
  await writer.run({ sql: `delete from ${SEED_TABLE}` }, []);
  return seeds;
}

async function readAll(job: ImportRun): Promise<number> {
  const { source, progress } = job.intake;
  let head: Head | undefined;
  let number = 0;
  let done = 0;
  for await (const texts of source()) {
    for (const text of texts) {
      number += 1;
      if (text === '' || text === '\r') continue;
      if (!head) {
        head = headOf(text, number);
        continue;
      }
      done += 1;
      const busy = take(job, text, number);
      if (busy instanceof Promise) await busy;
    }
    progress(done, head?.lines ?? done);
  }
  if (!head) throw new StartError('The file is empty. Nothing was changed.');
  if (done !== head.lines) job.refuse(1, notWhole(done, head.lines));
  return done;
}

const notWhole = (found: number, said: number): Fault => ({
  pointer: '/lines',
  code: 'not-whole',
  message: `The file is not whole: this line says that ${said} lines follow, and ${found} do`,
});

/** Throws a StartError if the line is not the first one of an export. */
export function headOf(text: LineText, number: number): Head {
  const head = typeof text === 'string' ? parsed(text) : undefined;
  if (isHead(head)) return head;
  throw new StartError(`Line ${number} is not the first line of an export of this engine. Nothing was changed.`);
}

const isHead = (value: unknown): value is Head =>
  typeof value === 'object' &&
  value !== null &&
  Reflect.get(value, 'format') === FORMAT &&
  Number.isSafeInteger(Reflect.get(value, 'lines'));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function take(job: ImportRun, text: LineText, number: number): Awaitable<void> {
  if (typeof text !== 'string') return job.refuse(number, text);
  const checked = job.intake.check(text);
  if ('faults' in checked) {
    for (const fault of checked.faults) job.refuse(number, fault);
    return;
  }
  const { line } = checked;
  if ('sequence' in line) return remember(job, line.sequence, line.last);
  const { target, values } = job.rowOf(line);
  return job.loader.add(target, values, number);
}

function remember({ model, sequences }: ImportRun, name: string, last: number): void {
  const type = typeNamed(model, name);
  sequences.set(type, Math.max(last, sequences.get(type) ?? 0));
}

async function moveSequences({ model, dialect, writer, sequences }: ImportRun): Promise<void> {
  for (const type of model.types.values()) {
    const [table, column] = [type.table, type.identifier.column];
    const newest = `select max(${dialect.quote(column)}) from ${dialect.quote(table)}`;
    const last = Math.max(sequences.get(type) ?? 0, Number((await writer.value({ sql: newest }, [])) ?? 0));
    if (last > 0) for (const sql of dialect.sequence.move(table, column)) await writer.run({ sql }, [last]);
  }
}

// After the last line of an import: that every record is there which another one refers to.

/** More of them are counted, but not listed. */
const MOST = 100_000;

/** The rows tell which references lead nowhere; the file is read again for their line numbers. */
async function refuseDangling(job: ImportRun): Promise<void> {
  const { model, writer, dialect, faults, intake } = job;
  const { quote } = dialect;
  const found = new Map<string, Fault>();
  const place = faults.length > 0 ? 'among the lines without errors' : 'in the file';
  for (const { row, columns, table, column, pointer, target } of referencesOf(model)) {
    const there = `select 1 from ${quote(target.table)} as t$ where t$.${quote(target.identifier.column)} = r$.${quote(column)}`;
    const dangling = `r$.${quote(column)} is not null and not exists (${there})`;
    const selected = columns.map((name) => `r$.${quote(name)}`).join(', ');
    const sql = `select ${selected} from ${quote(table)} as r$ where ${dangling} limit ${Math.min(MOST, intake.mostFaults - faults.length)}`;
    for (const values of await writer.all({ sql }, [])) {
      const missing = values[columns.indexOf(column)];
      const message = `There is no ${target.name} ${String(missing)} ${place}`;
      found.set([row, ...values].join(' '), { pointer, code: 'not-found', message });
    }
  }
  if (found.size === 0) for (const [key, fault] of await circles(model, writer, dialect)) found.set(key, fault);
  if (found.size > 0) await refuseFound(found, job);
}

/** Records whose links lead into a circle though they must not, as `refuseDangling` names them. */
async function circles(
  model: Model,
  reader: Reader,
  { quote }: Dialect,
): Promise<readonly (readonly [key: string, fault: Fault])[]> {
  const found: (readonly [key: string, fault: Fault])[] = [];
  for (const { row, columns, table, column, pointer, target } of referencesOf(model).filter(({ acyclic }) => acyclic)) {
    const { identifier } = target;
    const { sql } = rowsInCircles({ table, identifier: identifier.column }, { column }, { quote });
    const selected = columns.map((name) => `r$.${quote(name)}`).join(', ');
    const joined = `select ${selected} from ${quote(table)} as r$ join (${sql} limit ${MOST}) as c$ on c$.identifier = r$.${quote(identifier.column)}`;
    const message = `${target.name} records are above themselves: their links lead in a circle`;
    for (const values of await reader.all({ sql: joined }, []))
      found.push([[row, ...values].join(' '), { pointer, code: 'cycle', message }]);
  }
  return found;
}

async function refuseFound(found: ReadonlyMap<string, Fault>, { intake, refuse }: ImportRun): Promise<void> {
  let number = 0;
  for await (const texts of intake.source())
    for (const text of texts) {
      number += 1;
      for (const key of keysOf(text)) {
        const fault = found.get(key);
        if (fault) refuse(number, fault);
      }
    }
}

/** What a line refers to, as `refuseDangling` names it. */
function keysOf(text: unknown): readonly string[] {
  try {
    const { type, identifier, references, pair, left, right } = JSON.parse(String(text)) as Partial<
      RecordLine & PairLine
    >;
    if (pair !== undefined)
      return [`pair ${pair} left`, `pair ${pair} right`].map((side) => `${side} ${left} ${right}`);
    return Object.entries(references ?? {}).map(
      ([column, value]) => `type ${type} ${column} ${identifier} ${String(value)}`,
    );
  } catch {
    return [];
  }
}

interface ReferenceRow {
  /** What the line of the row begins with, and the columns that it is known by. */
  readonly row: string;
  readonly columns: readonly string[];
  readonly table: string;
  readonly column: string;
  readonly pointer: string;
  readonly target: RecordType;
  readonly acyclic: boolean;
}

const referencesOf = ({ types, joinTables }: Model): readonly ReferenceRow[] => [
  ...[...types.values()].flatMap(({ name, table, identifier, references }) =>
    references.map(({ column, exportName, target, acyclic }) => ({
      row: `type ${name} ${exportName}`,
      columns: [identifier.column, column],
      table,
      column,
      pointer: `/references/${escapeStep(exportName)}`,
      target,
      acyclic,
    })),
  ),
  ...joinTables.flatMap(({ name: table, exportName, left, right }) => {
    const columns = [left.column, right.column];
    return [
      {
        row: `pair ${exportName} left`,
        columns,
        acyclic: false,
        table,
        column: left.column,
        pointer: '/left',
        target: left.type,
      },
      {
        row: `pair ${exportName} right`,
        columns,
        acyclic: false,
        table,
        column: right.column,
        pointer: '/right',
        target: right.type,
      },
    ];
  }),
];
