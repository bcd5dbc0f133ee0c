/** Changes of tables in SQLite: by ALTER TABLE where it can, else by a new table that takes the old one's place. */
import { ENGINE_PREFIX } from '../../model/model.ts';
import type { Column } from '../columns.ts';
import { columnWords, ON_DELETE } from '../define.ts';
import type { Dialect } from '../driver.ts';
import { alterBy, type Altered, type Alters, commonAlters, type Edit, type TableAlteration } from '../migrate/alter.ts';

/** undefined where ALTER TABLE cannot do it. */
const alters: Alters<readonly string[] | undefined> = {
  ...commonAlters,
  addColumn: ({ column }, table, dialect) => {
    const { quote } = dialect;
    if (!column.nullable && column.default === null) return undefined;
    const words = `${columnWords(column, dialect)}${references(column, dialect)}`;
    return [`alter table ${quote(table)} add column ${quote(column.name)} ${words}`];
  },
  changeColumn: () => undefined,
  // A column that is part of a FOREIGN KEY clause cannot be dropped.
  dropColumn: (edit, table, dialect) => (edit.isReference ? undefined : commonAlters.dropColumn(edit, table, dialect)),
};

/** ALTER TABLE adds a foreign key only together with its column. */
function references({ reference }: Column, { quote }: Dialect): string {
  if (!reference) return '';
  const { target, onDelete } = reference;
  return ` references ${quote(target.table)}(${quote(target.identifier.column)}) on delete ${ON_DELETE[onDelete]}`;
}

/** These are made before a rebuild, too: foreign keys of other tables follow a rename, but not a rebuild. */
const ALWAYS: ReadonlySet<Edit['kind']> = new Set(['renameTable', 'renameIdentifier']);

const folded = (name: string): string => name.toLowerCase();

/** Whether a new name was that of another column: then the order of the statements would matter. */
function namesCollide({ edits, columnsBefore }: TableAlteration): boolean {
  const before = new Set(columnsBefore.map(folded));
  return edits.some((edit) => {
    if (edit.kind === 'addColumn') return before.has(folded(edit.column.name));
    return edit.kind === 'renameColumn' && folded(edit.from) !== folded(edit.to) && before.has(folded(edit.to));
  });
}

/** The procedure of sqlite.org/lang_altertable.html, section 7. Identifiers are never reused: the sequence continues. */
function rebuild(
  { table, identifier, values, create, indexes }: TableAlteration,
  { quote, literal }: Dialect,
): string[] {
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

export function alterTable(alteration: TableAlteration, dialect: Dialect): Altered {
  const { edits, table } = alteration;
  const each = edits.map((edit) => alterBy(alters, edit, table, dialect));
  const able = each.every((statements) => statements !== undefined);
  if (able && !namesCollide(alteration)) return { each, together: [] };
  return {
    each: edits.map((edit, index) => (ALWAYS.has(edit.kind) ? (each[index] ?? []) : [])),
    together: rebuild(alteration, dialect),
  };
}
