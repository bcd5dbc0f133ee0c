/** Parses query strings to queries, and reports all faults of a request at once. */
import { createCache, memoized } from '../memo.ts';
import { sampleOf } from '../model/identifier.ts';
import { resolveField } from '../model/resolve.ts';
import { type RecordType, type UniqueMembers, type Variant, wholeOf } from '../model/model.ts';
import { can, namedUniques, type Rights } from '../model/rights.ts';
import { didYouMean, nearest } from '../names.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import { resolveFilters } from './filters.ts';
import type {
  ChangesQuery,
  DeleteQuery,
  ListQuery,
  LogQuery,
  QueryLimits,
  QueryReading,
  UpsertQuery,
  WriteQuery,
} from './list-query.ts';
import { defaultOrder, orderBy, resolveCursor, resolveLimit, resolveOrder } from './paging.ts';
import {
  reportOn,
  didYouMeanHint,
  inUrl,
  type Parameter,
  type Parameters,
  parseParameters,
  quote,
} from './parameters.ts';
import { defaultView, namesOf, ownFields, refuseManyRelations, resolveView } from './paths.ts';
import { readSummary } from './summary.ts';

/** Returns parameters with `steps` for conditions, order and limit. */
export type ParseSearch = (search: string, rights: Rights) => Parameters;

/** Clients repeat requests. Query strings over MAX_TEXT are not cached. */
const MAX_QUERIES = 4096;
const MAX_TEXT = 500;

/** Throws `invalid-query`. */
export type TypeQueries = {
  readonly [K in keyof typeof KINDS]: (search: string | Parameters) => ReturnType<(typeof KINDS)[K]['resolve']>;
};

export function createQueryResolver(
  limits: QueryLimits,
): (type: RecordType, rights: Rights, parse?: ParseSearch, maxIdentifiers?: number) => TypeQueries {
  const known = createCache<unknown>(MAX_QUERIES);
  return (type, rights, parse = parseParameters, maxIdentifiers = limits.maxIdentifiers) => {
    const shownBy = memoized((variant: Variant) => ({
      names: namesOf(type, variant, rights),
      view: defaultView(type, variant, rights),
    }));
    const readers = Object.entries(KINDS).map(([name, kind]) => {
      const read = (given: Parameters): unknown => {
        const sorted = sortParameters(given, kind, type);
        const { faults } = sorted;
        const variant = variantOf(type, sorted.plain.get('variant'), faults);
        const query = kind.resolve({ ...sorted, ...shownBy(variant), limits: { ...limits, maxIdentifiers } });
        if (faults.length > 0) throw faultyRequest('invalid-query', faults);
        return query;
      };
      const reader = (search: string | Parameters): unknown => {
        if (typeof search !== 'string') return read(search);
        if (search.length > MAX_TEXT) return read(parse(search, rights));
        return known(`${name} ${type.statementKey} ${rights.key}${search}`, () => read(parse(search, rights)));
      };
      return [name, reader] as const;
    });
    return Object.fromEntries(readers) as TypeQueries;
  };
}

function variantOf(
  { name: typeName, variants, defaultVariant, fields }: RecordType,
  name: string | undefined,
  faults: Fault[],
): Variant {
  const found = name === undefined ? defaultVariant : variants.get(name);
  if (found && name !== '') return found;
  const known = variants.has('') ? 's' : ` ${quote(name ?? '')}; it has ${[...variants.keys()].join(', ')}`;
  const hint = (): string => didYouMean(name ?? '', variants.keys());
  reportOn(faults, 'variant')('unknown-variant', `${typeName} has no variant${known}`, hint);
  // Continues with all fields, so that this fault causes no others.
  return { name: '', fields: [...fields.values()] };
}

export const DRY_RUN = 'dryRun';
export const ON = 'on';

interface QueryKind {
  readonly plain: readonly string[];
  readonly conditions: true | string;
  readonly resolve: (reading: QueryReading) => unknown;
}

const VIEW_PARAMETERS = ['include', 'fields', 'variant'];
const NO_CHANGES =
  'finds records to list or to delete; changes by filter do not exist: send PATCH with an array of records, each with its identifier';

const KINDS = {
  list: { plain: [...VIEW_PARAMETERS, 'after', 'before'], conditions: true, resolve: readList },
  summary: { plain: ['by', 'measure', 'zone', 'variant'], conditions: true, resolve: readSummary },
  remove: { plain: ['variant', DRY_RUN], conditions: true, resolve: readDelete },
  log: { plain: ['limit', 'after'], conditions: 'can only be used with lists', resolve: readLog },
  view: { plain: VIEW_PARAMETERS, conditions: 'can only be used with lists', resolve: resolveView },
  write: { plain: [...VIEW_PARAMETERS, DRY_RUN], conditions: NO_CHANGES, resolve: readWrite },
  create: { plain: [...VIEW_PARAMETERS, DRY_RUN, ON], conditions: NO_CHANGES, resolve: readCreate },
  upsert: { plain: [...VIEW_PARAMETERS, DRY_RUN, ON], conditions: NO_CHANGES, resolve: readUpsert },
} as const satisfies Record<string, QueryKind>;

type Sorted = Pick<QueryReading, 'limit' | 'orderBy' | 'filters' | 'plain' | 'shared' | 'written' | 'faults'>;

/** `accepted.conditions`: true, or why there can be none. */
function sortParameters(
  { all, faults: unreadable, shared = '', written = inUrl }: Parameters,
  accepted: Omit<QueryKind, 'resolve'>,
  type?: RecordType,
): Sorted {
  const faults = [...unreadable];
  const sorted = { limit: [] as Parameter[], orderBy: [] as Parameter[], filters: [] as Parameter[] };
  const plain = new Map<string, string>();
  for (const parameter of all) {
    const { key, steps, value } = parameter;
    if (steps && accepted.conditions === true) {
      const [name] = steps;
      sorted[name === 'limit' || name === 'orderBy' ? name : 'filters'].push(parameter);
    } else if (!accepted.plain.includes(key)) refuse(parameter, accepted, type, faults);
    else if (plain.has(key)) reportOn(faults, key)('repeated', `"${key}" is given twice`);
    else plain.set(key, value);
  }
  return { ...sorted, plain, shared, written, faults };
}

/** Reads the query of what is no list, which has these parameters only. Throws `invalid-query`. */
export function readPlain<T>(search: string, plain: readonly string[], read: (sorted: Sorted) => T): T {
  const sorted = sortParameters(parseParameters(search), { plain, conditions: 'can only be used with lists' });
  const query = read(sorted);
  if (sorted.faults.length > 0) throw faultyRequest('invalid-query', sorted.faults);
  return query;
}

/** Parameters of other products, with their equivalents here. */
const EQUIVALENTS: ReadonlyMap<string, string> = new Map([
  ['limit', '_cnd[limit]=OFFSET,LIMIT'],
  ['offset', '_cnd[limit]=OFFSET,LIMIT'],
  ['page', '_cnd[limit]=OFFSET,LIMIT'],
  ['sort', '_cnd[orderBy]=FIELD,desc'],
  ['filter', '_cnd[FIELD]=VALUE'],
  ['cnd', '_cnd[FIELD]=VALUE'],
  ['q', '_cnd[FIELD][like]=*TEXT*'],
  ['search', '_cnd[FIELD][like]=*TEXT*'],
  ['expand', 'include=RELATION'],
]);

function refuse(
  { key, steps }: Parameter,
  { plain, conditions }: Omit<QueryKind, 'resolve'>,
  type: RecordType | undefined,
  faults: Fault[],
): void {
  const report = reportOn(faults, key);
  // `page[number]` and `_page` mean the same as `page`.
  const [, word = ''] = /^[_$]?([a-z]+)(?:\[[^\]]*\])*$/i.exec(key) ?? [];
  const equivalent = EQUIVALENTS.get(word);
  if (conditions !== true && (steps !== undefined || equivalent?.startsWith('_cnd[')))
    report('unknown-parameter', `${quote(key)} ${conditions}`);
  else if (key === DRY_RUN) report('unknown-parameter', `"${key}" can only be used with requests that write`);
  else
    report('unknown-parameter', `Unknown parameter ${quote(key)}`, () => {
      const names = type ? [type.identifier.name, ...type.fields.keys(), ...type.relations.keys()] : [];
      const spelling = spellingOf(key, plain, conditions === true ? ['limit', 'orderBy', ...names] : []);
      const near = conditions === true ? (nearest(word, EQUIVALENTS.keys()) ?? '') : '';
      return didYouMeanHint(equivalent ?? spelling ?? EQUIVALENTS.get(near));
    });
}

/** Suggests `_cnd[orderBy]` for `orderBy`, `include` for `includ` and `include[]`. */
function spellingOf(key: string, plain: readonly string[], conditions: readonly string[]): string | undefined {
  const bare = key.replace(/^_?cnd(?=\[)/, '').replace(/[[\]]/g, '');
  const near = nearest(bare, [...conditions, ...plain]);
  return near === undefined || plain.includes(near) ? near : `_cnd[${near}]`;
}

function readList(reading: QueryReading): ListQuery {
  const { faults } = reading;
  const { type } = reading.names;
  const view = resolveView(reading);
  const filters = resolveFilters(reading);
  const order = reading.orderBy.length === 0 ? defaultOrder(type) : resolveOrder(reading);
  const range = resolveLimit(reading.limit, type.maxLimit, faults);
  refuseManyRelations(filters, order, faults);
  const query = { view, filters, order, ...range, cursor: undefined, shared: reading.shared };
  return { ...query, cursor: resolveCursor(query, reading) };
}

/** Entries on a page of the log. */
export const LOG_LIMITS = { usual: 100, most: 1000 } as const;

function logLimit({ plain, faults }: Pick<QueryReading, 'plain' | 'faults'>): number {
  const { usual, most } = LOG_LIMITS;
  const text = plain.get('limit') ?? String(usual);
  const limit = /^[1-9]\d*$/.test(text) ? Number(text) : Infinity;
  if (limit > most)
    reportOn(faults, 'limit')('invalid-value', `"limit" must be an integer from 1 to ${most}, not ${quote(text)}`);
  return limit;
}

function readLog(reading: QueryReading): LogQuery {
  return { view: ownFields(reading.view), limit: logLimit(reading), after: reading.plain.get('after') };
}

/** The query of a page of all changes, or, as it has no limit, of a stream. Throws `invalid-query`. */
export const readChanges = (search: string, isStream: boolean): ChangesQuery =>
  readPlain(search, ['after', 'type', 'values', ...(isStream ? [] : ['limit'])], (sorted) => {
    const [after, types] = [sorted.plain.get('after'), sorted.plain.get('type')?.split(',')];
    return { limit: logLimit(sorted), after, types, values: flagIn(sorted, 'values') };
  });

function readWrite(reading: QueryReading): WriteQuery {
  return { view: resolveView(reading), dryRun: flagIn(reading, DRY_RUN) };
}

function readCreate(reading: QueryReading): WriteQuery | UpsertQuery {
  const { names, plain, faults } = reading;
  const { type, rights } = names;
  if (!plain.has(ON)) return readWrite(reading);
  const asked = `which "${ON}" asks for; leave it out`;
  if (!wholeOf(type).operations.has('update'))
    reportOn(faults, ON)('not-offered', `${type.name} does not offer updates, ${asked}`);
  else if (!can(rights, type, 'update'))
    throw new Problem('forbidden', `You may not update records of ${type.name}, ${asked}`);
  const { name, type: kind } = type.identifier;
  // Records that bring their identifiers are found by them.
  return readUpsert(reading, [{ name, members: [resolveField(name, { type: kind.name })] }]);
}

function readUpsert(reading: QueryReading, others: readonly UniqueMembers[] = []): UpsertQuery {
  return { ...readWrite(reading), unique: resolveUnique(reading, others) ?? { name: '', members: [] } };
}

function resolveUnique(
  { names: { type, rights }, plain, faults }: QueryReading,
  others: readonly UniqueMembers[],
): UniqueMembers | undefined {
  const report = reportOn(faults, ON);
  const textOf = ({ members }: UniqueMembers): string => members.map(({ name }) => name).join(',');
  const sorted = (text: string): string => text.split(/ *, */).toSorted().join(',');
  const known = [...namedUniques(wholeOf(type), rights), ...(type.identifier.inRecord ? others : [])];
  const declared = new Map(known.map((unique) => [sorted(textOf(unique)), unique]));
  const all = [...declared.values()].map((unique) => `${ON}=${textOf(unique)}`);
  const text = plain.get(ON)?.trim();
  if (text === undefined)
    return report('required', `PUT needs the unique values that identify the record: ${all.join(' or ')}`);
  const found = declared.get(sorted(text));
  if (found) return found;
  return report('not-unique', `${quote(text)} is not declared as unique in ${type.name}`, () => {
    if (text === type.identifier.name)
      return `; POST with ${ON}=${text} creates or changes records by their identifiers, and PUT to its own path changes one`;
    const near = declared.get(nearest(sorted(text), declared.keys()) ?? '');
    if (near) return `; did you mean "${textOf(near)}"?`;
    return all.length === 0 ? '; no values of this type are' : `; declared are ${all.join(' and ')}`;
  });
}

function readDelete(reading: QueryReading): DeleteQuery {
  const { names, view, faults } = reading;
  for (const { key } of [...reading.limit, ...reading.orderBy].slice(0, 1))
    reportOn(faults, key)(
      'unknown-parameter',
      `${quote(key)} can only be used with GET: a deletion affects all records that match its filters, and Prefer: max-affected=N says how many they may be`,
    );
  const filters = resolveFilters(reading);
  const dryRun = flagIn(reading, DRY_RUN);
  if (reading.filters.length === 0 && faults.length === 0)
    reportOn(faults, '_cnd')(
      'required',
      `DELETE needs a filter, such as _cnd[${names.type.identifier.name}]=${sampleOf(names.type.identifier)}`,
    );
  const order = orderBy(names.type, undefined);
  refuseManyRelations(filters, order, faults);
  const all = { offset: 0, limit: undefined, cursor: undefined, shared: '' };
  return { query: { view: ownFields(view), filters, order, ...all }, dryRun };
}

function flagIn({ plain, faults }: Pick<QueryReading, 'plain' | 'faults'>, name: string): boolean {
  const text = plain.get(name) ?? 'false';
  if (text !== 'true' && text !== 'false')
    reportOn(faults, name)('invalid-value', `"${name}" must be true or false, not ${quote(text)}`);
  return text === 'true';
}
