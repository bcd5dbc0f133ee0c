/** What the service does whatever the record type is: one table of requests, sent to one type. */
import type { Operation } from '../descriptor/descriptor.ts';
import { type JsonObject, type JsonValue, pointer } from '../json.ts';
import type { ProblemCode } from '../problem.ts';
import { type Field, type RecordType, uniqueIndexes } from '../model/model.ts';
import { type Draft, newBody, obtain, type Samples, shown, writable } from './bodies.ts';
import {
  among,
  ANY,
  type Case,
  collection,
  condition,
  type Expected,
  guard,
  item,
  MISSING,
  problem,
  ref,
} from './cases.ts';
import type { Request, Step } from './cases.ts';
import { add, creates, differing, make, type Maker, refuses, shows } from './record-cases.ts';

/** What the suite knows of the service besides its descriptors. What is undefined is not looked at. */
export interface Deployment {
  readonly bodyLimit?: number;
  readonly batchLimit?: number;
  readonly urlLimit?: number;
  /** Whether requests need a token. */
  readonly guarded?: boolean;
  /** Whether there is a token that may only read. */
  readonly hasReader?: boolean;
}

/** The type that shows most of the protocol. */
function chosen({ model, sources }: Samples): RecordType | undefined {
  const worth = (type: RecordType): number =>
    20 * type.operations.size +
    (type.identifier.inRecord ? 10 : 0) +
    (sources.get(type) === 'create' ? 50 : 0) +
    (type.preconditions === 'optional' ? 8 : 0) +
    (changedField(type) ? 6 : 0) -
    [...type.relations.values()].filter(({ required }) => required).length;
  return [...model.types.values()]
    .filter(({ operations }) => operations.size > 0)
    .toSorted((a, b) => worth(b) - worth(a))[0];
}

/** A field whose value can be changed without regard to others. */
const changedField = (type: RecordType): Field | undefined =>
  writable(type).find(
    (field) =>
      !field.unique &&
      differing(field, field.type.good(field, 1)) !== undefined &&
      type.checks.every(({ fields }) => !fields.includes(field)) &&
      uniqueIndexes(type).every(({ members }) => !members.includes(field)),
  );

/**
 * Requests that need no record: the operation that the type must have, the request, `=>` and what is expected.
 * Between them, after `;`, headers; in `"` the body as it is sent. LIST and ITEM are addresses, ID is the name of the identifier.
 */
const ROWS = `
any    GET     /api/no-such-type                                          => 404 path-not-found
any    GET     ITEM/more                                                  => 404 path-not-found
any    TRACE   LIST                                                       => 405 method-not-allowed ; allow: *
any    OPTIONS LIST                                                       => 204 ; allow: *OPTIONS*
update OPTIONS ITEM                                                       => 204 ; accept-patch: application/json, application/merge-patch+json
get    GET     LIST/0                                                     => 400 invalid-identifier
get    GET     LIST/x                                                     => 400 invalid-identifier
get    GET     LIST/01                                                    => 400 invalid-identifier
get    GET     LIST/9007199254740993                                      => 400 invalid-identifier
get    GET     ITEM                                                       => 404 record-not-found ; content-type: application/problem+json* ; cache-control: no-cache
get    HEAD    ITEM                                                       => 404
get    GET     ITEM ; accept: text/html                                   => 406 not-acceptable
get    GET     ITEM?noSuchParameter=1                                     => 400 invalid-query noSuchParameter
get    GET     ITEM?include=noSuchRelation                                => 400 invalid-query include
get    GET     ITEM?fields=noSuchField                                    => 400 invalid-query fields
get    GET     ITEM?variant=noSuchVariant                                 => 400 invalid-query variant
get    GET     ITEM?include=&include=                                     => 400 invalid-query
list   GET     LIST?%                                                     => 400 invalid-query
list   GET     LIST?_cnd[limit]=0&_cnd[limit]=0                           => 200 []
list   GET     LIST?_cnd[limit][]=0&_cnd[limit][]=0                       => 200 []
list   GET     LIST?_cnd[limit][1]=0&_cnd[limit][0]=0                     => 200 []
list   GET     LIST?_cnd[limit]=0,0                                       => 200 []
list   GET     LIST?_cnd%5Blimit%5D%5B1%5D=0                              => 200 []
list   GET     LIST?_cnd[limit]=1                                         => 400 invalid-query
list   GET     LIST?_cnd[limit]=0&_cnd[limit]=-1                          => 400 invalid-query
list   GET     LIST?_cnd[limit]=0&_cnd[limit]=x                           => 400 invalid-query
list   GET     LIST?_cnd[limit]=0&_cnd[limit]=1&_cnd[limit]=2             => 400 invalid-query
list   GET     LIST?_cnd[limit][1]=1&_cnd[limit][1]=2                     => 400 invalid-query
list   GET     LIST?_cnd[limit][0]=0&_cnd[limit]=1                        => 400 invalid-query
list   GET     LIST?_cnd[limit][1]=TOOMANY                                => 400 invalid-query
list   GET     LIST?_cnd[limit][1]=1&after=x                              => 400 invalid-query after
list   GET     LIST?_cnd[orderBy]=noSuchField                             => 400 invalid-query
list   GET     LIST?_cnd[orderBy]=ID&_cnd[orderBy]=sideways               => 400 invalid-query
list   GET     LIST?_cnd[noSuchField]=1                                   => 400 invalid-query
list   GET     LIST?_cnd[ID][noSuchOperator]=1                            => 400 invalid-query
list   GET     LIST?_cnd[limit][1]=0 ; accept: text/csv                   => 200 ; content-type: text/csv*
list   GET     LIST?_cnd[limit][1]=0 ; accept: application/x-ndjson       => 200 ; content-type: application/x-ndjson*
list   GET     LIST?_cnd[limit][1]=0 ; prefer: count=none                 => 200 [] ; preference-applied: count=none
list   GET     LIST/$summary?noSuchParameter=1                            => 400 invalid-query noSuchParameter
create POST    LIST ; content-type: text/plain "{}"                       => 415 unsupported-media-type ; accept: *
create POST    LIST ; content-encoding: gzip "{}"                         => 415 unsupported-media-type ; accept-encoding: identity
create POST    LIST?noSuchParameter=1 "{}"                                => 400 invalid-query noSuchParameter
create POST    LIST "{"a":1,}"                                            => 400 invalid-json
create POST    LIST ""                                                    => 400 invalid-json
create POST    LIST "{"a":1,"a":2}"                                       => 400 invalid-json
create POST    LIST "null"                                                => 422 invalid-body
create POST    LIST "[1,null]"                                            => 422 invalid-body /0 /1
create POST    LIST "[]"                                                  => 201 []
create POST    LIST ; idempotency-key: two words "{}"                     => 400 invalid-header
create POST    LIST "TOOLONG"                                             => 413 content-too-large
create POST    LIST "TOOMANYRECORDS"                                      => 413 batch-too-large
any    GET     LIST?LONGQUERY                                             => 414 uri-too-long
update PUT     ITEM ; content-type: application/merge-patch+json "{}"     => 415 unsupported-media-type ; accept: *
tagged PATCH   ITEM ; if-match: no tag "{}"                               => 400 invalid-header
update PATCH   ITEM ; if-match: * ; content-type: application/merge-patch+json "{}" => 404 record-not-found
update PUT     ITEM ; if-match: * "[]"                                    => 422 invalid-body
delete DELETE  ITEM ; if-match: *                                         => 404 record-not-found
`;

const headersIn = (parts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parts.map((part) => [part.slice(0, part.indexOf(':')).trim(), part.slice(part.indexOf(':') + 1).trim()]),
  );

/** A row of the table; undefined where it needs an operation or a setting that is not there. */
function rowMaker(type: RecordType, row: string, texts: Readonly<Record<string, string | undefined>>): Maker {
  const [asked = '', answered = ''] = row.split(/ +=> /);
  const [, operation = '', method = '', rest = '', sent] = /^(\w+) +(\w+) +(.*?)(?: "(.*)")?$/.exec(asked) ?? [];
  const [address = '', ...headers] = rest.split(' ; ');
  const names = {
    LIST: collection(type),
    ITEM: item(type, MISSING),
    ID: encodeURIComponent(type.identifier.name),
    TOOMANY: String(type.maxLimit + 1),
  };
  const path = Object.entries(names).reduce(
    (text, [name, value]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), () => value),
    address,
  );
  const [outcome = '', ...shownHeaders] = answered.split(' ; ');
  const [status = '', code, ...places] = outcome.split(' ');
  const isProblem = code !== undefined && code !== '[]';
  const found = code === 'invalid-body' ? { pointers: places } : { parameters: places };
  const expected: Expected = {
    status: Number(status),
    ...(isProblem
      ? { code: code as ProblemCode, ...(places.length > 0 ? found : {}) }
      : code === '[]'
        ? { body: [] }
        : {}),
    ...(shownHeaders.length > 0 ? { headers: headersIn(shownHeaders) } : {}),
  };
  return (draft) => {
    const isCompared = type.preconditions !== 'off' || !headers.includes('if-match: no tag');
    const isOffered = isCompared && (operation === 'any' || type.operations.has(operation as Operation));
    const word = Object.keys(texts).find((one) => sent === one || address.endsWith(one));
    const long = word === undefined ? '' : texts[word];
    if (!isOffered || long === undefined) return undefined;
    const text = sent === undefined ? {} : { text: word === sent ? long : sent };
    const where = word !== undefined && sent === undefined ? path.replace(word, long) : path;
    add(
      draft,
      { method, path: where, ...(headers.length > 0 ? { headers: headersIn(headers) } : {}), ...text },
      expected,
    );
    return [`${method} ${path}`, ...headers, ...(sent === undefined ? [] : [sent || 'an empty body'])].join(' ; ');
  };
}

/** The rows whose text follows from settings. */
const longTexts = ({ bodyLimit, batchLimit, urlLimit }: Deployment) => ({
  TOOLONG: bodyLimit === undefined ? undefined : `{}${' '.repeat(bodyLimit)}`,
  TOOMANYRECORDS: batchLimit === undefined ? undefined : `[${'{},'.repeat(batchLimit)}{}]`,
  LONGQUERY: urlLimit === undefined ? undefined : 'x'.repeat(urlLimit),
});

/** Requests about a record that the case makes. */
function scenes(type: RecordType): readonly Maker[] {
  const { name: key, inRecord } = type.identifier;
  const [list, one] = [collection(type), item(type, 'id')];
  const field = changedField(type);
  const isTagged = type.preconditions !== 'off';
  const has = (...operations: readonly Operation[]): boolean => operations.every((some) => type.operations.has(some));
  /** Sends requests to the record; `change`: a body that changes it. */
  type Send = (method: string, expected: Expected, more?: Partial<Request>, keep?: Step['keep']) => void;
  const about =
    (title: string, isPossible: boolean, work: (send: Send, change: JsonObject, known: JsonObject) => void): Maker =>
    (draft) => {
      const name = isPossible ? obtain(draft, type, { full: true }) : undefined;
      if (name === undefined) return undefined;
      const given = draft.records.get(name) ?? {};
      const change = field ? { [field.name]: differing(field, given[field.name] ?? null) ?? null } : {};
      const send: Send = (method, expected, { path = '', ...more } = {}, keep) => {
        const guarded = method === 'GET' || more.headers?.['if-match'] ? {} : guard(type).headers;
        const headers = { ...guarded, ...more.headers };
        add(draft, { method, path: item(type, name, path), ...more, headers }, expected, keep);
      };
      work(send, change, shown(draft, type, name, given, []));
      return title;
    };
  return [
    about(`GET ${one} with If-None-Match`, isTagged && has('get'), (send) => {
      send('GET', { status: 200, headers: { etag: '"*"', vary: '*Accept*' } }, {}, { tag: 'etag' });
      for (const tag of ['{tag}', 'W/{tag}', '"other", {tag}', '*'])
        send('GET', { status: 304, headers: { etag: '{tag}' }, body: '' }, { headers: { 'if-none-match': tag } });
      send('GET', { status: 200 }, { headers: { 'if-none-match': '"other"' } });
    }),
    about(
      `writes of ${one} with the tag from before a change`,
      isTagged && has('get', 'update') && !!field,
      (send, change) => {
        const headers = { 'if-match': '{tag}' };
        send('GET', { status: 200 }, {}, { tag: 'etag' });
        send('PATCH', { status: 200 }, { headers, body: change });
        for (const method of ['PUT', 'PATCH', ...(has('delete') ? ['DELETE'] : [])])
          send(method, problem(412, 'precondition-failed'), { headers, ...(method === 'DELETE' ? {} : { body: {} }) });
        send('GET', { status: 200 }, { headers: { 'if-none-match': '{tag}' } });
      },
    ),
    about(`HEAD ${one}`, has('get'), (send) =>
      send('HEAD', { status: 200, body: '', headers: { 'content-type': 'application/json*', 'content-length': '*' } }),
    ),
    about(
      `GET ${one} with some of its fields, and without relations`,
      has('get') && inRecord && !!field,
      (send, change, known) => {
        const names = [key, ...Object.keys(change)];
        const some = Object.fromEntries(Object.entries(known).filter(([name]) => names.includes(name)));
        send('GET', shows(type, 200, some), { path: `?fields=${names.map(encodeURIComponent).join(',')}` });
        send('GET', shows(type, 200, known), { path: '?include=' });
      },
    ),
    about(`PATCH ${one} with Prefer: return=minimal`, has('update'), (send) => {
      const headers = { 'preference-applied': 'return=minimal' };
      send('PATCH', { status: 204, body: '', headers }, { body: {}, headers: { prefer: 'return=minimal' } });
    }),
    about(`PATCH ${one} with dryRun=true`, has('get', 'update') && !!field, (send, change) => {
      const body = { dryRun: true, answer: ANY, effects: ANY };
      send('GET', { status: 200 }, {}, { record: '' });
      send('PATCH', { status: 200, body }, { path: '?dryRun=true', body: change });
      send('GET', shows(type, 200, ref('record')));
    }),
    about(`PATCH ${one} with another identifier`, has('update') && inRecord, (send) =>
      send('PATCH', problem(422, 'invalid-body', { pointers: [pointer([key])] }), { body: { [key]: MISSING } }),
    ),
    about(`DELETE ${one} with Prefer: return=minimal`, has('create', 'delete'), (send) =>
      send('DELETE', { status: 204, body: '' }, { headers: { prefer: 'return=minimal' } }),
    ),
    (draft) => {
      const name = type.preconditions === 'required' && has('update') ? obtain(draft, type) : undefined;
      if (name === undefined) return undefined;
      add(draft, { method: 'PATCH', path: item(type, name), body: {} }, problem(428, 'precondition-required'));
      return `PATCH ${one} without If-Match`;
    },
    (draft) => {
      const name = has('create') && inRecord ? obtain(draft, type) : undefined;
      const body = name === undefined ? undefined : newBody(draft, type, { values: { [key]: ref(name) } });
      const expected = problem(409, 'identifier-conflict', { pointers: [pointer([key])] });
      if (body) add(draft, { method: 'POST', path: list, body }, expected);
      return `POST ${list} with the identifier of another record`;
    },
    (draft) => {
      const isRefused = has('create') && !type.open && refuses(draft, type, [[{ noSuchKey: 1 }, 'noSuchKey']]);
      return isRefused ? `POST ${list} with a key that no field has` : undefined;
    },
    (draft) => {
      const body = has('create') && inRecord ? newBody(draft, type, { full: true }) : undefined;
      const name = creates(draft, type, body);
      const step = draft.steps.pop();
      if (name === undefined || !step) return undefined;
      const request = { ...step.request, headers: { 'idempotency-key': `suite-${(draft.samples.seed += 1)}` } };
      draft.steps.push({ ...step, request });
      add(draft, request, { ...step.expected, headers: { location: item(type, name) } });
      add(draft, { ...request, body: { ...body, [key]: 1 } }, problem(422, 'idempotency-conflict'));
      return `POST ${list} twice with one Idempotency-Key, then with another body`;
    },
    (draft) => pages(draft, type),
  ];
}

/** Two records that are created together, read page by page, and deleted together. */
function pages(draft: Draft, type: RecordType): string | undefined {
  const { name: key, inRecord } = type.identifier;
  const path = collection(type);
  const isPossible = inRecord && ['create', 'list', 'delete'].every((one) => type.operations.has(one as Operation));
  const bodies = isPossible ? [newBody(draft, type), newBody(draft, type)] : [];
  const records = bodies.flatMap((body) => (body ? { ...shown(draft, type, '', body), [key]: ANY } : []));
  if (records.length < 2) return undefined;
  const keep = { first: `/0/${key}`, second: `/1/${key}` };
  add(draft, { method: 'POST', path, body: bodies as JsonValue }, shows(type, 201, records), keep);
  const found = among(type, ['first', 'second']);
  const [order, limit] = [condition(['orderBy'], key), condition(['limit', '1'], 1)];
  const page = (name: string, relation: string): Expected =>
    shows(type, 200, [{ [key]: ref(name) }], { link: `*rel="${relation}"*` });
  const query = [found, order, limit, `fields=${encodeURIComponent(key)}`].join('&');
  add(draft, { method: 'GET', path: collection(type, query) }, page('first', 'next'));
  add(draft, { method: 'GET', path: '{next page}' }, page('second', 'prev'));
  add(draft, { method: 'GET', path: '{prev page}' }, page('first', 'first'));
  const summary = [{ by: {}, measures: { count: 2 } }];
  add(draft, { method: 'GET', path: `${path}/$summary${found}` }, { status: 200, body: summary });
  if (type.preconditions === 'required') return `POST ${path} with two records, then their pages`;
  const deletes = (expected: Expected, prefer?: string): void =>
    add(
      draft,
      { method: 'DELETE', path: collection(type, found), ...(prefer ? { headers: { prefer } } : {}) },
      expected,
    );
  deletes(problem(400, 'invalid-header'));
  deletes(problem(409, 'too-many-affected'), 'max-affected=0');
  deletes({ status: 200, body: { deleted: 2, affected: ANY } }, 'max-affected=1000');
  return `POST ${path} with two records, then their pages, and DELETE of both`;
}

/** Who may do what, where requests need a token. */
function access(type: RecordType, { guarded = false, hasReader = false }: Deployment): readonly Maker[] {
  const asks =
    (request: Request, expected: Expected, text: string): Maker =>
    (draft) => {
      add(draft, request, expected);
      return `${request.method} ${request.path} with ${text}`;
    };
  const path = collection(type);
  const unknown = { ...problem(401, 'unauthorized'), headers: { 'www-authenticate': 'Bearer*' } };
  const reader = 'a token that may only read';
  return [
    ...(guarded
      ? [
          asks({ method: 'GET', path, token: 'none' }, unknown, 'no token'),
          asks({ method: 'GET', path: '/api/no-such-type', token: 'none' }, unknown, 'no token'),
          asks({ method: 'POST', path, body: {}, token: 'unknown' }, unknown, 'an unknown token'),
        ]
      : []),
    ...(hasReader && type.operations.has('create')
      ? [asks({ method: 'POST', path, body: {}, token: 'reader' }, problem(403, 'forbidden'), reader)]
      : []),
    ...(hasReader && type.operations.has('get')
      ? [asks({ method: 'GET', path: item(type, MISSING), token: 'reader' }, problem(404, 'record-not-found'), reader)]
      : []),
  ];
}

export function protocolCases(samples: Samples, deployment: Deployment): readonly Case[] {
  const type = chosen(samples);
  if (!type) return [];
  const texts = longTexts(deployment);
  const rows = ROWS.trim()
    .split('\n')
    .map((row) => rowMaker(type, row, texts));
  return make(samples, type, [...rows, ...scenes(type), ...access(type, deployment)]).map((one) => ({
    ...one,
    type: '',
  }));
}
