/** Model -> DDL: tables with their foreign keys, then indexes. */
import type { Knex } from 'knex';
import type { Field, Index, JoinTable, Model, RecordType, Reference, Relation } from '../model/model.ts';
import { generatedName } from '../names.ts';
import { checkOf, type Column, columnsOf, columnType, comparedColumn } from './columns.ts';
import type { Dialect } from './dialect.ts';
import { statementsOf } from './knex.ts';

export const ON_DELETE = { cascade: 'cascade', setNull: 'set null', restrict: 'no action' } as const;

/** Between the statements of one definition, where a database needs more than one. */
export const SEPARATOR = ';\n';

/** An index as its table has it: the descriptor's own, and those of foreign keys. */
interface TableIndex {
  readonly name: string;
  readonly unique: boolean;
  /** What it is over: names of fields and relations, or the column of a relation that only the other side names. */
  readonly members: readonly string[];
  readonly sql: string;
}

/** What tells that something has changed. */
export interface Revision {
  /** SQL of a value that differs once the tables have changed. */
  readonly sql: string;
  /** Whether it is cheap enough in each snapshot. */
  readonly inEachSnapshot: boolean;
  /** SQL that makes it differ. */
  readonly renew: readonly string[];
}

/** SQL about the sequence that gives a column its identifiers. */
export interface Sequence {
  /** Takes the next identifiers. Bound: how many. Missing where a sequence is rolled back with its transaction. */
  readonly next?: (table: string, column: string) => string;
  /** Returns the greatest identifier ever used. */
  readonly read: (table: string, column: string) => string;
  /** Moves it forward. Bound, in each statement: the identifier. */
  readonly move: (table: string, column: string) => readonly string[];
}

/** A column and its type in DDL. */
export interface BulkColumn {
  readonly name: string;
  readonly type: string;
  /** SQL of what is written, from that of the text that is bound; the text itself where it is missing. */
  readonly written?: (text: string) => string;
}

/** A column with a foreign key. */
export interface LinkColumn {
  readonly table: string;
  readonly column: string;
}

/** The tables of a model, by name. */
export const tablesOf = ({
  types,
  joinTables,
}: {
  readonly types: ReadonlyMap<string, Pick<RecordType, 'table'>>;
  readonly joinTables: readonly Pick<JoinTable, 'name'>[];
}): readonly string[] => [...[...types.values()].map(({ table }) => table), ...joinTables.map(({ name }) => name)];

export const linksOf = ({ types, joinTables }: Model): readonly LinkColumn[] => [
  ...[...types.values()].flatMap(({ table, references }) => references.map(({ column }) => ({ table, column }))),
  ...joinTables.flatMap(({ name, left, right }) => [left, right].map(({ column }) => ({ table: name, column }))),
];

/** The statements that make a type's table and its indexes. */
export const defineType = (type: RecordType, dialect: Dialect): readonly string[] => [
  defineTable(type, dialect),
  ...indexesOf(type, dialect).map(({ sql }) => sql),
];

export const defineTable = (type: RecordType, dialect: Dialect, name = type.table): string =>
  created(dialect, name, true, (builder) => {
    dialect.identifier(builder, type.identifier.column);
    for (const column of columnsOf(type, dialect.name)) defineColumn(builder, name, column, dialect);
  });

export const indexesOf = (type: RecordType, dialect: Dialect): readonly TableIndex[] => [
  ...type.indexes.map((index) => ownIndex(type, index, dialect)),
  ...type.references.map((reference) => referenceIndex(type, reference, dialect)),
];

export const defineJoinTable = (table: JoinTable, dialect: Dialect): readonly string[] => [
  defineJoinRows(table, dialect),
  joinIndex(table, dialect).sql,
];

/** The two sides, in the order of the columns. */
export const sidesOf = ({ first, left, right }: JoinTable): readonly [JoinTable['left'], JoinTable['right']] =>
  first === 'left' ? [left, right] : [right, left];

export const defineJoinRows = (table: JoinTable, dialect: Dialect): string =>
  created(dialect, table.name, false, (builder) => {
    const { name } = table;
    const [left, right] = sidesOf(table);
    for (const { column, type } of [left, right]) {
      builder.specificType(column, dialect.integer).notNullable();
      defineLink(builder, name, column, type, 'cascade', dialect);
    }
    builder.primary([left.column, right.column], primaryName(name, dialect));
  });

/** The primary key serves the first side; this the other one. */
export function joinIndex(table: JoinTable, dialect: Dialect): Omit<TableIndex, 'members'> {
  const { name } = table;
  const [, right] = sidesOf(table);
  const index = { name: generatedName(name, right.column, 'index'), unique: false };
  return { ...index, sql: createIndex(dialect, index, name, [dialect.quote(right.column)]) };
}

function created(
  dialect: Dialect,
  table: string,
  keyed: boolean,
  define: (builder: Knex.CreateTableBuilder) => void,
): string {
  const [create = '', ...links] = statementsOf(dialect.knex.schema.createTable(table, define));
  return [`${create} ${dialect.tableOptions(keyed)}`, ...links].join(SEPARATOR);
}

function defineColumn(builder: Knex.CreateTableBuilder, table: string, column: Column, dialect: Dialect): void {
  const { name, reference } = column;
  builder.specificType(name, columnWords(column, dialect));
  if (reference) defineLink(builder, table, name, reference.target, reference.onDelete, dialect);
}

/** What follows a column's name in DDL, except its foreign key. */
export function columnWords(column: Column, dialect: Dialect): string {
  const parts = [
    columnSql(column, dialect),
    checkOf(column, dialect.name, dialect.quote),
    column.nullable ? '' : 'not null',
    column.default === null ? '' : `default ${dialect.literal(column.default)}`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/** The column's type in DDL. */
export function columnSql({ field, reference, folds = field }: Column, dialect: Dialect): string {
  if (reference) return dialect.integer;
  return folds ? columnType(folds, dialect.name).sqlType : dialect.openKeys;
}

/** The statement that adds the foreign key of a column. */
export const addForeignKey = (table: string, name: string, { target, onDelete }: Reference, dialect: Dialect) =>
  statementsOf(
    dialect.knex.schema.alterTable(table, (builder) => defineLink(builder, table, name, target, onDelete, dialect)),
  );

const primaryName = (table: string, { namesConstraints }: Dialect): { constraintName: string } | undefined =>
  namesConstraints ? { constraintName: generatedName(table, 'primary') } : undefined;

function defineLink(
  builder: Knex.CreateTableBuilder,
  table: string,
  column: string,
  target: RecordType,
  onDelete: keyof typeof ON_DELETE,
  { namesConstraints }: Dialect,
): void {
  const key = namesConstraints
    ? builder.foreign(column, generatedName(table, column, 'foreign'))
    : builder.foreign(column);
  key.references(target.identifier.column).inTable(target.table).onDelete(ON_DELETE[onDelete]);
}

function ownIndex(type: RecordType, { name, unique, members }: Index, dialect: Dialect): TableIndex {
  const expressions = members.map((member) => indexed(member, dialect));
  const sql = createIndex(dialect, { name, unique }, type.table, expressions, type.identifier.column);
  return { name, unique, members: members.map((member) => member.name), sql };
}

/** The expression that lists order and compare by, so that the index serves them. */
export function indexed(member: Field | Relation, dialect: Dialect): string {
  if (!('link' in member)) return comparedColumn(member, dialect.quote, dialect.name, member.folded);
  if (member.link.at !== 'source') throw new Error(`"${member.name}" has no column to index`);
  return dialect.quote(member.link.reference.column);
}

function referenceIndex(
  { table, identifier }: RecordType,
  { column, unique, relation }: Reference,
  dialect: Dialect,
): TableIndex {
  const name = generatedName(table, column, unique ? 'unique' : 'index');
  const sql = createIndex(dialect, { name, unique }, table, [dialect.quote(column)], identifier.column);
  return { name, unique, members: [relation?.name ?? column], sql };
}

function createIndex(
  { quote, indexed: over }: Dialect,
  { name, unique }: { readonly name: string; readonly unique: boolean },
  table: string,
  expressions: readonly string[],
  identifier?: string,
): string {
  const terms = over(expressions, unique ? undefined : identifier).join(', ');
  return `create ${unique ? 'unique ' : ''}index ${quote(name)} on ${quote(table)} (${terms})`;
}
