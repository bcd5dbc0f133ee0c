/** The query of a summary: `by=zone,day(date)&measure=count,sum(price)`, and the filters, order and limit of lists. */
import type { AggregateName, PeriodName } from '../field-types/field-type.ts';
import { integer } from '../field-types/integer.ts';
import type { Relation } from '../model/model.ts';
import { didYouMean } from '../names.ts';
import type { Fault } from '../problem.ts';
import type { QueryReading } from './accepted.ts';
import { resolveLimit } from './cursor.ts';
import { resolveFilters } from './filters.ts';
import type { GroupKey, Measure, Path, SummaryOrder, SummaryQuery, View } from './list-query.ts';
import { resolveTerms, type Term } from './order.ts';
import { type Complain, complainAbout, type Parameter, quote } from './parameters.ts';
import { type PathNames, refuseManyRelations, resolvePath } from './paths.ts';
import { createView, type Included } from './view.ts';

/** Groups that one answer may have. */
export const MAX_GROUPS = 10_000;
export const MAX_KEYS = 8;
export const MAX_MEASURES = 20;

const PERIODS: readonly PeriodName[] = ['day', 'month'];
const AGGREGATES: readonly AggregateName[] = ['sum', 'min', 'max'];
const COUNT = 'count';
const MEASURE_FORMS = [COUNT, ...[COUNT, ...AGGREGATES].map((name) => `${name}(field)`)].join(', ');
const KEY_FORMS = ['field', 'relation', ...PERIODS.map((name) => `${name}(field)`)].join(', ');

const COUNTED: readonly Measure[] = [{ name: COUNT, aggregate: COUNT, path: undefined }];

export function readSummary(reading: QueryReading): SummaryQuery {
  const { type, names, limits, plain, faults } = reading;
  const keys = resolveKeys(plain.get('by'), names, faults);
  const measures = resolveMeasures(plain.get('measure'), names, faults);
  const filters = resolveFilters(reading.filters, names, faults, limits);
  const order = resolveSummaryOrder(reading.orderBy, { keys, measures }, faults);
  const { offset, limit } = resolveLimit(reading.limit, MAX_GROUPS, faults);
  const paths = [...keys, ...measures].flatMap(({ path }) => path ?? []);
  refuseManyRelations(
    filters,
    paths.map((path) => ({ path, descending: false })),
    faults,
  );
  return { type, filters, keys, measures, order, offset, limit };
}

/** `sum(price)` as `sum` and `price`; `price` without a word. */
interface Item {
  readonly name: string;
  readonly word: string | undefined;
  readonly path: string;
}

const CALL = /^(?<word>[^()]*)\((?<inner>[^()]*)\)$/;

/** The word nearest to the one that was written. */
const wordHint = (name: string, words: readonly string[]): string =>
  didYouMean((name.split('(', 1)[0] ?? '').toLowerCase(), words);

function itemsOf(text: string, most: number, complain: Complain): readonly Item[] {
  // One more than there may be tells that there are too many; the others are not looked at.
  const names = text.split(',', most + 1);
  if (names.length > most) complain('too-many', `There can be at most ${most} names, separated by commas`);
  const known = names.slice(0, most);
  const twice = known.find((name, index) => known.indexOf(name) < index);
  if (twice !== undefined) complain('repeated', `${quote(twice)} is given twice`);
  return known.flatMap((name) => {
    if (known.length > 1 && name.trim() === '')
      return complain('malformed', 'A name is missing before or after a comma') ?? [];
    const { word, inner } = CALL.exec(name)?.groups ?? {};
    return { name, word, path: inner ?? name };
  });
}

function resolveKeys(text: string | undefined, names: PathNames, faults: Fault[]): readonly GroupKey[] {
  if (text === undefined || text === '') return [];
  const complain = complainAbout(faults, 'by');
  return itemsOf(text, MAX_KEYS, complain).flatMap((item) => resolveKey(item, names, complain) ?? []);
}

function resolveKey({ name, word, path: text }: Item, names: PathNames, complain: Complain): GroupKey | undefined {
  const period = PERIODS.find((known) => known === word);
  // No name has a bracket.
  if (text.includes('(') || (word !== undefined && (period === undefined || text.trim() === '')))
    return complain('unknown-key', `${quote(name)} is not one of ${KEY_FORMS}`, () => wordHint(name, PERIODS));
  const path = shownPath(text, names, complain, word === undefined ? PERIODS.map((known) => `${known}()`) : []);
  if (path === undefined) return undefined;
  const { type } = path.field ?? { type: integer };
  if (type.operators.length === 0)
    return complain(
      'not-groupable',
      `Records cannot be grouped by fields of type ${type.name}, such as "${path.name}"`,
    );
  if (period && type.columns.sqlite.periods === undefined)
    return complain('not-groupable', `"${path.name}" is of type ${type.name}; ${period}() takes a date or a timestamp`);
  const last = path.relations.at(-1);
  const isRecord = last !== undefined && !period && text !== path.name;
  return { name, path, period, shown: isRecord ? viewOf(names, path.relations) : undefined };
}

/** A path to a value that a list could show as well. */
function shownPath(
  text: string,
  names: PathNames,
  complain: Complain,
  others: readonly string[] = [],
): Path | undefined {
  const path = resolvePath(names, text, complain, others);
  const last = path?.relations.at(-1);
  if (path?.field === undefined || last === undefined || last.fields.includes(path.field)) return path;
  return complain('not-shown', `The relation "${last.name}" does not show the field "${path.field.name}"`);
}

/** The view in which lists show the record at the end of these relations. */
function viewOf({ type, variant }: PathNames, relations: readonly Relation[]): View {
  const included = relations.reduceRight<Included>((inner, relation) => ({ relations: new Map([[relation, inner]]) }), {
    relations: new Map(),
  });
  const view = createView(type, variant, included, undefined);
  return relations.reduce((found) => found.relations[0]?.view ?? found, view);
}

function resolveMeasures(text: string | undefined, names: PathNames, faults: Fault[]): readonly Measure[] {
  if (text === undefined) return COUNTED;
  const complain = complainAbout(faults, 'measure');
  return itemsOf(text, MAX_MEASURES, complain).flatMap((item) => resolveMeasure(item, names, complain) ?? []);
}

function resolveMeasure({ name, word, path: text }: Item, names: PathNames, complain: Complain): Measure | undefined {
  if (name === COUNT) return { name, aggregate: COUNT, path: undefined };
  const aggregate = word === COUNT ? COUNT : AGGREGATES.find((known) => known === word);
  if (aggregate === undefined || ['', '*'].includes(text))
    return complain('unknown-measure', `${quote(name)} is not one of ${MEASURE_FORMS}`, () =>
      wordHint(name, [COUNT, ...AGGREGATES]),
    );
  const path = shownPath(text, names, complain);
  if (path === undefined) return undefined;
  const { type } = path.field ?? { type: integer };
  if (aggregate === 'sum' && type.columns.sqlite.aggregates?.sum === undefined)
    return complain(
      'not-summable',
      `"${path.name}" is of type ${type.name}; only integers and decimals have exact sums`,
    );
  if (aggregate !== COUNT && aggregate !== 'sum' && !type.operators.includes('lt'))
    return complain('not-orderable', `"${path.name}" is of type ${type.name}, which has no order`);
  return { name, aggregate, path };
}

type Columns = Pick<SummaryQuery, 'keys' | 'measures'>;

/** Ends with the keys that it does not name, which make each group unique, in the direction of the last term. */
function resolveSummaryOrder(
  parameters: readonly Parameter[],
  columns: Columns,
  faults: Fault[],
): readonly SummaryOrder[] {
  const order = resolveTerms<SummaryOrder>(parameters, faults, (term, before) =>
    resolveTerm(term, before, columns, complainAbout(faults, term.field.key)),
  );
  const descending = order.at(-1)?.descending ?? false;
  const rest = columns.keys.map((_, index): SummaryOrder => ({ by: 'keys', index, descending }));
  return [...order, ...rest.filter((key) => !order.some((one) => isSame(one, key)))];
}

const isSame = (a: SummaryOrder, b: SummaryOrder): boolean => a.by === b.by && a.index === b.index;

function resolveTerm(
  { field: { value }, descending }: Term,
  before: readonly SummaryOrder[],
  { keys, measures }: Columns,
  complain: Complain,
): SummaryOrder | undefined {
  const known = [...keys, ...measures].map(({ name }) => name);
  const place = known.indexOf(value);
  if (place < 0)
    return complain(
      'unknown-field',
      `${quote(value)} is neither in by nor in measure; groups are ordered by ${known.map(quote).join(', ')}`,
      () => didYouMean(value, known),
    );
  const term: SummaryOrder =
    place < keys.length
      ? { by: 'keys', index: place, descending }
      : { by: 'measures', index: place - keys.length, descending };
  if (before.some((other) => isSame(other, term))) return complain('repeated', `${quote(value)} is in the order twice`);
  return term;
}
