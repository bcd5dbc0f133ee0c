/** Compiles statements for summaries, which depend on the query's shape, not its values. */
import type { ColumnType } from '../../field-types/field-type.ts';
import { decimal } from '../../field-types/decimal.ts';
import { integer } from '../../field-types/integer.ts';
import { string } from '../../field-types/string.ts';
import type { GroupKey, Measure, Path, SummaryQuery } from '../../query/list-query.ts';
import { valueAt } from '../../model/filters.ts';
import { type Dialect, jsonObject, jsonOptional, type RecordStatement } from '../dialect.ts';
import { createJoinedTables, type JoinedTables, shapeOfConditions, sqlOf } from './conditions.ts';
import { setsOfRole } from './clause.ts';
import { greatestIdentifier, relationsIn, setsIn } from './heaviness.ts';
import { recordJson, tablesOfPath, tablesOfView } from './views.ts';

export function shapeOfSummary({ type, rights, filters, keys, measures, order }: SummaryQuery): string {
  const names = keys.map(({ name, zone, shown }) => `${name} ${zone ?? ''} ${shown?.key ?? ''}`);
  const terms = order.map(({ column, descending }) => `${column}${descending ? '-' : '+'}`);
  const columns = [names, measures.map(({ name }) => name), terms].map((parts) => parts.join());
  const sets = setsOfRole(rights, [type.table]).length;
  return `${type.statementKey}|${sets}|${shapeOfConditions(filters)}|${columns.join('|')}`;
}

const typeOf = (path: Path, { name }: Dialect): ColumnType => valueAt(path).type.columns[name];

/** Groups by the compared value; of different spellings, the group shows one. */
function keyColumn({ path, period, zone, shown }: GroupKey, index: number, source: JoinedTables, dialect: Dialect) {
  const [group, text] = [`k${index}$`, `s${index}$`];
  const { stored, comparable } = source.path(path);
  const type = typeOf(path, dialect);
  const periodOf = period && type.periods?.[period];
  if (periodOf)
    return {
      computed: [`${periodOf(stored, zone)} as ${group}`],
      json: jsonOptional(string.columns[dialect.name].json(group)),
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

function measureColumn({ aggregate, path }: Measure, index: number, source: JoinedTables, dialect: Dialect) {
  const alias = `m${index}$`;
  const whole = integer.columns[dialect.name];
  if (!path) return { computed: [`count(*) as ${alias}`], json: whole.json(alias), ordered: alias };
  const { stored, comparable } = source.path(path);
  if (aggregate === 'count')
    return { computed: [`count(${stored}) as ${alias}`], json: whole.json(alias), ordered: alias };
  const own = typeOf(path, dialect);
  // An average of integers is a decimal.
  const type = aggregate === 'avg' ? decimal.columns[dialect.name] : own;
  if (path.field?.caseless) {
    const { joined, text, folded } = dialect.spelled;
    const computed = `${aggregate}(${joined(comparable, stored)}) as ${alias}`;
    return { computed: [computed], json: jsonOptional(type.json(text(alias))), ordered: folded(alias) };
  }
  const computed = own.aggregates?.[aggregate]?.(stored) ?? `${aggregate}(${stored})`;
  const isAdded = aggregate === 'sum' || aggregate === 'avg';
  const orderOf = (isAdded ? type.sumOrder : undefined) ?? type.comparable;
  return { computed: [`${computed} as ${alias}`], json: jsonOptional(type.json(alias)), ordered: orderOf(alias) };
}

/** `page`: the groups as JSON. Bound: filter values; for `page`, also limit and offset. */
export function compileSummary(query: SummaryQuery, dialect: Dialect) {
  const { type, rights, filters, keys, measures, order } = query;
  const source = createJoinedTables(type, dialect);
  const columns = {
    keys: keys.map((key, index) => keyColumn(key, index, source, dialect)),
    measures: measures.map((measure, index) => measureColumn(measure, index, source, dialect)),
  };
  const where = sqlOf(filters, source, dialect).sql;
  const from = `from ${source.from} ${source.joins()}${where === '' ? '' : ` where ${where}`}`;
  // Keys come first, as GROUP BY refers to them by number.
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
  const objectOf = (items: readonly { readonly name: string }[], shown: readonly { readonly json: string }[]): string =>
    jsonObject(items.map(({ name }, index) => [name, shown[index]?.json ?? '']));
  const parts = [
    ['by', objectOf(keys, columns.keys)],
    ['measures', objectOf(measures, columns.measures)],
  ] as const;
  const select = `select ${jsonObject(parts)} from`;
  const followed = [...relationsIn(filters), ...[...keys, ...measures].flatMap(({ path }) => path?.relations ?? [])];
  const relations = [...followed, ...setsOfRole(rights, [type.table, ...tablesOfPath(followed)])];
  const tables = [
    type.table,
    ...tablesOfPath(relations),
    ...keys.flatMap(({ shown }) => (shown ? tablesOfView(shown) : [])),
  ];
  const sets = setsIn(filters);
  const statement = (text: string): RecordStatement => ({ query: text, reads: tables, readsMany: true, sets });
  return {
    page: statement(`${select} (select * from (${found}) as groups$${orderBy} ${dialect.limit}) as page$${orderBy}`),
    count: statement(`select count(*) from (${count}) as groups$`),
    greatest: greatestIdentifier(type, relations, dialect, statement),
  };
}
