/** Imports an export into an empty database: each line is checked like a create, and all are inserted or none. */
import { escapeStep } from '../../json/json.ts';
import type { Model, RecordType } from '../../model/model.ts';
import { type Fault, Problem, type ProblemCode, StartError } from '../../problem.ts';
import type { Dialect } from '../dialect.ts';
import type { Awaitable, Driver, Writer } from '../driver.ts';
import { rowsInCircles } from '../migrate/change.ts';
import { SEED_TABLE, tablesOf } from '../tables.ts';
import {
  type CheckLine,
  FORMAT,
  type Head,
  type LineSource,
  type LineText,
  type PairLine,
  type RecordLine,
} from './export.ts';
import { createLoader, type LineFault, LinesRefused, type Loader } from './load.ts';

interface Intake {
  readonly source: LineSource;
  readonly check: CheckLine;
  readonly progress: (done: number, all: number) => void;
  /** The import ends after this many faults. */
  readonly mostFaults: number;
}

interface ImportRun {
  readonly model: Model;
  readonly dialect: Dialect;
  readonly writer: Writer;
  readonly loader: Loader;
  readonly intake: Intake;
  readonly faults: readonly LineFault[];
  /** Throws `LinesRefused` at the last fault that is wanted. */
  readonly refuse: (line: number, fault: Fault) => void;
}

/** The database may refuse single rows with these. */
const REFUSALS: ReadonlySet<ProblemCode> = new Set(['invalid-body', 'refused-by-database', 'unique-conflict']);

/** Returns how many lines were read after the head. If it throws, the database is unchanged. */
export async function importLines(model: Model, driver: Driver, intake: Intake): Promise<number> {
  let current = (): number | undefined => undefined;
  try {
    return await driver.write((writer) => {
      const faults: LineFault[] = [];
      const refuse = (line: number, fault: Fault): void => {
        faults.push({ line, fault });
        if (faults.length >= intake.mostFaults) throw new LinesRefused(faults);
      };
      const loader = createLoader(model, driver.dialect, writer, refuse);
      current = loader.current;
      return importAll({ model, dialect: driver.dialect, writer, loader, intake, faults, refuse });
    });
  } catch (error) {
    const line = current();
    if (line === undefined || !(error instanceof Problem) || !REFUSALS.has(error.code)) throw error;
    throw new LinesRefused([{ line, fault: { pointer: '', code: error.code, message: error.message } }]);
  }
}

const REMEMBER_SEED = { sql: `insert into ${SEED_TABLE} (type, identifier) values (?, ?) on conflict do nothing` };

async function importAll(run: ImportRun): Promise<number> {
  const { model, dialect, writer, loader, faults } = run;
  const { quote, sequence } = dialect;
  for (const { table, name } of model.types.values())
    if ((await writer.get({ sql: `select 1 from ${quote(table)} limit 1` }, [])) !== undefined)
      throw new StartError(
        `The database has records of ${name} already; an import needs an empty one. Nothing was changed.`,
      );
  // Records may refer to later ones, and to each other in circles.
  const deferred = dialect.deferred(tablesOf(model));
  for (const sql of deferred.begin) await writer.run({ sql }, []);
  // Seeds of this database whose records were deleted stay deleted, whether the file names them or not.
  const seeds = await writer.all({ sql: `select type, identifier from ${SEED_TABLE}` }, []);
  await writer.run({ sql: `delete from ${SEED_TABLE}` }, []);
  /** The greatest identifier ever used, by type. */
  const sequences = new Map<string, number>();
  const count = await readAll(run, sequences);
  await loader.flush();
  for (const values of seeds) await writer.run(REMEMBER_SEED, values);
  await refuseDangling(run);
  if (faults.length > 0) throw new LinesRefused(faults);
  for (const sql of deferred.end) await writer.run({ sql }, []);
  for (const { name, table, identifier } of model.types.values()) {
    const newest = `select max(${quote(identifier.column)}) from ${quote(table)}`;
    const last = Math.max(sequences.get(name) ?? 0, Number((await writer.value({ sql: newest }, [])) ?? 0));
    if (last > 0) for (const sql of sequence.move(table, identifier.column)) await writer.run({ sql }, [last]);
  }
  return count;
}

/** `sequences`: filled with the last identifiers that the lines name. */
async function readAll({ loader, intake, refuse }: ImportRun, sequences: Map<string, number>): Promise<number> {
  function take(text: LineText, number: number): Awaitable<void> {
    if (typeof text !== 'string') return refuse(number, text);
    const checked = intake.check(text);
    if ('faults' in checked) return checked.faults.forEach((fault) => refuse(number, fault));
    const { line } = checked;
    if ('sequence' in line)
      return void sequences.set(line.sequence, Math.max(line.last, sequences.get(line.sequence) ?? 0));
    return loader.add(line, number);
  }

  let head: Head | undefined;
  let number = 0;
  let count = 0;
  for await (const texts of intake.source()) {
    for (const text of texts) {
      number += 1;
      if (text === '' || text === '\r') continue;
      if (!head) {
        head = headOf(text, number);
        continue;
      }
      count += 1;
      const busy = take(text, number);
      if (busy instanceof Promise) await busy;
    }
    intake.progress(count, head?.lines ?? count);
  }
  if (!head) throw new StartError('The file is empty. Nothing was changed.');
  const message = `The file is not whole: this line says that ${head.lines} lines follow, and ${count} do`;
  if (count !== head.lines) refuse(1, { pointer: '/lines', code: 'not-whole', message });
  return count;
}

/** Throws a StartError if the line is not the first one of an export. */
export function headOf(text: LineText, number: number): Head {
  const { format, lines = 0 } = ((typeof text === 'string' && parsed(text)) || {}) as Partial<Head>;
  if (format === FORMAT && Number.isSafeInteger(lines)) return { format, lines };
  throw new StartError(`Line ${number} is not the first line of an export of this engine. Nothing was changed.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// References are checked after the last line, since records may refer to later ones.

/** Maximum faults that are listed of one reference. */
const MOST = 100_000;

interface ReferenceRow {
  /** The key of a row: this text, and the values of the columns. */
  readonly row: string;
  readonly columns: readonly string[];
  readonly table: string;
  readonly column: string;
  readonly pointer: string;
  readonly target: RecordType;
  readonly acyclic: boolean;
}

/** Finds the rows with references that lead nowhere, or in a circle, and reads the file again for their line numbers. */
async function refuseDangling({ model, dialect, writer, intake, faults, refuse }: ImportRun): Promise<void> {
  const { quote } = dialect;
  const found = new Map<string, Fault>();

  /** `rest`: SQL that picks rows of `r$`. */
  async function find(reference: ReferenceRow, rest: string, code: string, messageOf: (value: string) => string) {
    const { row, columns, table, pointer, column } = reference;
    const sql = `select ${columns.map((name) => `r$.${quote(name)}`).join(', ')} from ${quote(table)} as r$ ${rest}`;
    for (const values of await writer.all({ sql }, [])) {
      const message = messageOf(String(values[columns.indexOf(column)]));
      found.set([row, ...values].join(' '), { pointer, code, message });
    }
  }

  const references = referencesOf(model);
  const place = faults.length > 0 ? 'among the lines without errors' : 'in the file';
  for (const reference of references) {
    const { column, target } = reference;
    const there = `select 1 from ${quote(target.table)} as t$ where t$.${quote(target.identifier.column)} = r$.${quote(column)}`;
    const most = Math.min(MOST, intake.mostFaults - faults.length);
    const dangling = `where r$.${quote(column)} is not null and not exists (${there}) limit ${most}`;
    await find(reference, dangling, 'not-found', (missing) => `There is no ${target.name} ${missing} ${place}`);
  }
  if (found.size === 0)
    for (const reference of references.filter(({ acyclic }) => acyclic)) {
      const { table, column, target } = reference;
      const { sql } = rowsInCircles({ table, identifier: target.identifier.column }, { column }, { quote });
      const circling = `join (${sql} limit ${MOST}) as c$ on c$.identifier = r$.${quote(target.identifier.column)}`;
      const message = `${target.name} records are above themselves: their links lead in a circle`;
      await find(reference, circling, 'cycle', () => message);
    }
  if (found.size === 0) return;
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

/** The keys of the references of a line, as `refuseDangling` finds them. */
function keysOf(text: LineText): readonly string[] {
  const line = (typeof text === 'string' ? parsed(text) : undefined) as Partial<RecordLine & PairLine> | undefined;
  const { type, identifier, references, pair, left, right } = line ?? {};
  if (pair !== undefined) return ['left', 'right'].map((side) => `pair ${pair} ${side} ${left} ${right}`);
  return Object.entries(references ?? {}).map(([name, value]) => `type ${type} ${name} ${identifier} ${value}`);
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
  ...joinTables.flatMap((joinTable) =>
    (['left', 'right'] as const).map((side) => ({
      row: `pair ${joinTable.exportName} ${side}`,
      columns: [joinTable.left.column, joinTable.right.column],
      table: joinTable.name,
      column: joinTable[side].column,
      pointer: `/${side}`,
      target: joinTable[side].type,
      acyclic: false,
    })),
  ),
];
