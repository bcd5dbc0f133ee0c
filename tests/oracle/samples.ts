/** Records that a case needs: bodies from the samples of the field types, made by whatever request makes one. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import { linkTo, uniquesOf, type UniqueValues } from './call.ts';
import { raw } from './template.ts';
import { fitted } from './checks.ts';
import { Unreachable } from './refusal.ts';
import { isSettable } from './values.ts';
import { adopt, isAdoptable, post, type Scene } from './scene.ts';
import { type Id, isField, related, rowOf, rowsOf } from './world.ts';

/** A key that no descriptor names. */
export const OPEN_KEY = 'keyOfTheSuite';

/** Levels of nested records. */
const MAX_DEPTH = 4;

export const fresh = ({ seeds }: Pick<Scene, 'seeds'>, field: Field): JsonValue =>
  field.type.good(field, (seeds.next += 1));

const valuesOf = (scene: Scene, fields: readonly Field[]): JsonObject =>
  Object.fromEntries(fields.map((field) => [field.name, fresh(scene, field)]));

/** Fields that a body may hold; `via` is the relation that it is nested in. */
const writable = (type: RecordType, via?: Relation): readonly Field[] =>
  (via?.fields ?? type.defaultVariant.fields).filter((field) => !field.readOnly);

/** The relations that a record needs, its parent apart: nested where they may be written, else links. */
function required(scene: Scene, type: RecordType, via?: Relation): JsonObject {
  const relations = [...type.relations.values()].filter((one) => one.required && one !== via?.inverse);
  const bodyOf = (one: Relation): JsonObject =>
    one.nested === 'write' ? smallest(scene, one.target, one) : linkToNew(scene, one.target);
  return Object.fromEntries(relations.map((relation) => [relation.name, bodyOf(relation)]));
}

/** Only what is required. */
export const smallest = (scene: Scene, type: RecordType = scene.type, via?: Relation): JsonObject => ({
  ...meeting(
    type,
    valuesOf(
      scene,
      writable(type, via).filter((field) => field.required),
    ),
    via,
  ),
  ...required(scene, type, via),
});

/** A new record's own values, changed where they would break a check. */
const meeting = (type: RecordType, values: JsonObject, via?: Relation): JsonObject =>
  type.checks.length === 0 ? values : fitted(type, undefined, values, new Set(writable(type, via)));

/** Unique values that bodies may set, by which a request can find records. */
export interface Unique {
  readonly name: string;
  readonly members: UniqueValues;
}

export const settableUniques = (type: RecordType): readonly Unique[] =>
  uniquesOf(type)
    .filter((members) => members.every((one) => (isField(one) ? !one.readOnly : one.target.identifier.inRecord)))
    .map((members) => ({ name: members.map(({ name }) => name).join(', '), members }));

/** Values for all of them; each call gives others. */
export const memberValues = (scene: Scene, { members }: Pick<Unique, 'members'>): JsonObject =>
  Object.fromEntries(
    members.map((member) => [
      member.name,
      isField(member) ? fresh(scene, member) : linkTo(member.target, obtain(scene, member.target)),
    ]),
  );

/** Every field, and the relations that are required. */
export function fullest(scene: Scene, type: RecordType = scene.type, via?: Relation): JsonObject {
  const isWhole = via === undefined || via.fields.length === type.defaultVariant.fields.length;
  const open = type.open && isWhole ? openKeys(scene) : {};
  return { ...meeting(type, valuesOf(scene, writable(type, via)), via), ...open, ...required(scene, type, via) };
}

/** Keys out of their order in JavaScript, and a value as JSON.stringify does not write it. */
const openKeys = ({ seeds }: Scene): JsonObject => ({
  [OPEN_KEY]: raw(`{"2":[${seeds.next}.0,null],"1":"\\u00e9","b":12345678901234567890,"a":1e2}`),
  '30': [],
  '4': null,
  $keys: ['30', OPEN_KEY, '4'],
});

/** A type whose create may nest a new record of the type. */
function nestedIn(scene: Scene, type: RecordType): Id {
  const ways = [...scene.model.types.values()]
    .filter((source) => source.operations.has('create'))
    .flatMap((source) => [...source.relations.values()])
    .filter((relation) => relation.target === type && relation.nested === 'write');
  const [way] = type.identifier.inRecord ? ways : [];
  if (way === undefined) throw new Unreachable(`no request makes a ${type.name}`);
  const child = fullest(scene, type, way);
  const before = new Set(rowsOf(scene.world, type).keys());
  post(scene, { ...smallest(scene, way.source), [way.name]: way.toMany ? [child] : child }, { type: way.source });
  const made = [...rowsOf(scene.world, type).keys()].find((id) => !before.has(id));
  if (made === undefined) throw new Unreachable(`${way.name} of ${way.source.name} made no ${type.name}`);
  return made;
}

/** A record of the type: made by its own create or by one of a type that nests it, or one that is there already. */
export function obtain(scene: Scene, type: RecordType = scene.type, body?: JsonObject): Id {
  if (type.operations.has('create')) return post(scene, body ?? fullest(scene, type), { type });
  return isAdoptable(type) ? adopt(scene, type) : nestedIn(scene, type);
}

const beingLinked = new WeakMap<Scene, Set<RecordType>>();

/** A link to a record that is made for it. A circle of required links leads nowhere. */
function linkToNew(scene: Scene, type: RecordType): JsonObject {
  const open = beingLinked.get(scene) ?? new Set();
  beingLinked.set(scene, open);
  if (open.has(type)) throw new Unreachable(`${type.name} needs itself`);
  open.add(type);
  const id = obtain(scene, type);
  open.delete(type);
  return linkTo(type, id);
}

/** A body for one related record: new where the relation writes, with its own relations as deep as it goes; else a link. */
export const childBody = (
  scene: Scene,
  relation: Relation,
  above: readonly RecordType[] = [relation.source],
): JsonObject =>
  relation.nested === 'write'
    ? {
        ...fullest(scene, relation.target, relation),
        ...relationBodies(scene, relation.target, [...above, relation.target], relation.inverse),
      }
    : linkTo(relation.target, obtain(scene, relation.target));

/** undefined where no request makes what the relation needs. */
function tryChild(scene: Scene, relation: Relation, above: readonly RecordType[]): JsonObject | undefined {
  try {
    return childBody(scene, relation, above);
  } catch (error) {
    if (error instanceof Unreachable && relation.nested === 'link') return undefined;
    throw error;
  }
}

/** What a body says of every relation that a request can fill: two records where it is a set. */
function relationBodies(scene: Scene, type: RecordType, above: readonly RecordType[], inverse?: Relation): JsonObject {
  const relations = [...type.relations.values()].filter(
    (relation) => relation !== inverse && !above.includes(relation.target) && above.length < MAX_DEPTH,
  );
  const entries = relations.flatMap((relation) => {
    const count = relation.toMany ? 2 : 1;
    const bodies = Array.from({ length: count }, () => tryChild(scene, relation, above)).filter(
      (body) => body !== undefined,
    );
    const value = relation.toMany ? bodies : bodies[0];
    return value === undefined ? [] : [[relation.name, value] as const];
  });
  return Object.fromEntries(entries);
}

/** The type's fullest record with records nested in it, as deep as the relations may write and no type repeats. */
export const nestedBody = (scene: Scene): JsonObject => ({
  ...fullest(scene),
  ...relationBodies(scene, scene.type, [scene.type]),
});

/** What a relation's key holds for these records. */
export const inRelation = ({ toMany }: Relation, ...bodies: readonly JsonObject[]): JsonValue =>
  toMany ? bodies : (bodies[0] ?? null);

/** The identifiers that a record has in a relation. */
export function targetsOf({ world }: Scene, relation: Relation, id: Id): readonly Id[] {
  const row = rowOf(world, relation.source, id);
  return row === undefined ? [] : related(world, relation, row).map((target) => target.id);
}

/** A field that clients may change to another value. */
export const isChangeable = (field: Field): boolean =>
  isSettable(field) && !field.unique && field.type.good(field, 1) !== field.type.good(field, 2);

/** A value that is not the one that is stored; undefined where the field has only one. */
export const otherThan = (field: Field, stored: JsonValue): JsonValue | undefined =>
  [1, 2, 3, 4]
    .map((seed) => field.type.good(field, seed))
    .find((value) => stored === null || !field.type.equal(value, stored));
