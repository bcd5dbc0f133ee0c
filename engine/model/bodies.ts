/** Request bodies as JSON Schema. Validation and OpenAPI write the parts with their own keywords. */
import { MAX_GIVEN_IDENTIFIER } from '../field-types/identifiers.ts';
import { ITEMS, type ItemShape, withNull } from '../field-types/field-type.ts';
import { byName, isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type Field, ITEM_TAG, type RecordType, linkKeys, type Relation, type UniqueMembers } from './model.ts';

export interface BodyWriting {
  identifier(type: RecordType, largest: number): JsonObject;
  field(field: Field, type: RecordType): JsonObject;
  related(relation: Relation): JsonObject;
  /** Further keywords of a relation. */
  about(relation: Relation): JsonObject;
  orNull(schema: JsonObject): JsonObject;
  /** Schema of a refused key. */
  readonly refused: JsonValue;
  /** Requires the identifier of a linked record, or one of these groups of unique values. */
  linkedBy(relation: Relation, keys: readonly UniqueMembers[]): JsonObject;
  /** Requires the identifier of a record, or these keys. */
  linkedOr(type: RecordType, keys: readonly string[]): JsonObject;
}

/** These fields, and those that a role may only send. */
export const sentFields = ({ writeOnly }: RecordType, fields: Iterable<Field>): readonly Field[] => [
  ...fields,
  ...(writeOnly?.fields ?? []),
];

export const sentRelations = ({ relations, writeOnly }: RecordType): readonly Relation[] => [
  ...relations.values(),
  ...(writeOnly?.relations ?? []),
];

/** The schema of a value, with the keywords that `write` adds to it and to the schemas of its items. */
export function valueSchema(value: ItemShape, write: (schema: JsonObject, value: ItemShape) => JsonObject): JsonObject {
  const item = value.type.item?.(value);
  const schema = { ...value.type.schema(value), ...(item ? { [ITEMS]: valueSchema(item, write) } : {}) };
  return write(value.nullable ? withNull(schema) : schema, value);
}

/** The body of an update, which requires no key. */
export const changeSchema = (type: RecordType, fields: readonly Field[], write: BodyWriting): JsonObject =>
  bodySchema(type, fields, write, Number.MAX_SAFE_INTEGER);

export function creationSchema(type: RecordType, fields: readonly Field[], write: BodyWriting): JsonObject {
  const required = requiredKeys(type);
  const schema = bodySchema(type, fields, write, MAX_GIVEN_IDENTIFIER);
  return { ...schema, ...(required.length === 0 ? {} : { required }) };
}

function bodySchema(type: RecordType, fields: readonly Field[], write: BodyWriting, largest: number): JsonObject {
  const { identifier, open } = type;
  const known = write.identifier(type, largest);
  const isRequired = identifier.by === 'client' && largest === MAX_GIVEN_IDENTIFIER;
  const refused = [...type.fields.values()].filter((field) => !fields.includes(field));
  return {
    type: 'object',
    properties: {
      // Null counts as absent.
      ...(identifier.inRecord ? { [identifier.name]: isRequired ? known : withNull(known) } : {}),
      ...byName(fields, (field) => write.field(field, type)),
      // Otherwise `additionalProperties` would accept refused fields.
      ...(open ? byName([...refused, { name: ITEM_TAG }], () => write.refused) : {}),
      ...byName(sentRelations(type), (relation) => {
        const { toMany, required } = relation;
        const record = write.related(relation);
        const schema = toMany ? { type: 'array', items: record } : required ? record : write.orNull(record);
        return { ...schema, ...write.about(relation) };
      }),
    },
    additionalProperties: open,
  };
}

/** A related record: an identifier links it; without one it is created, if allowed. */
export function relatedSchema(relation: Relation, record: JsonObject, write: BodyWriting): JsonObject {
  const { target } = relation;
  const { name } = target.identifier;
  const demand = relatedDemand(relation);
  if (demand === 'nothing') return record;
  if (demand !== 'link') return { ...record, ...write.linkedOr(target, demand) };
  const properties = isObject(record['properties']) ? record['properties'] : {};
  const identifier = write.identifier(target, Number.MAX_SAFE_INTEGER);
  return {
    ...record,
    ...write.linkedBy(relation, linkKeys(relation)),
    properties: { ...properties, [name]: identifier },
  };
}

/** The keys that the body of a create must have. */
export function requiredKeys(type: RecordType): readonly string[] {
  const { identifier } = type;
  const required = [...sentFields(type, type.fields.values()), ...sentRelations(type)].filter((one) => one.required);
  return [...(identifier.by === 'client' ? [identifier] : []), ...required].map(({ name }) => name);
}

/** Returns the keys that a related record needs: its identifier (`link`), `nothing`, or its identifier or these keys. */
export function relatedDemand(relation: Relation): 'link' | 'nothing' | readonly string[] {
  const { target, nested, owned, toMany, inverse } = relation;
  if (nested === 'link') return 'link';
  const required = requiredKeys(target).filter((name) => name !== inverse?.name);
  // An owned child may exist already, and is then updated: only the database knows.
  return required.length === 0 || (owned && !toMany) ? 'nothing' : required;
}
