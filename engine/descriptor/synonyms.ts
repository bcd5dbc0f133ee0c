/** What SQL, object-relational mappers and JSON Schema call what descriptors have. */
import { didYouMean } from '../names.ts';

/** By the word of descriptors; without regard to case, spaces, dashes and underscores. */
const SYNONYMS: Readonly<Record<string, string>> = {
  // Field types.
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
  // Relations.
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
  // Keys of a descriptor.
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
  // Operations.
  get: 'read show retrieve',
  list: 'index search findall',
  create: 'insert post add',
  update: 'edit put patch',
  delete: 'remove destroy',
  // Keys of a field.
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
  // Keys of a check.
  must: 'then assert that condition require requires',
  when: 'if where',
  message: 'error msg',
};

/** The words of descriptors by what others call them. */
const WORDS = new Map<string, readonly string[]>();
for (const [word, others] of Object.entries(SYNONYMS))
  for (const other of others.split(' ')) WORDS.set(other, [...(WORDS.get(other) ?? []), word]);

/** The one of these words that others call so: `varchar(20)` is a string, `text[]` an array. */
export function wordMeant(name: string, known: readonly string[]): string | undefined {
  const bare = name.toLowerCase().replace(/\(.*$|[-_ ]/g, '');
  const words = bare.endsWith('[]') ? ['array'] : WORDS.get(bare);
  return words?.find((word) => known.includes(word)) ?? known.find((word) => word.toLowerCase() === bare);
}

/** The end of a message about an unknown word. */
export function suggested(name: string, known: readonly string[]): string {
  const meant = wordMeant(name, known);
  return meant === undefined ? didYouMean(name, known) : `; did you mean "${meant}"?`;
}
