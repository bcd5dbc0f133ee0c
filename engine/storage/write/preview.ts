/** Dry runs: a CTE with the planned rows replaces each changed table in statements that read the response. */
import type { SqlValue } from '../../field-types/field-type.ts';
import { type Identifier, identifierSql } from '../../model/identifier.ts';
import type { RecordType } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { columnSql, columnTypeOf } from '../tables.ts';
import type { Dialect, TypedColumn } from '../dialect.ts';
import type { Reader, Statement } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import { added } from './cascade.ts';
import { boundTo, greatestOf, isNew, numberOf, type WritePlan } from './plan.ts';
import { netUpdates } from './effects.ts';
import type { RecordSet, WriteSession } from './session.ts';
import { rowsJson } from './tables.ts';

/** Numbers new records after the greatest identifier ever used, in the order in which the write would insert them. */
export async function numbersFor(
  { tables, writer }: WriteSession,
  { rows }: WritePlan,
): Promise<readonly Identifier[]> {
  const made: Identifier[] = [];
  const inserts = rows.filter(({ kind }) => kind === 'insert');
  for (const [type, some] of Map.groupBy(inserts, (change) => change.type)) {
    const { lastIdentifier } = tables.of(type);
    const last = lastIdentifier ? Number((await writer.value(lastIdentifier, [])) ?? 0) : 0;
    let next = greatestOf(some, last);
    for (const {
      rows: [row = 0],
      identifier,
    } of some)
      if (isNew(row)) made[row.created] = identifier ?? (next += 1);
  }
  return made;
}

interface Parts {
  readonly session: WriteSession;
  readonly plan: WritePlan;
  /** The identifiers of the new records. */
  readonly made: readonly Identifier[];
  readonly dialect: Dialect;
  readonly reads: Pick<Reads, 'shown'>;
}

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

function replacements({ session, plan, made, dialect }: Parts, shown: RecordSet): readonly Replacement[] {
  const { quote } = dialect;
  const stored = (table: string): string => (dialect.locks ? quote(table) : `main.${quote(table)}`);
  const listed = (some: Iterable<Identifier>): string => JSON.stringify([...some]);
  const tables = [...Map.groupBy(plan.rows, ({ type }) => type.table).values()].flatMap((changes): Replacement[] => {
    const type = changes[0]?.type;
    if (!type) return [];
    const { columns, position } = session.tables.of(type);
    const values: SqlValue[] = [];
    const names = [type.identifier.column, ...columns.map(({ name }) => name)];
    const identifier = quote(type.identifier.column);
    const isListed = oneOf(identifier, type, dialect);
    const unread = changes.filter(({ kind, before }) => kind === 'update' && before === undefined);
    const selected = names.map((name) => {
      const unlinked = unread.filter(({ set }) => set.keys().next().value === name);
      if (unlinked.length === 0) return quote(name);
      values.push(listed(unlinked.flatMap(({ rows }) => rows.map((row) => numberOf(row, made)))));
      return `case when ${isListed} then null else ${quote(name)} end as ${quote(name)}`;
    });
    const written = [...netUpdates(changes), ...changes.filter(({ kind }) => kind === 'insert')];
    const replaced = new Set(
      [...written, ...changes.filter(({ kind }) => kind === 'delete')].flatMap(({ rows }) =>
        rows.map((row) => numberOf(row, made)),
      ),
    );
    const kept = [...(shown.get(type.table) ?? [])].filter((one) => !replaced.has(one));
    const planned = written.map(({ rows: [row = 0], set, before = [] }) => [
      numberOf(row, made),
      ...names
        .slice(1)
        .map((name) =>
          boundTo(set.get(name) ?? (set.has(name) ? null : (before[position.get(name) ?? -1] ?? null)), made),
        ),
    ]);
    values.push(listed(kept), rowsJson(planned));
    const rows = rowsOf([columnTypeOf(type, dialect), ...columns.map((column) => columnSql(column, dialect))], dialect);
    const sql = `select ${selected.join(', ')} from ${stored(type.table)} where ${isListed} union all ${rows}`;
    return [{ table: type.table, sql, values }];
  });
  const joins = [...Map.groupBy(plan.pairs, ({ table }) => table)].map(([join, pairs]): Replacement => {
    const [left, right] = [quote(join.left.column), quote(join.right.column)];
    const all = pairs.map((pair) => [numberOf(pair.left, made), numberOf(pair.right, made)]);
    const [ofLeft, ofRight] = [join.left, join.right].map(({ type }) => listed(shown.get(type.table) ?? []));
    const values = [JSON.stringify(all), ofLeft ?? '', ofRight ?? ''];
    const sides = [join.left, join.right].map(({ type }) => type);
    const kept = `not (${dialect.oneOfPairs(typed(left, join.left.type, dialect), typed(right, join.right.type, dialect))}) and ${oneOf(left, join.left.type, dialect)} and ${oneOf(right, join.right.type, dialect)}`;
    const rows = rowsOf(
      sides.map((type) => columnTypeOf(type, dialect)),
      dialect,
    );
    const sql = `select ${left}, ${right} from ${stored(join.name)} where ${kept} union all ${rows}`;
    return {
      table: join.name,
      sql,
      values: [...values, rowsJson(all.filter((_, index) => pairs[index]?.kind === 'add'))],
    };
  });
  return [...tables, ...joins];
}

const typed = (column: string, { identifier }: RecordType, { name }: Dialect): TypedColumn => [
  column,
  identifierSql(identifier, name),
];

const oneOf = (column: string, type: RecordType, dialect: Dialect): string =>
  dialect.oneOf(...typed(column, type, dialect));

const rowsOf = (types: readonly string[], { rowsOfJson }: Dialect): string =>
  rowsOfJson?.(types.map((type, index) => ({ name: `c${index}`, type }))) ??
  `select ${types.map((type, index) => `cast(value ->> '$.c${index}' as ${type})`).join(', ')} from json_each(?)`;
