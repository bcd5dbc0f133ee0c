/** Bodies that a type accepts: with as little as it allows, with every field, with records nested in it. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { raw } from './json-tree.ts';

/** Gives another number each time, so that no two records have a value in common by chance. */
export interface Seeds {
  next: number;
}

export const freshValue = (field: Field, seeds: Seeds): JsonValue => field.type.good(field, (seeds.next += 1));

/** The key of a child that names its parent is left out: the parent's body says it. */
type Parent = Relation | undefined;

/** Where each required record of a body comes from: nested in it, or linked after it was made. */
export type LinkMaker = (relation: Relation) => JsonObject;

const writable = (type: RecordType, parent: Parent): readonly Field[] =>
  (parent?.fields ?? type.defaultVariant.fields).filter((field) => !field.readOnly);

function requiredRelations(type: RecordType, parent: Parent): Relation[] {
  return [...type.relations.values()].filter((relation) => relation.required && relation !== parent?.inverse);
}

/** The record of a required relation: nested where that may be written, else a link. */
function requiredBody(relation: Relation, seeds: Seeds, link: LinkMaker): JsonObject {
  return relation.nested === 'write' ? smallest(relation.target, seeds, link, relation) : link(relation);
}

function relationBodies(relations: readonly Relation[], seeds: Seeds, link: LinkMaker): JsonObject {
  return Object.fromEntries(relations.map((relation) => [relation.name, requiredBody(relation, seeds, link)]));
}

const valuesOf = (fields: readonly Field[], seeds: Seeds): JsonObject =>
  Object.fromEntries(fields.map((field) => [field.name, freshValue(field, seeds)]));

/** Only what is required. */
export function smallest(type: RecordType, seeds: Seeds, link: LinkMaker, parent?: Parent): JsonObject {
  const fields = writable(type, parent).filter((field) => field.required);
  return { ...valuesOf(fields, seeds), ...relationBodies(requiredRelations(type, parent), seeds, link) };
}

/** Every field, and the relations that are required. */
export function fullest(type: RecordType, seeds: Seeds, link: LinkMaker, parent?: Parent): JsonObject {
  const open = type.open && openHere(type, parent) ? openKeys(seeds) : {};
  return {
    ...valuesOf(writable(type, parent), seeds),
    ...open,
    ...relationBodies(requiredRelations(type, parent), seeds, link),
  };
}

/** Keys out of their order in JavaScript, and a value as JSON.stringify does not write it. */
const openKeys = (seeds: Seeds): JsonObject => ({
  [OPEN_KEY]: raw(`{"2":[${seeds.next}.0,null],"1":"\\u00e9","b":12345678901234567890,"a":1e2}`),
  '30': [],
  '4': null,
  $keys: ['30', OPEN_KEY, '4'],
});

const openHere = (type: RecordType, parent: Parent): boolean =>
  parent === undefined || parent.fields.length === type.defaultVariant.fields.length;

/** A key that no descriptor names. */
export const OPEN_KEY = 'keyOfTheSuite';
