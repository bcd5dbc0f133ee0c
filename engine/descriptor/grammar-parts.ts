/** The few shapes of JSON Schema that the grammar is put together from. */
import type { JsonObject } from '../json.ts';

/** A mapping with these keys and no others. */
export const strict = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});

/** A mapping whose `key` is there and fits. */
export const has = (key: string, value: JsonObject): JsonObject => ({
  type: 'object',
  properties: { [key]: value },
  required: [key],
});

export const ref = (definition: string): JsonObject => ({ $ref: `#/definitions/${definition}` });

/**
 * A mapping whose `key` decides what else it may hold: one definition for each of its values, and one for a mapping
 * where the key is missing or wrong. Editors offer the keys of the definition that applies.
 */
export function chosenBy(
  key: string,
  choices: Readonly<Record<string, string>>,
  otherwise: string,
  description: string,
): JsonObject {
  const branches = Object.entries(choices).map(([value, definition]) => ({
    if: has(key, { const: value }),
    then: ref(definition),
  }));
  const unknown = { if: has(key, { enum: Object.keys(choices) }), else: ref(otherwise) };
  return { type: 'object', description, allOf: [unknown, ...branches] };
}

/** Every key of these mappings, with the mappings that have it. */
export function owners(mappings: Readonly<Record<string, JsonObject>>): ReadonlyMap<string, readonly string[]> {
  const keys = Object.keys(Object.assign({}, ...Object.values(mappings)));
  return new Map(
    keys.map((key) => [key, Object.keys(mappings).filter((name) => Object.hasOwn(mappings[name] ?? {}, key))]),
  );
}
