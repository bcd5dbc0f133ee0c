/** A request in the words of the rules, and as it goes over the wire. */
import type { Operation } from '../../engine/descriptor/descriptor.ts';
import { isObject, type JsonObject, type JsonValue } from '../../engine/json.ts';
import { MAX_GIVEN_IDENTIFIER, type RecordType } from '../../engine/model/model.ts';
import { raw, reference } from './template.ts';
import type { Request, Sender } from './case.ts';
import type { ConditionRequest, ListRequest, OrderRequest, SummaryRequest, ViewRequest } from './reads.ts';
import { type Id, idValue } from './world.ts';

/** Media types with a record on each line. */
export const NDJSON = 'application/x-ndjson';
export const CSV = 'text/csv';

/** Parts of a query string: `key=value`, already encoded. */
export type Query = readonly string[];

export interface Call {
  readonly type: RecordType;
  readonly method: string;
  /** The record that is addressed; undefined for the collection. */
  readonly id?: Id | undefined;
  /** The address, where type and identifier do not say it: a link of an earlier answer, a malformed path. */
  readonly path?: string;
  readonly view?: ViewRequest;
  readonly list?: ListRequest;
  /** Asks for a summary of the list, in place of its records. */
  readonly summary?: SummaryRequest;
  /** How page and order of `list` are written, where it is not the usual way. */
  readonly form?: Query;
  /** Parts of the query string that are refused. */
  readonly wrong?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves out the If-Match that types with `preconditions: required` need. */
  readonly unguarded?: true;
  readonly dryRun?: true;
  /** PUT of a collection: the unique values that identify the record. */
  readonly on?: readonly string[];
  readonly body?: JsonValue;
  /** The media type in which the records of `body`, an array, are sent: one on each line. */
  readonly lines?: string;
  /** What is sent in place of `body`, which says what it means. */
  readonly text?: string;
  readonly padTo?: number;
  /** The variable that an answer is bound to, or that is sent in place of `body`. */
  readonly bound?: string;
  readonly as?: Sender;
  /** The variable that is bound to the entity tag of the answer. */
  readonly tag?: string;
  /** The variable that is bound to the length of the answer. */
  readonly length?: string;
  /** The variables that are bound to the addresses in `Link`; null where a relation must be absent. */
  readonly links?: Readonly<Record<string, string | null>>;
}

/** An identifier that no record has: clients cannot choose it. */
export const MISSING_ID = MAX_GIVEN_IDENTIFIER + 1;

/** The variable as a path holds it. */
const idText = (id: Id): string => (typeof id === 'string' ? `{${id}}` : String(id));

export const linkTo = (type: RecordType, id: Id): JsonObject => ({ [type.identifier.name]: idValue(id) });

export const parameter = (key: string, value: string): string => `${key}=${encodeURIComponent(value)}`;

/** `_cnd[limit]` with each step encoded but the brackets raw, as most clients send it. */
export const cnd = (...steps: readonly string[]): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}`;

export const search = (query: Query): string => (query.length === 0 ? '' : `?${query.join('&')}`);

export const collectionPath = (type: RecordType, query: Query = []): string =>
  `/api/${encodeURIComponent(type.path)}${search(query)}`;

const summaryPath = (type: RecordType, query: Query): string => `${collectionPath(type)}/$summary${search(query)}`;

export const itemPath = (type: RecordType, id: Id, query: Query = []): string =>
  `${collectionPath(type)}/${idText(id)}${search(query)}`;

const viewQuery = ({ include, fields, variant }: ViewRequest): Query => [
  ...(include === undefined ? [] : [parameter('include', include.join(','))]),
  ...(fields === undefined ? [] : [parameter('fields', fields.join(','))]),
  ...(variant === undefined ? [] : [parameter('variant', variant)]),
];

const summaryQuery = ({ by, measure }: SummaryRequest): Query => [
  ...(by.length === 0 ? [] : [parameter('by', by.join(','))]),
  ...(measure.join() === 'count' ? [] : [parameter('measure', measure.join(','))]),
];

/** `steps`: those of the key so far, without `_cnd`. */
function conditionQuery(condition: ConditionRequest, steps: readonly string[] = []): Query {
  const inside = (items: readonly (readonly ConditionRequest[])[], ...before: readonly string[]): Query =>
    items.flatMap((item, index) => item.flatMap((one) => conditionQuery(one, [...steps, ...before, String(index)])));
  if ('group' in condition) return inside(condition.items, condition.group);
  const { path } = condition;
  if ('quantifier' in condition) return inside([condition.conditions], path, condition.quantifier);
  const [operator, before] =
    'counted' in condition ? [condition.counted, [...steps, path, '$count']] : [condition.operator, [...steps, path]];
  const key = operator === 'eq' ? cnd(...before) : cnd(...before, operator);
  const ids = 'ids' in condition ? condition.ids : undefined;
  if (ids && 'joined' in condition) return [`${key}=${ids.map(idText).join(',')}`];
  if (ids) return ids.map((id) => `${key}=${idText(id)}`);
  if ('written' in condition) return [parameter(key, String(condition.written))];
  return [condition.value].flat().map((one) => parameter(key, String(one)));
}

const orderQuery = (order: readonly OrderRequest[]): Query =>
  order.flatMap(({ path, descending }) => [
    parameter(cnd('orderBy'), path),
    ...(descending ? [parameter(cnd('orderBy'), 'desc')] : []),
  ]);

const pageQuery = ({ offset, limit }: ListRequest): Query => [
  ...(offset === undefined ? [] : [parameter(cnd('limit', '0'), String(offset))]),
  ...(limit === undefined ? [] : [parameter(cnd('limit', '1'), String(limit))]),
];

const listQuery = (list: ListRequest, form: Query | undefined): Query => [
  ...(list.filters ?? []).flatMap((filter) => conditionQuery(filter)),
  ...(form ?? [...orderQuery(list.order ?? []), ...pageQuery(list)]),
];

const CHANGING: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE']);

export const takesBody = ({ method }: Pick<Call, 'method'>): boolean => method.startsWith('P');

export const pathOf = ({
  type,
  id,
  path,
  view = {},
  list = {},
  summary,
  form,
  wrong = [],
  dryRun,
  on,
}: Call): string => {
  if (path !== undefined)
    return wrong.length === 0 ? path : `${path}${/^\{|\?/.test(path) ? '&' : '?'}${wrong.join('&')}`;
  const query = [
    ...(summary ? summaryQuery(summary) : []),
    ...listQuery(list, form),
    ...viewQuery(view),
    ...(dryRun ? ['dryRun=true'] : []),
    ...(on ? [parameter('on', on.join(','))] : []),
    ...wrong,
  ];
  if (summary) return summaryPath(type, query);
  return id === undefined ? collectionPath(type, query) : itemPath(type, id, query);
};

/** What a write to a type with `preconditions: required` needs; any record that is there will do. */
const isGuarded = ({ type, method, id, path, headers, unguarded }: Call): boolean =>
  type.preconditions === 'required' &&
  CHANGING.has(method) &&
  (id !== undefined || path !== undefined) &&
  !unguarded &&
  headers?.['if-match'] === undefined;

export function requestOf(call: Call): Request {
  const { type, method, text, padTo, as, bound, lines } = call;
  const given = lines === CSV ? asCells(type, call.body) : call.body;
  const body = bound !== undefined && takesBody(call) ? reference(bound) : given;
  const written = lines === undefined ? {} : { 'content-type': lines };
  const headers = { ...written, ...call.headers, ...(isGuarded(call) ? { 'if-match': '*' } : {}) };
  return {
    method,
    path: pathOf(call),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(text === undefined ? {} : { text }),
    ...(text !== undefined || body === undefined ? {} : { body }),
    ...(lines === undefined ? {} : { lines }),
    ...(padTo === undefined ? {} : { padTo }),
    ...(as === undefined ? {} : { as }),
  };
}

/** Of a linked record, its identifier; in a field that may hold anything, a text that reads like JSON is JSON. */
function asCells({ fields, relations }: RecordType, body: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(body)) return body;
  const cell = (key: string, value: JsonValue): JsonValue => {
    const [relation, field] = [relations.get(key), fields.get(key)];
    if (relation && isObject(value)) return value[relation.target.identifier.name] ?? null;
    const isAny = field !== undefined && field.type.schema(field)['type'] === undefined;
    return isAny && typeof value === 'string' ? raw(JSON.stringify(value)) : value;
  };
  const row = (item: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(item).map(([key, value]) => [key, cell(key, value)]));
  return body.map((item: JsonValue) => (isObject(item) ? row(item) : item));
}

/** The methods of each operation. */
export const METHODS = {
  list: ['GET', 'HEAD'],
  create: ['POST'],
  get: ['GET', 'HEAD'],
  update: ['PUT', 'PATCH'],
  delete: ['DELETE'],
} as const satisfies Record<Operation, readonly string[]>;

const COLLECTION: ReadonlySet<Operation> = new Set(['list', 'create']);

/** What a request may be about. */
type PlaceName = 'collection' | 'summary' | 'item';
/** Whether PATCH of the collection changes records: each says which it is. */
const changesMany = ({ operations, identifier }: RecordType): boolean =>
  operations.has('update') && identifier.inRecord;

/** What a path of the type allows, OPTIONS included. */
export function allowedMethods(type: RecordType, place: PlaceName): readonly string[] {
  if (place === 'summary') return [...METHODS.list, 'OPTIONS'];
  const onItem = place === 'item';
  const operations = [...type.operations].filter((one) => COLLECTION.has(one) !== onItem);
  const many = !onItem && changesMany(type) ? ['PATCH'] : [];
  const found = !onItem && deletesFound(type) ? ['DELETE'] : [];
  const upserted = !onItem && uniquesOf(type).length > 0 ? ['PUT'] : [];
  return [...operations.flatMap((one) => METHODS[one]), ...many, ...upserted, ...found, 'OPTIONS'];
}

export type UniqueValues = RecordType['indexes'][number]['members'];

/** By what a PUT of the collection can find records. */
export function uniquesOf({ operations, indexes, references }: RecordType): readonly UniqueValues[] {
  if (!operations.has('create') || !operations.has('update')) return [];
  const owners = references.flatMap(({ unique, relation }) => (unique && relation ? [[relation]] : []));
  return [...indexes.flatMap(({ unique, members }) => (unique ? [members] : [])), ...owners];
}

/** Whether the type lets clients delete what filters find. */
export const deletesFound = ({ operations, preconditions }: RecordType): boolean =>
  operations.has('delete') && preconditions !== 'required';

/** Whether the answer shows records. */
export const showsRecords = ({ method, id, summary }: Pick<Call, 'method' | 'id' | 'summary'>): boolean =>
  summary === undefined && (method !== 'DELETE' || id !== undefined);

/** DELETE of the records that filters find. */
export const foundDeletion = (filters: readonly ConditionRequest[], most: number): Omit<Call, 'type'> => ({
  method: 'DELETE',
  list: { filters },
  headers: { prefer: `max-affected=${most}` },
});

/** One request for each operation and method, HEAD apart: it gets past the router, and finds no record. */
export const endpoints = (type: RecordType): readonly Call[] => [
  ...(deletesFound(type)
    ? [{ type, ...foundDeletion([{ path: type.identifier.name, operator: 'in', ids: [MISSING_ID] }], 1) }]
    : []),
  ...uniquesOf(type)
    .slice(0, 1)
    .map((members) => ({ type, method: 'PUT', on: members.map(({ name }) => name), body: {} })),
  ...[...type.operations].flatMap((operation) =>
    METHODS[operation]
      .filter((method) => method !== 'HEAD')
      .map((method) => ({
        type,
        method,
        ...(COLLECTION.has(operation) ? {} : { id: MISSING_ID }),
        ...(method.startsWith('P') ? { body: {} } : {}),
      })),
  ),
  ...(type.operations.has('list') ? [{ type, method: 'GET', summary: { by: [], measure: ['count'] } }] : []),
  ...(changesMany(type) ? [{ type, method: 'PATCH', body: [linkTo(type, MISSING_ID)] }] : []),
];
