/**
 * The answer of a dry run: records as a plan would make them, without writing anything. Every table that the plan changes is
 * replaced, in the statements that read the answer, by the rows that the answer needs of it.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import type { JoinTable, RecordType, Reference } from '../../model/model.ts';
import { canFollow, relationsFor, type Rights } from '../../model/rights.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { columnSql } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader, Statement } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { EffectKind, WriteEffect } from '../store.ts';
import { withFolded } from '../columns.ts';
import { changedBy, changesOf, newValues, type WritePlan } from './plan.ts';
import { type JoinPair, type Node, plain, type RecordSet, storedValue, type WriteSession } from './session.ts';
import { rowsJson } from './tables.ts';

/** The identifiers that new records would get: those that follow the greatest one ever used. */
export async function numberNew({ made, given, tables, writer }: WriteSession): Promise<void> {
  for (const [type, nodes] of Map.groupBy(made, (node) => node.type)) {
    const last = Number((await writer.value(tables.of(type).lastIdentifier, [])) ?? 0);
    let next = Math.max(last, ...(given.get(type)?.keys() ?? []));
    for (const node of nodes) node.identifier ??= next += 1;
  }
}

interface Parts {
  readonly session: WriteSession;
  readonly plan: WritePlan;
  readonly dialect: Dialect;
  readonly reads: Pick<Reads, 'shown'>;
}

/** Reads records of the view as they would be once the plan was applied. */
export async function previewReader(parts: Parts, view: View, roots: readonly Node[]): Promise<Reader> {
  const { session, dialect } = parts;
  const { writer } = session;
  const replaced = replacements(parts, await shownRows(parts, view, roots));
  if (replaced.length === 0) return writer;
  const named = replaced.map(({ table, sql }) => `${dialect.quote(table)} as (${sql})`);
  const values = replaced.flatMap((one) => one.values);
  const over = ({ sql }: Statement): Statement => ({ sql: `with ${named.join(', ')} ${sql}` });
  return {
    ...writer,
    value: (statement, bound) => writer.value(over(statement), [...values, ...bound]),
    column: (statement, bound, onRow) => writer.column(over(statement), [...values, ...bound], onRow),
  };
}

function addTo(set: RecordSet, { table }: RecordType, identifiers: readonly number[]): void {
  const known = set.get(table) ?? new Set<number>();
  set.set(table, known);
  for (const identifier of identifiers) known.add(identifier);
}

/** By table, the stored records that the answer may show. */
async function shownRows(
  { session: { existing, writer }, reads }: Parts,
  view: View,
  roots: readonly Node[],
): Promise<RecordSet> {
  const shown: RecordSet = new Map();
  for (const [type, nodes] of existing) addTo(shown, type, [...nodes.keys()]);
  const add = async (one: View, identifiers: readonly number[]): Promise<void> => {
    if (one.relations.length === 0) return;
    const rows = identifiers.length === 0 ? [] : await reads.shown(writer, one, identifiers);
    if (rows === undefined) {
      const message = 'The record would show more related records than an answer may: leave some out with include=';
      throw new Problem('too-many-related', message);
    }
    for (const { type, identifier } of rows) addTo(shown, type, [identifier]);
    // Records that the body names may get to any place of the answer.
    for (const { view: related } of one.relations)
      await add(
        related,
        [...existing].flatMap(([type, nodes]) => (type.table === related.type.table ? [...nodes.keys()] : [])),
      );
  };
  await add(
    view,
    roots.flatMap(({ stored, identifier = 0 }) => (stored ? [identifier] : [])),
  );
  return shown;
}

interface Replacement {
  readonly table: string;
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

function replacements({ session, plan, dialect }: Parts, shown: RecordSet): readonly Replacement[] {
  const { quote, oneOf, integer } = dialect;
  const { trees = [], pairs: lost = [] } = plan.cascade ?? {};
  const stored = (table: string): string => (dialect.locks ? quote(table) : `main.${quote(table)}`);
  const listed = (some: Iterable<number>): string => JSON.stringify([...some]);
  const written = [...changedBy(plan), ...session.made];
  const touched = [...plan.unlinks, ...trees.flatMap(({ levels }) => levels), ...written];
  const tables = [...new Map(touched.map(({ type }) => [type.table, type])).values()].map((type): Replacement => {
    const { columns } = session.tables.of(type);
    const nodes = written.filter((node) => node.type.table === type.table);
    const values: SqlValue[] = [];
    const names = [type.identifier.column, ...columns.map(({ name }) => name)];
    const identifier = quote(type.identifier.column);
    const selected = names.map((name) => {
      const unlinked = plan.unlinks.filter((one) => one.type.table === type.table && one.reference.column === name);
      if (unlinked.length === 0) return quote(name);
      values.push(listed(unlinked.flatMap((one) => one.identifiers)));
      return `case when ${oneOf(identifier)} then null else ${quote(name)} end as ${quote(name)}`;
    });
    const replaced = new Set(session.gone.get(type.table));
    for (const node of nodes) if (node.stored) replaced.add(node.identifier ?? 0);
    const kept = [...(shown.get(type.table) ?? [])].filter((one) => !replaced.has(one));
    values.push(listed(kept), rowsJson(nodes.map((node) => rowOf(node, names))));
    const rows = rowsOf([integer, ...columns.map((column) => columnSql(column, dialect))], dialect);
    const sql = `select ${selected.join(', ')} from ${stored(type.table)} where ${oneOf(identifier)} union all ${rows}`;
    return { table: type.table, sql, values };
  });
  const joins = [...new Set([...plan.pairs, ...plan.unpairs, ...lost].map(({ table }) => table))];
  const id = (value: number | Node): number => (typeof value === 'number' ? value : (value.identifier ?? 0));
  const pairsIn = (some: WritePlan['pairs'], join: JoinTable): readonly (readonly [number, number])[] =>
    some.flatMap(({ table, left, right }) => (table === join ? [[id(left), id(right)] as const] : []));
  return [
    ...tables,
    ...joins.map((join): Replacement => {
      const [left, right] = [quote(join.left.column), quote(join.right.column)];
      const gone = lost.flatMap(({ table, pairs }) => (table === join ? pairs : []));
      const made = pairsIn(plan.pairs, join);
      const [ofLeft, ofRight] = [join.left, join.right].map(({ type }) => listed(shown.get(type.table) ?? []));
      const values = [JSON.stringify([...pairsIn(plan.unpairs, join), ...made, ...gone]), ofLeft ?? '', ofRight ?? ''];
      const kept = `not (${dialect.oneOfPairs(left, right)}) and ${oneOf(left)} and ${oneOf(right)}`;
      const rows = rowsOf([integer, integer], dialect);
      const sql = `select ${left}, ${right} from ${stored(join.name)} where ${kept} union all ${rows}`;
      return { table: join.name, sql, values: [...values, rowsJson(made)] };
    }),
  ];
}

/** SQL: rows of a JSON array, as `rowsJson` makes it. */
const rowsOf = (types: readonly string[], { rowsOfJson }: Dialect): string =>
  rowsOfJson?.(types.map((type, index) => ({ name: `c${index}`, type }))) ??
  `select ${types.map((type, index) => `cast(value ->> '$.c${index}' as ${type})`).join(', ')} from json_each(?)`;

/** The whole row, as it would be. */
function rowOf(node: Node, names: readonly string[]): readonly SqlValue[] {
  const { stored, table } = node;
  if (!stored) return newValues(node, names);
  const changes = changesOf(node).map(([column, value]) => [column, plain(value) ?? null] as const);
  const changed = new Map(withFolded(table, changes));
  return names.map((name) => changed.get(name) ?? (changed.has(name) ? null : (storedValue(node, name) ?? null)));
}

// The report: which records are created, changed, linked, unlinked and deleted.

/** The most identifiers that one effect names. */
const MOST_NAMED = 1000;

/** One kind of effect on records of one type, through one of its relations. */
interface Noted {
  readonly kind: EffectKind;
  readonly type: RecordType;
  /** The name of the relation that leads to a linked or unlinked record. */
  readonly relation?: string | undefined;
  readonly identifiers: readonly number[];
  readonly keys?: readonly string[];
}

export function effectsOf(rights: Rights, plan: WritePlan): readonly WriteEffect[] {
  const { cascade, unlinks, steps, pairs, unpairs } = plan;
  const noted = [
    ...(cascade?.trees ?? []).flatMap(({ levels }) => levels.map((level): Noted => ({ kind: 'deleted', ...level }))),
    ...(cascade?.pairs ?? []).map(({ table, column, pairs: lost }): Noted => {
      const identifiers = lost.map(([left, right]) => (column === table.left.column ? right : left));
      return { kind: 'unlinked', ...otherSide(rights, table, column), identifiers };
    }),
    ...unlinks.map(({ type, reference, identifiers }): Noted => {
      return { kind: 'unlinked', type, relation: relationOf(rights, reference), identifiers };
    }),
    ...steps.flatMap((step): Noted[] =>
      step.kind === 'insert'
        ? [{ kind: 'created', type: step.node.type, identifiers: [step.node.identifier ?? 0] }]
        : [],
    ),
    ...changedBy(plan).flatMap((node) => changesNoted(rights, node)),
    ...unpairs.flatMap((pair) => pairNoted(rights, 'unlinked', pair)),
    ...pairs.flatMap((pair) => pairNoted(rights, 'linked', pair)),
  ];
  const groups = Map.groupBy(noted, ({ kind, type, relation = '' }) => `${kind} ${type.table} ${relation}`);
  const whole = (kind: EffectKind): ReadonlySet<string> =>
    new Set(noted.flatMap((one) => (one.kind === kind ? one.identifiers.map((id) => `${one.type.table} ${id}`) : [])));
  const [created, deleted] = [whole('created'), whole('deleted')];
  return [...groups.values()].flatMap((group): WriteEffect[] => {
    const [first] = group;
    if (!first) return [];
    const { kind, type, relation } = first;
    // A created or deleted record has no further effects.
    const isWhole = (id: number): boolean =>
      (kind !== 'created' && created.has(`${type.table} ${id}`)) ||
      (kind !== 'deleted' && deleted.has(`${type.table} ${id}`));
    const found = [...new Set(group.flatMap(({ identifiers }) => identifiers))].filter((id) => !isWhole(id));
    const keys = [...new Set(group.flatMap((one) => one.keys ?? []))].toSorted();
    const identifiers = found.toSorted((a, b) => a - b).slice(0, MOST_NAMED);
    return found.length === 0 ? [] : [{ kind, type: type.name, relation, keys, count: found.length, identifiers }];
  });
}

/** The name of a link; undefined if it has none, or the client may not know it. */
const relationOf = (rights: Rights, { relation }: Reference): string | undefined =>
  relation && canFollow(rights, relation) ? relation.name : undefined;

/** The side of a join table that is not in this column, and its own name for the links. */
function otherSide(rights: Rights, { name, left, right }: JoinTable, column: string): Pick<Noted, 'type' | 'relation'> {
  const other = column === left.column ? right : left;
  const found = [...relationsFor(rights, other.type).values()].find(
    ({ link }) => link.at === 'join' && link.table.name === name && link.sourceColumn === other.column,
  );
  return { type: other.type, relation: found?.name };
}

const changesNoted = (rights: Rights, node: Node): readonly Noted[] =>
  changesOf(node).flatMap(([name, value]): Noted[] => {
    const { type, identifier = 0, table } = node;
    const identifiers = [identifier];
    const { field, reference } = table.columns.find((column) => column.name === name) ?? {};
    // Stamps go with every change.
    if (field?.generated !== undefined) return [];
    if (reference)
      return [
        { kind: value === null ? 'unlinked' : 'linked', type, relation: relationOf(rights, reference), identifiers },
      ];
    return [{ kind: 'changed', type, identifiers, keys: field ? [field.name] : changedKeys(node) }];
  });

const changedKeys = ({ openKeys, storedOpenKeys }: Node): readonly string[] =>
  [...openKeys].flatMap(([key, { member, isWritten }]) =>
    isWritten && member?.text !== storedOpenKeys?.get(key)?.text ? key : [],
  );

/** Both records get one link more, or have one less. */
const pairNoted = (rights: Rights, kind: 'linked' | 'unlinked', { table, left, right }: JoinPair): readonly Noted[] =>
  (
    [
      [table.left.column, right],
      [table.right.column, left],
    ] as const
  ).map(([column, other]) => {
    const identifier = typeof other === 'number' ? other : (other.identifier ?? 0);
    return { kind, ...otherSide(rights, table, column), identifiers: [identifier] };
  });
