/** JSON Schemas of request bodies, with keywords for messages, and the errors of Ajv in these words. */
import type { ErrorObject } from 'ajv';
import { type ItemShape, withoutNull } from '../field-types/field-type.ts';
import { MAX_GIVEN_IDENTIFIER } from '../field-types/identifiers.ts';
import { byName, escapeStep, type JsonObject, unescapedSteps } from '../json/json.ts';
import { type BodyWriting, changeSchema, creationSchema, relatedSchema, valueSchema } from '../model/bodies.ts';
import { expectedOf, sampleOf } from '../model/identifier.ts';
import { type BodyRecord, ITEM_TAG, type RecordType, type Relation, type Variant } from '../model/model.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';

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
    const isChosen = largest === MAX_GIVEN_IDENTIFIER;
    const orNone = isChosen && identifier.by === 'service' ? ', or left out' : '';
    const expected = `an identifier: ${expectedOf(identifier, isChosen ? largest : undefined)}${orNone}`;
    const all = Array.isArray(allOf) ? allOf.map((one: JsonObject) => ({ ...one, [EXPECTED]: expected })) : undefined;
    return { ...lengthFirst({ ...schema, [EXPECTED]: expected }), ...(all ? { allOf: all } : {}) };
  },
  field: (field) => fieldSchema(field),
  related: (relation) => {
    const record = {
      type: 'object',
      [RECORD]: isRestricted(relation) ? shownId(relation) : typeId(relation.target),
      [EXPECTED]: hint(relation),
    };
    return relatedSchema(relation, record, WRITING);
  },
  refused: false,
  about: ({ toMany }) => (toMany ? { [EXPECTED]: 'an array with the whole new set' } : {}),
  // With `anyOf`, Ajv would report faults of both branches.
  orNull: (schema) => ({ if: { type: 'null' }, else: schema }),
  linkedBy: ({ name, target: { identifier } }, keys) => {
    const named = { required: [identifier.name], [LINK_ONLY]: name };
    return keys.length === 0 ? named : { if: { anyOf: keys.map(({ members }) => given(members)) }, else: named };
  },
  linkedOr: ({ identifier }, keys) => ({
    if: given([identifier]),
    else: { required: keys },
  }),
};

/** The schema of an object that has these members; a null counts as an absent one. */
const given = (members: readonly { readonly name: string }[]): JsonObject => ({
  required: members.map(({ name }) => name),
  properties: byName(members, () => ({ not: { type: 'null' } })),
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

// Faults in the words of these schemas: with a pointer, the expected value, and the nearest valid name.

/** The errors of nested records, by record. */
export const errorsWithin = new WeakMap<object, readonly ErrorObject[]>();

/** Returns faults in Ajv's order, maybe several for a location. `suggests`: with suggestions. */
export function faultsOf(errors: readonly ErrorObject[], record?: BodyRecord, suggests = true): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [error, path] of unfolded(errors, record?.pointer ?? '')) {
    const wording = wordings[error.keyword] ?? other;
    const fault = wording(error, path, suggests && faults.length < MAX_ERRORS, record);
    if (fault) faults.push(fault);
  }
  return faults;
}

/** Yields errors with paths, and the inner errors instead of the error of a nested record. */
function* unfolded(errors: readonly ErrorObject[], prefix: string): Generator<readonly [ErrorObject, path: string]> {
  for (const error of errors) {
    const path = prefix + error.instancePath;
    if (error.keyword === RECORD) yield* unfolded(errorsWithin.get(error.data as object) ?? [], path);
    else yield [error, path];
  }
}

type Wording = (error: ErrorObject, path: string, suggests: boolean, record?: BodyRecord) => Fault | undefined;

const wordings: Readonly<Record<string, Wording>> = {
  // Ajv reports `if` besides the more specific errors of the branch.
  if: () => undefined,
  additionalProperties: ({ params, parentSchema }, path, suggests, record) => {
    const key = String(params['additionalProperty']);
    const known = (parentSchema?.['properties'] as object | undefined) ?? {};
    const others = (path === record?.pointer && record.names) || [];
    const suggestion = suggests ? didYouMean(key, [...Object.keys(known), ...others]) : '';
    return unknownKey(`${path}/${escapeStep(key)}`, key, suggestion);
  },
  'false schema': (_, path) => {
    const key = unescapedSteps(path).at(-1) ?? '';
    if (key !== ITEM_TAG) return unknownKey(path, key);
    const message = `The key "${ITEM_TAG}" is reserved for the entity tags of records in the array that a PATCH takes`;
    return { pointer: path, code: 'reserved-key', message };
  },
  required: ({ params, parentSchema }, path) => {
    const key = String(params['missingProperty']);
    const relation: unknown = parentSchema?.[LINK_ONLY];
    const message =
      typeof relation === 'string'
        ? `"${relation}" can only link an existing record here; send its "${key}"`
        : `"${key}" is required`;
    return { pointer: `${path}/${escapeStep(key)}`, code: 'required', message };
  },
};

const other: Wording = ({ keyword, data, message, parentSchema }, path, suggests, record) => {
  const expected: unknown = parentSchema?.[EXPECTED];
  const values = suggests && keyword === 'enum' ? (parentSchema?.['enum'] as readonly unknown[]) : [];
  const words = values.filter((value) => typeof value === 'string');
  const meant = `${String(expected)}${typeof data === 'string' ? didYouMean(data, words) : ''}`;
  const name = path === '' ? 'The body' : `"${lastStep(record?.sent?.get(path) ?? path)}"`;
  return {
    pointer: path,
    code: data === null ? 'null' : keyword.replace(/^x-/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    message: typeof expected === 'string' ? `${name} must be ${meant}` : `${name} ${message ?? 'is not valid'}`,
  };
};

/** The last key of the path, with the indices after it: `tags[3]`. */
function lastStep(path: string): string {
  const steps = unescapedSteps(path);
  const last = steps.findLastIndex((step) => !/^\d+$/.test(String(step)));
  const indices = steps.slice(last + 1).map((index) => `[${index}]`);
  return `${steps[last] ?? ''}${indices.join('')}`;
}

export const unknownKey = (pointer: string, key: string, suggestion = ''): Fault => ({
  pointer,
  code: 'unknown-key',
  message: `Unknown key "${shortened(key)}"${suggestion}`,
});
