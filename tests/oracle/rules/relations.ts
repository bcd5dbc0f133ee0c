/** Nested writes: what each kind of relation accepts and refuses, created, emptied, replaced, updated, shared. */
import type { Operation } from '../../../engine/descriptor/descriptor.ts';
import type { JsonObject, JsonValue } from '../../../engine/json.ts';
import type { RecordType, Relation } from '../../../engine/model/model.ts';
import { linkTo, MISSING_ID } from '../call.ts';
import {
  childBody,
  fresh,
  fullest,
  inRelation,
  isChangeable,
  obtain,
  otherThan,
  smallest,
  targetsOf,
} from '../samples.ts';
import { Unreachable } from '../refusal.ts';
import { type Context, get, patchMany, post, put, puts, remove, type Scene, send, shownAs, WAYS } from '../scene.ts';
import { type Id, rowOf } from '../world.ts';
import { always, each, offers, relations, type TableRow, type Rule, table } from './rule.ts';

/** Rules about each relation of a type whose records can be made; `are` says about which. */
const about =
  (...operations: readonly Operation[]) =>
  (
    title: string,
    are: (relation: Relation) => boolean,
    requests: (scene: Scene, relation: Relation) => void,
  ): TableRow =>
    each(`{}, ${title}`, offers(...operations), relations(are), requests);
const made = about('create');
const updated = about('create', 'update');

const hasId = ({ target }: Relation): boolean => target.identifier.inRecord;
/** Children that cannot be without a parent. */
const isObligatory = ({ link, owned }: Relation): boolean => link.at === 'target' && link.reference.required && !owned;
const isSetWithIds = (relation: Relation): boolean => relation.toMany && hasId(relation);
const isMovable = (relation: Relation): boolean => hasId(relation) && !isObligatory(relation);
const isTree = ({ link, owned, inverse, required }: Relation): boolean =>
  link.at !== 'join' && link.reference.acyclic && !owned && !inverse?.owned && !required;
const changeable = ({ fields }: Relation) => fields.find(isChangeable);

/** Links of the related record to records that cannot be written through them. */
const plainLinks = ({ target, inverse }: Relation): readonly Relation[] =>
  [...target.relations.values()].filter(
    (one) => one !== inverse && one.nested === 'link' && one.link.at === 'source' && hasId(one),
  );

/** The fullest record with this in the relation. */
const bodyWith = (scene: Scene, { name }: Relation, value: JsonValue): JsonObject => ({
  ...fullest(scene),
  [name]: value,
});

/** A record with this many related ones. */
export function parentOf(scene: Scene, relation: Relation, count = 1): Id {
  const bodies = Array.from({ length: relation.toMany ? count : 1 }, () => childBody(scene, relation));
  return post(scene, bodyWith(scene, relation, inRelation(relation, ...bodies)));
}

/** What the record has in the relation already, each as a link. */
const kept = (scene: Scene, relation: Relation, id: Id): readonly JsonObject[] =>
  targetsOf(scene, relation, id).map((target) => linkTo(relation.target, target));

/** What the record has in a set already, and these bodies. */
const besides = (scene: Scene, relation: Relation, id: Id, ...bodies: readonly JsonObject[]): JsonValue =>
  inRelation(relation, ...(relation.toMany ? kept(scene, relation, id) : []), ...bodies);

const stored = ({ world }: Scene, { target }: Relation, id: Id, name: string): JsonValue => {
  const field = target.fields.get(name);
  return (field && rowOf(world, target, id)?.values.get(field)) ?? null;
};

/** The record as its own related record has it, with one key more. */
export function through(type: RecordType, relation: Relation, id: Id, first: Id, key: JsonObject): JsonValue {
  const { inverse, target } = relation;
  const back = { ...linkTo(type, id), ...key };
  return inRelation(relation, {
    ...linkTo(target, first),
    ...(inverse ? { [inverse.name]: inRelation(inverse, back) } : {}),
  });
}

/** Links that a relation's records hold themselves. */
const linksThrough = (context: Context) =>
  relations((relation) => relation.nested === 'write' && hasId(relation))(context).flatMap((relation) =>
    plainLinks(relation).map((link) => {
      const name = `${relation.name}, a change of what ${link.name} of the related record links`;
      return { name, relation, link };
    }),
  );

const accepted = table(
  'relations',
  made('created with the record, read at each depth, written back, deleted', always, (scene, relation) => {
    const { name, target } = relation;
    const include = [name, ...[...target.relations.keys()].map((inner) => `${name}.${inner}`)];
    // Made in another order than that of their values.
    const bodies = [childBody(scene, relation), ...(relation.toMany ? [childBody(scene, relation)] : [])].toReversed();
    const id = post(scene, bodyWith(scene, relation, inRelation(relation, ...bodies)), { view: { include } });
    get(scene, id);
    get(scene, id, { view: { include } });
    put(scene, id, shownAs(scene, id));
    put(scene, id, {});
    remove(scene, id);
  }),
  // null leaves a to-one relation, [] a set; what is owned is gone with it.
  updated('emptied', always, (scene, relation) =>
    puts(scene, parentOf(scene, relation), [{ [relation.name]: inRelation(relation) }]),
  ),
  updated('some kept, some left out, some new', isMovable, (scene, relation) => {
    const id = parentOf(scene, relation, 3);
    const others = relation.toMany ? kept(scene, relation, id).slice(1) : [];
    for (const links of [others, others.slice(0, 1)])
      puts(scene, id, [{ [relation.name]: inRelation(relation, ...links, childBody(scene, relation)) }]);
  }),
  // Keys beside the identifier: equal values change nothing, others update where the relation writes and conflict where it links.
  updated(
    'a field of the related record',
    (relation) => hasId(relation) && changeable(relation) !== undefined,
    (scene, relation) => {
      const { name, target, owned, toMany } = relation;
      const field = changeable(relation);
      const id = parentOf(scene, relation);
      const [first] = targetsOf(scene, relation, id);
      if (first === undefined || field === undefined) return;
      const now = stored(scene, relation, first, field.name);
      const other = otherThan(field, now);
      const withValue = (value: JsonValue) => ({
        [name]: inRelation(relation, { ...linkTo(target, first), [field.name]: value }),
      });
      put(scene, id, withValue(now));
      if (other === undefined) return;
      puts(scene, id, [withValue(other)], WAYS);
      if (owned && !toMany) put(scene, id, { [name]: { [field.name]: fresh(scene, field) } });
    },
  ),
  // A related record that is written holds links of its own: what they lead to is not changed from here.
  each('{}', offers('create', 'update'), linksThrough, (scene, { relation, link }) => {
    const field = changeable(link);
    const linked = obtain(scene, link.target);
    const other = field && otherThan(field, stored(scene, link, linked, field.name));
    if (field === undefined || other === undefined) throw new Unreachable(`${link.name} leads to nothing that changes`);
    const changed = { ...linkTo(link.target, linked), [field.name]: other };
    const child = { ...childBody(scene, relation), [link.name]: changed };
    const body = { [relation.name]: inRelation(relation, child) };
    send(scene, { method: 'POST', body: { ...fullest(scene), ...body } });
    const id = post(scene, fullest(scene));
    puts(scene, id, [body], WAYS);
    if (scene.type.identifier.inRecord) patchMany(scene, [id], [body]);
  }),
  // Shared, moved, or refused where it is owned.
  updated('a related record of another', isMovable, (scene, relation) => {
    const first = parentOf(scene, relation);
    const second = post(scene, fullest(scene));
    for (const link of kept(scene, relation, first).slice(0, 1)) {
      put(scene, second, { [relation.name]: inRelation(relation, link) });
      get(scene, first);
      get(scene, second);
    }
  }),
);

const refused = table(
  'relations',
  made(
    'left out on create, null, or a record that is not there',
    ({ required }) => required,
    (scene, relation) => {
      const { [relation.name]: _, ...body } = fullest(scene);
      const missing = hasId(relation) ? [{ [relation.name]: linkTo(relation.target, MISSING_ID) }] : [];
      for (const rest of [{}, { [relation.name]: null }, ...missing])
        send(scene, { method: 'POST', body: { ...body, ...rest } });
    },
  ),
  updated('values that fit no relation', always, (scene, relation) => {
    const { name, target, toMany } = relation;
    const id = post(scene, fullest(scene));
    const whole = toMany ? [null, {}, 'x', 1, [1], ['x'], [null], [[]]] : ['x', 1, true, []];
    for (const value of whole) put(scene, id, { [name]: value });
    const key = target.identifier.name;
    const rest = relation.nested === 'write' ? childBody(scene, relation) : {};
    for (const value of hasId(relation) ? ['x', 0, 1.5, true] : [])
      put(scene, id, { [name]: inRelation(relation, { ...rest, [key]: value }) });
    if (hasId(relation)) put(scene, id, { [name]: inRelation(relation, linkTo(target, MISSING_ID)) });
    if (!target.open) put(scene, id, { [name]: inRelation(relation, { ...childBody(scene, relation), noSuchKey: 1 }) });
    get(scene, id);
  }),
  // Each field of the related record refuses what it refuses at home, and says where.
  updated(
    'refused values in the related record',
    ({ nested }) => nested === 'write',
    (scene, relation) => {
      const { name, fields, toMany } = relation;
      const id = post(scene, fullest(scene));
      for (const field of fields.filter(({ readOnly }) => !readOnly).slice(0, 5)) {
        const good = toMany ? [childBody(scene, relation)] : [];
        for (const value of field.type.bad(field).slice(0, 2)) {
          const bad = { ...childBody(scene, relation), [field.name]: value };
          put(scene, id, { [name]: inRelation(relation, ...good, bad) });
        }
      }
      get(scene, id);
    },
  ),
  // The last of several related records cannot be used: neither the record nor those before it are written.
  updated('all or nothing', isSetWithIds, (scene, relation) => {
    const { name, target } = relation;
    const id = parentOf(scene, relation);
    const missing = linkTo(target, MISSING_ID);
    const values = fullest(scene);
    put(scene, id, { ...values, [name]: besides(scene, relation, id, childBody(scene, relation), missing) });
    send(scene, { method: 'POST', body: { ...values, [name]: [childBody(scene, relation), missing] } });
    get(scene, id);
    for (const link of kept(scene, relation, id).slice(0, 1)) put(scene, id, { [name]: [link, link] });
  }),
  updated(
    'a link that names no record',
    ({ nested }) => nested === 'link',
    (scene, relation) => puts(scene, post(scene, fullest(scene)), [{ [relation.name]: inRelation(relation, {}) }]),
  ),
  // The key that leads back may name the parent and nothing else.
  updated(
    'the key that leads back',
    ({ nested, inverse, source }) =>
      nested === 'write' && inverse !== undefined && !inverse.toMany && source.identifier.inRecord,
    (scene, relation) => {
      const { name, inverse } = relation;
      const id = post(scene, fullest(scene));
      const child = (value: JsonValue) => ({ ...childBody(scene, relation), [inverse?.name ?? '']: value });
      put(scene, id, { [name]: inRelation(relation, child(linkTo(scene.type, id))) });
      for (const value of [linkTo(scene.type, MISSING_ID), null])
        put(scene, id, { [name]: besides(scene, relation, id, child(value)) });
      get(scene, id);
    },
  ),
  // A body that reaches one record in two ways says two things of it.
  updated(
    'given once more through the related record, with another content',
    (relation) => relation.inverse !== undefined && relation.source.identifier.inRecord && hasId(relation),
    (scene, relation) => {
      const { name, inverse, toMany, required } = relation;
      const { type } = scene;
      const id = parentOf(scene, relation, 2);
      const [first, second] = targetsOf(scene, relation, id);
      if (first === undefined || inverse === undefined || (toMany && second === undefined)) return;
      const others = kept(scene, relation, id).slice(0, 2);
      const other = inRelation(relation, ...(toMany ? others : []));
      if (!required) put(scene, id, { [name]: through(type, relation, id, first, { [name]: other }) });
      const field = inverse.fields.find(isChangeable);
      if (field) {
        const [one = null, two = null] = [1, 2].map((seed) => field.type.good(field, seed));
        put(scene, id, { [field.name]: one, [name]: through(type, relation, id, first, { [field.name]: two }) });
      }
      get(scene, id);
      if (!toMany) put(scene, id, { [name]: through(type, relation, id, first, {}) });
    },
  ),
  updated('what would be below itself', isTree, (scene, relation) => {
    const { name, target } = relation;
    const all = [1, 2, 3].map(() => post(scene, smallest(scene)));
    const [first = '', second = '', third = ''] = all;
    const link = (id: Id, other: Id): void => put(scene, id, { [name]: inRelation(relation, linkTo(target, other)) });
    link(second, first);
    link(third, second);
    for (const other of all) link(first, other);
    for (const id of all) get(scene, id);
    put(scene, second, { [name]: relation.toMany ? [] : null });
    link(first, third);
    for (const id of all) get(scene, id);
  }),
  // Faults of the body are told together, in its order, before it is asked what is there.
  updated(
    'a related record twice, and another identifier',
    (relation) => isSetWithIds(relation) && relation.source.identifier.inRecord,
    (scene, relation) => {
      const { type } = scene;
      const id = parentOf(scene, relation, 2);
      for (const link of kept(scene, relation, id).slice(0, 1)) {
        const body = { [relation.name]: [link, link], [type.identifier.name]: MISSING_ID - 1 };
        put(scene, id, body);
        if (type.preconditions !== 'off') put(scene, id, body, { headers: { 'if-match': '"late"' } });
        put(scene, MISSING_ID, body);
      }
      get(scene, id);
    },
  ),
);

export const relationRules: readonly Rule[] = [...accepted, ...refused];
