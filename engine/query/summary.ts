/** The query of a summary: `by=zone,day(date)&measure=count,sum(price)`, and the filters, order and limit of lists. */
import type { AggregateName } from '../field-types/field-type.ts';
import { PERIODS, timeZone } from '../field-types/periods.ts';
import { didYouMean } from '../names.ts';
import { resolveFilters } from './filters.ts';
import type { GroupKey, Measure, PathNames, QueryReading, SummaryOrder, SummaryQuery } from './list-query.ts';
import { valueAt } from '../model/filters.ts';
import { DIRECTIONS, resolveLimit, resolveTerms } from './paging.ts';
import { type Report, reportOn, quote } from './parameters.ts';
import { NO_PARTS, refuseManyRelations, resolvePath, viewOf } from './paths.ts';

export const MAX_GROUPS = 10_000;
export const MAX_KEYS = 8;
export const MAX_MEASURES = 20;

const AGGREGATES: readonly AggregateName[] = ['sum', 'avg', 'min', 'max'];
/** Aggregates of numbers. */
const ADDING: ReadonlySet<string> = new Set<AggregateName>(['sum', 'avg']);
const COUNT = 'count';
const MEASURE_FORMS = [COUNT, ...[COUNT, ...AGGREGATES].map((name) => `${name}(field)`)].join(', ');
const KEY_FORMS = ['field', 'relation', ...PERIODS.map((name) => `${name}(field)`)].join(', ');

export function readSummary(reading: QueryReading): SummaryQuery {
  const { names, plain, faults } = reading;
  const by = plain.get('by') ?? '';
  const reportKey = reportOn(faults, 'by');
  const items = by === '' ? [] : itemsOf(by, MAX_KEYS, reportKey);
  const zone = resolveZone(reading);
  const keys = items.flatMap((item) => resolveKey(item, names, zone, reportKey) ?? []);
  const reportMeasure = reportOn(faults, 'measure');
  const measures = itemsOf(plain.get('measure') ?? COUNT, MAX_MEASURES, reportMeasure).flatMap(
    (item) => resolveMeasure(item, names, reportMeasure) ?? [],
  );
  const filters = resolveFilters(reading);
  const order = resolveSummaryOrder(reading, keys, measures);
  const range = resolveLimit(reading.limit, MAX_GROUPS, faults);
  const paths = [...keys, ...measures].flatMap(({ path }) => (path ? [{ path, descending: false }] : []));
  refuseManyRelations(filters, paths, faults);
  const { type, rights } = names;
  return { type, rights, filters, keys, measures, order, ...range, shared: reading.shared };
}

/** `sum(price)` is `sum` and `price`; `price` has no word. */
interface Item {
  readonly name: string;
  readonly word: string | undefined;
  readonly text: string;
}

const CALL = /^(?<word>[^()]*)\((?<inner>[^()]*)\)$/;

const wordHint = (name: string, words: readonly string[]): string =>
  didYouMean((name.split('(', 1)[0] ?? '').toLowerCase(), words);

function itemsOf(list: string, most: number, report: Report): readonly Item[] {
  // The limit plus one reveals too many.
  const names = list.split(',', most + 1);
  if (names.length > most) report('too-many', `There can be at most ${most} names, separated by commas`);
  const known = names.slice(0, most);
  const twice = known.find((name, index) => known.indexOf(name) < index);
  if (twice !== undefined) report('repeated', `${quote(twice)} is given twice`);
  return known.flatMap((name) => {
    if (known.length > 1 && name.trim() === '')
      return report('malformed', 'A name is missing before or after a comma') ?? [];
    const { word, inner } = CALL.exec(name)?.groups ?? {};
    return { name, word, text: inner ?? name };
  });
}

function resolveZone({ plain, faults }: QueryReading): string | undefined {
  const text = plain.get('zone');
  if (text === undefined) return undefined;
  const zone = timeZone(text);
  if (zone === undefined)
    reportOn(faults, 'zone')('malformed', `${quote(text)} is no time zone, such as "Europe/Berlin"`);
  return zone;
}

function resolveKey(
  { name, word, text }: Item,
  names: PathNames,
  zone: string | undefined,
  report: Report,
): GroupKey | undefined {
  const period = PERIODS.find((known) => known === word);
  if (text.includes('(') || (word !== undefined && (period === undefined || text.trim() === '')))
    return report('unknown-key', `${quote(name)} is not one of ${KEY_FORMS}`, () => wordHint(name, PERIODS));
  const path = shownPath(text, names, report, word === undefined ? PERIODS.map((known) => `${known}()`) : []);
  if (path === undefined) return undefined;
  const { type } = valueAt(path);
  if (type.operators.length === 0)
    return report('not-groupable', `Records cannot be grouped by fields of type ${type.name}, such as "${path.name}"`);
  if (period && type.columns.sqlite.periods === undefined)
    return report('not-groupable', `"${path.name}" is of type ${type.name}; ${period}() takes a date or a timestamp`);
  const record = period || text === path.name ? undefined : path.relations.at(-1);
  return {
    name,
    path,
    period,
    zone,
    shown: record && viewOf(record.target, record.target.defaultVariant, NO_PARTS, names.rights, record.fields),
  };
}

function shownPath(text: string, names: PathNames, report: Report, others: readonly string[] = []) {
  const path = resolvePath(names, text, report, others);
  const last = path?.relations.at(-1);
  if (path?.field === undefined || last === undefined || last.fields.includes(path.field)) return path;
  return report('not-shown', `The relation "${last.name}" does not show the field "${path.field.name}"`);
}

function resolveMeasure({ name, word, text }: Item, names: PathNames, report: Report): Measure | undefined {
  if (name === COUNT) return { name, aggregate: COUNT, path: undefined };
  const aggregate = word === COUNT ? COUNT : AGGREGATES.find((known) => known === word);
  if (aggregate === undefined || ['', '*'].includes(text))
    return report('unknown-measure', `${quote(name)} is not one of ${MEASURE_FORMS}`, () =>
      wordHint(name, [COUNT, ...AGGREGATES]),
    );
  const path = shownPath(text, names, report);
  if (path === undefined) return undefined;
  const { type } = valueAt(path);
  if (ADDING.has(aggregate) && type.columns.sqlite.aggregates?.sum === undefined)
    return report(
      'not-summable',
      `"${path.name}" is of type ${type.name}; only integers and decimals have exact sums and averages`,
    );
  if (aggregate !== COUNT && !ADDING.has(aggregate) && !type.operators.includes('lt'))
    return report('not-orderable', `"${path.name}" is of type ${type.name}, which has no order`);
  return { name, aggregate, path };
}

/** Appends unnamed keys as tie-breakers, in the direction of the last term. */
function resolveSummaryOrder(
  { orderBy, faults }: QueryReading,
  keys: readonly GroupKey[],
  measures: readonly Measure[],
): readonly SummaryOrder[] {
  const known = [...keys, ...measures].map(({ name }) => name);
  const order = resolveTerms<SummaryOrder>(orderBy, faults, ({ key, value }, descending, before) => {
    const report = reportOn(faults, key);
    const column = known.indexOf(value);
    if (column < 0)
      return report(
        'unknown-field',
        `${quote(value)} is neither in by nor in measure; groups are ordered by ${known.map(quote).join(', ')}`,
        () => didYouMean(value, [...known, ...(before.length > 0 ? DIRECTIONS.keys() : [])]),
      );
    if (before.some((other) => other.column === column))
      return report('repeated', `${quote(value)} is in the order twice`);
    return { column, descending };
  });
  const rest = keys.map((_, column) => ({ column, descending: order.at(-1)?.descending ?? false }));
  return [...order, ...rest.filter(({ column }) => !order.some((one) => one.column === column))];
}
