/** Headers: entity tags, preferences, retries, media types, compression, names of requests, positions. */
import { type Call, endpoints, MISSING_ID, takesBody } from '../call.ts';
import { LONG } from '../envelope.ts';
import { fresh, fullest, isChangeable, obtain } from '../samples.ts';
import { Unreachable } from '../refusal.ts';
import { get, list, post, put, remove, type Scene, send, shownAs, WAYS } from '../scene.ts';
import type { JsonObject } from '../../../engine/json.ts';
import { COUNT_MODES } from '../../../engine/descriptor/descriptor.ts';
import type { Field, RecordType } from '../../../engine/model/model.ts';
import { type Id, rowOf } from '../world.ts';
import { always, each, identified, offers, type Rule, rule, single, table } from './rule.ts';

const withHeaders = (call: Call, headers: Readonly<Record<string, string>>): Call => ({
  ...call,
  headers: { ...call.headers, ...headers },
});

/** Requests that change, or delete, a record. */
const changing = (type: RecordType): readonly Call[] =>
  endpoints(type).filter(({ id, method }) => id !== undefined && method !== 'GET');

/** A field that a write changes, if there is one. */
const changed = ({ defaultVariant }: RecordType): readonly Field[] =>
  defaultVariant.fields.filter((field) => isChangeable({ ...field, unique: false })).slice(0, 1);

const isTagged = (type: RecordType): boolean => offers('get')(type) && type.preconditions !== 'off';

/** Asks for the record with each of these values of a header. */
function gets(scene: Scene, id: Id, name: string, values: readonly string[]): void {
  for (const value of values) send(scene, { method: 'GET', id, headers: { [name]: value } });
}

/** Every request that changes the record, with these headers. */
const writes = (scene: Scene, id: Id, more: Partial<Call>, body?: JsonObject): void => {
  for (const call of changing(scene.type))
    send(scene, { ...call, id, ...more, ...(body && takesBody(call) ? { body } : {}) });
};

const preconditionRules = table(
  'preconditions',
  rule('GET If-None-Match', isTagged, (scene) => {
    const id = obtain(scene);
    send(scene, { method: 'GET', id, tag: 'tag' });
    gets(scene, id, 'if-none-match', ['"{tag}"', 'W/"{tag}"', '"other", "{tag}"', '*', '"other"']);
  }),
  // A write with the tag of what was read before another write.
  each(
    'If-Match with an old tag, then with the new one',
    (type) => isTagged(type) && offers('update')(type),
    ({ type }) => changed(type),
    (scene, field) => {
      const [first = {}, second = {}, third = {}] = [1, 2, 3].map(() => ({ [field.name]: fresh(scene, field) }));
      const id = obtain(scene, scene.type, { ...fullest(scene), ...first });
      put(scene, id, first);
      send(scene, { method: 'GET', id, tag: 'old' });
      put(scene, id, second);
      writes(scene, id, { headers: { 'if-match': '"{old}"' } }, third);
      send(scene, { method: 'GET', id, tag: 'new' });
      writes(scene, id, { headers: { 'if-match': 'W/"{new}"' } }, third);
      for (const tags of ['"{new}"', '"other", "{new}"'])
        put(scene, id, second, { headers: { 'if-match': tags }, view: {} });
      get(scene, id);
    },
  ),
  rule(
    'writes without If-Match',
    (type) => isTagged(type) && type.preconditions === 'required',
    (scene) => {
      const id = obtain(scene);
      writes(scene, id, { unguarded: true });
      get(scene, id);
    },
  ),
  // A page changes with the records on it and with those before and after.
  rule(
    'GET of a page, If-None-Match',
    (type) => isTagged(type) && identified('create', 'list')(type),
    (scene) => {
      // The last one is not on the page, nor next to it: only the total tells that it goes.
      const ids = [1, 2, 3].map(() => post(scene, fullest(scene)));
      const request = { order: [{ path: scene.type.identifier.name, descending: false }], offset: 0, limit: 1 };
      const known = { headers: { 'if-none-match': '"{page}"' } };
      list(scene, ids, request, { tag: 'page' });
      list(scene, ids, request, known);
      for (const last of ids.slice(2)) remove(scene, last);
      list(scene, ids, request, known);
    },
  ),
  // What is to be made has no tag that it could match; a write that wants nothing to be there finds something.
  rule('If-Match where nothing is, If-None-Match: *', isTagged, (scene) => {
    if (scene.type.operations.has('create'))
      send(scene, { method: 'POST', headers: { 'if-match': '"x"' }, body: fullest(scene) });
    const id = obtain(scene);
    writes(scene, id, { headers: { 'if-none-match': '*' } });
    for (const tags of ['"other"', 'other', 'W/"other"', '"', '"other" "', ''])
      writes(scene, id, { headers: { 'if-match': tags } });
    get(scene, id);
  }),
  single(offers('update'), () => [{ method: 'PUT', id: MISSING_ID, body: {}, headers: { 'if-match': '"x"' } }]),
);

const PAGES = [{ limit: 0 }, { offset: 1, limit: 1 }];

const preferenceRules = table(
  'preferences',
  // Each write is answered as the client prefers it: with the record, or without.
  each(
    'each write with Prefer: {}',
    (type) => offers('create')(type) || offers('get')(type),
    () => ['return=minimal', 'return=representation'],
    (scene, prefer) => {
      const { type } = scene;
      const more = { headers: { prefer }, view: {} };
      const id = type.operations.has('create') ? post(scene, fullest(scene), more) : obtain(scene);
      if (changing(type).length === 0 && rowOf(scene.world, type, id)?.adopted) throw new Unreachable('nothing writes');
      for (const method of WAYS) put(scene, id, {}, more, method);
      get(scene, id);
      // This also deletes adopted records, which cannot be made again.
      if (type.operations.has('delete') && (type.operations.has('create') || type.referrers.length === 0))
        send(scene, { method: 'DELETE', id, ...more });
      get(scene, id);
    },
  ),
  single(offers('list'), () =>
    COUNT_MODES.flatMap((mode) =>
      PAGES.map((page) => ({ method: 'GET', list: page, headers: { prefer: `count=${mode}` } })),
    ),
  ),
  // The same key with the same body makes one record; with another body it is a mistake.
  rule(
    'POST twice with one Idempotency-Key',
    (type) => offers('create')(type) && type.fields.size > 0,
    (scene) => {
      const [body, other] = [fullest(scene), fullest(scene)];
      const key = `suite-${(scene.seeds.next += 1)}`;
      const more = { headers: { 'idempotency-key': key }, view: {} };
      const id = post(scene, body, more);
      post(scene, body, { ...more, headers: { 'idempotency-key': `"${key}"` } });
      send(scene, { method: 'POST', body: other, ...more });
      get(scene, id);
      post(scene, other);
    },
  ),
  rule('PATCH and DELETE twice with one Idempotency-Key', offers('create', 'update', 'delete', 'get'), (scene) => {
    const id = post(scene, fullest(scene));
    const [field] = changed(scene.type);
    const changes = (): JsonObject => (field ? { [field.name]: fresh(scene, field) } : {});
    const keyed = (): Pick<Call, 'headers' | 'view'> => ({
      headers: { 'idempotency-key': `suite-${(scene.seeds.next += 1)}` },
      view: {},
    });
    const [first, other, change, deletion] = [changes(), changes(), keyed(), keyed()];
    send(scene, { method: 'PATCH', id, body: first, ...change });
    put(scene, id, other);
    send(scene, { method: 'PATCH', id, body: first, ...change });
    send(scene, { method: 'PUT', id, body: first, ...change });
    get(scene, id);
    send(scene, { method: 'DELETE', id, ...deletion });
    send(scene, { method: 'DELETE', id, ...deletion });
    send(scene, { method: 'DELETE', id });
  }),
  rule('POST with an Idempotency-Key that is not one', offers('create'), (scene) => {
    for (const key of ['two words', 'x'.repeat(256), '', '""', '"two words"'])
      send(scene, { method: 'POST', body: fullest(scene), headers: { 'idempotency-key': key } });
  }),
);

const NOT_ACCEPTED = ['text/html', 'application/json;q=0', 'image/*'];
const NO_BODIES = ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'];
const PREFERRED = [
  '*/*',
  'text/csv;q=0.5, application/x-ndjson',
  'application/*;q=0.2, application/x-ndjson;q=0.1, text/html',
];

/** Media types that no body of the request may have. */
const unsupported = ({ method }: Call): readonly string[] =>
  method === 'PATCH' ? NO_BODIES : [...NO_BODIES, 'application/merge-patch+json'];

const mediaTypeRules = table(
  'media types',
  single(always, (type) => [
    ...endpoints(type).flatMap((call) => NOT_ACCEPTED.map((accept) => withHeaders(call, { accept }))),
    ...endpoints(type)
      .filter(takesBody)
      .flatMap((call) => [
        ...unsupported(call).map((name) => withHeaders(call, { 'content-type': name })),
        withHeaders(call, { 'content-encoding': 'gzip' }),
      ]),
  ]),
  rule('GET in the preferred media type', offers('list'), (scene) => {
    for (const accept of PREFERRED) send(scene, { method: 'GET', list: { limit: 0 }, headers: { accept } });
  }),
);

/** What a client takes of codings. */
const CODINGS = ['gzip', 'br', 'gzip;q=0.5, br', 'deflate, gzip', 'identity', 'gzip;q=0', 'deflate'];
const MOST_RECORDS = 25;

const compressionRules = table(
  'compression',
  rule('GET of many records, compressed', identified('create', 'list'), (scene) => {
    const first = post(scene, fullest(scene));
    const count = Math.ceil(LONG / JSON.stringify(shownAs(scene, first)).length);
    if (count > MOST_RECORDS) throw new Unreachable(`records of ${scene.type.name} are short`);
    const ids = [first, ...Array.from({ length: count }, () => post(scene, fullest(scene)))];
    const page = { offset: 0, limit: ids.length };
    list(scene, ids, page, { tag: 'tag' });
    for (const taken of CODINGS) list(scene, ids, page, { headers: { 'accept-encoding': taken } });
    if (scene.type.preconditions === 'off') return;
    list(scene, ids, page, { headers: { 'accept-encoding': 'gzip', 'if-none-match': '"{tag}-gzip"' } });
  }),
  // A refusal of many words, which any service can answer.
  rule(
    'a long refusal, compressed',
    (type) => offers('get')(type) || offers('list')(type),
    (scene) => {
      const call = endpoints(scene.type).find(({ method }) => method === 'GET');
      const wrong = Array.from({ length: 40 }, (_, index) => `noSuchParameter${index}=1`);
      for (const taken of call ? CODINGS : [])
        send(scene, { ...call, method: 'GET', wrong, headers: { 'accept-encoding': taken } });
    },
  ),
);

const NAMES = ['of-the.suite:1', 'a/b+c=d_e', 'x'.repeat(128), 'two words', '"quoted"', 'x'.repeat(129)];

// The name that a request has: its own, where that may stand in a log.
const names = rule('X-Request-Id', always, (scene) => {
  for (const call of endpoints(scene.type))
    for (const name of NAMES)
      send(scene, withHeaders({ ...call, wrong: ['noSuchParameter=1'] }, { 'x-request-id': name }));
});

// No position, and one that no database has reached: both ask for what is stored now.
const positions = rule('X-Position', offers('get'), (scene) =>
  gets(scene, obtain(scene), 'x-position', ['latest', 'FFFFFFFF/FFFFFFFF']),
);

export const headerRules: readonly Rule[] = [
  ...mediaTypeRules,
  ...table('request ids', names),
  ...table('positions', positions),
  ...preconditionRules,
  ...preferenceRules,
  ...compressionRules,
];
