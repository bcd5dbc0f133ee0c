/** Example records: bodies that an empty database accepts, and the records that they create. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';

/** A media type with its example. Some readers misread an `example` that has a key "value", so `examples` is used. */
export const withExample = (schema: JsonObject, summary: string, value: JsonValue): JsonObject => ({
  schema,
  examples: { example: { summary, value } },
});

/** The first identifier in an empty database. */
const FIRST = 1;
/** How deep required related records are nested. */
const MAX_DEPTH = 8;

const exampleValue = (field: Field): JsonValue => field.examples[0] ?? field.default ?? field.type.good(field, FIRST);
const otherValue = (field: Field): JsonValue => field.examples[1] ?? field.type.good(field, FIRST + 2);

/** A body that creates a record. */
export function creationExample(type: RecordType): JsonObject {
  const relations = [...type.relations.values()].map(
    (relation) => [relation.name, nestedExample(relation, 0)] as const,
  );
  return { ...valuesOf(writable(type.defaultVariant.fields)), ...present(relations) };
}

/** A body that changes one or two values of a record. */
export function changeExample(type: RecordType): JsonObject {
  const fields = writable(type.defaultVariant.fields);
  const plain = fields.filter(({ unique }) => !unique);
  const changed = (plain.length > 0 ? plain : fields).slice(0, 2);
  return Object.fromEntries(changed.map((field) => [field.name, otherValue(field)]));
}

/** The record that `creationExample` creates, as the service returns it. */
export function recordExample(type: RecordType): JsonObject {
  const shown = [...type.relations.values()].filter((relation) => relation.shown);
  const relations = shown.map((relation) => [relation.name, relatedExample(relation)] as const);
  const fields = type.defaultVariant.fields.map((field) => [field.name, answeredValue(field)] as const);
  return { ...identifierOf(type, FIRST), ...Object.fromEntries(fields), ...Object.fromEntries(relations) };
}

const writable = (fields: readonly Field[]): readonly Field[] => fields.filter(({ readOnly }) => !readOnly);

const valuesOf = (fields: readonly Field[]): JsonObject =>
  Object.fromEntries(fields.map((field) => [field.name, exampleValue(field)]));

const answeredValue = (field: Field): JsonValue => (field.readOnly ? (field.default ?? null) : exampleValue(field));

const identifierOf = ({ identifier }: RecordType, value: number): JsonObject =>
  identifier.inRecord ? { [identifier.name]: value } : {};

const present = (entries: readonly (readonly [string, JsonValue | undefined])[]): JsonObject =>
  Object.fromEntries(entries.filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined));

/** A relation in a body: a new record if one may be written, a link if one is required, else undefined. */
function nestedExample(relation: Relation, depth: number): JsonValue | undefined {
  const { target, nested, owned, required, toMany, kind } = relation;
  if (required && nested === 'link') return { [target.identifier.name]: FIRST };
  const written = nested === 'write' && (kind === 'belongsTo' || owned);
  if (!written || depth > MAX_DEPTH || (depth > 0 && !required)) return undefined;
  const record = { ...valuesOf(writable(relation.fields)), ...obligatory(relation, depth) };
  return toMany ? [record] : record;
}

/** The required relations of a nested record, except the one that leads back. */
function obligatory({ target, inverse }: Relation, depth: number): JsonObject {
  const relations = [...target.relations.values()].filter((relation) => relation.required && relation !== inverse);
  return present(relations.map((relation) => [relation.name, nestedExample(relation, depth + 1)] as const));
}

function relatedExample(relation: Relation): JsonValue {
  const { target, toMany, fields } = relation;
  const body = nestedExample(relation, 0);
  if (body === undefined) return toMany ? [] : null;
  const shown = fields.map((field) => [field.name, answeredValue(field)] as const);
  const record = {
    ...identifierOf(target, target === relation.source ? FIRST + 1 : FIRST),
    ...Object.fromEntries(shown),
  };
  return toMany ? [record] : record;
}
