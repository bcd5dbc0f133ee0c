/** Changes SQLite tables: by ALTER TABLE where possible, or by a new table that replaces the old table. */
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { Column } from '../columns.ts';
import { addColumn, columnWords, createIndex, ON_DELETE } from '../tables.ts';
import { type Dialect, literal } from '../dialect.ts';
import { type Altered, type Edit, plainTasks, type TableAlteration, type Task } from '../migrate/task.ts';

function statementOf(edit: Edit, { table, columns }: TableAlteration, dialect: Dialect): string | undefined {
  const { quote } = dialect;
  switch (edit.kind) {
    case 'addColumn': {
      const { column } = edit;
      const value = columns.find((source) => source.column.name === column.name)?.value;
      if (value !== literal(column.default) || (!column.nullable && column.default === null)) return undefined;
      return addColumn(table, column.name, `${columnWords(column, dialect)}${references(column, dialect)}`, dialect);
    }
    case 'changeColumn':
      return undefined;
    case 'dropColumn':
      // SQLite cannot drop a column of a FOREIGN KEY clause.
      return edit.isReference ? undefined : `alter table ${quote(table)} drop column ${quote(edit.name)}`;
    case 'dropIndex':
      return `drop index ${quote(edit.name)}`;
    case 'createIndex':
      return createIndex(edit.index, dialect);
  }
}

const KINDS: Readonly<Partial<Record<Edit['kind'], Task['kind']>>> = { dropColumn: 'rewrite', createIndex: 'index' };

function references({ reference }: Column, { quote }: Dialect): string {
  if (!reference) return '';
  const { target, onDelete } = reference;
  return ` references ${quote(target.table)}(${quote(target.identifier.column)}) on delete ${ON_DELETE[onDelete]}`;
}

/** Follows sqlite.org/lang_altertable.html, section 7. The sequence continues, so identifiers are never reused. */
function rebuilding(
  { table, identifier, keyType, columns: sources, create, indexes, others }: TableAlteration,
  dialect: Dialect,
): readonly Task[] {
  const { quote } = dialect;
  const fresh = `${ENGINE_PREFIX}new_${table}`;
  const added = others.map(({ name }) => quote(name));
  const columns = [...[identifier, ...sources.map(({ column }) => column.name)].map(quote), ...added].join(', ');
  const selected = [quote(identifier), ...sources.map(({ value }) => value), ...added].join(', ');
  const [key, old] = [quote(identifier), quote(table)];
  const copied = `insert into ${quote(fresh)} (${columns}) select ${selected} from ${old}`;
  const within = ` where ${key} > ? and ${key} <= ?`;
  const sequence = [
    `delete from sqlite_sequence where name = ${literal(fresh)}`,
    `insert into sqlite_sequence (name, seq) select ${literal(fresh)}, seq from sqlite_sequence where name = ${literal(table)}`,
  ];
  const finish = [
    ...(keyType === undefined ? sequence : []),
    `drop table ${quote(table)}`,
    // Third-party views name the table, which is missing at this moment.
    'pragma legacy_alter_table = on',
    `alter table ${quote(fresh)} rename to ${quote(table)}`,
    'pragma legacy_alter_table = off',
  ];
  const kept = others.map(({ name, detail }) => addColumn(fresh, name, detail, dialect));
  return [
    ...plainTasks('define', [...create(fresh).create, ...kept], table),
    keyType === undefined
      ? { kind: 'fill', table, identifier, sql: copied + within, replaces: true }
      : { kind: 'rewrite', table, sql: copied, replaces: true },
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
  const statements = edits.map((edit) => statementOf(edit, alteration, dialect));
  if (statements.includes(undefined)) return { each: edits.map(() => []), rebuild: rebuilding(alteration, dialect) };
  const each = edits.map((edit, at): readonly Task[] => {
    const task = { kind: KINDS[edit.kind] ?? 'define', table, sql: statements[at] ?? '' };
    return [edit.kind === 'dropColumn' ? { ...task, drops: edit.name } : task];
  });
  return { each, rebuild: [] };
}
