/** The grammar of descriptors: a JSON Schema (draft-07, for editors), which every descriptor is checked against. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { PACKAGE_FOLDER } from '../process.ts';
import { didYouMean } from '../names.ts';

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

export const meaningOf = (type: string): string => String(grammar.definitions[`${type}Field`]?.['description']);

/** Schemas of the keys that only fields of this type have. */
export const constraintsOf = (type: string): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(Object.entries(keysOf(`${type}Field`)).filter(([key]) => !FIELD_WORDS.has(key)));

/** Synonyms from SQL, object-relational mappers and JSON Schema, in lower case, without spaces, dashes and underscores. */
const SYNONYMS: Readonly<Record<string, string>> = {
  integer:
    'int int2 int4 int8 int16 int32 int64 smallint bigint tinyint mediumint long short serial bigserial year uint unsignedint',
  number: 'float float4 float8 float32 float64 double doubleprecision real',
  decimal: 'numeric money currency bigdecimal percent',
  string:
    'text str varchar char character charactervarying citext tinytext mediumtext longtext uuid email url uri enum slug nvarchar nchar clob password phone richtext',
  boolean: 'bool bit flag',
  any: 'json jsonb object map dict dictionary hash mixed hstore',
  array: 'list set tuple',
  timestamp: 'datetime datetime2 timestamptz datetimetz timestampwithtimezone instant timestampwithouttimezone',
  belongsTo: 'manytoone reference foreignkey',
  hasMany: 'onetomany',
  hasOne: 'onetoone',
  manyToMany: 'm2m belongstomany hasandbelongstomany',
  inverse: 'inverseof inversedby mappedby backref backpopulates relatedname',
  column: 'foreignkey joincolumn fk',
  through: 'jointable pivot pivottable',
  owned: 'dependent orphanremoval',
  setNull: 'setnull nullify',
  restrict: 'noaction protect',
  cascade: 'delete',
  fields: 'columns properties attributes',
  relations: 'relationships associations references',
  identifier: 'primarykey id pk',
  order: 'orderby sort ordering defaultorder',
  checks: 'constraints validations rules',
  open: 'additionalproperties',
  operations: 'actions methods',
  seed: 'seeds fixtures data',
  table: 'tablename',
  path: 'route endpoint url',
  get: 'read show retrieve',
  list: 'index search findall',
  create: 'insert post add',
  update: 'edit put patch',
  delete: 'remove destroy',
  type: 'target model entity to ref',
  enum: 'choices values oneof options const',
  pattern: 'regex regexp match',
  minimum: 'min exclusiveminimum',
  maximum: 'max exclusivemaximum',
  maxLength: 'length size maxlen',
  minLength: 'minlen',
  scale: 'decimals decimalplaces',
  nullable: 'allownull optional null',
  default: 'defaultvalue',
  description: 'comment doc help',
  examples: 'example',
  required: 'notnull mandatory',
  readOnly: 'immutable',
  sensitive: 'secret private hidden writeonly',
  caseless: 'caseinsensitive',
  precision: 'digits maxdigits',
  titles: 'labels',
  must: 'then assert that condition require requires',
  when: 'if where',
  message: 'error msg',
};

/** Words of the grammar, by synonym. */
const MEANT = new Map<string, readonly string[]>();
for (const [word, others] of Object.entries(SYNONYMS))
  for (const other of others.split(' ')) MEANT.set(other, [...(MEANT.get(other) ?? []), word]);

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
