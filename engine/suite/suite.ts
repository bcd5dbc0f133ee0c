/** What the service does whatever the record type is: one table of requests, sent to one type. */
import type { Operation } from '../descriptor/descriptor.ts';
import { type JsonObject, pointer } from '../json/json.ts';
import { type Field, type Model, type RecordType, uniqueIndexes } from '../model/model.ts';
import type { ProblemCode } from '../problem.ts';
import { recordCases, refuses } from './record-cases.ts';
import { relationCases } from './relation-cases.ts';
import { among, ANY, type Case, collection, condition, type Expected, guard, item, MISSING } from './run.ts';
import { problem, type Request, type Response, shows } from './run.ts';
import { caseMaker, differing, isScarce, type MakeCase, newBody, obtain, type Samples, writable } from './samples.ts';

/** The tokens that there are. */
interface Tokens {
  /** Whether requests need a token. */
  readonly guarded?: boolean;
  /** Whether there is a token that may only read. */
  readonly hasReader?: boolean;
}

/** The type that shows most of the protocol. */
function chosen(model: Model): RecordType | undefined {
  const worth = (type: RecordType): number =>
    20 * type.operations.size +
    (type.identifier.inRecord ? 10 : 0) +
    (type.operations.has('create') ? 50 : 0) +
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
update OPTIONS ITEM                                                       => 204 ; accept-patch: *application/merge-patch+json*
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

function expectedIn(text: string): Expected {
  const [outcome = '', ...headers] = text.split(' ; ');
  const [status, code, ...places] = outcome.split(' ');
  const found = code === 'invalid-body' ? { pointers: places } : { parameters: places };
  return {
    status: Number(status),
    ...(code === '[]' ? { body: [] } : code === undefined ? {} : { code: code as ProblemCode }),
    ...(places.length > 0 ? found : {}),
    ...(headers.length > 0 ? { headers: headersIn(headers) } : {}),
  };
}

/** The case of a row. */
function rowCase(make: MakeCase, type: RecordType, row: string): readonly Case[] {
  const [asked = '', answered = ''] = row.split(/ +=> /);
  const [, operation = '', method = '', rest = '', sent] = /^(\w+) +(\w+) +(.*?)(?: "(.*)")?$/.exec(asked) ?? [];
  const [address = '', ...headers] = rest.split(' ; ');
  const names: Readonly<Record<string, string>> = {
    LIST: collection(type),
    ITEM: item(type, MISSING),
    ID: encodeURIComponent(type.identifier.name),
    TOOMANY: String(type.maxLimit + 1),
  };
  const path = address.replaceAll(/\b(?:LIST|ITEM|ID|TOOMANY)\b/g, (name) => names[name] ?? name);
  const request = {
    method,
    path,
    ...(headers.length > 0 ? { headers: headersIn(headers) } : {}),
    ...(sent === undefined ? {} : { text: sent }),
  };
  const isCompared = type.preconditions !== 'off' || !headers.includes('if-match: no tag');
  const isOffered = operation === 'any' || type.operations.has(operation as Operation);
  const title = [`${method} ${path}`, ...headers, ...(sent === undefined ? [] : [sent || 'an empty body'])].join(' ; ');
  const work: Parameters<MakeCase>[2] = (context) => context.expect(request, expectedIn(answered));
  return make(title, isCompared && isOffered, work);
}

/** Requests about a record that the case makes. */
function scenes(make: MakeCase, type: RecordType, samples: Samples): readonly Case[] {
  const { name: key, inRecord } = type.identifier;
  const [list, one] = [collection(type), item(type, '{id}')];
  const field = changedField(type);
  const isTagged = type.preconditions !== 'off';
  const has = (...operations: readonly Operation[]): boolean => operations.every((some) => type.operations.has(some));
  /** Sends requests to the record. */
  type Send = (method: string, expected: Expected, more?: Partial<Request>) => Promise<Response>;
  /** `change`: a body that changes the record. */
  const about = (
    title: string,
    isPossible: boolean,
    work: (send: Send, change: JsonObject, record: JsonObject) => Promise<unknown>,
  ): readonly Case[] =>
    make(title, isPossible && type.operations.has('create'), async (context) => {
      const { id, record } = await obtain(context, type, { full: true });
      const change = field ? { [field.name]: differing(field, record[field.name] ?? null) ?? null } : {};
      const send: Send = (method, expected, { path = '', ...more } = {}) => {
        const guarded = method === 'GET' || more.headers?.['if-match'] ? {} : guard(type).headers;
        const headers = { ...guarded, ...more.headers };
        return context.expect({ method, path: item(type, id, path), ...more, headers }, expected);
      };
      await work(send, change, record);
    });
  return [
    ...about(`GET ${one} with If-None-Match`, isTagged && has('get'), async (send) => {
      const first = await send('GET', { status: 200, headers: { etag: '"*"', vary: '*Accept*' } });
      const etag = first.headers['etag'] ?? '';
      for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
        await send('GET', { status: 304, headers: { etag }, body: '' }, { headers: { 'if-none-match': tag } });
      await send('GET', { status: 200 }, { headers: { 'if-none-match': '"other"' } });
    }),
    ...about(
      `writes of ${one} with the tag from before a change`,
      isTagged && has('get', 'update') && !!field,
      async (send, change) => {
        const tag = (await send('GET', { status: 200 })).headers['etag'] ?? '';
        const headers = { 'if-match': tag };
        await send('PATCH', { status: 200 }, { headers, body: change });
        for (const method of ['PUT', 'PATCH', ...(has('delete') ? ['DELETE'] : [])]) {
          const body = method === 'DELETE' ? {} : { body: {} };
          await send(method, problem(412, 'precondition-failed'), { headers, ...body });
        }
        await send('GET', { status: 200 }, { headers: { 'if-none-match': tag } });
      },
    ),
    ...about(`HEAD ${one}`, has('get'), (send) =>
      send('HEAD', { status: 200, body: '', headers: { 'content-type': 'application/json*', 'content-length': '*' } }),
    ),
    ...about(
      `GET ${one} with some of its fields, and without relations`,
      has('get') && inRecord && !!field,
      async (send, change, record) => {
        const names = [key, ...Object.keys(change)];
        const own = Object.entries(record).filter(([name]) => !type.relations.has(name));
        const some = Object.fromEntries(own.filter(([name]) => names.includes(name)));
        await send('GET', shows(type, 200, some), { path: `?fields=${names.map(encodeURIComponent).join(',')}` });
        await send('GET', shows(type, 200, Object.fromEntries(own)), { path: '?include=' });
      },
    ),
    ...about(`PATCH ${one} with Prefer: return=minimal`, has('update'), (send) => {
      const headers = { 'preference-applied': 'return=minimal' };
      return send('PATCH', { status: 204, body: '', headers }, { body: {}, headers: { prefer: 'return=minimal' } });
    }),
    ...about(`PATCH ${one} with dryRun=true`, has('get', 'update') && !!field, async (send, change) => {
      const { body } = await send('GET', { status: 200 });
      const planned = { dryRun: true, answer: ANY, effects: ANY };
      await send('PATCH', { status: 200, body: planned }, { path: '?dryRun=true', body: change });
      await send('GET', shows(type, 200, body));
    }),
    ...about(`PATCH ${one} with another identifier`, has('update') && inRecord, (send) =>
      send('PATCH', problem(422, 'invalid-body', { pointers: [pointer([key])] }), { body: { [key]: MISSING } }),
    ),
    ...about(`DELETE ${one} with Prefer: return=minimal`, has('create', 'delete'), (send) =>
      send('DELETE', { status: 204, body: '' }, { headers: { prefer: 'return=minimal' } }),
    ),
    ...make(`PATCH ${one} without If-Match`, type.preconditions === 'required' && has('update'), async (context) => {
      const { id } = await obtain(context, type);
      const expected = problem(428, 'precondition-required');
      await context.expect({ method: 'PATCH', path: item(type, id), body: {} }, expected);
    }),
    ...make(`POST ${list} with the identifier of another record`, has('create') && inRecord, async (context) => {
      const { id } = await obtain(context, type);
      const body = await newBody(context, type, { values: { [key]: id } });
      const expected = problem(409, 'identifier-conflict', { pointers: [pointer([key])] });
      await context.expect({ method: 'POST', path: list, body }, expected);
    }),
    ...make(`POST ${list} with a key that no field has`, has('create') && !type.open, (context) =>
      refuses(context, type, [[{ noSuchKey: 1 }, 'noSuchKey']]),
    ),
    ...make(
      `POST ${list} twice with one Idempotency-Key, then with another body`,
      has('create') && inRecord,
      async (context) => {
        const body = await newBody(context, type, { full: true });
        const headers = { 'idempotency-key': `suite-${(samples.seed += 1)}` };
        const request = { method: 'POST', path: list, body, headers };
        const first = await context.expect(request, { status: 201 });
        const { location = '' } = first.headers;
        await context.expect(request, shows(type, 201, first.body, { location }));
        await context.expect({ ...request, body: { ...body, [key]: 1 } }, problem(422, 'idempotency-conflict'));
      },
    ),
    ...make(
      `POST ${list} with two records, then their pages, and DELETE of both`,
      inRecord && has('create', 'list', 'delete') && !isScarce(type),
      async (context) => {
        const body = [await newBody(context, type), await newBody(context, type)];
        const made = await context.expect({ method: 'POST', path: list, body }, { status: 201 });
        const ids = (made.body as readonly JsonObject[]).map((record) => Number(record[key]));
        const found = among(type, ids);
        const query = [
          found,
          condition(['orderBy'], key),
          condition(['limit', '1'], 1),
          `fields=${encodeURIComponent(key)}`,
        ];
        const page = async (path: string, at: number, relation: string): Promise<Readonly<Record<string, string>>> => {
          const expected = shows(type, 200, [{ [key]: ids[at] ?? 0 }], { link: `*rel="${relation}"*` });
          const { headers } = await context.expect({ method: 'GET', path }, expected);
          const links = headers['link']?.matchAll(/<([^>]*)>; rel="([^"]*)"/g) ?? [];
          return Object.fromEntries([...links].map(([, target = '', name = '']) => [name, target]));
        };
        const { next = '' } = await page(collection(type, query.join('&')), 0, 'next');
        const { prev = '' } = await page(next, 1, 'prev');
        await page(prev, 0, 'first');
        const summary = [{ by: {}, measures: { count: 2 } }];
        await context.expect({ method: 'GET', path: `${list}/$summary${found}` }, { status: 200, body: summary });
        if (type.preconditions === 'required') return;
        const request = { method: 'DELETE', path: collection(type, found) };
        const most = (count: number) => ({ ...request, headers: { prefer: `max-affected=${count}` } });
        await context.expect(request, problem(400, 'invalid-header'));
        await context.expect(most(0), problem(409, 'too-many-affected'));
        await context.expect(most(1000), { status: 200, body: { deleted: 2, affected: ANY } });
      },
    ),
  ];
}

/** Who may do what, where requests need a token. */
function access(make: MakeCase, type: RecordType, { guarded = false, hasReader = false }: Tokens): readonly Case[] {
  const asks = (isPossible: boolean, request: Request, expected: Expected, text: string): readonly Case[] =>
    make(`${request.method} ${request.path} with ${text}`, isPossible, (context) => context.expect(request, expected));
  const path = collection(type);
  const unknown = { ...problem(401, 'unauthorized'), headers: { 'www-authenticate': 'Bearer*' } };
  const [canCreate, canGet] = [type.operations.has('create'), type.operations.has('get')];
  const reads = { method: 'GET', path: item(type, MISSING), token: 'reader' } as const;
  const writes = { method: 'POST', path, body: {}, token: 'reader' } as const;
  const reader = 'a token that may only read';
  return [
    ...asks(guarded, { method: 'GET', path, token: 'none' }, unknown, 'no token'),
    ...asks(guarded, { method: 'GET', path: '/api/no-such-type', token: 'none' }, unknown, 'no token'),
    ...asks(guarded, { method: 'POST', path, body: {}, token: 'unknown' }, unknown, 'an unknown token'),
    ...asks(hasReader && canCreate, writes, problem(403, 'forbidden'), reader),
    ...asks(hasReader && canGet, reads, problem(404, 'record-not-found'), reader),
  ];
}

function protocolCases(model: Model, samples: Samples, tokens: Tokens): readonly Case[] {
  const type = chosen(model);
  if (!type) return [];
  const make = caseMaker(samples, '');
  const rows = ROWS.trim().split('\n');
  return [
    ...rows.flatMap((row) => rowCase(make, type, row)),
    ...scenes(make, type, samples),
    ...access(make, type, tokens),
  ];
}

/** The suite of a model: the cases of the service, and those of each record type. `seed`: another one gives other values. */
export function suiteOf(
  model: Model,
  { seed = 0, ...tokens }: Tokens & { readonly seed?: number } = {},
): readonly Case[] {
  const samples = { seed };
  const types = [...model.types.values()].filter(({ operations }) => operations.size > 0);
  return [
    ...protocolCases(model, samples, tokens),
    ...types.flatMap((type) => [...recordCases(samples, type), ...relationCases(samples, type)]),
  ];
}
