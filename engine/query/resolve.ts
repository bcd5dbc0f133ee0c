/** Parses query strings. All faults of a request are reported at once. */
import { type Model, namedUniques, type RecordType, type UniqueMembers } from '../model/model.ts';
import { nearest } from '../names.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import type { DeleteQuery, ListQuery, QueryLimits, SummaryQuery, UpsertQuery, View, WriteQuery } from './list-query.ts';
import { ownPath, refuseManyRelations } from './paths.ts';
import { ownFields } from './view.ts';
import {
  ACCEPTED_BY_VIEWS,
  ACCEPTED_BY_UPSERTS,
  ACCEPTED_BY_WRITES,
  DRY_RUN,
  ON,
  type PreparedType,
  type PreparingOptions,
  prepareType,
  resolveLimit,
  sortParameters,
} from './prepared-type.ts';
import { resolveCursor } from './cursor.ts';
import { complainAbout, quote } from './parameters.ts';
import { resolveFilters } from './filters.ts';
import { resolveOrder } from './order.ts';
import { readSummary } from './summary.ts';
import { resolveVariant, resolveView } from './resolve-view.ts';

/** Parses the query strings of requests to one type. All throw a Problem, `invalid-query`. */
export interface TypeQueries {
  /** `search` is the raw text after the `?`. */
  list(search: string): ListQuery;
  summary(search: string): SummaryQuery;
  /** For GET of one record. */
  view(search: string): View;
  /** For requests that write one record. */
  write(search: string): WriteQuery;
  /** For PUT of the record with unique values. */
  upsert(search: string): UpsertQuery;
  /** For DELETE of what filters find: there must be one. */
  remove(search: string): DeleteQuery;
}

/** Queries of lists that are remembered, of all types together: filters differ from one request to the next. */
const MAX_KEPT = 4096;

/** Returns the parser for each type of the model. */
export function createQueryResolver(model: Model, limits: QueryLimits): (type: RecordType) => TypeQueries {
  const kept = Math.floor(MAX_KEPT / model.types.size);
  const all = new Map([...model.types.values()].map((type) => [type, queriesOf(type, limits, { lists: kept })]));
  return (type) => all.get(type) ?? queriesOf(type, limits);
}

export function queriesOf(type: RecordType, limits: QueryLimits, options?: PreparingOptions): TypeQueries {
  const prepared = prepareType(type, limits, options);
  return {
    list: (search) => (search === '' ? prepared.query : (prepared.queries.get(search) ?? readList(prepared, search))),
    summary: (search) => prepared.summaries.get(search) ?? keptSummary(prepared, search),
    view: (search) =>
      search === '' ? prepared.defaultVariant.view : (prepared.views.get(search) ?? readView(prepared, search)),
    upsert: (search) => readUpsert(prepared, search),
    remove: (search) => readDelete(prepared, search),
    write: (search) => (search === '' ? prepared.write : (prepared.writes.get(search) ?? readWrite(prepared, search))),
  };
}

function readList(prepared: PreparedType, search: string): ListQuery {
  const faults: Fault[] = [];
  const sorted = sortParameters(prepared.parse(search), prepared.accepted, faults);
  const names = resolveVariant(prepared, sorted.plain.get('variant'), faults);
  const view = resolveView(names, sorted.plain, faults);
  const filters = resolveFilters(sorted.filters, names, faults, prepared.limits);
  const order = sorted.orderBy.length === 0 ? prepared.order : resolveOrder(sorted.orderBy, names, faults);
  const { offset, limit } = resolveLimit(sorted.limit, prepared.type.maxLimit, faults);
  refuseManyRelations(filters, order, faults);
  const query = { view, filters, order, offset, limit, cursor: undefined };
  const cursor = resolveCursor(query, sorted.plain, faults);
  const wanted = Object.freeze(withoutFaults(cursor ? { ...query, cursor } : query, faults));
  prepared.queries.set(search, wanted);
  return wanted;
}

function keptSummary(prepared: PreparedType, search: string): SummaryQuery {
  const wanted = readSummary(prepared, search);
  prepared.summaries.set(search, wanted);
  return wanted;
}

function readView(prepared: PreparedType, search: string): View {
  const faults: Fault[] = [];
  const { plain } = sortParameters(prepared.parse(search), ACCEPTED_BY_VIEWS, faults);
  const names = resolveVariant(prepared, plain.get('variant'), faults);
  const view = withoutFaults(resolveView(names, plain, faults), faults);
  prepared.views.set(search, view);
  return view;
}

function readWrite(prepared: PreparedType, search: string): WriteQuery {
  const faults: Fault[] = [];
  const { plain } = sortParameters(prepared.parse(search), ACCEPTED_BY_WRITES, faults);
  const names = resolveVariant(prepared, plain.get('variant'), faults);
  const view = resolveView(names, plain, faults);
  const dryRun = resolveDryRun(plain.get(DRY_RUN), faults);
  const wanted = Object.freeze(withoutFaults({ view, dryRun }, faults));
  prepared.writes.set(search, wanted);
  return wanted;
}

function readUpsert(prepared: PreparedType, search: string): UpsertQuery {
  const faults: Fault[] = [];
  const { plain } = sortParameters(prepared.parse(search), ACCEPTED_BY_UPSERTS, faults);
  const names = resolveVariant(prepared, plain.get('variant'), faults);
  const view = resolveView(names, plain, faults);
  const dryRun = resolveDryRun(plain.get(DRY_RUN), faults);
  const unique = resolveUnique(prepared.type, plain.get(ON), faults);
  return withoutFaults({ view, dryRun, unique: unique ?? NO_MEMBERS }, faults);
}

const NO_MEMBERS: UniqueMembers = { name: '', members: [] };

/** The members in any order. */
function resolveUnique(type: RecordType, text: string | undefined, faults: Fault[]): UniqueMembers | undefined {
  const complain = complainAbout(faults, ON);
  const declared = new Map(
    namedUniques(type).map((unique) => [inOrder(unique.members.map(({ name }) => name)), unique]),
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

function readDelete(prepared: PreparedType, search: string): DeleteQuery {
  const faults: Fault[] = [];
  const {
    plain,
    filters: given,
    limit,
    orderBy,
  } = sortParameters(prepared.parse(search), prepared.acceptedByDeletes, faults);
  for (const { key } of [...limit, ...orderBy].slice(0, 1))
    complainAbout(faults, key)('unknown-parameter', `${quote(key)} can only be used with GET: ${WHOLE_DELETE}`);
  const names = resolveVariant(prepared, plain.get('variant'), faults);
  const filters = resolveFilters(given, names, faults, prepared.limits);
  const dryRun = resolveDryRun(plain.get(DRY_RUN), faults);
  if (given.length === 0 && faults.length === 0)
    complainAbout(faults, '_cnd')('required', `DELETE needs a filter, such as _cnd[${names.type.identifier.name}]=1`);
  const order = [{ path: ownPath(names.type, undefined), descending: false }];
  refuseManyRelations(filters, order, faults);
  const query = { view: ownFields(names.view), filters, order, offset: 0, limit: undefined, cursor: undefined };
  return withoutFaults({ query, dryRun }, faults);
}

const WHOLE_DELETE =
  'a deletion affects all records that match its filters, and Prefer: max-affected=N says how many they may be';

/** Whatever is not clearly a dry run must not be taken for a write. */
function resolveDryRun(text: string | undefined, faults: Fault[]): boolean {
  if (text === undefined) return false;
  const complain = complainAbout(faults, DRY_RUN);
  if (text === 'true' || text === 'false') return text === 'true';
  complain('invalid-value', `"${DRY_RUN}" must be true or false, not ${quote(text)}`);
  return false;
}

function withoutFaults<T>(wanted: T, faults: readonly Fault[]): T {
  if (faults.length > 0) throw faultyRequest('invalid-query', faults);
  return wanted;
}
