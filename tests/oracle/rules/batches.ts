/** Several records in one request: as an array, or on the lines of NDJSON and CSV. All are written, or none. */
import { isObject, type JsonObject, parsedJson } from '../../../engine/json.ts';
import type { Field, RecordType } from '../../../engine/model/model.ts';
import { CSV, linkTo, MISSING_ID, NDJSON } from '../call.ts';
import { Unreachable } from '../refusal.ts';
import {
  fresh,
  fullest,
  inRelation,
  isChangeable,
  memberValues,
  nestedBody,
  obtain,
  otherThan,
  settableUniques,
  smallest,
} from '../samples.ts';
import { get, look, patchMany, postMany, remove, type Scene, send, shownAs } from '../scene.ts';
import { type Id, isField } from '../world.ts';
import { each, identified, isWritable, offers, relations, type Rule, rule, single, table } from './rule.ts';

const isTagged = ({ preconditions }: RecordType): boolean => preconditions !== 'off';

const changeableOf = (type: RecordType): Field | undefined =>
  type.defaultVariant.fields.find((one) => isChangeable(one) && isWritable(type, one));

/** Another value for one field, where the type has such a field. */
function changes(scene: Scene): JsonObject {
  const field = changeableOf(scene.type);
  return field ? { [field.name]: fresh(scene, field) } : {};
}

const two = (scene: Scene): readonly [Id, Id] => [obtain(scene), obtain(scene)];

const NOT_RECORDS = [7, 'x', null, []] as const;
const NO_TAGS = ['', 'x', '*', 'W/"x"', 1, null, {}] as const;

/** Records that one request may write, so that a suite can send one more. */
const MOST_RECORDS = 10_000;

export const batchRules: readonly Rule[] = table(
  'batches',
  rule('POST an array', identified('create'), (scene) => {
    const ids = postMany(scene, [smallest(scene), fullest(scene), smallest(scene)]);
    look(scene, ids);
    for (const id of ids) remove(scene, id);
  }),
  rule('POST an array of nested records', identified('create'), (scene) => {
    if (scene.type.relations.size === 0) throw new Unreachable('nothing is nested');
    look(scene, postMany(scene, [nestedBody(scene), smallest(scene), nestedBody(scene)]));
  }),
  rule('POST an array with {id}', identified('create'), (scene) => {
    const ids = postMany(scene, [fullest(scene), fullest(scene)]);
    const links = ids.map((id) => linkTo(scene.type, id));
    const [first = {}] = links;
    send(scene, { method: 'POST', body: [smallest(scene), { ...smallest(scene), ...first }] });
    send(scene, { method: 'POST', body: [{ ...smallest(scene), [scene.type.identifier.name]: null }] });
    for (const id of ids) remove(scene, id);
    if (!scene.type.operations.has('delete')) return;
    send(scene, { method: 'POST', body: [...links, first].map((link) => ({ ...smallest(scene), ...link })) });
    // Of one that repeats a record, what it lacks is told, nested records included.
    const sets = [...scene.type.relations.values()].filter(({ toMany, nested }) => toMany && nested === 'write');
    for (const said of [{}, ...sets.map(({ name }) => ({ [name]: [{}] }))])
      send(scene, {
        method: 'POST',
        body: [
          { ...smallest(scene), ...first },
          { ...first, ...said },
        ],
      });
    const again = links.toReversed().map((link) => ({ ...smallest(scene), ...link }));
    look(scene, postMany(scene, again));
  }),
  rule('POST arrays with faults', offers('create'), (scene) => {
    const items = [smallest(scene), ...NOT_RECORDS];
    send(scene, { method: 'POST', body: items });
    send(scene, { method: 'POST', body: [smallest(scene), { ...smallest(scene), '@etag': '"x"' }] });
    for (const field of scene.type.defaultVariant.fields.filter((one) => isWritable(scene.type, one)).slice(0, 3))
      for (const bad of field.type.bad(field).slice(0, 1))
        send(scene, {
          method: 'POST',
          body: [
            smallest(scene),
            { ...smallest(scene), [field.name]: bad },
            { ...smallest(scene), [field.name]: bad },
            ...NOT_RECORDS,
          ],
        });
    send(scene, { method: 'POST', body: { ...smallest(scene), '@etag': '"x"' } });
  }),
  rule('an array twice with one Idempotency-Key', offers('create'), (scene) => {
    const headers = { 'idempotency-key': `suite-batch-${scene.type.name.length}-${(scene.seeds.next += 1)}` };
    const body = [smallest(scene), fullest(scene)];
    send(scene, { method: 'POST', headers, body });
    send(scene, { method: 'POST', headers, body });
    send(scene, { method: 'POST', headers, body: body.slice(1) });
  }),
  rule('PATCH an array', identified('update'), (scene) => {
    const [a, b] = two(scene);
    patchMany(scene, [a, b], [changes(scene), changes(scene)]);
    patchMany(scene, [b, a], [changes(scene), {}]);
    patchMany(scene, [], []);
    look(scene, [a, b]);
  }),
  each(
    'PATCH an array, {}',
    identified('update'),
    ({ type }) => type.defaultVariant.fields.filter((one) => one.unique && isWritable(type, one)).slice(0, 2),
    (scene, field) => {
      const [a, b] = two(scene);
      const { name } = field;
      const [first, second] = [fresh(scene, field), fresh(scene, field)];
      const both = (one: typeof first, other: typeof first): void =>
        patchMany(scene, [a, b], [{ [name]: one }, { [name]: other }]);
      both(first, second);
      // They trade them.
      both(second, first);
      both(first, first);
      look(scene, [a, b]);
    },
  ),
  // What an item may only link is not changed by it.
  each(
    'PATCH an array, {} changed',
    identified('update'),
    relations(({ nested, target }) => nested === 'link' && target.identifier.inRecord),
    (scene, relation) => {
      const { name, target } = relation;
      const field = relation.fields.find(isChangeable);
      const other = obtain(scene, target);
      const [a, b] = two(scene);
      const value = field && otherThan(field, shownAs({ ...scene, type: target }, other)[field.name] ?? null);
      if (field === undefined || value === undefined) throw new Unreachable(`${name} leads to nothing that changes`);
      const linked = { ...linkTo(target, other), [field.name]: value };
      const item = { ...linkTo(scene.type, b), [name]: inRelation(relation, linked) };
      send(scene, { method: 'PATCH', body: [linkTo(scene.type, a), item] });
    },
  ),
  rule('PATCH arrays with faults', identified('update'), (scene) => {
    const { name } = scene.type.identifier;
    const [a, b] = two(scene).map((id) => linkTo(scene.type, id));
    const bodies = [
      [a, {}, { [name]: null }],
      [a, ...NOT_RECORDS],
      [a, b, a],
      [a, { [name]: MISSING_ID }, { [name]: MISSING_ID + 1 }],
      [a, ...NO_TAGS.map((tag) => ({ ...b, '@etag': tag }))].slice(0, 2),
    ];
    for (const body of bodies) send(scene, { method: 'PATCH', body: body.map((item) => item ?? {}) });
    send(scene, { method: 'PATCH', body: a ?? {} });
  }),
  each(
    'PATCH an array with "@etag": {}',
    identified('update'),
    () => NO_TAGS.map(String),
    (scene, tag) => {
      send(scene, { method: 'PATCH', body: [{ [scene.type.identifier.name]: MISSING_ID, '@etag': tag }] });
    },
  ),
  rule(
    'PATCH an array with the tags that GET answered',
    (type) => isTagged(type) && identified('get', 'update')(type),
    (scene) => {
      const [a, b] = two(scene);
      const item = (id: Id, tag: string): JsonObject => ({ ...linkTo(scene.type, id), '@etag': `"${tag}"` });
      get(scene, a, { tag: 'first' });
      get(scene, b, { tag: 'second' });
      for (const body of [
        [item(a, '{first}'), item(b, '{second}')],
        [item(a, '{first}'), linkTo(scene.type, b)],
        [item(a, '{first}-gzip'), item(b, 'other')],
        [item(a, 'other'), item(b, 'another')],
      ])
        send(scene, { method: 'PATCH', body });
    },
  ),
  rule(
    'PATCH an array after a change, with the tags from before',
    (type) => isTagged(type) && identified('get', 'update')(type),
    (scene) => {
      const field = changeableOf(scene.type);
      const value = field && fresh(scene, field);
      const other = field && value !== undefined ? otherThan(field, value) : undefined;
      if (field === undefined || value === undefined || other === undefined)
        throw new Unreachable('nothing can be changed');
      const [a, b] = two(scene);
      const tagged = (id: Id, tag: string): JsonObject => ({ ...linkTo(scene.type, id), '@etag': `"{${tag}}"` });
      // What an adopted record holds is known from here on.
      patchMany(scene, [a], [{ [field.name]: value }]);
      get(scene, a, { tag: 'before' });
      get(scene, b, { tag: 'other' });
      patchMany(scene, [a], [{ [field.name]: other }]);
      send(scene, { method: 'PATCH', body: [tagged(b, 'other'), tagged(a, 'before')] });
    },
  ),
  each(
    'arrays with Prefer: {}',
    identified('update'),
    () => ['return=minimal', 'return=representation'],
    (scene, prefer) => {
      const more = { headers: { prefer }, view: {} };
      const [a, b] = two(scene);
      patchMany(scene, [a, b], [changes(scene), {}], more);
      look(scene, [a, b]);
    },
  ),
  single(offers('create'), () => [
    { method: 'POST', body: [] },
    { method: 'POST', body: [], headers: { 'if-match': '"x"' } },
    { method: 'POST', body: [], headers: { 'if-match': '*', 'if-none-match': '*' } },
    { method: 'POST', text: '[{}' },
  ]),
  single(identified('update'), () => [
    { method: 'PATCH', body: [], headers: { 'if-match': '"x"' } },
    { method: 'PATCH', body: [], headers: { 'if-none-match': '*' } },
    { method: 'PATCH', body: [], headers: { 'content-type': 'application/merge-patch+json' } },
    { method: 'PATCH', text: '7' },
  ]),
  single(offers('create'), (_, { batchLimit = MOST_RECORDS, bodyItems = Infinity, bodyLimit = Infinity }) =>
    batchLimit < Math.min(MOST_RECORDS, bodyItems, bodyLimit / 3)
      ? [{ method: 'POST', body: Array.from({ length: batchLimit + 1 }, () => ({})) }]
      : [],
  ),
);

// On lines: POST makes records, and with `on` changes those that are there.

const FORMS = [NDJSON, CSV] as const;

/** What a table holds of a body: fields, and links to one record. */
function tableBody({ type }: Scene, body: JsonObject): JsonObject {
  const entries = Object.entries(body).filter(([key]) => type.fields.has(key) || type.relations.has(key));
  for (const [key, value] of entries) {
    const relation = type.relations.get(key);
    const isLink = isObject(value) && Object.keys(value).join() === relation?.target.identifier.name;
    if (relation && (relation.toMany || !isLink)) throw new Unreachable(`${key} is not for a table`);
  }
  if (entries.length === 0) throw new Unreachable('a table needs a column');
  return Object.fromEntries(entries);
}

const bodyFor = (scene: Scene, lines: string): JsonObject =>
  lines === CSV ? tableBody(scene, fullest(scene)) : fullest(scene);

/** Null where that may be. */
function withNulls({ type }: Scene, body: JsonObject): JsonObject {
  if (type.checks.length > 0) return body;
  const isNull = (key: string): boolean => {
    const field = type.fields.get(key);
    return field !== undefined && field.nullable && !field.required && field.generated === undefined;
  };
  const nulls = Object.keys(body).filter(isNull);
  // A line without any cell is no record.
  const chosen = nulls.length < Object.keys(body).length ? nulls : nulls.slice(1);
  return { ...body, ...Object.fromEntries(chosen.map((key) => [key, null])) };
}

const isUpserted = (type: RecordType): boolean => identified('get')(type) && settableUniques(type).length > 0;

export const lineRules: readonly Rule[] = table(
  'lines',
  each(
    'POST {}',
    identified('create'),
    () => FORMS,
    (scene, lines) => {
      const bodies = [bodyFor(scene, lines), withNulls(scene, bodyFor(scene, lines))];
      send(scene, { method: 'POST', body: bodies, lines, dryRun: true });
      look(scene, postMany(scene, bodies, { lines }));
      for (const name of ['if-match', 'if-none-match'])
        send(scene, { method: 'POST', body: bodies, lines, headers: { [name]: '*' } });
    },
  ),
  rule('POST NDJSON of nested records', identified('create'), (scene) => {
    if (scene.type.relations.size === 0) throw new Unreachable('nothing is nested');
    look(scene, postMany(scene, [nestedBody(scene), smallest(scene)], { lines: NDJSON }));
  }),
  each(
    'POST {} with faults',
    offers('create'),
    () => FORMS,
    (scene, lines) => {
      const whole = bodyFor(scene, lines);
      const fields = scene.type.defaultVariant.fields.filter((one) => isWritable(scene.type, one));
      for (const field of fields.filter(({ generated }) => generated === undefined)) {
        const { type } = field.type.schema(field);
        const bad = field.type.bad(field).find((one) => typeof one === 'string' && /^[ -~]+$/.test(one));
        // A text is what any cell holds.
        if (bad === undefined || type === undefined) continue;
        if (lines === CSV && type !== 'string' && parsedJson(String(bad)) !== undefined) continue;
        send(scene, { method: 'POST', body: [whole, { ...whole, [field.name]: bad }], lines });
      }
    },
  ),
  each(
    'POST {} by unique values',
    isUpserted,
    () => [...FORMS, 'application/json'],
    (scene, form) => {
      const lines = form === 'application/json' ? {} : { lines: form };
      for (const { members } of settableUniques(scene.type).slice(0, 2)) {
        const on = members.map(({ name }) => name).toReversed();
        const bodyOf = (): JsonObject => ({ ...bodyFor(scene, form), ...memberValues(scene, { members }) });
        const [first, second] = [bodyOf(), bodyOf()];
        const same = Object.fromEntries(members.map(({ name }) => [name, first[name] ?? null]));
        const again = { ...bodyFor(scene, form), ...same };
        send(scene, { method: 'POST', on, body: [first], ...lines });
        send(scene, { method: 'POST', on, body: [second, again], ...lines, dryRun: true });
        if (scene.type.preconditions === 'required') {
          send(scene, { method: 'POST', on, body: [second, again], ...lines });
          continue;
        }
        const { ids = [] } = send(scene, { method: 'POST', on, body: [second, again], ...lines });
        // Of new records such an answer would not tell the identifiers, and they could not be removed again.
        const minimal = { headers: { prefer: 'return=minimal' } };
        send(scene, { method: 'POST', on, body: [again, second], ...lines, ...minimal });
        look(scene, ids);
        if (form === 'application/json')
          send(scene, { method: 'POST', on, body: again, headers: { prefer: 'return=representation' } });
        // Two children of one owner are refused at both places.
        if (members.every(isField)) send(scene, { method: 'POST', on, body: [again, second, again], ...lines });
        // Only new records need all that is required.
        const known = neededBeside(scene.type, on).length > 0 ? [second, bodyOf()] : [];
        for (const body of known)
          send(scene, { method: 'POST', on, body: [withoutNeeded(scene.type, on, body)], ...lines });
        const [name = ''] = on;
        // An empty line is no record.
        if (form !== CSV || Object.keys(again).length > 1)
          send(scene, { method: 'POST', on, body: [again, { ...second, [name]: null }], ...lines });
      }
    },
  ),
  single(offers('create'), () => [
    { method: 'POST', body: [], lines: NDJSON },
    { method: 'POST', text: '"a', lines: CSV },
  ]),
);

/** What new records must be given besides these keys. */
const neededBeside = (type: RecordType, keys: readonly string[]): readonly string[] =>
  [...type.fields.values(), ...type.relations.values()].flatMap(({ name, required }) =>
    required && !keys.includes(name) ? [name] : [],
  );

const withoutNeeded = (type: RecordType, keys: readonly string[], body: JsonObject): JsonObject => {
  const left = neededBeside(type, keys);
  return Object.fromEntries(Object.entries(body).filter(([key]) => !left.includes(key)));
};
