/** Compares the objects in the database, read by one query, with those that the engine made and those that a plan makes. */
import { ENGINE_PREFIX, OPEN_COLUMN } from '../../model/model.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader } from '../driver.ts';
import { type AppliedModel, type AppliedType, columnsIn, type MadeIndexes, nameKey } from './applied.ts';
import type { MigrationStep } from './steps.ts';

/** A column of somebody else. */
export interface OtherColumn {
  readonly name: string;
  /** Its type and default in DDL; empty where it cannot be made again so. */
  readonly words: string;
}

interface FoundColumn extends OtherColumn {
  /** Whether a new row must have a value for it. */
  readonly isNeeded: boolean;
}

interface FoundTable {
  readonly columns: readonly FoundColumn[];
  /** Those that are valid. */
  readonly indexes: readonly string[];
  readonly triggers: readonly string[];
  /** Objects that depend on it, such as `view "titles"`, with the column; undefined for the table as a whole. */
  readonly readers: readonly { readonly name: string; readonly column: string | undefined }[];
  /** Tables with a foreign key to it. */
  readonly referrers: readonly string[];
  /** Whether another user owns it, who alone may change it. */
  readonly isDenied: boolean;
  /** How many columns it has ever had, where the database counts them. */
  readonly everColumns: number;
}

export interface Catalogue {
  /** The kind of each object by its name: `table`, `view`. */
  readonly relations: ReadonlyMap<string, string>;
  readonly tables: ReadonlyMap<string, FoundTable>;
  /** The schema, if this user may not create tables in it. */
  readonly denied: string | undefined;
}

export const NO_CATALOGUE: Catalogue = { relations: new Map(), tables: new Map(), denied: undefined };

/** Differences between a table and the one that the engine made. */
export interface Drift {
  readonly table: string;
  /** In words. */
  readonly differences: readonly string[];
  /** SQL that puts an index back. */
  readonly cures: readonly string[];
}

const NO_TABLE: FoundTable = {
  columns: [],
  indexes: [],
  triggers: [],
  readers: [],
  referrers: [],
  isDenied: false,
  everColumns: 0,
};

/** The query answers rows of a kind, a table, a name and a detail. */
export async function readCatalogue(reader: Reader, { catalogue }: Pick<Dialect, 'catalogue'>): Promise<Catalogue> {
  const rows = (await reader.all({ sql: catalogue }, [])).map(([kind, table, name, detail = '']) => ({
    kind: String(kind),
    table: String(table),
    name: String(name),
    detail: String(detail ?? ''),
  }));
  // Objects that a migration has prepared, such as `index _records_new_1`.
  const isOwn = ({ name }: { readonly name: string }): boolean =>
    (name.split(' ')[1] ?? name).startsWith(ENGINE_PREFIX);
  const byTable = Map.groupBy(
    rows.filter((row) => row.kind !== 'relation' && (row.kind === 'column' || !isOwn(row))),
    ({ table }) => table,
  );
  const tables = [...byTable].map(([table, all]) => {
    const kind = (wanted: string) => all.filter((row) => row.kind === wanted);
    const names = (wanted: string): readonly string[] => kind(wanted).map(({ name }) => name);
    const found: FoundTable = {
      columns: [
        ...kind('column').map(({ name, detail }) => ({ name, words: detail, isNeeded: false })),
        ...kind('needed').map(({ name, detail }) => ({ name, words: detail, isNeeded: true })),
      ],
      indexes: names('index'),
      triggers: names('trigger'),
      readers: kind('reader').map(({ name, detail }) => ({ name, column: detail === '' ? undefined : detail })),
      referrers: names('referrer'),
      isDenied: names('denied').length > 0,
      everColumns: Math.max(0, ...kind('ever').map(({ detail }) => Number(detail))),
    };
    return [table, found] as const;
  });
  const relations = rows.filter(({ kind }) => kind === 'relation').map(({ name, detail }) => [name, detail] as const);
  const denied = rows.find(({ kind, table }) => kind === 'denied' && table === '')?.name;
  return { relations: new Map(relations), tables: new Map(tables), denied };
}

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
    columns: ownColumns(type),
  })),
  ...joins.map(({ table, made, left, right }) => ({
    table,
    made,
    columns: [left.column, right.column],
  })),
];

const ownColumns = (type: AppliedType): readonly string[] =>
  columnsIn(type).filter((column) => column !== OPEN_COLUMN || type.open);

/** Missing tables, columns and indexes, and columns of others for which no new record has a value. */
export function driftOf(applied: AppliedModel, { relations, tables }: Catalogue): readonly Drift[] {
  return ownTables(applied).flatMap(({ table, columns, made }): readonly Drift[] => {
    if (relations.get(table) !== 'table') return [{ table, differences: ['it is missing'], cures: [] }];
    const found = tables.get(table) ?? NO_TABLE;
    const there = new Set(found.columns.map(({ name }) => name));
    const own = new Set(columns.map(nameKey));
    const missing = Object.keys(made).filter((name) => !found.indexes.includes(name));
    const needed = found.columns.filter(({ name, isNeeded }) => isNeeded && isOther(name, own));
    const differences = [
      ...columns.filter((column) => !there.has(column)).map((column) => `column ${column} is missing`),
      ...missing.map((name) => `index ${name} is missing`),
      ...needed.map(({ name }) => `column ${name} is there besides, and no new record has a value for it`),
    ];
    const cures = missing.flatMap((name) => made[name]?.sql ?? []);
    return differences.length === 0 ? [] : [{ table, differences, cures }];
  });
}

const isOther = (column: string, own: ReadonlySet<string>): boolean =>
  !own.has(nameKey(column)) && !column.startsWith(ENGINE_PREFIX) && column !== OPEN_COLUMN;

/** Objects that others have added to the tables of the engine: `index mine of books`. */
export function othersIn(applied: AppliedModel, catalogue: Catalogue): readonly string[] {
  return ownTables(applied).flatMap(({ table, made }) => {
    const { indexes, triggers, readers } = catalogue.tables.get(table) ?? NO_TABLE;
    const names = [
      ...otherColumns(applied, catalogue, table).map(({ name }) => `column ${name}`),
      ...indexes.filter((name) => !(name in made)).map((name) => `index ${name}`),
      ...triggers.map((name) => `trigger ${name}`),
      ...readers.filter(({ name }) => !/^(trigger|index) /.test(name)).map(({ name }) => name),
    ];
    return [...new Set(names)].map((name) => `${name} of ${table}`);
  });
}

export function otherColumns(applied: AppliedModel, { tables }: Catalogue, table: string): readonly OtherColumn[] {
  const own = new Set(
    ownTables(applied)
      .filter((one) => one.table === table)
      .flatMap(({ columns }) => columns.map(nameKey)),
  );
  return (tables.get(table) ?? NO_TABLE).columns.filter(({ name }) => isOther(name, own));
}

/** Names of the indexes that the engine made. */
export const ownIndexes = (applied: AppliedModel): ReadonlySet<string> =>
  new Set(ownTables(applied).flatMap(({ made }) => Object.keys(made)));

// Objects that stand in the way of a step.

/** Columns that a table of PostgreSQL may ever have had. */
const MAX_COLUMNS = 1600;

/** In words, each object that the step cannot be made beside. */
export function obstaclesTo(
  { creates, drops, edits, tasks, rowsIn: table = '' }: MigrationStep,
  applied: AppliedModel,
  catalogue: Catalogue,
): readonly string[] {
  const { relations, tables, denied } = catalogue;
  const own = new Set([...ownTables(applied).map((one) => one.table), ...ownIndexes(applied)].map(nameKey));
  const others = new Map([...relations].map(([name, kind]) => [nameKey(name), kind]));
  const taken = (name: string): readonly string[] => {
    const kind = own.has(nameKey(name)) ? undefined : others.get(nameKey(name));
    return kind === undefined
      ? []
      : [
          `there is a ${kind} "${name}" already, which the engine did not make: rename or drop it, or choose another name`,
        ];
  };
  const { readers, referrers, isDenied, everColumns } = tables.get(table) ?? NO_TABLE;
  const columns = new Set(otherColumns(applied, catalogue, table).map(({ name }) => nameKey(name)));
  const added = edits.flatMap((edit) => (edit.kind === 'addColumn' ? edit.column.name : []));
  const lost = new Set([...drops, ...tasks.flatMap(({ drops: column }) => column ?? [])]);
  const reading = readers.filter(
    ({ name, column }) =>
      !(name.startsWith('index ') && (drops.includes(table) || own.has(nameKey(name.slice('index '.length))))) &&
      (drops.includes(table) || (column !== undefined && lost.has(column))),
  );
  const fresh = tasks.filter(({ kind }) => kind === 'column').length;
  return [
    ...[...creates, ...edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : []))].flatMap(taken),
    ...added
      .filter((name) => columns.has(nameKey(name)))
      .map((name) => `table ${table} has a column "${name}" already, which the engine did not make: rename or drop it`),
    ...[...new Set(reading.map(({ name }) => name))].map(
      (name) => `${name} depends on what this replaces or drops: drop it first, and make it again afterwards`,
    ),
    ...(drops.includes(table) ? referrers.filter((name) => !own.has(nameKey(name))) : []).map(
      (name) => `table "${name}", which the engine did not make, refers to ${table}: drop its foreign key first`,
    ),
    ...(isDenied && tasks.length > 0
      ? [`another database user owns table ${table}, and only its owner may change it: apply this as that user`]
      : []),
    ...(denied !== undefined && creates.length > 0
      ? [`this database user may not create tables in schema ${denied}: grant it, or apply this as another user`]
      : []),
    ...(everColumns > 0 && everColumns + fresh > MAX_COLUMNS
      ? [
          `table ${table} has had ${everColumns} columns, and PostgreSQL allows ${MAX_COLUMNS}, dropped ones included: make the table anew from an export`,
        ]
      : []),
  ];
}
