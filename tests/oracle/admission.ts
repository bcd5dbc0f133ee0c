/** What the oracle refuses before it looks at any record: by sender, path, method, headers, size and query. */
import { isObject, type JsonObject, type JsonValue, parsedJson, pointer } from '../../engine/json.ts';
import { allowedMethods, type Call, collectionPath, CSV, METHODS, NDJSON, pathOf, takesBody } from './call.ts';
import type { Condition, Deployment } from './case.ts';
import { type RefusalCode, refuse } from './refusal.ts';
import { idIn, type World } from './world.ts';

export const JSON_TYPE = 'application/json';
export const PATCHES = ['application/merge-patch+json', JSON_TYPE] as const;

const CHALLENGES: Readonly<Record<string, string>> = { nobody: 'Bearer', stranger: 'Bearer error="invalid_token"' };

/** Of those on offer, the one that a header such as Accept likes best; undefined where it takes none of them. */
export function preferred(header: string, offers: readonly string[]): string | undefined {
  const ranges = header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((word) => word.trim());
    const weight = parameters.find((one) => one.startsWith('q='));
    return { range, quality: weight === undefined ? 1 : Number(weight.slice(2)) };
  });
  const fits = (offer: string): number =>
    [offer, `${offer.split('/')[0]}/*`, '*/*', '*'].flatMap(
      (name) => ranges.find(({ range }) => range === name) ?? [],
    )[0]?.quality ?? 0;
  return offers.filter((offer) => fits(offer) > 0).toSorted((a, b) => fits(b) - fits(a))[0];
}

const offersOf = ({ method, id, path }: Call): readonly string[] =>
  (method === 'GET' || method === 'HEAD') && id === undefined && (path === undefined || path.startsWith('{+'))
    ? [JSON_TYPE, NDJSON, CSV]
    : [JSON_TYPE];

/** What a path addresses: the collection, its summary, one record, or nothing. */
export function addressed({ type, id, path, summary }: Call): 'collection' | 'summary' | 'item' | undefined {
  if (summary) return type.operations.has('list') ? 'summary' : undefined;
  if (path === undefined) return id === undefined ? 'collection' : 'item';
  const plain = path.split('?')[0] ?? '';
  if (plain.startsWith('{+') || plain === collectionPath(type)) return 'collection';
  const [, rest = ''] = plain.split(`${collectionPath(type)}/`);
  if (rest.startsWith('$')) return undefined;
  return rest === '' || rest.includes('/') ? undefined : 'item';
}

export interface CallSetting {
  readonly world: World;
  readonly call: Call;
  readonly deployment: Deployment;
  readonly given: Condition | undefined;
}

/** What a service does not write, and why. */
const FAILURES: Partial<Record<Condition, RefusalCode>> = {
  'database held': 'storage-busy',
  'database full': 'storage-full',
  'memory used up': 'overloaded',
};

export function failWhere({ given, call }: CallSetting): void {
  const code = given && FAILURES[given];
  if (code === undefined || READING.includes(call.method)) return;
  refuse(code, code === 'storage-full' ? {} : { answered: { 'retry-after': '{wait:seconds}' } });
}

export const header = ({ headers = {}, type }: Call, name: string): string | undefined =>
  name === 'if-match' && type.preconditions === 'off' ? undefined : headers[name];

/** Quotes around it are not part of it. */
export const idempotencyKey = (call: Call): string | undefined =>
  header(call, 'idempotency-key')?.replace(/^"(.*)"$/, '$1');

export const isPreflight = (call: Call): boolean =>
  call.method === 'OPTIONS' && header(call, 'access-control-request-method') !== undefined;

/** Everything that is refused before the query and the body are read. */
export function admit({ call, deployment }: CallSetting): void {
  const { type, method, as } = call;
  const { urlLimit = Infinity } = deployment;
  if (as === 'nobody' || as === 'stranger')
    refuse('unauthorized', {
      headers: ['Authorization'],
      answered: { 'www-authenticate': CHALLENGES[as] ?? '', vary: 'Authorization' },
    });
  if (pathOf(call).length > urlLimit) refuse('uri-too-long');
  const place = addressed(call);
  if (place === undefined) refuse('path-not-found');
  const allowed = allowedMethods(type, place);
  if (!allowed.includes(method)) refuse('method-not-allowed', { answered: { allow: allowed.join(', ') } });
  if (as === 'reader' && !READING.includes(method))
    refuse('forbidden', { answered: { 'www-authenticate': 'Bearer error="insufficient_scope"' } });
  if (preferred(header(call, 'accept') ?? '*/*', offersOf(call)) === undefined)
    refuse('not-acceptable', { headers: ['Accept'] });
  if (takesBody(call)) admitContent(call, deployment);
  else if (method === 'DELETE' && call.body !== undefined) refuse('invalid-header', { headers: ['Content-Length'] });
}

export const READING: readonly string[] = [...METHODS.list, 'OPTIONS'];

function admitContent(
  call: Call,
  { bodyLimit = Infinity, bodyKeys = Infinity, bodyItems = Infinity, bodyDepth = Infinity }: Deployment,
): void {
  const takes = takenBy(call);
  if (!takes.some((one) => one === (header(call, 'content-type') ?? JSON_TYPE)))
    refuse('unsupported-media-type', {
      headers: ['Content-Type'],
      answered: { [call.method === 'PATCH' ? 'accept-patch' : 'accept']: takes.join(', ') },
    });
  if (header(call, 'content-encoding') !== undefined)
    refuse('unsupported-media-type', { headers: ['Content-Encoding'], answered: { 'accept-encoding': 'identity' } });
  const { text, padTo = 0 } = call;
  const { keys, items, levels } = sizeOf((text === undefined ? undefined : parsedJson(text)) ?? null);
  const tooMuch = levels <= bodyDepth && (keys > bodyKeys || items > bodyItems);
  if (Math.max(text?.length ?? 0, padTo) > bodyLimit || tooMuch) refuse('content-too-large');
}

/** The media types of bodies. */
function takenBy({ method, id }: Call): readonly string[] {
  if (id === undefined) return method === 'POST' ? [JSON_TYPE, NDJSON, CSV] : [JSON_TYPE];
  return method === 'PATCH' ? PATCHES : [JSON_TYPE];
}

/** Keys in all objects, items of the longest array, and levels. */
function sizeOf(value: JsonValue): { readonly keys: number; readonly items: number; readonly levels: number } {
  if (typeof value !== 'object' || value === null) return { keys: 0, items: 0, levels: 0 };
  const own: readonly JsonValue[] = Object.values(value);
  const inner = own.map(sizeOf);
  return {
    keys: inner.reduce((sum, { keys }) => sum + keys, Array.isArray(value) ? 0 : own.length),
    items: inner.reduce((most, { items }) => Math.max(most, items), Array.isArray(value) ? own.length : 0),
    levels: inner.reduce((most, { levels }) => Math.max(most, levels), 0) + 1,
  };
}

const isIdentifier = (text: string): boolean =>
  /^([1-9]\d*|\{[^+].*\})$/.test(text) && !(Number(text) > Number.MAX_SAFE_INTEGER);

/** What the query string, the path and the headers say. */
export function admitQuery({ call }: CallSetting): void {
  const { type, path, wrong = [], list = {}, view = {} } = call;
  const text = path?.split('?')[0]?.split('/').at(-1) ?? '';
  if (addressed(call) === 'item' && path !== undefined && !isIdentifier(text))
    refuse('invalid-identifier', { parameters: ['id'] });
  const named = wrong.map((part) => /^(\w+)=/.exec(part)?.[1]);
  const known = named.flatMap((name) => (name === undefined || name.startsWith('_cnd') ? [] : name));
  // Of two cursors, only the first is told.
  const told = known[0] === 'after' ? ['after'] : known;
  if (wrong.length > 0) refuse('invalid-query', known.length === wrong.length ? { parameters: told } : {});
  if (call.summary && wrong.length === 0 && 'include' in view) refuse('invalid-query', { parameters: ['include'] });
  if ((list.limit ?? 0) > (call.summary ? MOST_GROUPS : type.maxLimit)) refuse('invalid-query');
  const isDeletion = call.method === 'DELETE' && addressed(call) === 'collection';
  if (isDeletion && (list.filters ?? []).length === 0) refuse('invalid-query', { parameters: ['_cnd'] });
  if (mediaType(call) === CSV && view.include?.length) refuse('invalid-query', { parameters: ['include'] });
  const tags = (header(call, 'if-match') ?? '*').split(',').map((tag) => tag.trim());
  if (!tags.every((tag) => /^(?:\*|(?:W\/)?"[^"]*")$/.test(tag))) refuse('invalid-header', { headers: ['If-Match'] });
  const key = idempotencyKey(call);
  if (key !== undefined && !/^[!-~]{1,255}$/.test(key)) refuse('invalid-header', { headers: ['Idempotency-Key'] });
}

/** That an answer may have. */
const MOST_GROUPS = 10_000;

export const mediaType = (call: Call): string =>
  preferred(header(call, 'accept') ?? '*/*', offersOf(call)) ?? JSON_TYPE;

/** The key of an item for the tag of its record. */
const TAG = '@etag';

interface ReadBody {
  /** Without the tags of items. */
  readonly body: JsonObject | readonly JsonObject[];
  /** Of each item; undefined where it has none. */
  readonly tags: readonly (JsonValue | undefined)[];
  /** The items that are not records: in the body, they have no keys. */
  readonly strange: readonly number[];
}

/** The body as it is read. */
export function readBody({ call, deployment: { bodyDepth = Infinity, batchLimit = Infinity } }: CallSetting): ReadBody {
  const body = call.text === undefined ? call.body : parsedJson(call.text);
  if (body === undefined || (call.text !== undefined && sizeOf(body).levels > bodyDepth))
    refuse(call.lines === CSV ? 'invalid-csv' : 'invalid-json');
  const isOne = call.id !== undefined || call.method === 'PUT';
  const [mayBeOne, mayBeMany] = [isOne || call.method === 'POST', !isOne];
  if (mayBeOne && isObject(body)) return { body, tags: [], strange: [] };
  if (!mayBeMany || !Array.isArray(body)) return refuse('invalid-body', { pointers: [''] });
  const items: readonly JsonValue[] = body;
  if (items.length > batchLimit) refuse('batch-too-large', { pointers: [''] });
  const strange = items.flatMap((item, index) => (isObject(item) ? [] : [index]));
  const records = items.map((item) => (isObject(item) ? item : {}));
  const untagged = records.map((item) => Object.fromEntries(Object.entries(item).filter(([key]) => key !== TAG)));
  return { body: untagged, tags: records.map((item) => item[TAG]), strange };
}

/** Several records have no entity tag together. */
export function refuseConditions(call: Call): void {
  const headers = ['If-Match', 'If-None-Match'].filter((name) => header(call, name.toLowerCase()) !== undefined);
  if (headers.length > 0) refuse('invalid-header', { headers });
}

/** What concerns an array as such: headers about one record, items that are no records or do not say which, tags out of place. */
export function itemFaults({ call }: CallSetting, { body, tags, strange }: ReadBody): readonly string[] {
  if (!Array.isArray(body)) return [];
  const items: readonly JsonObject[] = body;
  const { type, method } = call;
  refuseConditions(call);
  const isMaking = method === 'POST' && call.on === undefined;
  return items.flatMap((item, index) => {
    if (strange.includes(index)) return [`/${index}`];
    const tag = tags[index];
    return [
      ...(method === 'POST' || idIn(item, type) !== undefined ? [] : [pointer([index, type.identifier.name])]),
      ...(tag === undefined || (!isMaking && isTag(tag)) ? [] : [tagPlace(index)]),
    ];
  });
}

const isTag = (value: JsonValue): boolean => typeof value === 'string' && /^"[^"]*"$/.test(value);

export const tagPlace = (index: number): string => pointer([index, TAG]);
