/** The grammar of descriptors: a JSON Schema (draft-07, which editors support best). It is published, and every descriptor is checked against it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { PACKAGE_FOLDER } from '../process.ts';

export const GRAMMAR_FILE = join(PACKAGE_FOLDER, 'engine/descriptor/descriptor.schema.json');

export const grammar = JSON.parse(readFileSync(GRAMMAR_FILE, 'utf8')) as JsonObject;

const WORDS: ReadonlySet<string> = new Set(['fieldWords', 'itemWords', 'relationWords']);

const definition = (name: string): JsonObject => objectAt(objectAt(grammar, 'definitions'), name);

const objectAt = (object: JsonObject, key: string): JsonObject => objectOf(object[key]);

const objectOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

/** The schema of each key that a definition has, such as `stringField`. */
export const keysOf = (name: string): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(
    Object.entries(objectAt(definition(name), 'properties')).map(([key, schema]) => [key, followed(objectOf(schema))]),
  );

/** A reference leads to a definition, or to a key of one. */
function followed(schema: JsonObject): JsonObject {
  const [, name, , key] = /^#\/definitions\/(\w+)(\/properties\/(\w+))?$/.exec(String(schema['$ref'])) ?? [];
  if (name === undefined) return schema;
  return { ...(key === undefined ? definition(name) : keysOf(name)[key]), ...schema };
}

/** The definitions whose names end so, by what stands before: of `Field`, by field type. */
const variantsOf = (ending: string): readonly string[] =>
  Object.keys(objectAt(grammar, 'definitions'))
    .filter((name) => name.endsWith(ending) && !WORDS.has(name) && !name.startsWith('untyped'))
    .map((name) => name.slice(0, -ending.length));

/** Every key of these definitions, with the variants that take it. */
function owners(ending: string): ReadonlyMap<string, readonly string[]> {
  const taken = variantsOf(ending).flatMap((name) =>
    Object.keys(keysOf(name + ending)).map((key) => [key, name] as const),
  );
  return new Map([...Map.groupBy(taken, ([key]) => key)].map(([key, all]) => [key, all.map(([, name]) => name)]));
}

/** The field types that take each key of a field. */
export const fieldWords = owners('Field');
/** The field types whose items take each key. */
export const itemWords = owners('Item');
/** The kinds of relations that take each key. */
export const relationWords = owners('Relation');
export const relationKinds = variantsOf('Relation');

/** The field types that take each word of `generated`. */
export const generatedBy: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ...Map.groupBy(
      variantsOf('Field').flatMap((type) => {
        const words = keysOf(`${type}Field`)['generated']?.['enum'];
        return (Array.isArray(words) ? words : []).map((word) => [String(word), type] as const);
      }),
      ([word]) => word,
    ),
  ].map(([word, all]) => [word, all.map(([, type]) => type)]),
);

/** The description of a field type, for hover texts and the documentation. */
export const meaningOf = (type: string): string => String(definition(`${type}Field`)['description']);

/** The keys that only fields of this type have: the schema of each value. */
export const constraintsOf = (type: string): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(Object.entries(keysOf(`${type}Field`)).filter(([key]) => !COMMON.has(key)));

const COMMON: ReadonlySet<string> = new Set([...Object.keys(keysOf('fieldWords')), 'generated']);
