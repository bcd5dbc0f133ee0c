/**
 * A new record with new records around it, and links to others, as one statement: what is shown of the new ones is read
 * where they are made, since a statement does not see its own rows in the tables.
 */
import { isObject, type JsonObject } from '../../json.ts';
import { identifierIn, type RecordType } from '../../model/model.ts';
import type { View } from '../../query/list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { Statement, Values } from '../driver.ts';
import { longestRecord } from '../lengths.ts';
import { recordJson, ROOT_ALIAS } from '../read/views.ts';
import { newValues } from './insert.ts';
import { isNode } from './members.ts';
import { type Node, rememberRow, type WriteSession } from './session.ts';
import { bound, isCurrent } from './tables.ts';

/** Records that one statement makes: each shape of a body is a statement of its own. */
const MOST_MADE = 16;
/** Characters that a linked record may show without a look at the budget of memory. */
const MOST_LINKED = 16 * 1024;

/** Values that take another way than the body. */
type Role = 'given' | 'linked' | { readonly made: number };

interface MadeRow {
  readonly node: Node;
  /** By column, in their order. */
  readonly roles: readonly Role[];
}

interface CreateTree {
  readonly view: View;
  /** Each after those that it refers to. */
  readonly rows: readonly MadeRow[];
  readonly root: number;
}

/** The same shape has the same statement. */
export interface PlannedTree extends CreateTree {
  readonly shape: string;
  readonly values: Values;
}

/**
 * Notes what is only linked as if it were known: nothing of it is compared, and its foreign key finds out whether it is
 * there. False if the body says more of a record that is there.
 */
export function noteLinks(session: WriteSession, type: RecordType, body: JsonObject): boolean {
  return Object.entries(body).every(([key, value]) => {
    const relation = type.relations.get(key);
    if (!relation || value === null) return true;
    const { target, link } = relation;
    return (Array.isArray(value) ? value : [value]).every((one) => {
      if (!isObject(one)) return false;
      const identifier = identifierIn(one, target);
      if (identifier === undefined) return noteLinks(session, target, one);
      if (link.at !== 'source' || Object.keys(one).length > 1) return false;
      rememberRow(session, target, [identifier], '');
      return true;
    });
  });
}

/** Undefined where one statement cannot make what the body says, or cannot show it. */
export function planTree(session: WriteSession, view: View, root: Node): PlannedTree | undefined {
  const { made, adopters, released, checks, paired, unpaired, deleted, writeRows } = session;
  const others = [adopters, paired, unpaired, deleted].some(({ size }) => size > 0);
  if (others || released.length > 0 || checks.length > 0 || made.length > Math.min(MOST_MADE, writeRows))
    return undefined;
  // An insert in the statement names columns: a record that has none is made by the transaction.
  if (made.some(({ table }) => table.columns.length === 0)) return undefined;
  const touched = [...session.existing.values()].flatMap((nodes) => [...nodes.values()]);
  if (touched.some(({ assigned, openKeys }) => assigned.size > 0 || openKeys !== undefined)) return undefined;
  const ordered = inOrder(made);
  if (!ordered || !isShown(view, made, touched)) return undefined;
  const rows = ordered.map((node) => ({ node, roles: rolesOf(node, ordered) }));
  const names = rows.map(({ node, roles }) => `${node.type.table} ${roles.map(wordOf).join(' ')}`);
  const index = ordered.indexOf(root);
  return {
    view,
    rows,
    root: index,
    shape: `${view.key}|${index}|${names.join('|')}`,
    values: rows.flatMap(({ node, roles }) =>
      newValues(node, columnsOf(node)).filter((_, place) => typeof roles[place] === 'string'),
    ),
  };
}

const columnsOf = ({ table }: Node): readonly string[] => table.columns.map(({ name }) => name);
const wordOf = (role: Role): string => (typeof role === 'string' ? role.charAt(0) : String(role.made));

/** Undefined if they refer to each other. */
function inOrder(made: readonly Node[]): readonly Node[] | undefined {
  const ordered = new Set<Node>();
  const begun = new Set<Node>();
  function add(node: Node): boolean {
    if (ordered.has(node)) return true;
    if (begun.has(node)) return false;
    begun.add(node);
    for (const { value } of node.assigned.values()) if (isNode(value) && !add(value)) return false;
    ordered.add(node);
    return true;
  }
  return made.every(add) ? [...ordered] : undefined;
}

const rolesOf = ({ table, assigned }: Node, ordered: readonly Node[]): readonly Role[] =>
  table.columns.map(({ name, reference }): Role => {
    const value = assigned.get(name)?.value ?? null;
    if (isNode(value)) return { made: ordered.indexOf(value) };
    return reference && value !== null ? 'linked' : 'given';
  });

/** Whether each table that the view reads has only new records in it, or only others, and these are short. */
function isShown({ type, relations }: View, made: readonly Node[], linked: readonly Node[]): boolean {
  const tables = new Set(made.map((node) => node.type.table));
  return relations.every(({ relation: { target, link }, view }) => {
    if (view.relations.length > 0 || target.table === type.table || link.at === 'join') return false;
    const isLinked = linked.some((node) => node.type.table === target.table);
    return !isLinked || (!tables.has(target.table) && longestRecord(view) <= MOST_LINKED);
  });
}

/** Like every flat statement, it does nothing unless the tables are as they were last seen. */
export function treeStatement({ view, rows, root }: CreateTree, dialect: Dialect): Statement {
  const { quote } = dialect;
  const identifierOf = (index: number): string => quote(rows[index]?.node.type.identifier.column ?? '');
  const count = rows.reduce((sum, { roles }) => sum + roles.filter((role) => typeof role === 'string').length, 0);
  const free: string[] = [];
  let place = 0;
  const inserts = rows.map(({ node: { table, type }, roles }, row) => {
    const values = table.columns.map((column, index) => {
      const role = roles[index];
      if (typeof role === 'object') return `(select ${identifierOf(role.made)} from ${newRows(role.made, dialect)})`;
      place += 1;
      const target = role === 'linked' ? column.reference?.target : undefined;
      if (target)
        free.push(
          `exists (select from ${quote(target.table)} where ${quote(target.identifier.column)} = $${place}::bigint for key share skip locked)`,
        );
      return bound(column, place, dialect);
    });
    const names = table.columns.map(({ name }) => quote(name)).join(', ');
    // One after the other, so that identifiers follow the body.
    const from = row === 0 ? '' : ` from ${newRows(row - 1, dialect)}`;
    return [`insert into ${quote(type.table)} (${names}) select ${values.join(', ')}${from}`, 'returning *'] as const;
  });
  const shown = [...Map.groupBy(rows.keys(), (index) => rows[index]?.node.type.table ?? '')].flatMap(([table, all]) => {
    const others = all.filter((index) => index !== root);
    const read = others.map((index) => `select * from ${newRows(index, dialect)}`);
    return others.length === 0 ? [] : [`${quote(table)} as (${read.join(' union all ')})`];
  });
  const sql = (conditions: readonly string[]): string => {
    const made = inserts.map(([insert, returning], index) => {
      const where = index === 0 ? ` where ${conditions.join(' and ')}` : '';
      return `${newRows(index, dialect)} as (${insert}${where} ${returning})`;
    });
    const json = recordJson(view, ROOT_ALIAS, dialect);
    return `with ${[...made, ...shown].join(', ')} select ${ROOT_ALIAS}.${identifierOf(root)}, ${json} from ${newRows(root, dialect)} as ${ROOT_ALIAS}`;
  };
  const current = isCurrent(dialect, count + 1);
  // Together with others, it does not wait for what it links.
  return { sql: sql([current]), together: { sql: sql([current, ...free]) } };
}

/** No table has such a name. */
const newRows = (index: number, { quote }: Dialect): string => quote(`new ${index}`);
