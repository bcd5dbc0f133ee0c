/** Changes of tables in PostgreSQL: ALTER TABLE can do each of them, in an order of its own. */
import { ENGINE_PREFIX } from '../../model/model.ts';
import { checkOf, type Column } from '../columns.ts';
import { addForeignKey, columnSql, columnWords } from '../define.ts';
import type { Dialect } from '../driver.ts';
import { alterBy, type Altered, type Alters, commonAlters, type Edit, type TableAlteration } from '../migrate/alter.ts';

const alters: Alters = {
  ...commonAlters,
  // What is required may be filled by edits that come later.
  addColumn: ({ column }, table, dialect) => [
    `alter table ${dialect.quote(table)} add column ${dialect.quote(column.name)} ${columnWords({ ...column, nullable: true }, dialect)}`,
    ...linked(column, table, dialect),
  ],
  changeColumn: (edit, table, dialect) => changed(edit, edit.column.name, table, dialect),
};

const linked = ({ name, reference }: Column, table: string, dialect: Dialect): readonly string[] =>
  reference ? addForeignKey(table, name, reference, dialect) : [];

type ColumnChange = Extract<Edit, { kind: 'changeColumn' }>;

/** `name`: what the column is called at that point. */
function changed(
  { column, value, isLimited }: ColumnChange,
  name: string,
  table: string,
  dialect: Dialect,
): readonly string[] {
  const { quote, literal } = dialect;
  const check = checkOf({ ...column, name }, dialect.name, quote);
  const alter = `alter table ${quote(table)} alter column ${quote(name)}`;
  return [
    ...(column.reference ? [unconstrained('f', name, table, dialect)] : []),
    ...(isLimited ? [unconstrained('c', name, table, dialect)] : []),
    `${alter} drop default`,
    `${alter} drop not null`,
    `${alter} type ${columnSql(column, dialect)} using ${value}`,
    ...(column.default === null ? [] : [`${alter} set default ${literal(column.default)}`]),
    ...(check === '' ? [] : [`alter table ${quote(table)} add ${check}`]),
    ...linked({ ...column, name }, table, dialect),
  ];
}

/** Foreign keys and checks keep their names when columns and tables get others: those to drop are found by their column. */
function unconstrained(kind: 'f' | 'c', column: string, table: string, { quote, literal }: Dialect): string {
  const ofColumn = `select attnum from pg_attribute where attrelid = rel and attname = ${literal(column)}`;
  return [
    `do $$ declare rel regclass := ${literal(quote(table))}; link name; begin`,
    `for link in select conname from pg_constraint where conrelid = rel and contype = '${kind}' and conkey = array(${ofColumn})`,
    `loop execute format('alter table %s drop constraint %I', rel, link); end loop; end $$`,
  ].join(' ');
}

/** A column whose name another one gets: it goes before that. Others go last, because values may be taken from them. */
const DROP_NAMESAKE = 'dropNamesake';

/** Values use the columns' old names, so they come before renames; new columns come after. */
const ORDER: readonly (Edit['kind'] | typeof DROP_NAMESAKE)[] = [
  'renameTable',
  'renameIdentifier',
  'dropIndex',
  'changeColumn',
  DROP_NAMESAKE,
  'renameColumn',
  'addColumn',
  'setColumn',
  'dropColumn',
];

const isRename = (edit: Edit): boolean => edit.kind === 'renameColumn';

/** If no name changes, each edit has its own statements; else all statements, in another order, belong to the last edit. */
export function alterTable({ table, edits, columnsBefore, indexes }: TableAlteration, dialect: Dialect): Altered {
  const before = new Set(columnsBefore);
  const takesName = (edit: Edit): boolean => edit.kind === 'addColumn' && before.has(edit.column.name);
  const nulls = new Map(edits.map((edit) => [edit, notNull(edit, table, dialect)]));
  if (edits.length === 1 || !edits.some((edit) => isRename(edit) || takesName(edit))) {
    // What is required may be filled by edits that come later.
    const last = [...nulls.values()].flat();
    const each = edits.map((edit, index) => [
      ...alterBy(alters, edit, table, dialect),
      ...(index === edits.length - 1 ? last : []),
    ]);
    return { each, together: [] };
  }
  const statements = [...inOrder(edits, table, dialect), ...[...nulls.values()].flat()];
  // Dropping a column drops its indexes, even if a new column has its name.
  const missing = indexes.map((sql) => sql.replace(/^create (unique )?index /, '$&if not exists '));
  const each = edits.map((_, index) => (index === edits.length - 1 ? [...statements, ...missing] : []));
  return { each, together: [] };
}

function notNull(edit: Edit, table: string, { quote }: Dialect): readonly string[] {
  if ((edit.kind !== 'addColumn' && edit.kind !== 'changeColumn') || edit.column.nullable) return [];
  return [`alter table ${quote(table)} alter column ${quote(edit.column.name)} set not null`];
}

function inOrder(edits: readonly Edit[], table: string, dialect: Dialect): readonly string[] {
  const former = new Map(
    edits.flatMap((edit) => (edit.kind === 'renameColumn' ? [[edit.to, edit.from] as const] : [])),
  );
  const make = (edit: Edit): readonly string[] => {
    if (edit.kind !== 'changeColumn') return alterBy(alters, edit, table, dialect);
    return changed(edit, former.get(edit.column.name) ?? edit.column.name, table, dialect);
  };
  const given = new Set(
    edits.flatMap((edit) =>
      edit.kind === 'addColumn' ? edit.column.name : edit.kind === 'renameColumn' ? edit.to : [],
    ),
  );
  const phaseOf = (edit: Edit): (typeof ORDER)[number] =>
    edit.kind === 'dropColumn' && given.has(edit.name) ? DROP_NAMESAKE : edit.kind;
  return ORDER.flatMap((phase) => {
    const same = edits.filter((edit) => phaseOf(edit) === phase);
    return phase === 'renameColumn' ? renamedTogether(former, table, dialect) : same.flatMap(make);
  });
}

/** Two columns may change their names with each other. */
function renamedTogether(former: ReadonlyMap<string, string>, table: string, dialect: Dialect): readonly string[] {
  const passing = (index: number): string => `${ENGINE_PREFIX}passing_${index}`;
  const both = [...former].map(
    ([to, from], index) =>
      [
        { from, to: passing(index) },
        { from: passing(index), to },
      ] as const,
  );
  return [...both.map(([away]) => away), ...both.map(([, back]) => back)].flatMap((one) =>
    commonAlters.renameColumn({ kind: 'renameColumn', ...one }, table, dialect),
  );
}
