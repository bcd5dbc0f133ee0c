/** JSON Schemas of request bodies, with keywords for messages. */
import { type ItemShape, withoutNull } from '../field-types/field-type.ts';
import { MAX_GIVEN_IDENTIFIER } from '../field-types/identifiers.ts';
import type { JsonObject } from '../json/json.ts';
import { type BodyWriting, changeSchema, creationSchema, relatedSchema, valueSchema } from '../model/bodies.ts';
import { expectedOf, type IdentifierField, sampleOf } from '../model/identifier.ts';
import type { RecordType, Relation, Variant } from '../model/model.ts';

export const EXPECTED = 'x-expected';
/** A relation that can only link, for the message about a missing identifier. */
export const LINK_ONLY = 'x-link-only';
/** Name of a shared schema to match. With $ref, Ajv would compile all connected types at once. */
export const RECORD = 'x-record';

const typeId = (type: RecordType): string => `record:${encodeURIComponent(type.name)}`;
const shownId = (relation: Relation): string => `${typeId(relation.source)}.${encodeURIComponent(relation.name)}`;

const AN_OBJECT = { type: 'object', [EXPECTED]: 'an object' };

export const updateSchema = (type: RecordType, { fields }: Variant): JsonObject =>
  fields === type.defaultVariant.fields
    ? { ...AN_OBJECT, [RECORD]: typeId(type) }
    : { ...changeSchema(type, fields, WRITING), ...AN_OBJECT };

export const createSchema = (type: RecordType, { fields }: Variant): JsonObject => ({
  ...creationSchema(type, fields, WRITING),
  ...AN_OBJECT,
});

/** The shared schemas: one for each type, and for each relation limited to some fields. */
export function sharedSchemas(type: RecordType): readonly (readonly [name: string, schema: JsonObject])[] {
  const restricted = [...type.relations.values()].filter(isRestricted);
  const all = [
    [typeId(type), type, type.defaultVariant.fields] as const,
    ...restricted.map((relation) => [shownId(relation), relation.target, relation.fields] as const),
  ];
  return all.map(([name, one, fields]) => [name, { ...changeSchema(one, fields, WRITING), ...AN_OBJECT }]);
}

const isRestricted = ({ fields, target }: Relation): boolean => fields.length < target.defaultVariant.fields.length;

const hint = ({ target: { name, identifier }, toMany, required }: Relation): string =>
  `an object such as {"${identifier.name}": ${JSON.stringify(sampleOf(identifier))}} that links a record of ${name}${toMany || required ? '' : ', or null'}`;

const WRITING: BodyWriting = {
  identifier: ({ identifier }, largest) => {
    const { allOf, ...schema } = identifier.kind.schema(identifier, largest);
    const isOptional = largest === MAX_GIVEN_IDENTIFIER && identifier.by === 'service';
    const expected = `an identifier: ${expectedOf(identifier, isOptional ? largest : undefined)}${isOptional ? ', or left out' : ''}`;
    const all = Array.isArray(allOf) ? allOf.map((one: JsonObject) => ({ ...one, [EXPECTED]: expected })) : undefined;
    return { ...lengthFirst({ ...schema, [EXPECTED]: expected }), ...(all ? { allOf: all } : {}) };
  },
  field: (field) => fieldSchema(field),
  related: (relation) => {
    const record = {
      type: 'object',
      [RECORD]: isRestricted(relation) ? shownId(relation) : typeId(relation.target),
      [EXPECTED]: hint(relation),
      ...(relation.nested === 'link' ? { [LINK_ONLY]: relation.name } : {}),
    };
    return relatedSchema(relation, record, WRITING);
  },
  refused: false,
  about: ({ toMany }) => (toMany ? { [EXPECTED]: 'an array with the whole new set' } : {}),
  // With `anyOf`, Ajv would report faults of both branches.
  orNull: (schema) => ({ if: { type: 'null' }, else: schema }),
  linkedOr: ({ identifier }, keys) => ({
    if: linksBy(identifier),
    else: { required: keys },
  }),
};

const linksBy = ({ name, kind, ...shape }: IdentifierField): JsonObject => ({
  required: [name],
  properties: { [name]: { type: kind.schema(shape)['type'] ?? null } },
});

export const fieldSchema = (field: ItemShape): JsonObject =>
  valueSchema(field, (schema, value) => {
    const expected = value.type.expected(value);
    if (value.nullable) return lengthFirst({ ...schema, [EXPECTED]: `${expected}, or null` });
    const isAny = schema['type'] === undefined;
    return lengthFirst({ ...withoutNull(schema), [EXPECTED]: isAny ? `${expected} but null` : expected });
  });

/** Checks maxLength before patterns and formats. */
function lengthFirst({ pattern, format, ...schema }: JsonObject): JsonObject {
  const then = { ...(pattern === undefined ? {} : { pattern }), ...(format === undefined ? {} : { format }) };
  const { maxLength } = schema;
  if (maxLength === undefined || Object.keys(then).length === 0) return { ...schema, ...then };
  return { ...schema, if: { maxLength }, then: { ...then, [EXPECTED]: schema[EXPECTED] ?? null } };
}
