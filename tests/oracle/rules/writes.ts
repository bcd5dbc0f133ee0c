/** Each operation of a type, from its smallest record to its fullest; identifiers; what other records forbid. */
import type { JsonObject, JsonValue } from '../../../engine/json.ts';
import {
  type Field,
  type Index,
  MAX_GIVEN_IDENTIFIER,
  type RecordType,
  type Relation,
} from '../../../engine/model/model.ts';
import { allowedMethods, type Call, collectionPath, endpoints, linkTo, MISSING_ID, takesBody } from '../call.ts';
import { entriesOf } from '../template.ts';
import { childBody, fresh, fullest, memberValues, nestedBody, obtain, smallest, targetsOf } from '../samples.ts';
import { type Context, get, isRemovable, list, post, put, puts, remove, type Scene, send, WAYS } from '../scene.ts';
import { inOtherCase } from '../values.ts';
import { type Id, idValue, isField } from '../world.ts';
import { always, each, identified, offers, relations, type Rule, rule, single, type TableRow, table } from './rule.ts';

/** What GET says of its answer, HEAD says without it. */
function sameHead(scene: Scene, call: Pick<Call, 'id' | 'list'>): void {
  for (const method of ['GET', 'HEAD']) send(scene, { ...call, method, length: 'length' });
}

/** A record from its creation to its end. */
const life = (title: string, bodyOf: (scene: Scene) => JsonObject): TableRow =>
  rule(`POST ${title}, read it, delete it`, offers('create'), (scene) => {
    const id = post(scene, bodyOf(scene));
    get(scene, id);
    list(scene, [id]);
    if (scene.type.operations.has('get')) sameHead(scene, { id });
    if (!isRemovable(scene, id)) return;
    send(scene, { method: 'DELETE', id, body: {} });
    remove(scene, id);
    get(scene, id);
    send(scene, { method: 'DELETE', id });
  });

/** Keys that are left out stay as they are, and nothing is written where nothing differs. */
const updates = (method: string): TableRow =>
  rule(`${method} all fields, some, none`, offers('update'), (scene) => {
    const id = obtain(scene);
    put(scene, id, {}, {}, method);
    const own = entriesOf(fullest(scene)).filter(([key]) => scene.type.fields.has(key));
    puts(
      scene,
      id,
      own.map((entry) => Object.fromEntries([entry])),
      [method],
    );
    puts(scene, id, [scene.type.operations.has('create') ? fullest(scene) : smallest(scene)], [method]);
  });

const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const MALFORMED = ['0', '-1', '1.5', '1e3', 'abc', '+1', '9007199254740992', '1%2F2', '%20', '1;2', '%D9%A3', "1'--"];
const NOT_GIVEN = [0, -1, 1.5, '1', true, [], {}, MAX_GIVEN_IDENTIFIER + 1, 1e300];

const itemEndpoints = (type: RecordType): readonly Call[] => endpoints(type).filter(({ id }) => id !== undefined);

/** The paths of a type, each with what addresses it. */
const places = (type: RecordType) =>
  [
    ['collection', {}],
    ['item', { id: MISSING_ID }],
    ...(type.operations.has('list') ? ([['summary', { summary: { by: [], measure: ['count'] } }]] as const) : []),
  ] as const;

const operationRules = table(
  'operations',
  life('the smallest record', smallest),
  life('the fullest record', fullest),
  updates('PUT'),
  updates('PATCH'),
  rule('PUT what GET answered', offers('get', 'update'), (scene) => {
    const id = obtain(scene);
    get(scene, id);
    get(scene, id, { bound: 'answer' });
    put(scene, id, {}, { bound: 'answer' });
    get(scene, id);
  }),
  rule('HEAD of the list', offers('list'), (scene) => {
    sameHead(scene, { list: { limit: 0 } });
    send(scene, { method: 'HEAD' });
  }),
  // What a type does not offer happens to no record of it.
  rule(
    'nothing updates a record',
    (type) => offers('create')(type) && !offers('update')(type),
    (scene) => {
      const id = post(scene, fullest(scene));
      for (const method of [...WAYS, 'POST']) send(scene, { method, id, body: fullest(scene) });
      if (scene.type.identifier.inRecord)
        send(scene, { method: 'POST', body: { ...fullest(scene), ...linkTo(scene.type, id) } });
      get(scene, id);
      list(scene, [id]);
    },
  ),
  // Methods that a path lacks are refused before anything else is looked at; OPTIONS says which it has.
  single(always, (type) =>
    places(type).flatMap(([place, call]) =>
      ALL_METHODS.filter((one) => one === 'OPTIONS' || !allowedMethods(type, place).includes(one)).map((method) => ({
        ...call,
        method,
        ...(takesBody({ method }) ? { body: {} } : {}),
      })),
    ),
  ),
);

const identifierRules = table(
  'identifiers',
  each(
    '{} with malformed identifiers',
    always,
    ({ type }) => itemEndpoints(type).map((call) => ({ call, name: call.method })),
    (scene, { call }) => {
      for (const text of MALFORMED)
        send(scene, { ...call, id: undefined, path: `${collectionPath(scene.type)}/${text}` });
    },
  ),
  single(always, itemEndpoints),
  rule('POST with an identifier that is taken', identified('create'), (scene) => {
    const id = post(scene, fullest(scene));
    send(scene, { method: 'POST', body: { ...fullest(scene), ...linkTo(scene.type, id) } });
    get(scene, id);
  }),
  rule('POST with an identifier that is free, or null', identified('create'), (scene) => {
    const { type } = scene;
    const id = post(scene, { ...fullest(scene), [type.identifier.name]: null });
    if (!isRemovable(scene, id)) return;
    remove(scene, id);
    post(scene, { ...fullest(scene), ...linkTo(type, id) });
    post(scene, fullest(scene));
  }),
  rule('POST with {id} that no record may have', offers('create'), (scene) => {
    const { name, inRecord } = scene.type.identifier;
    for (const value of inRecord ? NOT_GIVEN : [1])
      send(scene, { method: 'POST', body: { ...fullest(scene), [name]: value } });
  }),
  // The identifier may stand in the body of PUT only if it is the record's own.
  rule('PUT with {id} in the body', identified('update'), (scene) => {
    const [id, other] = [obtain(scene), obtain(scene)];
    for (const value of [idValue(id), idValue(other), MISSING_ID, 'x', 0])
      put(scene, id, { [scene.type.identifier.name]: value });
    get(scene, other);
  }),
);

const uniqueOf = ({ indexes }: RecordType): readonly Index[] => indexes.filter(({ unique }) => unique);

/** Two values that are equal though they are written differently. */
function spellings({ name, type, ...field }: Field) {
  const edges = type.edges(field);
  const pairs = edges.flatMap((a) => edges.filter((b) => a !== b && type.equal(a, b)).map((b) => [a, b] as const));
  return pairs
    .slice(0, 1)
    .map((pair) => ({ name: `${name} once as ${pair.map(String).join(' and once as ')}`, key: name, pair }));
}

/** Unique fields that ignore case, of which no sample is refused in another case. */
const caseless = ({ type }: Context): readonly Field[] =>
  uniqueOf(type).flatMap(({ members: [only, other] }) =>
    only && !other && isField(only) && !only.readOnly && inOtherCase(only, 'x') !== 'x' ? [only] : [],
  );

/** Unique fields of the records of sets that are written with their parent, one for each relation. */
const twinned = (context: Context) =>
  relations(({ toMany, nested }) => toMany && nested === 'write')(context).flatMap((relation) =>
    relation.fields
      .filter(({ unique, readOnly }) => unique && !readOnly)
      .slice(0, 1)
      .map((field) => ({ name: `${relation.name} with the same ${field.name}`, relation, field })),
  );

/** Relations to records of their own that can go. */
const toDeletable = (at: Relation['link']['at']) =>
  relations(({ link, target }) => link.at === at && offers('create', 'delete')(target));

const conflictRules = table(
  'conflicts',
  each(
    'POST the same {} twice',
    offers('create'),
    ({ type }) => uniqueOf(type).map((index) => ({ ...index, name: index.members.map(({ name }) => name).join(', ') })),
    (scene, index) => {
      const values = memberValues(scene, index);
      const first = post(scene, { ...fullest(scene), ...values });
      send(scene, { method: 'POST', body: { ...fullest(scene), ...values } });
      const second = post(scene, { ...fullest(scene), ...memberValues(scene, index) });
      for (const method of WAYS) put(scene, second, values, {}, method);
      put(scene, first, values);
      get(scene, second);
      // Null is equal to nothing, itself included.
      const mayBeNull = index.members.every((one) => (isField(one) ? one.nullable && !one.readOnly : !one.required));
      const nulls = Object.fromEntries(index.members.map(({ name }) => [name, null]));
      for (const bodyOf of mayBeNull ? [fullest, fullest] : []) post(scene, { ...bodyOf(scene), ...nulls });
    },
  ),
  each(
    'POST {}',
    offers('create'),
    ({ type }) =>
      uniqueOf(type).flatMap(({ members: [only, other] }) => (only && !other && isField(only) ? spellings(only) : [])),
    (scene, { key, pair }) => {
      for (const value of pair) send(scene, { method: 'POST', body: { ...smallest(scene), [key]: value } });
    },
  ),
  each('POST {} in other cases', offers('create'), caseless, (scene, field) => {
    const value = String(fresh(scene, field));
    const first = post(scene, { ...smallest(scene), [field.name]: value });
    const others = [inOtherCase(field, value), value.toLowerCase()];
    for (const other of others) send(scene, { method: 'POST', body: { ...smallest(scene), [field.name]: other } });
    if (scene.type.operations.has('update')) for (const other of others) put(scene, first, { [field.name]: other });
  }),
  // A new nested record conflicts after its parent and its sibling are written: neither of them stays.
  each('{} twice, then trading it', offers('create'), twinned, (scene, { relation, field }) => {
    const { name, target } = relation;
    const id = post(scene, fullest(scene));
    const twins = [childBody(scene, relation), childBody(scene, relation)];
    const having = (bodies: readonly JsonObject[], values: readonly JsonValue[]): JsonObject => ({
      [name]: bodies.map((one, index) => ({ ...one, [field.name]: values[index % values.length] ?? null })),
    });
    const same = having(twins, [fresh(scene, field)]);
    const body = { ...fullest(scene), ...same };
    send(scene, { method: 'POST', body });
    puts(scene, id, [body]);
    if (!target.identifier.inRecord) return;
    const values = [fresh(scene, field), fresh(scene, field)];
    put(scene, id, having(twins, values));
    const links = targetsOf(scene, relation, id).map((one) => linkTo(target, one));
    puts(scene, id, [having(links.toReversed(), values), having(links, values)]);
  }),
  // Deleting a record that another one belongs to is refused, or the other goes too, or it loses the link.
  each(
    'DELETE {}',
    offers('create'),
    (context) =>
      toDeletable('source')(context).map((relation) => ({
        name: `${relation.target.path} that ${relation.name} refers to`,
        relation,
      })),
    (scene, { relation: { name, target } }) => {
      const referred = obtain(scene, target);
      const referring = post(scene, { ...fullest(scene), [name]: linkTo(target, referred) });
      remove(scene, referred, { type: target });
      get(scene, referred, { type: target });
      get(scene, referring);
    },
  ),
  // The rows of a join table go with either side.
  each(
    'DELETE {}',
    offers('create'),
    (context) =>
      toDeletable('join')(context).map((relation) => ({
        name: `${relation.target.path} that is among ${relation.name}`,
        relation,
      })),
    (scene, { relation: { name, target } }) => {
      const ids: readonly Id[] = [obtain(scene, target), obtain(scene, target)];
      const id = post(scene, { ...fullest(scene), [name]: ids.map((one) => linkTo(target, one)) });
      for (const first of ids.slice(0, 1)) remove(scene, first, { type: target });
      get(scene, id);
    },
  ),
);

const isWritten = ({ operations }: RecordType): boolean =>
  ['create', 'update', 'delete'].some((name) => [...operations].some((one) => one === name));

/** Whatever a write does, its dry run tells, and does not do. */
const dryRuns = table(
  'dry runs',
  rule('of each write', isWritten, (scene) => {
    const { operations } = scene.type;
    const dryRun = true;
    const creates = operations.has('create');
    if (creates) send(scene, { method: 'POST', dryRun, body: nestedBody(scene) });
    const id = creates ? post(scene, nestedBody(scene)) : obtain(scene);
    for (const method of operations.has('update') ? WAYS : [])
      for (const body of [{}, smallest(scene), nestedBody(scene)]) put(scene, id, body, { dryRun }, method);
    if (operations.has('delete')) send(scene, { method: 'DELETE', id, dryRun });
    get(scene, id);
    list(scene, [id]);
  }),
  each('of a write that unlinks {}', offers('create', 'update'), relations(always), (scene, { name, toMany }) => {
    const id = post(scene, nestedBody(scene));
    put(scene, id, { [name]: toMany ? [] : null }, { dryRun: true });
    get(scene, id);
  }),
  rule('for which the client prefers no record', isWritten, (scene) => {
    const id = obtain(scene);
    const headers = { prefer: 'return=minimal' };
    if (scene.type.operations.has('create'))
      send(scene, { method: 'POST', dryRun: true, headers, body: fullest(scene) });
    put(scene, id, fullest(scene), { dryRun: true, headers });
    if (scene.type.operations.has('delete')) send(scene, { method: 'DELETE', id, dryRun: true, headers });
    get(scene, id);
  }),
  single(always, (type) =>
    endpoints(type).flatMap((call) => ['yes', '', 'TRUE'].map((value) => ({ ...call, wrong: [`dryRun=${value}`] }))),
  ),
);

/** A case makes no more records than this. */
const MOST_ROWS = 50;

/** Sets of records that are made with their parent, and that nothing keeps from going. */
const freeSets = relations(
  ({ toMany, nested, link, target }) =>
    toMany &&
    nested === 'write' &&
    target.identifier.inRecord &&
    link.at === 'target' &&
    link.reference.onDelete !== 'restrict',
);

/** One write touches no more rows than the service allows. */
const manyRows = each(
  '{} of more rows than one write may touch',
  (type, { writeRows = Infinity }) => writeRows <= MOST_ROWS && offers('create', 'get', 'update', 'delete')(type),
  freeSets,
  (scene, relation) => {
    const { name, target } = relation;
    const { writeRows = 0 } = scene.deployment;
    const children = (count: number) => Array.from({ length: count }, () => smallest(scene, target, relation));
    const links = (): readonly JsonObject[] => targetsOf(scene, relation, id).map((one) => linkTo(target, one));
    const removed = (): void => {
      send(scene, { method: 'DELETE', id });
      get(scene, id);
    };
    send(scene, { method: 'POST', body: { ...smallest(scene), [name]: children(writeRows) } });
    const id = post(scene, { ...smallest(scene), [name]: children(writeRows >> 1) });
    put(scene, id, { [name]: [...links(), ...children(writeRows - links().length)] });
    put(scene, id, { [name]: [...links(), ...children(2)] });
    put(scene, id, { [name]: [] });
    removed();
    put(scene, id, { [name]: links().slice(3) });
    removed();
  },
);

export const writeRules: readonly Rule[] = [
  ...operationRules,
  ...identifierRules,
  ...conflictRules,
  ...dryRuns,
  ...table('limits', manyRows),
];
