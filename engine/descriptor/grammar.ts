/** The grammar of descriptors: a JSON Schema (draft-07, for editors), which every descriptor is checked against. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { didYouMean } from '../names.ts';
import synonyms from './synonyms.json';

export const GRAMMAR_FILE = join(PACKAGE_FOLDER, 'engine/descriptor/descriptor.schema.json');

interface Grammar {
  readonly properties: Readonly<Record<string, JsonObject>>;
  readonly definitions: Readonly<Record<string, JsonObject & { readonly properties?: JsonObject }>>;
}

export const grammar = JSON.parse(readFileSync(GRAMMAR_FILE, 'utf8')) as Grammar & JsonObject;

/** The schema of each key that a definition has, such as `stringField`. */
export const keysOf = (name: string): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(
    Object.entries(grammar.definitions[name]?.properties ?? {}).map(([key, schema]) => [key, followed(schema)]),
  );

function followed(schema: JsonValue): JsonObject {
  if (!isObject(schema)) return {};
  const [, name = '', , key] = /^#\/definitions\/(\w+)(\/properties\/(\w+))?$/.exec(String(schema['$ref'])) ?? [];
  return { ...(key === undefined ? grammar.definitions[name] : keysOf(name)[key]), ...schema };
}

const WORDS: ReadonlySet<string> = new Set(['fieldWords', 'itemWords', 'relationWords']);

/** The field types for `Field`, the kinds of relations for `Relation`. */
const variantsOf = (ending: string): readonly string[] =>
  Object.keys(grammar.definitions)
    .filter((name) => name.endsWith(ending) && !WORDS.has(name) && !name.startsWith('untyped'))
    .map((name) => name.slice(0, -ending.length));

/** The variants that take each key. */
const owners = (ending: string): ReadonlyMap<string, readonly string[]> =>
  byKey(variantsOf(ending).flatMap((name) => Object.keys(keysOf(name + ending)).map((key) => [key, name] as const)));

function byKey(pairs: readonly (readonly [key: string, value: string])[]): ReadonlyMap<string, readonly string[]> {
  const groups = Map.groupBy(pairs, ([key]) => key);
  return new Map([...groups].map(([key, all]) => [key, all.map(([, value]) => value)]));
}

/** The field types that take each key of a field. */
export const fieldWords = owners('Field');
export const itemWords = owners('Item');
/** The kinds of relations that take each key. */
export const relationWords = owners('Relation');
export const relationKinds = variantsOf('Relation');

/** The field types that accept each value of `generated`. */
export const generatedBy = byKey(
  variantsOf('Field').flatMap((type) => {
    const words = keysOf(`${type}Field`)['generated']?.['enum'];
    return (Array.isArray(words) ? words : []).map((word) => [String(word), type] as const);
  }),
);

/** The keys of a field that are not constraints of its type. */
export const FIELD_WORDS: ReadonlySet<string> = new Set([...Object.keys(keysOf('fieldWords')), 'generated']);

/** Schemas of the keys that only fields of this type have. */
export const constraintsOf = (type: string): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(Object.entries(keysOf(`${type}Field`)).filter(([key]) => !FIELD_WORDS.has(key)));

/**
 * Words of the grammar, by synonym from SQL, object-relational mappers and JSON Schema: in lower case, without spaces,
 * dashes and underscores.
 */
const MEANT = byKey(
  Object.entries(synonyms).flatMap(([word, others]) => others.split(' ').map((other) => [other, word] as const)),
);

/** `varchar(20)` means string, `text[]` array. */
export function wordMeant(name: string, known: readonly string[]): string | undefined {
  const bare = name.toLowerCase().replace(/\(.*$|[-_ ]/g, '');
  const words = bare.endsWith('[]') ? ['array'] : MEANT.get(bare);
  return words?.find((word) => known.includes(word)) ?? known.find((word) => word.toLowerCase() === bare);
}

export function suggested(name: string, known: readonly string[]): string {
  const meant = wordMeant(name, known);
  return meant === undefined ? didYouMean(name, known) : `; did you mean "${meant}"?`;
}
