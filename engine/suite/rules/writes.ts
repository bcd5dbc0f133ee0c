/** Each operation of a type, from its smallest record to its fullest; identifiers; what other records forbid. */
import type { Operation } from '../../descriptor/descriptor.ts';
import type { JsonObject } from '../../json.ts';
import { type Field, type Index, MAX_GIVEN_IDENTIFIER, type RecordType, type Relation } from '../../model/model.ts';
import { allowedMethods, type Call, collectionPath, endpoints, linkTo, MISSING_ID, takesBody } from '../call.ts';
import { entriesOf } from '../template.ts';
import { childBody, fresh, fullest, obtain, smallest, targetsOf } from '../samples.ts';
import { get, isRemovable, list, post, put, remove, type Scene, send } from '../scene.ts';
import { type Id, idValue, isField } from '../world.ts';
import { offers, type TableRow, type Rule, rule, single, table } from './rule.ts';

/** What GET says of its answer, HEAD says without it. */
function sameHead(scene: Scene, call: Pick<Call, 'id' | 'list'>): void {
  for (const method of ['GET', 'HEAD']) send(scene, { ...call, method, length: 'length' });
}

/** A record from its creation to its end. */
const life = (title: string, bodyOf: (scene: Scene) => JsonObject): TableRow =>
  rule({
    when: offers('create'),
    title: () => `POST ${title}, read it, delete it`,
    requests: (scene) => {
      const id = post(scene, bodyOf(scene));
      get(scene, id);
      list(scene, [id]);
      if (scene.type.operations.has('get')) sameHead(scene, { id });
      if (!isRemovable(scene, id)) return;
      remove(scene, id);
      get(scene, id);
      send(scene, { method: 'DELETE', id });
    },
  });

/** Keys that are left out stay as they are, and nothing is written where nothing differs. */
const updates = (method: string): TableRow =>
  rule({
    when: offers('update'),
    title: () => `${method} all fields, some, none`,
    requests: (scene) => {
      const id = obtain(scene);
      put(scene, id, {}, {}, method);
      const body = scene.type.operations.has('create') ? fullest : smallest;
      for (const [key, value] of entriesOf(fullest(scene)))
        if (scene.type.fields.has(key)) put(scene, id, { [key]: value }, {}, method);
      get(scene, id);
      put(scene, id, body(scene), {}, method);
      get(scene, id);
    },
  });

const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const MALFORMED = ['0', '-1', '1.5', '1e3', 'abc', '+1', '9007199254740992', '1%2F2', '%20', '1;2', '%D9%A3', "1'--"];
const NOT_GIVEN = [0, -1, 1.5, '1', true, [], {}, MAX_GIVEN_IDENTIFIER + 1, 1e300];

const itemEndpoints = (type: RecordType): readonly Call[] => endpoints(type).filter(({ id }) => id !== undefined);

const operationRules = table('operations', [
  life('the smallest record', smallest),
  life('the fullest record', fullest),
  updates('PUT'),
  updates('PATCH'),
  rule({
    when: offers('get', 'update'),
    title: 'PUT what GET answered',
    requests: (scene) => {
      const id = obtain(scene);
      get(scene, id);
      get(scene, id, { bound: 'answer' });
      put(scene, id, {}, { bound: 'answer' });
      get(scene, id);
    },
  }),
  rule({
    when: offers('list'),
    title: 'HEAD of the list',
    requests: (scene) => {
      sameHead(scene, { list: { limit: 0 } });
      send(scene, { method: 'HEAD' });
    },
  }),
  // What a type does not offer happens to no record of it.
  rule({
    when: (type) => offers('create')(type) && !offers('update')(type),
    title: 'nothing updates a record',
    requests: (scene) => {
      const id = post(scene, fullest(scene));
      for (const method of ['PUT', 'PATCH', 'POST']) send(scene, { method, id, body: fullest(scene) });
      if (scene.type.identifier.inRecord)
        send(scene, { method: 'POST', body: { ...fullest(scene), ...linkTo(scene.type, id) } });
      get(scene, id);
      list(scene, [id]);
    },
  }),
  // Methods that a path lacks are refused before anything else is looked at; OPTIONS says which it has.
  single({
    calls: (type) =>
      [{ type }, { type, id: MISSING_ID }].flatMap((place) =>
        ALL_METHODS.filter((one) => one === 'OPTIONS' || !allowedMethods(type, 'id' in place).includes(one)).map(
          (method) => ({
            ...place,
            method,
            ...(takesBody({ method }) ? { body: {} } : {}),
          }),
        ),
      ),
  }),
]);

const hasIdentifiers =
  (...operations: readonly Operation[]) =>
  (type: RecordType): boolean =>
    offers(...operations)(type) && type.identifier.inRecord;

const identifierRules = table('identifiers', [
  rule<Call>({
    each: ({ type }) => itemEndpoints(type),
    title: ({ method }) => `${method} with malformed identifiers`,
    requests: (scene, endpoint) => {
      for (const text of MALFORMED)
        send(scene, { ...endpoint, id: undefined, path: `${collectionPath(scene.type)}/${text}` });
    },
  }),
  single({ calls: itemEndpoints }),
  rule({
    when: hasIdentifiers('create'),
    title: 'POST with an identifier that is taken',
    requests: (scene) => {
      const id = post(scene, fullest(scene));
      send(scene, { method: 'POST', body: { ...fullest(scene), ...linkTo(scene.type, id) } });
      get(scene, id);
    },
  }),
  rule({
    when: hasIdentifiers('create'),
    title: 'POST with an identifier that is free, or null',
    requests: (scene) => {
      const { type } = scene;
      const id = post(scene, { ...fullest(scene), [type.identifier.name]: null });
      if (!isRemovable(scene, id)) return;
      remove(scene, id);
      post(scene, { ...fullest(scene), ...linkTo(type, id) });
      post(scene, fullest(scene));
    },
  }),
  rule({
    when: offers('create'),
    title: (_, { identifier }) => `POST with ${identifier.name} that no record may have`,
    requests: (scene) => {
      const { name, inRecord } = scene.type.identifier;
      for (const value of inRecord ? NOT_GIVEN : [1])
        send(scene, { method: 'POST', body: { ...fullest(scene), [name]: value } });
    },
  }),
  // The identifier may stand in the body of PUT only if it is the record's own.
  rule({
    when: hasIdentifiers('update'),
    title: (_, { identifier }) => `PUT with ${identifier.name} in the body`,
    requests: (scene) => {
      const [id, other] = [obtain(scene), obtain(scene)];
      for (const value of [idValue(id), idValue(other), MISSING_ID, 'x', 0])
        put(scene, id, { [scene.type.identifier.name]: value });
      get(scene, other);
    },
  }),
]);

/** Values for every member of the index; each call gives others. */
const memberValues = (scene: Scene, { members }: Index): JsonObject =>
  Object.fromEntries(
    members.map((member) => [
      member.name,
      isField(member) ? fresh(scene, member) : linkTo(member.target, obtain(scene, member.target)),
    ]),
  );

const uniqueOf = ({ indexes }: RecordType): readonly Index[] => indexes.filter(({ unique }) => unique);

/** Two values that are equal though they are written differently. */
const spellings = (field: Field): readonly (readonly [field: Field, one: unknown, other: unknown])[] => {
  const edges = field.type.edges(field);
  const pairs = edges.flatMap((a) =>
    edges.filter((b) => a !== b && field.type.equal(a, b)).map((b) => [field, a, b] as const),
  );
  return pairs.slice(0, 1);
};

const relationsOf = (type: RecordType): readonly Relation[] => [...type.relations.values()];

const uniqueFields = ({ fields }: Relation): readonly Field[] =>
  fields.filter(({ unique, readOnly }) => unique && !readOnly);

/** Records of their own that can go. */
const deletable = ({ target }: Relation): boolean => offers('create', 'delete')(target);

const conflictRules = table('conflicts', [
  rule<Index>({
    when: offers('create'),
    each: ({ type }) => uniqueOf(type),
    title: ({ members }) => `POST the same ${members.map(({ name }) => name).join(', ')} twice`,
    requests: (scene, index) => {
      const values = memberValues(scene, index);
      const first = post(scene, { ...fullest(scene), ...values });
      send(scene, { method: 'POST', body: { ...fullest(scene), ...values } });
      const second = post(scene, { ...fullest(scene), ...memberValues(scene, index) });
      for (const method of ['PUT', 'PATCH']) put(scene, second, values, {}, method);
      put(scene, first, values);
      get(scene, second);
      // Null is equal to nothing, itself included.
      const empty = index.members.every((member) =>
        isField(member) ? member.nullable && !member.readOnly : !member.required,
      );
      const nulls = Object.fromEntries(index.members.map(({ name }) => [name, null]));
      for (const bodyOf of empty ? [fullest, fullest] : []) post(scene, { ...bodyOf(scene), ...nulls });
    },
  }),
  rule<ReturnType<typeof spellings>[number]>({
    when: offers('create'),
    each: ({ type }) =>
      uniqueOf(type)
        .filter(({ members }) => members.length === 1)
        .flatMap(({ members }) => members.filter(isField).flatMap(spellings)),
    title: ([{ name }, one, other]) => `POST ${name} once as ${String(one)} and once as ${String(other)}`,
    requests: (scene, [{ name }, one, other]) => {
      for (const value of [one, other])
        send(scene, { method: 'POST', body: { ...smallest(scene), [name]: value as string } });
    },
  }),
  // A new nested record conflicts after its parent and its sibling are written: neither of them stays.
  rule<readonly [Relation, Field]>({
    when: offers('create'),
    each: ({ type }) =>
      relationsOf(type)
        .filter(({ toMany, nested }) => toMany && nested === 'write')
        .flatMap((relation) =>
          uniqueFields(relation)
            .slice(0, 1)
            .map((field) => [relation, field] as const),
        ),
    title: ([{ name }, field]) => `${name} with the same ${field.name} twice, then trading it`,
    requests: (scene, [relation, field]) => {
      const { name, target } = relation;
      const id = post(scene, fullest(scene));
      const twins = [childBody(scene, relation), childBody(scene, relation)];
      const value = fresh(scene, field);
      const body = { ...fullest(scene), [name]: twins.map((twin) => ({ ...twin, [field.name]: value })) };
      send(scene, { method: 'POST', body });
      put(scene, id, body);
      get(scene, id);
      if (!target.identifier.inRecord) return;
      const values = [fresh(scene, field), fresh(scene, field)];
      const withValues = (bodies: readonly JsonObject[]): JsonObject => ({
        [name]: bodies.map((one, index) => ({ ...one, [field.name]: values[index] ?? null })),
      });
      put(scene, id, withValues(twins));
      const links = targetsOf(scene, relation, id).map((one) => linkTo(target, one));
      put(scene, id, withValues(links.toReversed()));
      put(scene, id, withValues(links));
      get(scene, id);
    },
  }),
  // Deleting a record that another one belongs to is refused, or the other goes too, or it loses the link.
  rule<Relation>({
    when: offers('create'),
    each: ({ type }) => relationsOf(type).filter((relation) => relation.link.at === 'source' && deletable(relation)),
    title: ({ name, target }) => `DELETE ${target.path} that ${name} refers to`,
    requests: (scene, { name, target }) => {
      const referred = obtain(scene, target);
      const referring = post(scene, { ...fullest(scene), [name]: linkTo(target, referred) });
      remove(scene, referred, { type: target });
      get(scene, referred, { type: target });
      get(scene, referring);
    },
  }),
  // The rows of a join table go with either side.
  rule<Relation>({
    when: offers('create'),
    each: ({ type }) => relationsOf(type).filter((relation) => relation.link.at === 'join' && deletable(relation)),
    title: ({ name, target }) => `DELETE ${target.path} that is among ${name}`,
    requests: (scene, { name, target }) => {
      const ids: readonly Id[] = [obtain(scene, target), obtain(scene, target)];
      const id = post(scene, { ...fullest(scene), [name]: ids.map((one) => linkTo(target, one)) });
      for (const first of ids.slice(0, 1)) remove(scene, first, { type: target });
      get(scene, id);
    },
  }),
]);

/** A case makes no more records than this. */
const MOST_ROWS = 50;

/** A set of records that are made with their parent, and that nothing keeps from going. */
const isSet = ({ toMany, nested, link, target }: Relation): boolean =>
  toMany &&
  nested === 'write' &&
  target.identifier.inRecord &&
  link.at === 'target' &&
  link.reference.onDelete !== 'restrict';

/** One write touches no more rows than the service allows. */
const manyRows = rule<Relation>({
  when: (type, { writeRows = Infinity }) => writeRows <= MOST_ROWS && offers('create', 'get', 'update', 'delete')(type),
  each: ({ type }) => relationsOf(type).filter(isSet),
  title: ({ name }) => `${name} of more rows than one write may touch`,
  requests: (scene, relation) => {
    const { name, target } = relation;
    const { writeRows = 0 } = scene.deployment;
    const children = (count: number) => Array.from({ length: count }, () => smallest(scene, target, relation));
    send(scene, { method: 'POST', body: { ...smallest(scene), [name]: children(writeRows) } });
    const id = post(scene, { ...smallest(scene), [name]: children(writeRows >> 1) });
    const links = (): readonly JsonObject[] => targetsOf(scene, relation, id).map((one) => linkTo(target, one));
    put(scene, id, { [name]: [...links(), ...children(writeRows - links().length)] });
    put(scene, id, { [name]: [...links(), ...children(2)] });
    put(scene, id, { [name]: [] });
    send(scene, { method: 'DELETE', id });
    get(scene, id);
    put(scene, id, { [name]: links().slice(3) });
    send(scene, { method: 'DELETE', id });
    get(scene, id);
  },
});

export const writeRules: readonly Rule[] = [
  ...operationRules,
  ...identifierRules,
  ...conflictRules,
  ...table('limits', [manyRows]),
];
