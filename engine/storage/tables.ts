/** Describes tables, columns, foreign keys and indexes, and builds their DDL, with Knex where possible. */
import createKnex, { type Knex } from 'knex';
import {
  ENGINE_PREFIX,
  type Field,
  joinIndexName,
  type JoinTable,
  type RecordType,
  type Reference,
  referenceIndexName,
  type Relation,
} from '../model/model.ts';
import { generatedName } from '../names.ts';
import { checkOf, type Column, columnsOf, columnType, type TableIndex, type TableStatements } from './columns.ts';
import { type Dialect, literal, type Statement } from './dialect.ts';

export const ON_DELETE = { cascade: 'cascade', setNull: 'set null', restrict: 'no action' } as const;

export const tablesOf = (model: {
  readonly types: ReadonlyMap<string, Pick<RecordType, 'table'>>;
  readonly joinTables: readonly Pick<JoinTable, 'name'>[];
}): readonly string[] => [
  ...[...model.types.values()].map(({ table }) => table),
  ...model.joinTables.map(({ name }) => name),
];

export function defineTable(type: RecordType, dialect: Dialect, name = type.table): TableStatements {
  const columns = columnsOf(type, dialect.name);
  return created(dialect, name, type.identifier.kind.isCounted === true, (builder) => {
    dialect.identifier(builder, type.identifier);
    for (const column of columns) {
      builder.specificType(column.name, columnWords(column, dialect));
      if (column.reference) defineLink(builder, name, column.name, column.reference, dialect);
    }
  });
}

/** `kept`: indexes that no descriptor names. */
export function indexesOf(
  type: RecordType,
  { name: dialect }: Pick<Dialect, 'name'>,
  kept: readonly TableIndex[] = [],
): readonly TableIndex[] {
  const shared = { table: type.table, identifier: type.identifier.column };
  return [
    ...type.indexes.map(({ name, unique, members }) => ({
      ...shared,
      name,
      unique,
      columns: members.map((member) => indexedColumn(partOf(member), dialect)),
    })),
    ...kept,
    ...type.references.map((reference) => ({
      ...shared,
      name: referenceIndexName(type.table, reference),
      unique: reference.unique,
      columns: [plainColumn(reference.column)],
    })),
  ];
}

export const sidesOf = ({ first, left, right }: JoinTable): readonly [JoinTable['left'], JoinTable['right']] =>
  first === 'left' ? [left, right] : [right, left];

export function defineJoinTable(table: JoinTable, dialect: Dialect): TableStatements {
  const { name } = table;
  const columns = sidesOf(table).map(({ column }) => column);
  const { create, links } = created(dialect, name, false, (builder) => {
    for (const { column, type: target } of sidesOf(table)) {
      builder.specificType(column, columnTypeOf(target, dialect)).notNullable();
      defineLink(builder, name, column, { target, onDelete: 'cascade' }, dialect);
    }
    if (!dialect.namesConstraints) builder.primary(columns);
  });
  // Another table may have the name that Knex would give the key, so the database chooses a free name.
  const key = `alter table ${dialect.quote(name)} add primary key (${columns.map(dialect.quote).join(', ')})`;
  return { create: [...create, ...(dialect.namesConstraints ? [key] : [])], links };
}

export function joinIndex(table: JoinTable): TableIndex {
  const [, { column }] = sidesOf(table);
  return {
    table: table.name,
    name: joinIndexName(table),
    unique: false,
    columns: [plainColumn(column)],
    identifier: undefined,
  };
}

const printed = (schema: Knex.SchemaBuilder): readonly string[] => schema.toSQL().map(({ sql }) => sql);

function created(dialect: Dialect, table: string, keyed: boolean, define: (builder: Knex.CreateTableBuilder) => void) {
  const [create = '', ...links] = printed(dialect.knex.schema.createTable(table, define));
  return { create: [`${create} ${dialect.tableOptions(keyed)}`], links };
}

// Table changes. On SQLite, Knex would rebuild the table to change or drop a column, or add a foreign key.

const altered = (table: string, { knex }: Dialect, alter: (builder: Knex.AlterTableBuilder) => void): string =>
  printed(knex.schema.alterTable(table, alter)).join();

export const addColumn = (table: string, name: string, words: string, dialect: Dialect): string =>
  altered(table, dialect, (builder) => void builder.specificType(name, words));

export const renameColumn = (table: string, from: string, to: string, dialect: Dialect): string =>
  altered(table, dialect, (builder) => void builder.renameColumn(from, to));

export const addForeignKey = (table: string, column: string, reference: LinkTarget, dialect: Dialect): string =>
  altered(table, dialect, (builder) => defineLink(builder, table, column, reference, dialect));

export const dropTable = (table: string, { knex, locks }: Dialect): string =>
  `${printed(knex.schema.dropTable(table)).join()}${locks ? ' cascade' : ''}`;

export function columnWords(column: Column, dialect: Dialect): string {
  const parts = [
    columnSql(column, dialect),
    checkOf(column, dialect.name, dialect.quote),
    column.nullable ? '' : 'not null',
    column.default === null ? '' : `default ${literal(column.default)}`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

export function columnSql({ field, reference, folds = field }: Column, dialect: Dialect): string {
  if (reference) return columnTypeOf(reference.target, dialect);
  return folds ? columnType(folds, dialect.name).sqlType : dialect.openKeys;
}

/** Of the identifiers of a type, and of what refers to them. */
export const columnTypeOf = ({ identifier }: RecordType, { name }: Dialect): string =>
  identifier.type.columns[name].sqlType;

export const foreignKeyName = (table: string, column: string): string => generatedName(table, column, 'foreign');

type LinkTarget = Pick<Reference, 'target' | 'onDelete'>;

function defineLink(
  builder: Pick<Knex.CreateTableBuilder, 'foreign'>,
  table: string,
  column: string,
  { target, onDelete }: LinkTarget,
  { namesConstraints }: Dialect,
): void {
  const key = namesConstraints ? builder.foreign(column, foreignKeyName(table, column)) : builder.foreign(column);
  key.references(target.identifier.column).inTable(target.table).onDelete(ON_DELETE[onDelete]);
}

const plainColumn = (name: string): TableIndex['columns'][number] => ({ name, term: (quoted) => quoted });

/** The column of a field or of a foreign key in an index. */
export function indexedColumn(part: Field | Reference, dialect: Dialect['name']): TableIndex['columns'][number] {
  if (!('type' in part)) return plainColumn(part.column);
  if (part.folded !== undefined) return plainColumn(part.folded);
  return { name: part.column, term: (quoted) => columnType(part, dialect).comparable(quoted) };
}

function partOf(member: Field | Relation): Field | Reference {
  if (!('link' in member)) return member;
  if (member.link.at !== 'source') throw new Error(`"${member.name}" has no column to index`);
  return member.link.reference;
}

export function indexed(member: Field | Relation, { name: dialect, quote }: Dialect): string {
  const { name, term } = indexedColumn(partOf(member), dialect);
  return term(quote(name));
}

/** `name`: a temporary name. `named`: the present name of a column. */
export function createIndex(
  { table, name, unique, columns, identifier }: TableIndex,
  { quote, indexed: over }: Dialect,
  {
    name: now = name,
    concurrently = false,
    named = (column: string) => column,
  }: { readonly name?: string; readonly concurrently?: boolean; readonly named?: (column: string) => string } = {},
): string {
  const terms = over(
    columns.map((column) => column.term(quote(named(column.name)))),
    unique ? undefined : identifier,
  );
  const words = `create ${unique ? 'unique ' : ''}index ${concurrently ? 'concurrently ' : ''}`;
  return `${words}${quote(now)} on ${quote(table)} (${terms.join(', ')})`;
}

export const MODEL_TABLE = `${ENGINE_PREFIX}model`;
export const HISTORY_TABLE = `${ENGINE_PREFIX}history`;
export const SEED_TABLE = `${ENGINE_PREFIX}seeds`;
export const IDEMPOTENCY_TABLE = `${ENGINE_PREFIX}keys`;
const IDEMPOTENCY_INDEX = `${ENGINE_PREFIX}keys_created`;
/** The progress of a migration that does not run in one transaction. */
const MIGRATION_TABLE = `${ENGINE_PREFIX}migration`;

/** The DDL of the engine's own tables and indexes, by name. */
export function engineTables(dialect: Dialect): ReadonlyMap<string, string> {
  const { integer, locks } = dialect;
  type Define = (columns: Knex.CreateTableBuilder) => void;
  const table = (name: string, texts: readonly string[], define: Define, keyed = false): readonly [string, string] => {
    const { create } = created(dialect, name, keyed, (columns) => {
      for (const text of texts) columns.text(text).notNullable();
      define(columns);
    });
    return [name, create.join()];
  };
  const progress = table(MIGRATION_TABLE, ['key'], (columns) => {
    columns.integer('done').notNullable();
    columns.specificType('position', integer).notNullable();
    columns.text('rest');
  });
  return new Map([
    table(MODEL_TABLE, ['applied'], (columns) => columns.integer('id').primary(), true),
    table(HISTORY_TABLE, ['digest', 'applied', 'at'], (columns) => columns.integer('number').primary(), true),
    table(SEED_TABLE, ['type'], (columns) => {
      columns.specificType('identifier', integer);
      columns.primary(['type', 'identifier']);
    }),
    table(IDEMPOTENCY_TABLE, ['identity', 'key', 'hash', 'created'], (columns) => {
      columns.integer('status');
      columns.text('identifiers');
      columns.primary(['identity', 'key']);
    }),
    [IDEMPOTENCY_INDEX, altered(IDEMPOTENCY_TABLE, dialect, (columns) => columns.index('created', IDEMPOTENCY_INDEX))],
    ...(locks ? [progress] : []),
  ]);
}

/** Builds SQL for both databases, as SQLite also takes double-quoted names. */
const rowsOf = createKnex({ client: 'pg' });

const statement = (query: Knex.QueryBuilder): Statement => ({ sql: query.toSQL().sql });

/** Statements on the engine's own tables. Bound: by default, the columns in alphabetical order. */
export const METADATA = {
  model: statement(rowsOf(MODEL_TABLE).select('applied')),
  /** Bound: the model, 1. */
  setModel: statement(rowsOf(MODEL_TABLE).insert({ applied: '', id: 1 }).onConflict('id').merge(['applied'])),
  history: statement(rowsOf(HISTORY_TABLE).select('number', 'digest').orderBy('number')),
  modelOf: statement(rowsOf(HISTORY_TABLE).select('applied').where('number', 0)),
  lastNumber: statement(rowsOf(HISTORY_TABLE).max('number')),
  addHistory: statement(rowsOf(HISTORY_TABLE).insert({ applied: '', at: '', digest: '', number: 0 })),
  seeds: statement(rowsOf(SEED_TABLE).select('identifier', 'type').orderBy(['type', 'identifier'])),
  addSeed: statement(rowsOf(SEED_TABLE).insert({ identifier: 0, type: '' }).onConflict().ignore()),
  clearSeeds: statement(rowsOf(SEED_TABLE).delete()),
  renameSeeds: (from: string, to: string) => rowsOf(SEED_TABLE).where('type', from).update('type', to).toString(),
  dropSeeds: (type: string) => rowsOf(SEED_TABLE).where({ type }).delete().toString(),
  clearKeys: statement(rowsOf(IDEMPOTENCY_TABLE).delete()),
  key: statement(rowsOf(IDEMPOTENCY_TABLE).select('hash', 'status', 'identifiers').where({ identity: '', key: '' })),
  /** Bound: identifiers, status, identity, key. */
  answerKey: statement(
    rowsOf(IDEMPOTENCY_TABLE).where({ identity: '', key: '' }).update({ identifiers: '', status: 0 }),
  ),
  /** An expired key counts as new. Of two concurrent claims, the second waits. Bound: hours, hash, identity, key, hours. */
  claimKey: ({ hoursAgo }: Dialect): Statement => {
    const expired = rowsOf.raw(hoursAgo, [0]);
    const claim = rowsOf(IDEMPOTENCY_TABLE).insert({ created: expired, hash: '', identity: '', key: '' });
    const renewed = claim.onConflict(['identity', 'key']).merge(['hash', 'created']);
    return statement(renewed.where(`${IDEMPOTENCY_TABLE}.created`, '<', expired));
  },
  /** Deletes expired keys. A string, since Knex does not support an array of ctid. Bound: hours, limit. */
  forgetKeys: ({ locks, hoursAgo }: Dialect): Statement => {
    const expired = (columns: string): string =>
      `select ${columns} from ${IDEMPOTENCY_TABLE} where created < ${hoursAgo} order by created limit ?`;
    // An array, since PostgreSQL would join a subselect with the whole table.
    const found = locks
      ? `ctid = any (array(${expired('ctid')} for update skip locked))`
      : `(identity, key) in (${expired('identity, key')})`;
    return { sql: `delete from ${IDEMPOTENCY_TABLE} where ${found}` };
  },
  progress: statement(rowsOf(MIGRATION_TABLE).select('key', 'done', 'position', 'rest')),
  beginProgress: statement(rowsOf(MIGRATION_TABLE).insert({ done: 0, key: '', position: 0 })),
  setProgress: statement(rowsOf(MIGRATION_TABLE).update({ done: 0, position: 0 })),
  setRest: statement(rowsOf(MIGRATION_TABLE).update({ rest: '' })),
  endProgress: statement(rowsOf(MIGRATION_TABLE).delete()),
};
