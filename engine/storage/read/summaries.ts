/** SummaryQuery -> statements, and the groups that they answer. */
import { type Caller, PATIENT } from '../../edge/caller.ts';
import type { CountMode } from '../../descriptor/descriptor.ts';
import type { ColumnType, SqlValue } from '../../field-types/field-type.ts';
import { integer } from '../../field-types/integer.ts';
import { createShapeCache, memoized } from '../../memo.ts';
import { faultyRequest } from '../../problem.ts';
import type { GroupKey, Measure, Path, SummaryQuery } from '../../query/list-query.ts';
import { MAX_GROUPS } from '../../query/summary.ts';
import { columnType } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import type { Driver, Reader, Statement } from '../driver.ts';
import type { Store, Summary } from '../store.ts';
import { shapeOfConditions, sqlOf, valuesOf } from './conditions.ts';
import { charging } from './lengths.ts';
import { createJoinedTables, type JoinedTables, recordJson } from './views.ts';

interface CompiledSummary {
  /** The groups as JSON texts. Bound: the values of the filters, limit, offset. */
  readonly page: Statement;
  /** How many groups there are. Bound: the values of the filters. */
  readonly count: Statement;
  /** All groups, or one more than an answer may have. Bound: the values of the filters. */
  readonly whole: Statement;
}

/** A column of the inner SELECT, one of the groups, and how the others read it. */
interface GroupColumn {
  /** SQL that the inner SELECT computes, each with its alias. */
  readonly computed: readonly string[];
  /** SQL of its JSON text, and of what it is ordered by. */
  readonly json: string;
  readonly ordered: string;
}

/** Queries of the same shape have the same statements. */
function shapeOf({ type, filters, keys, measures, order }: SummaryQuery): string {
  const names = keys.map(({ name, shown }) => `${name} ${shown?.key ?? ''}`);
  const terms = order.map(({ by, index, descending }) => `${by}${index}${descending ? '-' : '+'}`);
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
      json: dialect.nullable(`'"' || ${group} || '"'`),
      ordered: group,
    };
  const spelling = path.field?.caseless ? (column: string) => `min(${column})` : type.spelling;
  if (spelling)
    return {
      computed: [`${comparable} as ${group}`, `${spelling(stored)} as ${text}`],
      json: dialect.nullable(type.json(text)),
      ordered: group,
    };
  const json = shown
    ? dialect.optional(
        recordJson(shown, 'r$', dialect),
        `${dialect.quote(shown.type.table)} as r$ where r$.${dialect.quote(shown.type.identifier.column)} = ${group}`,
      )
    : dialect.nullable(type.json(group));
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
    return { computed: [computed], json: dialect.nullable(type.json(text(alias))), ordered: folded(alias) };
  }
  const computed = type.aggregates?.[aggregate]?.(stored) ?? `${aggregate}(${stored})`;
  const orderOf = (aggregate === 'sum' ? type.sumOrder : undefined) ?? type.comparable;
  return { computed: [`${computed} as ${alias}`], json: dialect.nullable(type.json(alias)), ordered: orderOf(alias) };
}

/** Whether a computed column is a group, not an aggregate. */
const isGroup = (sql: string): boolean => / as k\d+\$$/.test(sql);

function compileSummary(query: SummaryQuery, dialect: Dialect): CompiledSummary {
  const { type, filters, keys, measures, order } = query;
  const source = createJoinedTables(type, dialect);
  const all = {
    keys: keys.map((key, index) => keyColumn(key, index, source, dialect)),
    measures: measures.map((measure, index) => measureColumn(measure, index, source, dialect)),
  };
  const where = sqlOf(filters, source, dialect);
  const computed = [...all.keys, ...all.measures].flatMap((column) => column.computed);
  const places = computed.flatMap((sql, index) => (isGroup(sql) ? index + 1 : []));
  const from = `from ${source.from} ${source.joins()}`;
  const grouped = (columns: readonly string[], groups: readonly number[]): string => {
    const filtered = where.sql === '' ? '' : ` where ${where.sql}`;
    const grouping = groups.length === 0 ? '' : ` group by ${groups.join(', ')}`;
    return `select ${columns.join(', ')} ${from}${filtered}${grouping}`;
  };
  const found = grouped(computed, places);
  const terms = order.map(({ by, index, descending }) =>
    dialect.orderBy(all[by][index]?.ordered ?? '', descending, false),
  );
  const orderBy = terms.length === 0 ? '' : ` order by ${terms.join(', ')}`;
  const objectOf = (items: readonly { readonly name: string }[], columns: readonly GroupColumn[]): string =>
    dialect.object(
      items.map(({ name }, index) => [name, columns[index]?.json ?? '']),
      undefined,
    );
  const json = dialect.object(
    [
      ['by', objectOf(keys, all.keys)],
      ['measures', objectOf(measures, all.measures)],
    ],
    undefined,
  );
  // Only what is answered is put together.
  const page = `select * from (${found}) as groups$${orderBy} ${dialect.limit}`;
  const groups = keys.length === 0 ? ['count(*)'] : computed.filter(isGroup);
  const most = `limit ${MAX_GROUPS + 1}`;
  return {
    page: { sql: `select ${json} from (${page}) as page$${orderBy}` },
    whole: { sql: `select ${json} from (${found} ${most}) as page$${orderBy}` },
    count: {
      sql: `select count(*) from (${grouped(
        groups,
        keys.map((_, index) => index + 1),
      )}) as groups$`,
    },
  };
}

/** A summary that is asked for again is not worked out again. */
interface Bound extends CompiledSummary {
  readonly values: readonly SqlValue[];
}

export function createSummaries(driver: Driver): Pick<Store, 'summary'> {
  const { dialect } = driver;
  const statements = createShapeCache((query: SummaryQuery) => compileSummary(query, dialect));
  const boundOf = memoized((query: SummaryQuery): Bound => {
    const values = valuesOf(query.filters, dialect);
    return { ...statements(shapeOf(query), query), values };
  });

  return {
    // It reads all the records that it finds.
    summary: async (query, count, caller = PATIENT) => {
      const bound = boundOf(query);
      // Two statements of one page see one snapshot.
      const isSingle = query.limit === undefined || count === 'none';
      return driver.scan((reader) => readGroups(reader, query, bound, count, caller), caller, isSingle);
    },
  };
}

async function readGroups(
  reader: Reader,
  { limit, offset }: SummaryQuery,
  { whole, page, count: counting, values }: Bound,
  count: CountMode,
  caller: Caller,
): Promise<Summary> {
  if (limit === undefined) {
    const texts = (await reader.column(whole, values, charging(caller))) as readonly string[];
    if (texts.length > MAX_GROUPS) throw tooManyGroups();
    return { groups: texts.slice(offset), total: count === 'none' ? undefined : texts.length, hasNext: false };
  }
  const texts = (await reader.column(page, [...values, limit + 1, offset], charging(caller))) as readonly string[];
  const hasNext = texts.length > limit;
  const isTold = !hasNext && (texts.length > 0 || offset === 0);
  const total = isTold ? offset + texts.length : undefined;
  return {
    groups: hasNext ? texts.slice(0, limit) : texts,
    total: count === 'none' ? undefined : (total ?? Number(await reader.value(counting, values))),
    hasNext,
  };
}

function tooManyGroups(): Error {
  const message = `There are more than ${MAX_GROUPS} groups; ask for some of them with _cnd[limit], filter the records, or group by less`;
  return faultyRequest('too-many-groups', [{ parameter: 'by', code: 'too-many', message }]);
}
