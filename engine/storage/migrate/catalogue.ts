/** Compares the objects in the database, read by one query, with those that the engine made and those that a plan makes. */
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader } from '../driver.ts';
import { type AppliedModel, columnsIn, type MadeIndexes, nameKey } from './applied.ts';
import type { MigrationStep } from './steps.ts';

interface Found {
  /**
   * relation: a table or view, as `detail` says. column, and needed if a new row must have a value for it: `detail` is its
   * type and default. index: a valid one. trigger. reader: an object that depends on the column in `detail`, or on the
   * table. referrer: a table with a foreign key to it. denied: another user owns the table, or this one may not create
   * tables in the schema `name`.
   */
  readonly kind: string;
  readonly table: string;
  readonly name: string;
  readonly detail: string;
}

export type Catalogue = readonly Found[];

/** A column of somebody else. */
export interface OtherColumn {
  readonly name: string;
  /** Its type and default in DDL; empty where it cannot be made again so. */
  readonly words: string;
}

/** Differences between a table and the one that the engine made. */
export interface Drift {
  readonly table: string;
  /** In words. */
  readonly differences: readonly string[];
  /** SQL that puts an index back. */
  readonly cures: readonly string[];
}

export async function readCatalogue(reader: Reader, { catalogue }: Pick<Dialect, 'catalogue'>): Promise<Catalogue> {
  const rows = (await reader.all({ sql: catalogue }, [])).map(([kind, table, name, detail]) => ({
    kind: String(kind),
    table: String(table),
    name: String(name),
    detail: String(detail ?? ''),
  }));
  // Objects that a migration has prepared, such as `index _records_new_1`, are nobody else's.
  const isOwn = (name: string): boolean => (name.split(' ')[1] ?? name).startsWith(ENGINE_PREFIX);
  return rows.filter(({ kind, name }) => kind === 'relation' || kind === 'column' || !isOwn(name));
}

const found = (catalogue: Catalogue, table: string, ...kinds: readonly string[]): readonly Found[] =>
  catalogue.filter((one) => one.table === table && kinds.includes(one.kind));

const namesOf = (catalogue: Catalogue, table: string, kind: string): readonly string[] =>
  found(catalogue, table, kind).map(({ name }) => name);

/** A table of the engine, with what it must have. */
interface OwnTable {
  readonly table: string;
  readonly columns: readonly string[];
  readonly made: MadeIndexes;
}

const ownTables = ({ types, joins }: AppliedModel): readonly OwnTable[] => [
  ...Object.values(types).map((type) => ({
    table: type.table,
    made: type.made,
    columns: columnsIn(type).filter((column) => column !== OPEN_COLUMN || type.open),
  })),
  ...joins.map(({ table, made, left, right }) => ({ table, made, columns: [left.column, right.column] })),
];

/** Missing tables, columns and indexes, and columns of others for which no new record has a value. */
export function driftOf(applied: AppliedModel, catalogue: Catalogue): readonly Drift[] {
  return ownTables(applied).flatMap((own): readonly Drift[] => {
    const { table, columns, made } = own;
    if (!found(catalogue, '', 'relation').some(({ name, detail }) => name === table && detail === 'table'))
      return [{ table, differences: ['it is missing'], cures: [] }];
    const there = new Set(found(catalogue, table, 'column', 'needed').map(({ name }) => name));
    const indexes = new Set(namesOf(catalogue, table, 'index'));
    const missing = Object.keys(made).filter((name) => !indexes.has(name));
    const differences = [
      ...columns.filter((column) => !there.has(column)).map((column) => `column ${column} is missing`),
      ...missing.map((name) => `index ${name} is missing`),
      ...othersAmong(own, found(catalogue, table, 'needed')).map(
        ({ name }) => `column ${name} is there besides, and no new record has a value for it`,
      ),
    ];
    const cures = missing.flatMap((name) => made[name]?.sql ?? []);
    return differences.length === 0 ? [] : [{ table, differences, cures }];
  });
}

function othersAmong({ columns }: OwnTable, all: readonly Found[]): readonly Found[] {
  const own = new Set([...columns, OPEN_COLUMN].map(nameKey));
  return all.filter(({ name }) => !own.has(nameKey(name)) && !name.startsWith(ENGINE_PREFIX));
}

export function otherColumns(applied: AppliedModel, catalogue: Catalogue, table: string): readonly OtherColumn[] {
  const own = ownTables(applied).find((one) => one.table === table);
  const others = own ? othersAmong(own, found(catalogue, table, 'column', 'needed')) : [];
  return others.map(({ name, detail }) => ({ name, words: detail }));
}

/** Objects that others have added to the tables of the engine: `index mine of books`. */
export function othersIn(applied: AppliedModel, catalogue: Catalogue): readonly string[] {
  return ownTables(applied).flatMap(({ table, made }) => {
    const names = [
      ...otherColumns(applied, catalogue, table).map(({ name }) => `column ${name}`),
      ...namesOf(catalogue, table, 'index').flatMap((name) => (name in made ? [] : `index ${name}`)),
      ...namesOf(catalogue, table, 'trigger').map((name) => `trigger ${name}`),
      ...namesOf(catalogue, table, 'reader').filter((name) => !/^(trigger|index) /.test(name)),
    ];
    return [...new Set(names)].map((name) => `${name} of ${table}`);
  });
}

/** Names of the indexes that the engine made. */
export const ownIndexes = (applied: AppliedModel): ReadonlySet<string> =>
  new Set(ownTables(applied).flatMap(({ made }) => Object.keys(made)));

/** In words, each object that the step cannot be made beside. */
export function obstaclesTo(
  { creates, drops, edits, tasks, rowsIn: table = '' }: MigrationStep,
  applied: AppliedModel,
  catalogue: Catalogue,
): readonly string[] {
  const own = new Set([...ownTables(applied).map((one) => one.table), ...ownIndexes(applied)].map(nameKey));
  const isOwn = (name: string): boolean => own.has(nameKey(name));
  const kinds = new Map(found(catalogue, '', 'relation').map(({ name, detail }) => [nameKey(name), detail]));
  const columns = new Set(otherColumns(applied, catalogue, table).map(({ name }) => nameKey(name)));
  const isDropped = drops.includes(table);
  const lost = new Set(tasks.flatMap((task) => task.drops ?? []));
  const obstacles = new Set<string>();
  for (const name of [...creates, ...edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : []))])
    if (kinds.has(nameKey(name)) && !isOwn(name))
      obstacles.add(
        `there is a ${kinds.get(nameKey(name))} "${name}" already, which the engine did not make: rename or drop it, or choose another name`,
      );
  for (const edit of edits)
    if (edit.kind === 'addColumn' && columns.has(nameKey(edit.column.name)))
      obstacles.add(
        `table ${table} has a column "${edit.column.name}" already, which the engine did not make: rename or drop it`,
      );
  for (const { name, detail } of found(catalogue, table, 'reader')) {
    const goes = name.startsWith('index ') && (isDropped || isOwn(name.slice('index '.length)));
    if (!goes && (isDropped || (detail !== '' && lost.has(detail))))
      obstacles.add(`${name} depends on what this replaces or drops: drop it first, and make it again afterwards`);
  }
  for (const name of isDropped ? namesOf(catalogue, table, 'referrer') : [])
    if (!isOwn(name))
      obstacles.add(`table "${name}", which the engine did not make, refers to ${table}: drop its foreign key first`);
  if (tasks.length > 0 && table !== '' && found(catalogue, table, 'denied').length > 0)
    obstacles.add(
      `another database user owns table ${table}, and only its owner may change it: apply this as that user`,
    );
  const denied = found(catalogue, '', 'denied')[0]?.name;
  if (denied !== undefined && creates.length > 0)
    obstacles.add(
      `this database user may not create tables in schema ${denied}: grant it, or apply this as another user`,
    );
  return [...obstacles];
}
