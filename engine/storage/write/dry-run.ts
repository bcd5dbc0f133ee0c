/**
 * Dry runs: the effects of a plan, as far as the token may know, and the records as the write would leave them. For these, a
 * CTE with the planned rows replaces each changed table in the statements that read the answer.
 */
import type { SqlValue } from '../../field-types/field-type.ts';
import { membersOf } from '../../json/raw.ts';
import { compareIdentifiers, type Identifier } from '../../model/identifier.ts';
import { type JoinTable, type RecordType, type Relation, relationAt } from '../../model/model.ts';
import { canFollow, type Rights, shows } from '../../model/rights.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import type { Dialect } from '../dialect.ts';
import type { Reader, Statement } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { EffectKind, WriteEffect } from '../store.ts';
import { columnSql, columnTypeOf } from '../tables.ts';
import { frozen, greatestOf, isNew, numberOf, type RowChange, type RowId, type WritePlan } from './plan.ts';
import { added, isIn, type RecordSet, seenAmong, type WriteSession } from './session.ts';
import { rowsJson, typed } from './tables.ts';

const MAX_IDENTIFIERS = 1000;

interface Affected {
  readonly type: RecordType;
  readonly relation?: string | undefined;
}

/** `created`: the identifiers of the new records. */
export function effectsOf(
  { rights, tables }: Pick<WriteSession, 'rights' | 'tables'>,
  plan: WritePlan,
  created: readonly Identifier[],
  isSeen: IsSeen = () => true,
): readonly WriteEffect[] {
  type Effect = Affected & { readonly kind: EffectKind; readonly ids: Set<Identifier>; readonly keys: Set<string> };
  const effects = new Map<string, Effect>();
  const note = (kind: EffectKind, { type, relation }: Affected, rows: readonly RowId[]): Effect => {
    const key = `${kind} ${type.table} ${relation ?? ''}`;
    const effect = effects.get(key) ?? { kind, type, relation, ids: new Set<Identifier>(), keys: new Set<string>() };
    effects.set(key, effect);
    for (const row of rows) effect.ids.add(numberOf(row, created));
    return effect;
  };
  const seen = plan.rows.flatMap((change): readonly RowChange[] => {
    if (change.isHidden) return [];
    const { kind, type, rows } = change;
    return [kind === 'delete' ? change : { ...change, rows: rows.filter((row) => isSeen(type, row)) }];
  });
  for (const { kind, type, rows, set, before } of seen)
    if (kind === 'delete') note('deleted', { type }, rows);
    else if (kind === 'insert') note('created', { type }, rows);
    else if (!before) {
      const [link = ''] = set.keys();
      const { reference } = tables.of(type).columnOf.get(link) ?? {};
      note('unlinked', { type, relation: nameFor(rights, reference?.relation) }, rows);
    }
  for (const { type, rows, before = [], set } of netUpdates(seen)) {
    const { columnOf, position } = tables.of(type);
    for (const [name, value] of set) {
      const { field, reference, folds } = columnOf.get(name) ?? {};
      const old = before[position.get(name) ?? -1] ?? null;
      const now = numberOf(value, created);
      const named = field?.name ?? reference?.relation?.name;
      if (now === old || folds || (named !== undefined && !shows(rights, type, named))) continue;
      if (reference)
        note(now === null ? 'unlinked' : 'linked', { type, relation: nameFor(rights, reference.relation) }, rows);
      else if (field?.generated === undefined) {
        const { keys } = note('changed', { type }, rows);
        for (const key of field ? [field.name] : changedKeys(String(old), String(now))) keys.add(key);
      }
    }
  }
  // A pair links both of its records.
  for (const { kind, table, left, right, isHidden } of plan.pairs) {
    if (isHidden || (kind !== 'lost' && !(isSeen(table.left.type, left) && isSeen(table.right.type, right)))) continue;
    const effect = kind === 'add' ? 'linked' : 'unlinked';
    note(effect, sideOf(rights, table, table.right), [right]);
    note(effect, sideOf(rights, table, table.left), [left]);
  }
  const isOf = (kind: EffectKind, { table }: RecordType, identifier: Identifier): boolean =>
    effects.get(`${kind} ${table} `)?.ids.has(identifier) === true;
  return [...effects.values()].flatMap(({ kind, type, relation, ids, keys }): WriteEffect[] => {
    // A created or deleted record has no further effects.
    const affected = [...ids].filter(
      (one) =>
        (kind === 'created' || !isOf('created', type, one)) && (kind === 'deleted' || !isOf('deleted', type, one)),
    );
    if (affected.length === 0) return [];
    const identifiers = affected.toSorted(compareIdentifiers).slice(0, MAX_IDENTIFIERS);
    return [{ kind, type: type.name, relation, keys: [...keys].toSorted(), count: affected.length, identifiers }];
  });
}

type IsSeen = (type: RecordType, row: RowId) => boolean;

/** What the role sees of the records of a write that was made. Those of its cascade are marked already. */
export async function seenIn(
  session: WriteSession,
  { rows, pairs }: WritePlan,
  created: readonly Identifier[],
): Promise<IsSeen> {
  const sides = pairs.flatMap(({ table, left, right }) => [
    { type: table.left.type, rows: [left] },
    { type: table.right.type, rows: [right] },
  ]);
  const seen: RecordSet = new Map();
  for (const [type, some] of Map.groupBy([...rows, ...sides], (one) => one.type)) {
    const identifiers = some.flatMap((one) => one.rows.map((row) => numberOf(row, created)));
    added(seen, type, await seenAmong(session, type, identifiers));
  }
  return (type, row) => isIn(seen, type, numberOf(row, created));
}

/** Updates of rows that were read, one for each row: a link may be cut before it changes, and a unique value freed. */
function netUpdates(rows: readonly RowChange[]): readonly RowChange[] {
  const updates = rows.filter(({ kind, before }) => kind === 'update' && before !== undefined);
  return [...Map.groupBy(updates, ({ type, rows: [row] }) => `${type.table} ${String(row)}`).values()].flatMap(
    ([first, ...others]) =>
      first ? { ...first, set: new Map([first, ...others].flatMap(({ set }) => [...set])) } : [],
  );
}

/** The name of a link; undefined if it has none, or the client must not see it. */
const nameFor = (rights: Rights, relation: Relation | undefined): string | undefined =>
  relation && canFollow(rights, relation) ? relation.name : undefined;

/** A side of a join table, and the name of its relation. */
const sideOf = (rights: Rights, table: JoinTable, { type, column }: JoinTable['left']): Affected => ({
  type,
  relation: nameFor(rights, relationAt(table, column)),
});

/** Keys of an open type whose JSON differs. */
function changedKeys(before: string, after: string): readonly string[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key)?.text !== now.get(key)?.text);
}

/** The plan with the identifiers that its new records would get: after the greatest ever used, in the order of the inserts. */
export async function numbered({ tables, writer }: WriteSession, plan: WritePlan): Promise<WritePlan> {
  const last = new Map<RecordType, number>();
  const inserts = plan.rows.filter(({ kind }) => kind === 'insert');
  for (const [type, some] of Map.groupBy(inserts, (change) => change.type)) {
    const { lastIdentifier } = tables.of(type);
    last.set(type, greatestOf(some, lastIdentifier ? Number((await writer.value(lastIdentifier, [])) ?? 0) : 0));
  }
  const rows = plan.rows.map((change): RowChange => {
    if (change.kind !== 'insert' || change.identifier !== undefined) return change;
    const identifier = (last.get(change.type) ?? 0) + 1;
    last.set(change.type, identifier);
    return { ...change, identifier };
  });
  return frozen({ ...plan, rows });
}

interface Parts {
  readonly session: WriteSession;
  readonly plan: WritePlan;
  /** The identifiers of the new records. */
  readonly created: readonly Identifier[];
  readonly dialect: Dialect;
  readonly reads: Pick<Reads, 'shown'>;
}

/** Reads as if the plan had been applied. */
export async function previewReader(parts: Parts, view: View): Promise<Reader> {
  const { session, dialect } = parts;
  const { writer } = session;
  const replaced = replacements(parts, await shownRows(parts, view));
  if (replaced.length === 0) return writer;
  const named = replaced.map(({ table, sql }) => `${dialect.quote(table)} as materialized (${sql})`);
  const values = replaced.flatMap((one) => one.values);
  const tables = replaced.map(({ table }) => table);
  const over = ({ sql, reads = [] }: Statement): Statement => ({
    sql: `with ${named.join(', ')} ${sql}`,
    reads: [...tables, ...reads],
  });
  return {
    ...writer,
    value: (statement, bound) => writer.value(over(statement), [...values, ...bound]),
    column: (statement, bound, onRow) => writer.column(over(statement), [...values, ...bound], onRow),
  };
}

async function shownRows({ session, plan, reads }: Parts, view: View): Promise<RecordSet> {
  const { existing, writer } = session;
  const shown: RecordSet = new Map();
  for (const [type, nodes] of existing) added(shown, type, [...nodes.keys()]);
  const add = async (one: View, identifiers: readonly Identifier[]): Promise<void> => {
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
    plan.roots.flatMap((row) => (isNew(row) ? [] : row)),
  );
  return shown;
}

interface Replacement {
  readonly table: string;
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

function replacements({ session, plan, created, dialect }: Parts, shown: RecordSet): readonly Replacement[] {
  const { quote } = dialect;
  const stored = (table: string): string => (dialect.locks ? quote(table) : `main.${quote(table)}`);
  const listed = (some: Iterable<Identifier>): string => JSON.stringify([...some]);
  const tables = [...Map.groupBy(plan.rows, ({ type }) => type.table).values()].flatMap((changes): Replacement[] => {
    const type = changes[0]?.type;
    if (!type) return [];
    const { columns, position } = session.tables.of(type);
    const values: SqlValue[] = [];
    const names = [type.identifier.column, ...columns.map(({ name }) => name)];
    const isListed = dialect.oneOf(...typed({ column: type.identifier.column, type }, dialect));
    const unread = changes.filter(({ kind, before }) => kind === 'update' && before === undefined);
    const selected = names.map((name) => {
      const unlinked = unread.filter(({ set }) => set.keys().next().value === name);
      if (unlinked.length === 0) return quote(name);
      values.push(listed(unlinked.flatMap(({ rows }) => rows.map((row) => numberOf(row, created)))));
      return `case when ${isListed} then null else ${quote(name)} end as ${quote(name)}`;
    });
    const written = [...netUpdates(changes), ...changes.filter(({ kind }) => kind === 'insert')];
    const replaced = new Set(
      [...written, ...changes.filter(({ kind }) => kind === 'delete')].flatMap(({ rows }) =>
        rows.map((row) => numberOf(row, created)),
      ),
    );
    const kept = [...(shown.get(type.table) ?? [])].filter((one) => !replaced.has(one));
    const planned = written.map(({ rows: [row = 0], set, before = [] }) => [
      numberOf(row, created),
      ...names
        .slice(1)
        .map((name) =>
          numberOf(set.get(name) ?? (set.has(name) ? null : (before[position.get(name) ?? -1] ?? null)), created),
        ),
    ]);
    values.push(listed(kept), rowsJson(planned));
    const rows = rowsOf([columnTypeOf(type, dialect), ...columns.map((column) => columnSql(column, dialect))], dialect);
    const sql = `select ${selected.join(', ')} from ${stored(type.table)} where ${isListed} union all ${rows}`;
    return [{ table: type.table, sql, values }];
  });
  const joins = [...Map.groupBy(plan.pairs, ({ table }) => table)].map(([join, pairs]): Replacement => {
    const [left, right] = [typed(join.left, dialect), typed(join.right, dialect)];
    const all = pairs.map((pair) => [numberOf(pair.left, created), numberOf(pair.right, created)]);
    const appended = all.filter((_, index) => pairs[index]?.kind === 'add');
    const [ofLeft = '', ofRight = ''] = [join.left, join.right].map(({ type }) => listed(shown.get(type.table) ?? []));
    const kept = `not (${dialect.oneOfPairs(left, right)}) and ${dialect.oneOf(...left)} and ${dialect.oneOf(...right)}`;
    const types = [join.left, join.right].map(({ type }) => columnTypeOf(type, dialect));
    const sql = `select ${left[0]}, ${right[0]} from ${stored(join.name)} where ${kept} union all ${rowsOf(types, dialect)}`;
    return { table: join.name, sql, values: [JSON.stringify(all), ofLeft, ofRight, rowsJson(appended)] };
  });
  return [...tables, ...joins];
}

const rowsOf = (types: readonly string[], { rowsOfJson }: Dialect): string =>
  rowsOfJson?.(types.map((type, index) => ({ name: `c${index}`, type }))) ??
  `select ${types.map((type, index) => `cast(value ->> '$.c${index}' as ${type})`).join(', ')} from json_each(?)`;
