/** Whether a nested body says only what is stored already: what a relation that only links accepts beside the identifier. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { Field, RecordType, Relation } from '../../model/model.ts';
import { entriesOf, writeJson } from '../json-tree.ts';
import { related } from './links.ts';
import { idIn, type Row, type World } from './world.ts';

function sameValue(field: Field, stored: JsonValue, given: JsonValue): boolean {
  if (stored === null || given === null) return stored === given;
  return field.type.keepsText ? sameText(stored, given) : field.type.equal(stored, given);
}

/** Texts of one value, as far as JSON.parse tells them apart. */
function sameText(stored: JsonValue | undefined, given: JsonValue): boolean {
  const [before, now] = [stored ?? null, given].map((value) => JSON.parse(writeJson(value)) as JsonValue);
  return stored !== undefined && isDeepStrictEqual(before, now);
}

function sameRelated(world: World, relation: Relation, row: Row, given: JsonValue): boolean {
  const bodies = relation.toMany ? given : given === null ? [] : [given];
  const stored = related(world, relation, row);
  if (!Array.isArray(bodies) || bodies.length !== stored.length) return false;
  return bodies.every((body: JsonValue) => {
    const target = isObject(body) ? stored.find(({ id }) => id === idIn(body, relation.target)) : undefined;
    return target !== undefined && isObject(body) && differingKeys(world, relation.target, target, body).length === 0;
  });
}

function isSame(world: World, type: RecordType, row: Row, key: string, given: JsonValue): boolean {
  const [field, relation] = [type.fields.get(key), type.relations.get(key)];
  if (field) return sameValue(field, row.values.get(field) ?? null, given);
  return relation ? sameRelated(world, relation, row, given) : sameText(row.open.get(key), given);
}

/** The keys beside the identifier whose values are not those that are stored. */
export const differingKeys = (world: World, type: RecordType, row: Row, body: JsonObject): string[] =>
  entriesOf(body)
    .filter(([key, given]) => key !== type.identifier.name && !isSame(world, type, row, key, given))
    .map(([key]) => key);
