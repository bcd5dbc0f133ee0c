/** Headers: entity tags, preferences, retries, media types, compression, names of requests, positions. */
import { type Call, endpoints, MISSING_ID, takesBody } from '../call.ts';
import { LONG } from '../oracle.ts';
import { fresh, fullest, isChangeable, obtain } from '../samples.ts';
import { get, list, post, put, remove, send, shownAs, Unreachable } from '../scene.ts';
import { COUNT_MODES } from '../../descriptor/descriptor.ts';
import type { Field, RecordType } from '../../model/model.ts';
import { rowOf } from '../world.ts';
import { offers, type TableRow, type Rule, rule, single, table } from './rule.ts';

const withHeaders = (call: Call, headers: Readonly<Record<string, string>>): Call => ({
  ...call,
  headers: { ...call.headers, ...headers },
});

/** Requests that change, or delete, a record. */
const changing = (type: RecordType): readonly Call[] =>
  endpoints(type).filter(({ id, method }) => id !== undefined && method !== 'GET');

/** A field that a write changes. */
const changed = ({ defaultVariant }: RecordType): Field | undefined =>
  defaultVariant.fields.find((field) => isChangeable({ ...field, unique: false }));

const isTagged = (type: RecordType): boolean => offers('get')(type) && type.preconditions !== 'off';

const preconditionRules = table('preconditions', [
  rule({
    when: isTagged,
    title: 'GET If-None-Match',
    requests: (scene) => {
      const id = obtain(scene);
      send(scene, { method: 'GET', id, tag: 'tag' });
      for (const value of ['"{tag}"', 'W/"{tag}"', '"other", "{tag}"', '*', '"other"'])
        send(scene, { method: 'GET', id, headers: { 'if-none-match': value } });
    },
  }),
  // A write with the tag of what was read before another write.
  rule({
    when: (type) => isTagged(type) && offers('update')(type) && changed(type) !== undefined,
    title: 'If-Match with an old tag, then with the new one',
    requests: (scene) => {
      const { type } = scene;
      const field = changed(type);
      if (field === undefined) return;
      const [first, second, third] = [1, 2, 3].map(() => ({ [field.name]: fresh(scene, field) }));
      const id = obtain(scene, type, { ...fullest(scene), ...first });
      put(scene, id, first ?? {});
      send(scene, { method: 'GET', id, tag: 'old' });
      put(scene, id, second ?? {});
      for (const call of changing(type))
        send(scene, {
          ...call,
          id,
          headers: { 'if-match': '"{old}"' },
          ...(takesBody(call) ? { body: third ?? {} } : {}),
        });
      send(scene, { method: 'GET', id, tag: 'new' });
      for (const headers of [{ 'if-match': '"{new}"' }, { 'if-match': '"other", "{new}"' }])
        put(scene, id, second ?? {}, { headers, view: {} });
      get(scene, id);
    },
  }),
  rule({
    when: (type) => isTagged(type) && type.preconditions === 'required',
    title: 'writes without If-Match',
    requests: (scene) => {
      const id = obtain(scene);
      for (const call of changing(scene.type)) send(scene, { ...call, id, unguarded: true });
      get(scene, id);
    },
  }),
  // A page changes with the records on it and with those before and after.
  rule({
    when: (type) => isTagged(type) && offers('create', 'list')(type) && type.identifier.inRecord,
    title: 'GET of a page, If-None-Match',
    requests: (scene) => {
      // The last one is not on the page, nor next to it: only the total tells that it goes.
      const ids = [1, 2, 3].map(() => post(scene, fullest(scene)));
      const request = { order: [{ path: scene.type.identifier.name, descending: false }], offset: 0, limit: 1 };
      list(scene, ids, request, { tag: 'page' });
      list(scene, ids, request, { headers: { 'if-none-match': '"{page}"' } });
      for (const last of ids.slice(2)) remove(scene, last);
      list(scene, ids, request, { headers: { 'if-none-match': '"{page}"' } });
    },
  }),
  // What is to be made has no tag that it could match; a write that wants nothing to be there finds something.
  rule({
    when: isTagged,
    title: 'If-Match where nothing is, If-None-Match: *',
    requests: (scene) => {
      if (scene.type.operations.has('create'))
        send(scene, { method: 'POST', headers: { 'if-match': '"x"' }, body: fullest(scene) });
      const id = obtain(scene);
      for (const call of changing(scene.type)) send(scene, { ...call, id, headers: { 'if-none-match': '*' } });
      for (const call of changing(scene.type)) send(scene, { ...call, id, headers: { 'if-match': '"other"' } });
      get(scene, id);
    },
  }),
  single({
    when: offers('update'),
    calls: (type) => [{ type, method: 'PUT', id: MISSING_ID, body: {}, headers: { 'if-match': '"x"' } }],
  }),
]);

/** Each write, answered as the client prefers it: with the record, or without. */
const returning = (prefer: string): TableRow =>
  rule({
    when: (type) => offers('create')(type) || offers('get')(type),
    title: () => `each write with Prefer: ${prefer}`,
    requests: (scene) => {
      const { type } = scene;
      const more = { headers: { prefer }, view: {} };
      const id = type.operations.has('create') ? post(scene, fullest(scene), more) : obtain(scene);
      if (changing(type).length === 0 && rowOf(scene.world, type, id)?.adopted) throw new Unreachable('nothing writes');
      for (const method of ['PUT', 'PATCH']) put(scene, id, {}, more, method);
      get(scene, id);
      // This also deletes adopted records, which cannot be made again.
      if (type.operations.has('delete') && (type.operations.has('create') || type.referrers.length === 0))
        send(scene, { method: 'DELETE', id, ...more });
      get(scene, id);
    },
  });

const preferenceRules = table('preferences', [
  returning('return=minimal'),
  returning('return=representation'),
  single({
    when: offers('list'),
    calls: (type) =>
      COUNT_MODES.flatMap((mode) =>
        [{ limit: 0 }, { offset: 1, limit: 1 }].map((page) => ({
          type,
          method: 'GET',
          list: page,
          headers: { prefer: `count=${mode}` },
        })),
      ),
  }),
  // The same key with the same body makes one record; with another body it is a mistake.
  rule({
    when: (type) => offers('create')(type) && type.fields.size > 0,
    title: 'POST twice with one Idempotency-Key',
    requests: (scene) => {
      const [body, other] = [fullest(scene), fullest(scene)];
      const more = { headers: { 'idempotency-key': `suite-${(scene.seeds.next += 1)}` }, view: {} };
      const id = post(scene, body, more);
      post(scene, body, more);
      send(scene, { method: 'POST', body: other, ...more });
      get(scene, id);
      post(scene, other);
    },
  }),
  rule({
    when: offers('create'),
    title: 'POST with an Idempotency-Key that is not one',
    requests: (scene) => {
      for (const key of ['two words', 'x'.repeat(256), ''])
        send(scene, { method: 'POST', body: fullest(scene), headers: { 'idempotency-key': key } });
    },
  }),
]);

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

const mediaTypeRules = table('media types', [
  single({
    calls: (type) => [
      ...endpoints(type).flatMap((call) => NOT_ACCEPTED.map((accept) => withHeaders(call, { accept }))),
      ...endpoints(type)
        .filter(takesBody)
        .flatMap((call) => [
          ...unsupported(call).map((name) => withHeaders(call, { 'content-type': name })),
          withHeaders(call, { 'content-encoding': 'gzip' }),
        ]),
    ],
  }),
  rule({
    when: offers('list'),
    title: 'GET in the preferred media type',
    requests: (scene) => {
      for (const accept of PREFERRED) send(scene, { method: 'GET', list: { limit: 0 }, headers: { accept } });
    },
  }),
]);

/** What a client takes of codings. */
const CODINGS = ['gzip', 'br', 'gzip;q=0.5, br', 'deflate, gzip', 'identity', 'gzip;q=0', 'deflate'];
const MOST_RECORDS = 25;

const compressionRules = table('compression', [
  rule({
    when: (type) => offers('create', 'list')(type) && type.identifier.inRecord,
    title: 'GET of many records, compressed',
    requests: (scene) => {
      const first = post(scene, fullest(scene));
      const count = Math.ceil(LONG / JSON.stringify(shownAs(scene, first)).length);
      if (count > MOST_RECORDS) throw new Unreachable(`records of ${scene.type.name} are short`);
      const ids = [first, ...Array.from({ length: count }, () => post(scene, fullest(scene)))];
      const page = { offset: 0, limit: ids.length };
      list(scene, ids, page, { tag: 'tag' });
      for (const taken of CODINGS) list(scene, ids, page, { headers: { 'accept-encoding': taken } });
      if (scene.type.preconditions === 'off') return;
      list(scene, ids, page, { headers: { 'accept-encoding': 'gzip', 'if-none-match': '"{tag}-gzip"' } });
    },
  }),
  // A refusal of many words, which any service can answer.
  rule({
    when: (type) => offers('get')(type) || offers('list')(type),
    title: 'a long refusal, compressed',
    requests: (scene) => {
      const call = endpoints(scene.type).find(({ method }) => method === 'GET');
      const wrong = Array.from({ length: 40 }, (_, index) => `noSuchParameter${index}=1`);
      for (const taken of call ? CODINGS : [])
        send(scene, { ...call, method: 'GET', wrong, headers: { 'accept-encoding': taken } });
    },
  }),
]);

const NAMES = ['of-the.suite:1', 'a/b+c=d_e', 'x'.repeat(128), 'two words', '"quoted"', 'x'.repeat(129)];

const nameRules = table('request ids', [
  // The name that a request has: its own, where that may stand in a log.
  rule({
    title: 'X-Request-Id',
    requests: (scene) => {
      for (const call of endpoints(scene.type))
        for (const name of NAMES)
          send(scene, withHeaders({ ...call, wrong: ['noSuchParameter=1'] }, { 'x-request-id': name }));
    },
  }),
]);

/** No position, and one that no database has reached: both ask for what is stored now. */
const POSITIONS = ['latest', 'FFFFFFFF/FFFFFFFF'];

const positionRules = table('positions', [
  rule({
    when: offers('get'),
    title: 'X-Position',
    requests: (scene) => {
      const id = obtain(scene);
      for (const position of POSITIONS) send(scene, { method: 'GET', id, headers: { 'x-position': position } });
    },
  }),
]);

export const headerRules: readonly Rule[] = [
  ...mediaTypeRules,
  ...nameRules,
  ...positionRules,
  ...preconditionRules,
  ...preferenceRules,
  ...compressionRules,
];
