/** Parses query strings. All faults of a request are reported at once. */
import { createBoundedCache, memoized } from '../memo.ts';
import type { Model, RecordType, UniqueMembers, Variant } from '../model/model.ts';
import { ALL_RIGHTS, namedUniques, type Rights } from '../model/rights.ts';
import { nearest } from '../names.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { ACCEPTED, DRY_RUN, ON, type QueryReading, sortParameters, type VariantNames } from './accepted.ts';
import { resolveCursor, resolveLimit } from './cursor.ts';
import { resolveFilters } from './filters.ts';
import type { DeleteQuery, ListQuery, QueryLimits, SummaryQuery, UpsertQuery, View, WriteQuery } from './list-query.ts';
import { defaultOrder, resolveOrder } from './order.ts';
import { complainAbout, type Parameters, parseParameters, quote } from './parameters.ts';
import { namesOf, ownPath, refuseManyRelations } from './paths.ts';
import { resolveView } from './resolve-view.ts';
import { readSummary } from './summary.ts';
import { defaultView, ownFields } from './view.ts';

/** A query string, or its parameters. */
export type Search = string | Parameters;

/** Reads the queries of requests to one type. All throw a Problem, `invalid-query`. */
export interface TypeQueries {
  list(search: Search): ListQuery;
  summary(search: Search): SummaryQuery;
  /** For GET of one record. */
  view(search: Search): View;
  /** For requests that write one record. */
  write(search: Search): WriteQuery;
  /** For PUT of the record with unique values. */
  upsert(search: Search): UpsertQuery;
  /** For DELETE of what filters find: there must be one. */
  remove(search: Search): DeleteQuery;
}

/** Queries of lists that are remembered, of all types together: filters differ from one request to the next. */
const MAX_LISTS = 4096;
/** Of others, for each type. Longer texts than MAX_TEXT are not remembered. */
const MAX_KEPT = 64;
const MAX_TEXT = 500;

interface ReadingOptions {
  /** How many queries of lists are remembered, and of summaries. */
  readonly lists?: number;
  /** From the raw text after the `?` to parameters, with `steps` for conditions, order and limit. Default: those of `/api`. */
  readonly parse?: ParseSearch;
}

export type ParseSearch = (search: string, rights: Rights) => Parameters;

/** The queries of a type for clients with some rights. */
export type QueriesFor = (rights: Rights) => TypeQueries;

/** Returns the parser for each type of the model. */
export function createQueryResolver(model: Model, limits: QueryLimits): (type: RecordType) => QueriesFor {
  const lists = Math.max(MAX_KEPT, Math.floor(MAX_LISTS / model.types.size));
  const all = new Map([...model.types.values()].map((type) => [type, queriesOf(type, limits, { lists })]));
  return (type) => all.get(type) ?? queriesOf(type, limits);
}

export function queriesOf(
  type: RecordType,
  limits: QueryLimits,
  { lists = MAX_KEPT, parse = parseParameters }: ReadingOptions = {},
): QueriesFor {
  const { variants } = type;
  const namesFor = (variant: Variant, rights: Rights): VariantNames => ({
    ...namesOf(type, variant, rights),
    view: defaultView(type, variant, rights),
  });
  const usual = memoized((variant: Variant) => namesFor(variant, ALL_RIGHTS));

  function variantIn({ plain, faults }: Pick<QueryReading, 'plain' | 'faults'>, rights: Rights): VariantNames {
    const name = plain.get('variant');
    const found = name === undefined ? type.defaultVariant : variants.get(name);
    if (found && name !== '') return rights === ALL_RIGHTS ? usual(found) : namesFor(found, rights);
    const known = variants.has('') ? 's' : ` ${quote(name ?? '')}; it has ${[...variants.keys()].join(', ')}`;
    complainAbout(faults, 'variant')('unknown-variant', `${type.name} has no variant${known}`);
    // Continue with all fields, so that this fault causes no others.
    return namesFor({ name: '', fields: [...type.fields.values()] }, rights);
  }

  const reader =
    <T>(kind: keyof typeof ACCEPTED, read: (reading: QueryReading) => T) =>
    (search: Search, rights: Rights): T => {
      const given = typeof search === 'string' ? parse(search, rights) : search;
      const sorted = sortParameters(given, ACCEPTED[kind], type, rights);
      const wanted = read({ ...sorted, type, limits, names: variantIn(sorted, rights) });
      if (sorted.faults.length > 0) throw faultyRequest('invalid-query', sorted.faults);
      return Object.freeze(wanted);
    };
  const list = remembered(reader('list', readList), lists);
  const summary = remembered(reader('summary', readSummary), lists);
  const view = remembered(reader('view', resolveView));
  const write = remembered(reader('write', readWrite));
  const [upsert, remove] = [reader('upsert', readUpsert), reader('remove', readDelete)];
  return (rights) => ({
    list: (search) => list(search, rights),
    summary: (search) => summary(search, rights),
    view: (search) => view(search, rights),
    write: (search) => write(search, rights),
    upsert: (search) => upsert(search, rights),
    remove: (search) => remove(search, rights),
  });
}

type Read<T> = (search: Search, rights: Rights) => T;

/** Clients repeat their requests. */
function remembered<T>(read: Read<T>, most = MAX_KEPT): Read<T> {
  const known = createBoundedCache<T>(most, MAX_TEXT);
  return (search, rights) => {
    if (typeof search !== 'string') return read(search, rights);
    const key = rights.key + search;
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = read(search, rights);
    known.set(key, made);
    return made;
  };
}

function readList(reading: QueryReading): ListQuery {
  const { type, names, limits, plain, faults } = reading;
  const view = resolveView(reading);
  const filters = resolveFilters(reading.filters, names, faults, limits);
  const order = reading.orderBy.length === 0 ? defaultOrder(type) : resolveOrder(reading.orderBy, names, faults);
  const { offset, limit } = resolveLimit(reading.limit, type.maxLimit, faults);
  refuseManyRelations(filters, order, faults);
  const query = { view, filters, order, offset, limit, cursor: undefined };
  return { ...query, cursor: resolveCursor(query, plain, faults) };
}

const readWrite = (reading: QueryReading): WriteQuery => ({
  view: resolveView(reading),
  dryRun: resolveDryRun(reading.plain.get(DRY_RUN), reading.faults),
});

const readUpsert = (reading: QueryReading): UpsertQuery => ({
  ...readWrite(reading),
  unique: resolveUnique(reading, reading.plain.get(ON)) ?? NO_MEMBERS,
});

const NO_MEMBERS: UniqueMembers = { name: '', members: [] };

/** The members in any order. */
function resolveUnique({ type, names, faults }: QueryReading, text: string | undefined): UniqueMembers | undefined {
  const complain = complainAbout(faults, ON);
  const declared = new Map(
    namedUniques(type, names.rights).map((unique) => [inOrder(unique.members.map(({ name }) => name)), unique]),
  );
  const all = [...declared.values()].map(({ members }) => `${ON}=${members.map(({ name }) => name).join(',')}`);
  if (text === undefined)
    return complain('required', `PUT needs the unique values that identify the record: ${all.join(' or ')}`);
  const found = declared.get(inOrder(text.split(',').map((name) => name.trim())));
  if (found) return found;
  return complain('not-unique', `${quote(text)} is not declared as unique in ${type.name}`, () => {
    const near = declared.get(nearest(inOrder(text.split(',')), declared.keys()) ?? '');
    if (!near) return `; declared are ${all.join(' and ')}`;
    return `; did you mean "${near.members.map(({ name }) => name).join(',')}"?`;
  });
}

const inOrder = (names: readonly string[]): string => names.toSorted().join(',');

function readDelete({ type, names, limits, plain, faults, ...given }: QueryReading): DeleteQuery {
  for (const { key } of [...given.limit, ...given.orderBy].slice(0, 1))
    complainAbout(faults, key)('unknown-parameter', `${quote(key)} can only be used with GET: ${WHOLE_DELETE}`);
  const filters = resolveFilters(given.filters, names, faults, limits);
  const dryRun = resolveDryRun(plain.get(DRY_RUN), faults);
  if (given.filters.length === 0 && faults.length === 0)
    complainAbout(faults, '_cnd')('required', `DELETE needs a filter, such as _cnd[${type.identifier.name}]=1`);
  const order = [{ path: ownPath(type, undefined), descending: false }];
  refuseManyRelations(filters, order, faults);
  const query = { view: ownFields(names.view), filters, order, offset: 0, limit: undefined, cursor: undefined };
  return { query, dryRun };
}

const WHOLE_DELETE =
  'a deletion affects all records that match its filters, and Prefer: max-affected=N says how many they may be';

/** A misspelled value must not turn a dry run into a write. */
function resolveDryRun(text: string | undefined, faults: Fault[]): boolean {
  if (text === undefined) return false;
  const complain = complainAbout(faults, DRY_RUN);
  if (text === 'true' || text === 'false') return text === 'true';
  complain('invalid-value', `"${DRY_RUN}" must be true or false, not ${quote(text)}`);
  return false;
}
