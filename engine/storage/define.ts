/** Model -> DDL: tables with their foreign keys, then indexes. */
import type { Knex } from 'knex';
import type { Field, Index, JoinTable, RecordType, Relation } from '../model/model.ts';
import { generatedName } from '../names.ts';
import { type Column, columnsOf, columnType } from './columns.ts';
import type { Dialect } from './driver.ts';

const ON_DELETE = { cascade: 'cascade', setNull: 'set null', restrict: 'no action' } as const;

/** The statements that make a type's table and its indexes. */
export function defineType(type: RecordType, dialect: Dialect): readonly string[] {
  const table = created(dialect, type.table, true, (builder) => {
    builder.increments(type.identifier.column);
    for (const column of columnsOf(type, dialect.name)) defineColumn(builder, column, dialect);
  });
  return [table, ...type.indexes.map((index) => defineIndex(type, index, dialect)), ...referenceIndexes(type, dialect)];
}

export function defineJoinTable({ name, left, right }: JoinTable, dialect: Dialect): readonly string[] {
  const table = created(dialect, name, false, (builder) => {
    for (const { column, type } of [left, right]) {
      builder.integer(column).notNullable();
      builder.foreign(column).references(type.identifier.column).inTable(type.table).onDelete('cascade');
    }
    builder.primary([left.column, right.column]);
  });
  return [
    table,
    createIndex(dialect, { name: generatedName(name, right.column, 'index'), unique: false }, name, [
      dialect.quote(right.column),
    ]),
  ];
}

function created(
  dialect: Dialect,
  table: string,
  keyed: boolean,
  define: (builder: Knex.CreateTableBuilder) => void,
): string {
  const [statement] = dialect.knex.schema.createTable(table, define).toSQL();
  if (!statement) throw new Error('Knex compiled no statement');
  return `${statement.sql} ${dialect.tableOptions(keyed)}`;
}

function defineColumn(builder: Knex.CreateTableBuilder, column: Column, dialect: Dialect): void {
  const { name, field, reference, nullable } = column;
  const sqlType = reference ? 'integer' : field ? columnType(field, dialect.name).sqlType : 'text';
  const definition = builder.specificType(name, sqlType);
  if (column.default !== null)
    definition.defaultTo(dialect.knex.raw(dialect.literal(column.default).replaceAll('?', '\\?')));
  if (!nullable) definition.notNullable();
  if (!reference) return;
  const { target, onDelete } = reference;
  builder.foreign(name).references(target.identifier.column).inTable(target.table).onDelete(ON_DELETE[onDelete]);
}

function defineIndex(type: RecordType, index: Index, dialect: Dialect): string {
  return createIndex(
    dialect,
    index,
    type.table,
    index.members.map((member) => indexed(member, dialect)),
  );
}

/** The expression that lists order and compare by, so that the index serves them. */
export function indexed(member: Field | Relation, dialect: Dialect): string {
  if (!('link' in member)) return columnType(member, dialect.name).comparable(dialect.quote(member.column));
  if (member.link.at !== 'source') throw new Error(`"${member.name}" has no column to index`);
  return dialect.quote(member.link.reference.column);
}

function referenceIndexes(type: RecordType, dialect: Dialect): readonly string[] {
  return type.references.map(({ column, unique }) => {
    const name = generatedName(type.table, column, unique ? 'unique' : 'index');
    return createIndex(dialect, { name, unique }, type.table, [dialect.quote(column)]);
  });
}

function createIndex(
  { quote }: Dialect,
  { name, unique }: { readonly name: string; readonly unique: boolean },
  table: string,
  expressions: readonly string[],
): string {
  return `create ${unique ? 'unique ' : ''}index ${quote(name)} on ${quote(table)} (${expressions.join(', ')})`;
}
