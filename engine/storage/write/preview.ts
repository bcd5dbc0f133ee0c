/** Dry runs: a CTE with the planned rows replaces each changed table in statements that read the response. */
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
import { added } from './cascade.ts';
import { changedBy, changesOf, newValues, type WritePlan, writtenBy } from './plan.ts';
import { boundValue, type Node, type RecordSet, storedValue, type WriteSession } from './session.ts';
import { rowsJson } from './tables.ts';

/** Numbers new records after the greatest identifier ever used, in the order in which the write would insert them. */
export async function numberNew({ given, tables, writer }: WriteSession, { steps }: WritePlan): Promise<void> {
  const made = steps.flatMap(({ node }) => (node.stored ? [] : node));
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

export async function previewReader(parts: Parts, view: View, roots: readonly Node[]): Promise<Reader> {
  const { session, dialect } = parts;
  const { writer } = session;
  const replaced = replacements(parts, await shownRows(parts, view, roots));
  if (replaced.length === 0) return writer;
  const named = replaced.map(({ table, sql }) => `${dialect.quote(table)} as materialized (${sql})`);
  const values = replaced.flatMap((one) => one.values);
  const over = ({ sql }: Statement): Statement => ({ sql: `with ${named.join(', ')} ${sql}` });
  return {
    ...writer,
    value: (statement, bound) => writer.value(over(statement), [...values, ...bound]),
    column: (statement, bound, onRow) => writer.column(over(statement), [...values, ...bound], onRow),
  };
}

async function shownRows({ session, reads }: Parts, view: View, roots: readonly Node[]): Promise<RecordSet> {
  const { existing, writer } = session;
  const shown: RecordSet = new Map();
  for (const [type, nodes] of existing) added(shown, type, [...nodes.keys()]);
  const add = async (one: View, identifiers: readonly number[]): Promise<void> => {
    if (one.relations.length === 0) return;
    const rows = identifiers.length === 0 ? [] : await reads.shown(writer, one, identifiers);
    if (rows === undefined) {
      const message = 'The record would show more related records than an answer may: leave some out with include=';
      throw new Problem('too-many-related', message);
    }
    for (const { type, identifier } of rows) added(shown, type, [identifier]);
    // Records of the body may appear anywhere in the response.
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
  const pairsIn = (some: WritePlan['pairs'], join: JoinTable): readonly (readonly SqlValue[])[] =>
    some.flatMap(({ table, left, right }) => (table === join ? [[boundValue(left), boundValue(right)]] : []));
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

const rowsOf = (types: readonly string[], { rowsOfJson }: Dialect): string =>
  rowsOfJson?.(types.map((type, index) => ({ name: `c${index}`, type }))) ??
  `select ${types.map((type, index) => `cast(value ->> '$.c${index}' as ${type})`).join(', ')} from json_each(?)`;

function rowOf(node: Node, names: readonly string[]): readonly SqlValue[] {
  if (!node.stored) return newValues(node, names);
  const changed = new Map(writtenBy({ node, changes: changesOf(node) }));
  return names.map((name) => changed.get(name) ?? (changed.has(name) ? null : (storedValue(node, name) ?? null)));
}

const MOST_NAMED = 1000;

interface Affected {
  readonly type: RecordType;
  readonly relation?: string | undefined;
}

export function effectsOf(rights: Rights, plan: WritePlan): readonly WriteEffect[] {
  type Effect = Affected & { readonly kind: EffectKind; readonly found: Set<number>; readonly keys: Set<string> };
  const effects = new Map<string, Effect>();
  const note = (kind: EffectKind, { type, relation }: Affected, identifiers: readonly (number | Node)[]): Effect => {
    const key = `${kind} ${type.table} ${relation ?? ''}`;
    const effect = effects.get(key) ?? { kind, type, relation, found: new Set<number>(), keys: new Set<string>() };
    effects.set(key, effect);
    for (const one of identifiers) effect.found.add(typeof one === 'number' ? one : (one.identifier ?? 0));
    return effect;
  };
  const { trees = [], pairs: lost = [] } = plan.cascade ?? {};
  const seen = ({ isHidden }: { readonly isHidden: boolean }): boolean => !isHidden;
  for (const { type, identifiers } of trees.flatMap(({ levels }) => levels).filter(seen))
    note('deleted', { type }, identifiers);
  for (const { table, column, pairs } of lost.filter(seen)) {
    const others = pairs.map(([left, right]) => (column === table.left.column ? right : left));
    note('unlinked', otherSide(rights, table, column), others);
  }
  for (const { type, reference, identifiers } of plan.unlinks.filter(seen))
    note('unlinked', { type, relation: relationOf(rights, reference) }, identifiers);
  for (const { node } of plan.steps) if (!node.stored) note('created', node, [node]);
  for (const node of changedBy(plan))
    for (const [name, value] of changesOf(node)) {
      const { field, reference } = node.table.columnOf.get(name) ?? {};
      const { type } = node;
      if (reference) {
        const relation = relationOf(rights, reference);
        note(value === null ? 'unlinked' : 'linked', { type, relation }, [node]);
      } else if (field?.generated === undefined) {
        const { keys } = note('changed', { type }, [node]);
        for (const key of field ? [field.name] : changedKeys(node)) keys.add(key);
      }
    }
  // A pair links both of its records.
  for (const [kind, pairs] of [['unlinked', plan.unpairs] as const, ['linked', plan.pairs] as const])
    for (const { table, left, right } of pairs) {
      note(kind, otherSide(rights, table, table.left.column), [right]);
      note(kind, otherSide(rights, table, table.right.column), [left]);
    }
  const isOf = (kind: EffectKind, { table }: RecordType, identifier: number): boolean =>
    effects.get(`${kind} ${table} `)?.found.has(identifier) === true;
  return [...effects.values()].flatMap(({ kind, type, relation, found, keys }): WriteEffect[] => {
    // A created or deleted record has no further effects.
    const identifiers = [...found].filter(
      (one) =>
        (kind === 'created' || !isOf('created', type, one)) && (kind === 'deleted' || !isOf('deleted', type, one)),
    );
    if (identifiers.length === 0) return [];
    const named = identifiers.toSorted((a, b) => a - b).slice(0, MOST_NAMED);
    const { length: count } = identifiers;
    return [{ kind, type: type.name, relation, keys: [...keys].toSorted(), count, identifiers: named }];
  });
}

/** The name of a link; undefined if it has none, or the client must not see it. */
const relationOf = (rights: Rights, { relation }: Reference): string | undefined =>
  relation && canFollow(rights, relation) ? relation.name : undefined;

/** The other side of a join table, and the name of its relation. */
function otherSide(rights: Rights, { name, left, right }: JoinTable, column: string) {
  const other = column === left.column ? right : left;
  const found = [...relationsFor(rights, other.type).values()].find(
    ({ link }) => link.at === 'join' && link.table.name === name && link.sourceColumn === other.column,
  );
  return { type: other.type, relation: found?.name };
}

const changedKeys = ({ openKeys, storedOpenKeys }: Node): readonly string[] =>
  [...openKeys].flatMap(([key, { member, isWritten }]) =>
    isWritten && member?.text !== storedOpenKeys?.get(key)?.text ? key : [],
  );
