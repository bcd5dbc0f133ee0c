/** Changes of tables in SQLite: by ALTER TABLE where it can, else by a new table that takes the old one's place. */
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { Column } from '../columns.ts';
import { addColumn, columnWords, createIndex, ON_DELETE } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import { type Altered, type Edit, plainTasks, type TableAlteration, type Task } from '../migrate/driver.ts';

/** undefined where ALTER TABLE cannot do it. */
type Alter<K extends Edit['kind']> = (
  edit: Extract<Edit, { kind: K }>,
  table: string,
  dialect: Dialect,
) => readonly string[] | undefined;

/** One entry for each kind of edit. */
const alters: { readonly [K in Edit['kind']]: Alter<K> } = {
  addColumn: ({ column }, table, dialect) => {
    if ((!column.nullable && column.default === null) || column.field?.isNowByDefault) return undefined;
    const words = `${columnWords(column, dialect)}${references(column, dialect)}`;
    return [addColumn(table, column.name, words, dialect)];
  },
  changeColumn: () => undefined,
  // A column that is part of a FOREIGN KEY clause cannot be dropped.
  dropColumn: ({ name, isReference }, table, { quote }) =>
    isReference ? undefined : [`alter table ${quote(table)} drop column ${quote(name)}`],
  setColumn: ({ name, value, where }, table, { quote }) => [
    `update ${quote(table)} set ${quote(name)} = ${value} where ${where}`,
  ],
  dropIndex: ({ name }, _table, { quote }) => [`drop index ${quote(name)}`],
  createIndex: ({ index }, _table, dialect) => [createIndex(index, dialect)],
};

/** Those that read, or write, every row. */
const TASKS: Readonly<Partial<Record<Edit['kind'], Task['kind']>>> = {
  dropColumn: 'rewrite',
  setColumn: 'rewrite',
  createIndex: 'index',
};

/** The entry of a kind takes the edits of that kind. */
const alterBy = (edit: Edit, table: string, dialect: Dialect): readonly string[] | undefined =>
  (alters[edit.kind] as (edit: Edit, table: string, dialect: Dialect) => readonly string[] | undefined)(
    edit,
    table,
    dialect,
  );

/** ALTER TABLE adds a foreign key only together with its column. */
function references({ reference }: Column, { quote }: Dialect): string {
  if (!reference) return '';
  const { target, onDelete } = reference;
  return ` references ${quote(target.table)}(${quote(target.identifier.column)}) on delete ${ON_DELETE[onDelete]}`;
}

/** The procedure of sqlite.org/lang_altertable.html, section 7. Identifiers are never reused: the sequence continues. */
function rebuild(
  { table, identifier, columns: sources, create, indexes, others }: TableAlteration,
  dialect: Dialect,
): readonly Task[] {
  const { quote, literal } = dialect;
  const fresh = `${ENGINE_PREFIX}new_${table}`;
  const added = others.map(({ name }) => quote(name));
  const columns = [...[identifier, ...sources.map(({ column }) => column.name)].map(quote), ...added].join(', ');
  const selected = [quote(identifier), ...sources.map(({ value }) => value), ...added].join(', ');
  const [key, old] = [quote(identifier), quote(table)];
  const copied = `insert into ${quote(fresh)} (${columns}) select ${selected} from ${old} where ${key} > ? and ${key} <= ?`;
  const finish = [
    `delete from sqlite_sequence where name = ${literal(fresh)}`,
    `insert into sqlite_sequence (name, seq) select ${literal(fresh)}, seq from sqlite_sequence where name = ${literal(table)}`,
    `drop table ${quote(table)}`,
    // Views of others name the table, which is not there at this moment.
    'pragma legacy_alter_table = on',
    `alter table ${quote(fresh)} rename to ${quote(table)}`,
    'pragma legacy_alter_table = off',
  ];
  const kept = others.map(({ name, words }) => addColumn(fresh, name, words, dialect));
  return [
    ...plainTasks('define', [...create(fresh).create, ...kept], table),
    { kind: 'fill', table, identifier, sql: copied },
    ...plainTasks('define', finish, table),
    ...plainTasks(
      'index',
      indexes.map((index) => createIndex(index, dialect)),
      table,
    ),
  ];
}

export function alterTable(alteration: TableAlteration, dialect: Dialect): Altered {
  const { edits, table } = alteration;
  const statements = edits.map((edit) => alterBy(edit, table, dialect));
  const able = statements.every((one) => one !== undefined);
  const each = edits.map(({ kind }, index) =>
    plainTasks(TASKS[kind] ?? 'define', able ? (statements[index] ?? []) : [], table),
  );
  return { each, together: able ? [] : rebuild(alteration, dialect) };
}
