/** What requests to one type share, prepared at boot. */
import type { RecordType, Variant } from '../model/model.ts';
import { type BoundedCache, createBoundedCache } from '../memo.ts';
import type { ListQuery, OrderBy, QueryLimits, SummaryQuery, View, WriteQuery } from './list-query.ts';
import { defaultOrder } from './order.ts';
import { namesOf, type PathNames } from './paths.ts';
import { defaultView } from './view.ts';
import { nearest } from '../names.ts';
import type { Fault } from '../problem.ts';
import { didYouMeanHint, habitHint } from './hints.ts';
import { type Complain, complainAbout, type Parameter, type Parameters, parseParameters, quote } from './parameters.ts';
import { textArray, type WireItem } from './wire-arrays.ts';

export interface PreparedType {
  readonly type: RecordType;
  readonly parse: ParseSearch;
  readonly variants: ReadonlyMap<string, PreparedVariant>;
  readonly defaultVariant: PreparedVariant;
  readonly order: readonly OrderBy[];
  /** The query of a list request without parameters. */
  readonly query: ListQuery;
  /** Recent queries of lists by query string, since clients repeat their requests; `views` and `writes` likewise for single records. */
  readonly queries: BoundedCache<ListQuery>;
  readonly views: BoundedCache<View>;
  readonly writes: BoundedCache<WriteQuery>;
  /** What a write without parameters asks for. */
  readonly write: WriteQuery;
  readonly accepted: AcceptedParameters;
  readonly acceptedBySummaries: AcceptedParameters;
  readonly summaries: BoundedCache<SummaryQuery>;
  readonly acceptedByDeletes: AcceptedParameters;
  readonly limits: QueryLimits;
}

export interface PreparedVariant extends PathNames {
  /** The view of a request without `include` and `fields`. */
  readonly view: View;
  /** Other recent views. */
  readonly views: BoundedCache<View>;
  readonly limits: QueryLimits;
}

/** Entries of each cache; longer texts than MAX_TEXT are not cached. */
const MAX_KEPT = 64;
const MAX_TEXT = 500;

export interface PreparingOptions {
  /** How many queries of lists are remembered, and of summaries. */
  readonly lists?: number;
  /** Default: the parameters of `/api`. */
  readonly parse?: ParseSearch;
}

/** From the raw text after the `?` to parameters, with `steps` for conditions, order and limit. */
export type ParseSearch = (search: string) => Parameters;

export function prepareType(
  type: RecordType,
  limits: QueryLimits,
  { lists = MAX_KEPT, parse = parseParameters }: PreparingOptions = {},
): PreparedType {
  const prepared = (variant: Variant): PreparedVariant => prepareVariant(type, variant, limits);
  const variants = new Map([...type.variants].map(([name, variant]) => [name, prepared(variant)]));
  const defaultVariant = variants.get(type.defaultVariant.name) ?? prepared(type.defaultVariant);
  const order = Object.freeze(defaultOrder(type));
  const query = Object.freeze({
    view: defaultVariant.view,
    filters: Object.freeze([]),
    order,
    ...WHOLE,
    cursor: undefined,
  });
  const queries = createBoundedCache<ListQuery>(Math.max(lists, MAX_KEPT), MAX_TEXT);
  const views = createBoundedCache<View>(MAX_KEPT, MAX_TEXT);
  const writes = createBoundedCache<WriteQuery>(MAX_KEPT, MAX_TEXT);
  const write = Object.freeze({ view: defaultVariant.view, dryRun: false });
  const summaries = createBoundedCache<SummaryQuery>(Math.max(lists, MAX_KEPT), MAX_TEXT);
  const kept = { query, queries, views, write, writes, summaries };
  const accepted = accepting(type, LIST_PARAMETERS);
  const acceptedBySummaries = accepting(type, SUMMARY_PARAMETERS);
  const acceptedByDeletes = accepting(type, ['variant', DRY_RUN]);
  const acceptance = { accepted, acceptedBySummaries, acceptedByDeletes };
  return { type, parse, variants, defaultVariant, order, ...kept, ...acceptance, limits };
}

export function prepareVariant(type: RecordType, variant: Variant, limits: QueryLimits): PreparedVariant {
  const views = createBoundedCache<View>(MAX_KEPT, MAX_TEXT);
  return { ...namesOf(type, variant), view: defaultView(type, variant), views, limits };
}

// Sorts the parameters of a request by their use, and rejects unknown ones.

interface SortedParameters {
  readonly limit: readonly Parameter[];
  readonly orderBy: readonly Parameter[];
  readonly filters: readonly Parameter[];
  /** The other parameters, which can be given only once. */
  readonly plain: ReadonlyMap<string, string>;
}

/** The parameters that a kind of request accepts. */
interface AcceptedParameters {
  readonly plain: ReadonlySet<string>;
  /** The type whose records it finds by `_cnd[…]`; undefined if it takes none. */
  readonly found: RecordType | undefined;
  /** Why it takes none. */
  readonly unfound: string;
  /** The correct spelling of each name, for suggestions. */
  readonly spellings: ReadonlyMap<string, string>;
}

const VIEW_PARAMETERS = ['include', 'fields', 'variant'];
const LIST_PARAMETERS = [...VIEW_PARAMETERS, 'after', 'before'];
const SUMMARY_PARAMETERS = ['by', 'measure', 'variant'];

const FOR_LISTS = 'can only be used with lists';
const NO_CHANGES =
  'finds records to list or to delete; changes by filter do not exist: send PATCH with an array of records, each with its identifier';

const acceptedBy = (names: readonly string[], unfound = NO_CHANGES): AcceptedParameters => ({
  plain: new Set(names),
  found: undefined,
  unfound,
  spellings: new Map(names.map((name) => [name, name])),
});

export const DRY_RUN = 'dryRun';
export const ACCEPTED_BY_VIEWS = acceptedBy(VIEW_PARAMETERS, FOR_LISTS);
export const ON = 'on';
export const ACCEPTED_BY_WRITES = acceptedBy([...VIEW_PARAMETERS, DRY_RUN]);
export const ACCEPTED_BY_UPSERTS = acceptedBy([...VIEW_PARAMETERS, DRY_RUN, ON]);

function accepting(found: RecordType, parameters: readonly string[]): AcceptedParameters {
  const { identifier, fields, relations } = found;
  const conditions = ['limit', 'orderBy', identifier.name, ...fields.keys(), ...relations.keys()];
  const spellings = [
    ...conditions.map((name) => [name, `_cnd[${name}]`] as const),
    ...parameters.map((name) => [name, name] as const),
  ];
  return { plain: new Set(parameters), found, unfound: FOR_LISTS, spellings: new Map(spellings) };
}

export function sortParameters(
  { all, faults: unreadable }: Parameters,
  accepted: AcceptedParameters,
  faults: Fault[],
): SortedParameters {
  for (const fault of unreadable) faults.push(fault);
  const sorted = {
    limit: [] as Parameter[],
    orderBy: [] as Parameter[],
    filters: [] as Parameter[],
    plain: new Map<string, string>(),
  };
  for (const parameter of all) {
    const { key, steps, value } = parameter;
    if (steps && accepted.found) sorted[readerOf(steps)].push(parameter);
    else if (!accepted.plain.has(key)) refuse(parameter, accepted, faults);
    else if (sorted.plain.has(key)) complainAbout(faults, key)('repeated', `"${key}" is given twice`);
    else sorted.plain.set(key, value);
  }
  return sorted;
}

function readerOf([name]: readonly string[]): 'limit' | 'orderBy' | 'filters' {
  return name === 'limit' || name === 'orderBy' ? name : 'filters';
}

function refuse(
  { key, steps, value }: Parameter,
  { found, unfound, spellings }: AcceptedParameters,
  faults: Fault[],
): void {
  const complain = complainAbout(faults, key);
  const meant = habitHint(key, value);
  const isForLists = !found && (steps !== undefined || meant?.startsWith('_cnd['));
  if (isForLists) complain('unknown-parameter', `${quote(key)} ${unfound}`);
  else if (key === DRY_RUN) complain('unknown-parameter', `"${key}" can only be used with requests that write`);
  else
    complain('unknown-parameter', `Unknown parameter ${quote(key)}`, () =>
      didYouMeanHint(meant ?? spellingOf(key, spellings)),
    );
}

/** `limit` was meant to be `_cnd[limit]`, `includ` and `include[]` to be `include`. */
function spellingOf(key: string, spellings: AcceptedParameters['spellings']): string | undefined {
  const bare = key.replace(/^_cnd(?=\[)/, '').replace(/[[\]]/g, '');
  return spellings.get(nearest(bare, spellings.keys()) ?? '');
}

// `_cnd[limit]`: the offset, then the maximum number of records.

type ListRange = Pick<ListQuery, 'offset' | 'limit'>;

const WHOLE: ListRange = Object.freeze({ offset: 0, limit: undefined });

const USAGE =
  '_cnd[limit] takes the offset, then the limit: _cnd[limit]=0,20 or _cnd[limit]=0&_cnd[limit]=20 (a limit alone: _cnd[limit][1]=20)';

export function resolveLimit(parameters: readonly Parameter[], maxLimit: number, faults: Fault[]): ListRange {
  const [first] = parameters;
  if (!first) return WHOLE;
  const items = limitItems(parameters, complainAbout(faults, first.key));
  const at = (place: number): Parameter | undefined => items.find(({ index }) => index === place)?.parameter;
  return { offset: wholeNumber(at(0), faults) ?? 0, limit: wholeNumber(at(1), faults, maxLimit) };
}

function limitItems(parameters: readonly Parameter[], complain: Complain): readonly WireItem[] {
  const array = textArray(parameters, 1, complain);
  if (!array) return [];
  const { indexed, items } = array;
  if (items.some(({ index }) => index > 1)) return complain('too-many-items', USAGE) ?? [];
  return items.length === 1 && !indexed ? (complain('lone-value', USAGE) ?? []) : items;
}

function wholeNumber(item: Parameter | undefined, faults: Fault[], greatest = Infinity): number | undefined {
  if (!item) return undefined;
  const complain = complainAbout(faults, item.key);
  const number = Number(item.value);
  if (!/^\d+$/.test(item.value) || !Number.isSafeInteger(number)) {
    return complain('invalid-value', `${quote(item.value)} is not an integer from 0 to 2^53-1. ${USAGE}`);
  }
  return number > greatest ? complain('limit-too-large', `The largest limit of this list is ${greatest}`) : number;
}
