/** Changes of tables in PostgreSQL: ALTER TABLE can do each of them, in an order of its own. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { Alterations, Altered, Edit, TableAlteration } from '../migrate/driver.ts';
import { checkOf, type Column, columnType } from '../columns.ts';
import { linkName, ON_DELETE } from '../define.ts';

interface Words {
  readonly quote: (name: string) => string;
  readonly literal: (value: SqlValue) => string;
}

type Alter<E> = (edit: E, table: string, words: Words) => readonly string[];

const alters: { readonly [K in Edit['kind']]: Alter<Extract<Edit, { kind: K }>> } = {
  renameTable: ({ from }, table, { quote }) => [`alter table ${quote(from)} rename to ${quote(table)}`],
  renameIdentifier: renamed,
  renameColumn: renamed,
  addColumn: ({ column }, table, words) => [
    `alter table ${words.quote(table)} add column ${words.quote(column.name)} ${typeOf(column)}${checked(column, words)}${defaultOf(column, words)}`,
    ...linked(column, table, words),
  ],
  changeColumn: (edit, table, words) => changed(edit, edit.column.name, table, words),
  dropColumn: ({ name }, table, { quote }) => [`alter table ${quote(table)} drop column ${quote(name)}`],
  setColumn: ({ name, value, where }, table, { quote }) => [
    `update ${quote(table)} set ${quote(name)} = ${value} where ${where}`,
  ],
  dropIndex: ({ name }, _table, { quote }) => [`drop index ${quote(name)}`],
  createIndex: ({ sql }) => [sql],
};

const typeOf = ({ field, reference }: Column): string =>
  reference ? 'bigint' : field ? columnType(field, 'postgres').sqlType : 'json';

const defaultOf = (column: Column, { literal }: Words): string =>
  column.default === null ? '' : ` default ${literal(column.default)}`;

function renamed({ from, to }: { from: string; to: string }, table: string, { quote }: Words): readonly string[] {
  return [`alter table ${quote(table)} rename column ${quote(from)} to ${quote(to)}`];
}

/** ` check (…)`, where the column has limits. */
function checked(column: Column, { quote }: Words): string {
  const check = checkOf(column, 'postgres', quote);
  return check === '' ? '' : ` ${check}`;
}

type ColumnChange = Extract<Edit, { kind: 'changeColumn' }>;

/** `name`: what the column is called at that point. */
function changed(
  { column, value, isLimited }: ColumnChange,
  name: string,
  table: string,
  words: Words,
): readonly string[] {
  const { quote, literal } = words;
  const check = checked({ ...column, name }, words);
  const alter = `alter table ${quote(table)} alter column ${quote(name)}`;
  return [
    ...(column.reference ? [unconstrained('f', name, table, words)] : []),
    ...(isLimited ? [unconstrained('c', name, table, words)] : []),
    `${alter} drop default`,
    `${alter} drop not null`,
    `${alter} type ${typeOf(column)} using ${value}`,
    ...(column.default === null ? [] : [`${alter} set default ${literal(column.default)}`]),
    ...(check === '' ? [] : [`alter table ${quote(table)} add${check}`]),
    ...linked({ ...column, name }, table, words),
  ];
}

/** Foreign keys and checks keep their names when columns and tables get others: those to drop are found by their column. */
function unconstrained(kind: 'f' | 'c', column: string, table: string, { quote, literal }: Words): string {
  const ofColumn = `select attnum from pg_attribute where attrelid = rel and attname = ${literal(column)}`;
  return [
    `do $$ declare rel regclass := ${literal(quote(table))}; link name; begin`,
    `for link in select conname from pg_constraint where conrelid = rel and contype = '${kind}' and conkey = array(${ofColumn})`,
    `loop execute format('alter table %s drop constraint %I', rel, link); end loop; end $$`,
  ].join(' ');
}

function linked({ name, reference }: Column, table: string, { quote }: Words): readonly string[] {
  if (!reference) return [];
  const { target, onDelete } = reference;
  const leads = `foreign key (${quote(name)}) references ${quote(target.table)} (${quote(target.identifier.column)})`;
  return [
    `alter table ${quote(table)} add constraint ${quote(linkName(table, name))} ${leads} on delete ${ON_DELETE[onDelete]}`,
  ];
}

const alter = (edit: Edit, table: string, words: Words): readonly string[] =>
  // The entry of a kind takes the edits of that kind.
  (alters[edit.kind] as Alter<Edit>)(edit, table, words);

/** Values speak of the columns as they were, so that they come before names change; what is new comes after. */
const ORDER: readonly Edit['kind'][] = [
  'renameTable',
  'renameIdentifier',
  'dropIndex',
  'changeColumn',
  'dropColumn',
  'renameColumn',
  'addColumn',
  'setColumn',
];

const isRename = (edit: Edit): boolean => edit.kind === 'renameColumn';

/** Where no name changes, each edit stands for itself; else their statements, in another order, stand at the last one. */
function alterTable({ table, edits, columnsBefore, indexes }: TableAlteration, words: Words): Altered {
  const before = new Set(columnsBefore);
  const takesName = (edit: Edit): boolean => edit.kind === 'addColumn' && before.has(edit.column.name);
  const nulls = new Map(edits.map((edit) => [edit, notNull(edit, table, words)]));
  if (edits.length === 1 || !edits.some((edit) => isRename(edit) || takesName(edit))) {
    // What is required may be filled by edits that come later.
    const last = [...nulls.values()].flat();
    const each = edits.map((edit, index) => [
      ...alter(edit, table, words),
      ...(index === edits.length - 1 ? last : []),
    ]);
    return { each, together: [] };
  }
  const statements = [...inOrder(edits, table, words), ...[...nulls.values()].flat()];
  // An index goes with its column, though another column of that name comes.
  const missing = indexes.map((sql) => sql.replace(/^create (unique )?index /, '$&if not exists '));
  const each = edits.map((_, index) => (index === edits.length - 1 ? [...statements, ...missing] : []));
  return { each, together: [] };
}

function notNull(edit: Edit, table: string, { quote }: Words): readonly string[] {
  if ((edit.kind !== 'addColumn' && edit.kind !== 'changeColumn') || edit.column.nullable) return [];
  return [`alter table ${quote(table)} alter column ${quote(edit.column.name)} set not null`];
}

function inOrder(edits: readonly Edit[], table: string, words: Words): readonly string[] {
  const former = new Map(
    edits.flatMap((edit) => (edit.kind === 'renameColumn' ? [[edit.to, edit.from] as const] : [])),
  );
  const make = (edit: Edit): readonly string[] => {
    if (edit.kind !== 'changeColumn') return alter(edit, table, words);
    return changed(edit, former.get(edit.column.name) ?? edit.column.name, table, words);
  };
  return ORDER.flatMap((kind) => {
    const same = edits.filter((edit) => edit.kind === kind);
    return kind === 'renameColumn' ? renamedTogether(former, table, words) : same.flatMap(make);
  });
}

/** Two columns may change their names with each other. */
function renamedTogether(former: ReadonlyMap<string, string>, table: string, words: Words): readonly string[] {
  const passing = (index: number): string => `${ENGINE_PREFIX}passing_${index}`;
  const both = [...former].map(
    ([to, from], index) =>
      [
        { from, to: passing(index) },
        { from: passing(index), to },
      ] as const,
  );
  return [...both.map(([away]) => away), ...both.map(([, back]) => back)].flatMap((one) => renamed(one, table, words));
}

export function postgresAlterations(words: Words): Alterations {
  const { literal, quote } = words;
  const value = (column: string, key: string): string => `${quote(column)} -> ${literal(key)}`;
  return {
    alterTable: (alteration) => alterTable(alteration, words),
    hasKey: (column, key) => `(${value(column, key)}) is not null`,
    keyJson: (column, key) => `(${value(column, key)})::text`,
    // json_object_agg would put blanks between the keys.
    withoutKeys: (column, keys) => {
      const kept = `string_agg(to_json(key)::text || ':' || value::text, ',')`;
      const others = `json_each(${quote(column)}) where key not in (${keys.map(literal).join(', ')})`;
      return `(select concat('{', ${kept}, '}')::json from ${others})`;
    },
    isEmpty: (json) => `${json}::text = '{}'`,
    keyPath: literal,
  };
}
