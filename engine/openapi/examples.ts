/** Example records: bodies that an empty database accepts, and the records that they create. */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { memoized } from '../memo.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { type Field, type RecordType, type Relation } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';
import { unmetBy } from '../query/operators.ts';

/** A media type with its example. Some readers misread an `example` that has a key "value", so `examples` is used. */
export const withExample = (schema: JsonObject, summary: string, value: JsonValue): JsonObject => ({
  schema,
  examples: { example: { summary, value } },
});

/** The first identifier in an empty database. */
const FIRST = 1;
/** How deep required related records are nested. */
const MAX_DEPTH = 8;

const ownExample = (field: Field): JsonValue => field.examples[0] ?? field.default ?? field.type.good(field, FIRST);
const otherValue = (field: Field): JsonValue => field.examples[1] ?? field.type.good(field, FIRST + 2);

/** A body that creates a record. */
export function creationExample(type: RecordType): JsonObject {
  const relations = [...type.relations.values()].map(
    (relation) => [relation.name, nestedExample(relation, 0)] as const,
  );
  return { ...valuesOf(type, writable(type.defaultVariant.fields)), ...present(relations) };
}

/** The same with the first unique values that can be named: links among them lead to the first record. */
export function upsertExample(type: RecordType): JsonObject {
  const links = (namedUniques(type)[0]?.members ?? []).flatMap((member) =>
    'target' in member ? [[member.name, { [member.target.identifier.name]: FIRST }] as const] : [],
  );
  return { ...Object.fromEntries(links), ...creationExample(type) };
}

/** The same as a table, without records that are nested in it. */
export function csvExample(type: RecordType): string {
  const cells = Object.entries(creationExample(type)).flatMap(([name, value]): (readonly [string, string])[] => {
    const relation = type.relations.get(name);
    if (relation === undefined) return [[name, csvCell(value)]];
    const linked = relation.nested === 'link' && isObject(value) ? value[relation.target.identifier.name] : undefined;
    return linked === undefined ? [] : [[name, csvCell(linked)]];
  });
  return [0, 1].map((part) => `${cells.map((cell) => cell[part]).join(',')}\r\n`).join('');
}

function csvCell(value: JsonValue): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[\w.@:-]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

/** A body that changes one or two values of a record. */
export function changeExample(type: RecordType): JsonObject {
  const fields = writable(type.defaultVariant.fields);
  const plain = fields.filter(({ unique }) => !unique);
  const changed = (plain.length > 0 ? plain : fields).slice(0, 2);
  const others = Object.fromEntries(changed.map((field) => [field.name, otherValue(field)]));
  const isUnfit = unfitIn(type, { ...answered(type, type.defaultVariant.fields), ...others });
  const fitting = changed.filter((field) => !isUnfit.has(field));
  return Object.fromEntries(fitting.map(({ name }) => [name, others[name] ?? null]));
}

/** An item of an array that changes records. */
export const itemExample = (type: RecordType): JsonObject => ({
  ...identifierOf(type, FIRST),
  ...(type.preconditions === 'required' ? { [ITEM_TAG]: '"5a6NIQAV5ZkOhQXMrhOJmuKWnnI"' } : {}),
  ...changeExample(type),
});

/** The record that `creationExample` creates, as the service returns it. */
export function recordExample(type: RecordType): JsonObject {
  const shown = [...type.relations.values()].filter((relation) => relation.shown);
  const relations = shown.map((relation) => [relation.name, relatedExample(relation)] as const);
  const values = answered(type, type.defaultVariant.fields);
  return { ...identifierOf(type, FIRST), ...values, ...Object.fromEntries(relations) };
}

/** A group of a summary by the first field, and what it says of it. */
export function summaryExample(type: RecordType): readonly [by: JsonObject, measures: JsonObject] {
  const field = type.defaultVariant.fields.find((one) => one.type.operators.length > 0);
  return [field ? { [field.name]: ownExample(field) } : {}, { count: 1 }];
}

/** Fields whose examples do not meet a check together: these records hold their defaults. */
const unfitFields = memoized((type: RecordType): ReadonlySet<Field> =>
  unfitIn(type, Object.fromEntries([...type.fields.values()].map((field) => [field.name, ownExample(field)]))),
);

const unfitIn = (type: RecordType, values: JsonObject): ReadonlySet<Field> =>
  new Set(unmetBy(type, values).flatMap(({ fields }) => fields.filter(({ required }) => !required)));

const writable = (fields: readonly Field[]): readonly Field[] =>
  fields.filter(({ readOnly, generated }) => !readOnly && generated === undefined);

const valuesOf = (type: RecordType, fields: readonly Field[]): JsonObject =>
  Object.fromEntries(
    fields.filter((field) => !unfitFields(type).has(field)).map((field) => [field.name, ownExample(field)]),
  );

const answered = (type: RecordType, fields: readonly Field[]): JsonObject => ({
  ...Object.fromEntries(
    fields.map((field) => [field.name, field.generated === undefined ? (field.default ?? null) : ownExample(field)]),
  ),
  ...valuesOf(type, writable(fields)),
});

const identifierOf = ({ identifier }: RecordType, value: number): JsonObject =>
  identifier.inRecord ? { [identifier.name]: value } : {};

const present = (entries: readonly (readonly [string, JsonValue | undefined])[]): JsonObject =>
  Object.fromEntries(entries.filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined));

/** A relation in a body: a new record if one may be written, a link if one is required, else undefined. */
function nestedExample(relation: Relation, depth: number): JsonValue | undefined {
  const { target, nested, owned, required, toMany, kind } = relation;
  if (required && nested === 'link') return { [target.identifier.name]: FIRST };
  const written = nested === 'write' && (kind === 'belongsTo' || owned) && (required || !repeatsValues(relation));
  if (!written || depth > MAX_DEPTH || (depth > 0 && !required)) return undefined;
  const record = { ...valuesOf(target, writable(relation.fields)), ...obligatory(relation, depth) };
  return toMany ? [record] : record;
}

/** Whether the related record would have the unique values of the record itself. */
const repeatsValues = ({ source, target }: Relation): boolean =>
  source === target && [...target.indexes].some(({ unique }) => unique);

/** The required relations of a nested record, except the one that leads back. */
function obligatory({ target, inverse }: Relation, depth: number): JsonObject {
  const relations = [...target.relations.values()].filter((relation) => relation.required && relation !== inverse);
  return present(relations.map((relation) => [relation.name, nestedExample(relation, depth + 1)] as const));
}

function relatedExample(relation: Relation): JsonValue {
  const { target, toMany, fields } = relation;
  const body = nestedExample(relation, 0);
  if (body === undefined) return toMany ? [] : null;
  const record = {
    ...identifierOf(target, target === relation.source ? FIRST + 1 : FIRST),
    ...answered(target, fields),
  };
  return toMany ? [record] : record;
}
