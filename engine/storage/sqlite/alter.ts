/** Changes of tables in SQLite: by ALTER TABLE where it can, else by a new table that takes the old one's place. */
import type { Alterations, Altered, Edit, TableAlteration } from '../migrate/driver.ts';
import { type Column, columnType } from '../columns.ts';
import { ON_DELETE } from '../define.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { SqlValue } from '../../field-types/field-type.ts';

interface Words {
  readonly quote: (name: string) => string;
  readonly literal: (value: SqlValue) => string;
}

/** undefined where ALTER TABLE cannot do it. */
type Alter<E> = (edit: E, table: string, words: Words) => readonly string[] | undefined;

const alters: { readonly [K in Edit['kind']]: Alter<Extract<Edit, { kind: K }>> } = {
  renameTable: ({ from }, table, { quote }) => [`alter table ${quote(from)} rename to ${quote(table)}`],
  renameIdentifier: renamed,
  renameColumn: renamed,
  addColumn: ({ column }, table, words) =>
    column.nullable || column.default !== null
      ? [`alter table ${words.quote(table)} add column ${definition(column, words)}`]
      : undefined,
  changeColumn: () => undefined,
  // A column that is part of a FOREIGN KEY clause cannot be dropped.
  dropColumn: ({ name, isReference }, table, { quote }) =>
    isReference ? undefined : [`alter table ${quote(table)} drop column ${quote(name)}`],
  setColumn: ({ name, value, where }, table, { quote }) => [
    `update ${quote(table)} set ${quote(name)} = ${value} where ${where}`,
  ],
  dropIndex: ({ name }, _table, { quote }) => [`drop index ${quote(name)}`],
  createIndex: ({ sql }) => [sql],
};

function renamed({ from, to }: { from: string; to: string }, table: string, { quote }: Words): readonly string[] {
  return [`alter table ${quote(table)} rename column ${quote(from)} to ${quote(to)}`];
}

function definition({ name, field, reference, nullable, ...column }: Column, { quote, literal }: Words): string {
  const type = field ? columnType(field, 'sqlite').sqlType : reference ? 'integer' : 'text';
  const parts = [
    `${quote(name)} ${type}`,
    ...(nullable ? [] : ['not null']),
    ...(column.default === null ? [] : [`default ${literal(column.default)}`]),
  ];
  if (!reference) return parts.join(' ');
  const { target, onDelete } = reference;
  const key = `references ${quote(target.table)}(${quote(target.identifier.column)}) on delete ${ON_DELETE[onDelete]}`;
  return [...parts, key].join(' ');
}

const alter = (edit: Edit, table: string, words: Words): readonly string[] | undefined =>
  // The entry of a kind takes the edits of that kind.
  (alters[edit.kind] as Alter<Edit>)(edit, table, words);

/** These come before a rebuild too: other tables' foreign keys follow a rename, and nothing else. */
const ALWAYS: ReadonlySet<Edit['kind']> = new Set(['renameTable', 'renameIdentifier']);

const folded = (name: string): string => name.toLowerCase();

/** Whether a new name is that of another column before: then the order of the statements would matter. */
function namesCollide({ edits, columnsBefore }: TableAlteration): boolean {
  const before = new Set(columnsBefore.map(folded));
  return edits.some((edit) => {
    if (edit.kind === 'addColumn') return before.has(folded(edit.column.name));
    return edit.kind === 'renameColumn' && folded(edit.from) !== folded(edit.to) && before.has(folded(edit.to));
  });
}

/** The procedure of sqlite.org/lang_altertable.html, section 7. Identifiers are never used again: the sequence goes on. */
function rebuild({ table, identifier, values, create, indexes }: TableAlteration, { quote, literal }: Words): string[] {
  const fresh = `${ENGINE_PREFIX}new_${table}`;
  const columns = [identifier, ...values.map(({ column }) => column)].map(quote).join(', ');
  const selected = [quote(identifier), ...values.map(({ value }) => value)].join(', ');
  return [
    create(fresh),
    `insert into ${quote(fresh)} (${columns}) select ${selected} from ${quote(table)}`,
    `delete from sqlite_sequence where name = ${literal(fresh)}`,
    `insert into sqlite_sequence (name, seq) select ${literal(fresh)}, seq from sqlite_sequence where name = ${literal(table)}`,
    `drop table ${quote(table)}`,
    `alter table ${quote(fresh)} rename to ${quote(table)}`,
    ...indexes,
  ];
}

function alterTable(alteration: TableAlteration, words: Words): Altered {
  const { edits, table } = alteration;
  const each = edits.map((edit) => alter(edit, table, words));
  const able = each.every((statements) => statements !== undefined);
  if (able && !namesCollide(alteration)) return { each, together: [] };
  return {
    each: edits.map((edit, index) => (ALWAYS.has(edit.kind) ? (each[index] ?? []) : [])),
    together: rebuild(alteration, words),
  };
}

export function sqliteAlterations(words: Words): Alterations {
  const { literal, quote } = words;
  const keyPath = (key: string): string => literal(`$.${JSON.stringify(key)}`);
  return {
    alterTable: (alteration) => alterTable(alteration, words),
    hasKey: (column, key) => `json_type(${quote(column)}, ${keyPath(key)}) is not null`,
    keyJson: (column, key) => `${quote(column)} -> ${keyPath(key)}`,
    withoutKeys: (column, keys) => `json_remove(${[quote(column), ...keys.map(keyPath)].join(', ')})`,
    isEmpty: (json) => `${json} = '{}'`,
    keyPath,
  };
}
