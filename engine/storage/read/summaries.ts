/** SummaryQuery -> statements. */
import type { ColumnType } from '../../field-types/field-type.ts';
import { integer } from '../../field-types/integer.ts';
import type { GroupKey, Measure, Path, SummaryQuery } from '../../query/list-query.ts';
import { columnType } from '../columns.ts';
import { type Dialect, jsonOptional } from '../dialect.ts';
import type { Statement } from '../driver.ts';
import { createJoinedTables, type JoinedTables, shapeOfConditions, sqlOf } from './conditions.ts';
import { recordJson } from './views.ts';

/** A column of the groups. */
interface GroupColumn {
  /** SQL of the inner SELECT, each with its alias. */
  readonly computed: readonly string[];
  /** SQL of its JSON text, and of what it is ordered by. */
  readonly json: string;
  readonly ordered: string;
}

export function shapeOfSummary({ type, filters, keys, measures, order }: SummaryQuery): string {
  const names = keys.map(({ name, shown }) => `${name} ${shown?.key ?? ''}`);
  const terms = order.map(({ column, descending }) => `${column}${descending ? '-' : '+'}`);
  const columns = [names, measures.map(({ name }) => name), terms].map((all) => all.join());
  return `${type.statementKey}|${shapeOfConditions(filters)}|${columns.join('|')}`;
}

const typeOf = ({ field }: Path, { name }: Dialect): ColumnType =>
  field ? columnType(field, name) : integer.columns[name];

/** Groups are equal by what is compared; of equal values that are written differently, one is shown. */
function keyColumn(
  { path, period, shown }: GroupKey,
  index: number,
  source: JoinedTables,
  dialect: Dialect,
): GroupColumn {
  const [group, text] = [`k${index}$`, `s${index}$`];
  const { stored, comparable } = source.path(path);
  const type = typeOf(path, dialect);
  const periodOf = period && type.periods?.[period];
  if (periodOf)
    return {
      computed: [`${periodOf(stored)} as ${group}`],
      json: jsonOptional(`'"' || ${group} || '"'`),
      ordered: group,
    };
  const spelling = path.field?.caseless ? (column: string) => `min(${column})` : type.spelling;
  if (spelling)
    return {
      computed: [`${comparable} as ${group}`, `${spelling(stored)} as ${text}`],
      json: jsonOptional(type.json(text)),
      ordered: group,
    };
  const json = shown
    ? jsonOptional(
        `(select ${recordJson(shown, 'r$', dialect)} from ${dialect.quote(shown.type.table)} as r$ where r$.${dialect.quote(shown.type.identifier.column)} = ${group})`,
      )
    : jsonOptional(type.json(group));
  return { computed: [`${stored} as ${group}`], json, ordered: type.comparable(group) };
}

function measureColumn(
  { aggregate, path }: Measure,
  index: number,
  source: JoinedTables,
  dialect: Dialect,
): GroupColumn {
  const alias = `m${index}$`;
  const whole = integer.columns[dialect.name];
  if (!path) return { computed: [`count(*) as ${alias}`], json: whole.json(alias), ordered: alias };
  const { stored, comparable } = source.path(path);
  if (aggregate === 'count')
    return { computed: [`count(${stored}) as ${alias}`], json: whole.json(alias), ordered: alias };
  const type = typeOf(path, dialect);
  if (path.field?.caseless && aggregate !== 'sum') {
    const { joined, text, folded } = dialect.spelled;
    const computed = `${aggregate}(${joined(comparable, stored)}) as ${alias}`;
    return { computed: [computed], json: jsonOptional(type.json(text(alias))), ordered: folded(alias) };
  }
  const computed = type.aggregates?.[aggregate]?.(stored) ?? `${aggregate}(${stored})`;
  const orderOf = (aggregate === 'sum' ? type.sumOrder : undefined) ?? type.comparable;
  return { computed: [`${computed} as ${alias}`], json: jsonOptional(type.json(alias)), ordered: orderOf(alias) };
}

/** `page`: the groups as JSON texts. Bound: the values of the filters; by `page`, limit and offset as well. */
export function compileSummary(query: SummaryQuery, dialect: Dialect): Readonly<Record<'page' | 'count', Statement>> {
  const { type, filters, keys, measures, order } = query;
  const source = createJoinedTables(type, dialect);
  const columns = {
    keys: keys.map((key, index) => keyColumn(key, index, source, dialect)),
    measures: measures.map((measure, index) => measureColumn(measure, index, source, dialect)),
  };
  const where = sqlOf(filters, source, dialect).sql;
  const from = `from ${source.from} ${source.joins()}${where === '' ? '' : ` where ${where}`}`;
  // The keys come first, so that GROUP BY can number them.
  const groups = columns.keys.map(({ computed: [group = ''] }) => group);
  const others = [
    ...columns.keys.flatMap(({ computed }) => computed.slice(1)),
    ...columns.measures.flatMap(({ computed }) => computed),
  ];
  const groupBy = groups.length === 0 ? '' : ` group by ${groups.map((_, index) => index + 1).join(', ')}`;
  const found = `select ${[...groups, ...others].join(', ')} ${from}${groupBy}`;
  const count = `select ${groups.length === 0 ? 'count(*)' : groups.join(', ')} ${from}${groupBy}`;
  const ordered = [...columns.keys, ...columns.measures].map((one) => one.ordered);
  const terms = order.map(({ column, descending }) => dialect.orderBy(ordered[column] ?? '', descending, false));
  const orderBy = terms.length === 0 ? '' : ` order by ${terms.join(', ')}`;
  const objectOf = (items: readonly { readonly name: string }[], shown: readonly GroupColumn[]): string =>
    dialect.object(
      items.map(({ name }, index) => [name, shown[index]?.json ?? '']),
      undefined,
    );
  const parts = [
    ['by', objectOf(keys, columns.keys)],
    ['measures', objectOf(measures, columns.measures)],
  ] as const;
  const select = `select ${dialect.object(parts, undefined)} from`;
  return {
    page: { sql: `${select} (select * from (${found}) as groups$${orderBy} ${dialect.limit}) as page$${orderBy}` },
    count: { sql: `select count(*) from (${count}) as groups$` },
  };
}
