/** Example records: bodies that an empty database accepts, and the records that they create. */
import { byName, type JsonObject, type JsonValue } from '../json/json.ts';
import { memoized } from '../memo.ts';
import { sentFields, sentRelations } from '../model/bodies.ts';
import { sampleOf } from '../model/identifier.ts';
import { type Field, ITEM_TAG, type RecordType, type Relation } from '../model/model.ts';
import { namedUniques } from '../model/rights.ts';
import { unmetBy } from '../query/operators.ts';

const FIRST = 1;
/** Maximum levels of required relations. */
const MAX_DEPTH = 8;

const ownExample = (field: Field): JsonValue => field.examples[0] ?? field.default ?? field.type.good(field, FIRST);
const otherExample = (field: Field): JsonValue => field.examples[1] ?? field.type.good(field, FIRST + 2);

export const creationExample = (type: RecordType): JsonObject => ({
  ...givenIdentifier(type),
  ...valuesOf(type, sentFields(type, type.defaultVariant.fields)),
  ...nestedExamples(sentRelations(type), 0),
});

/** A new record with the first unique values that a client can name; links refer to the first record. */
export function upsertExample(type: RecordType): JsonObject {
  const links = (namedUniques(type)[0]?.members ?? []).flatMap((member) =>
    'target' in member ? [[member.name, identifierOf(member.target)] as const] : [],
  );
  return { ...Object.fromEntries(links), ...creationExample(type) };
}

export function changeExample(type: RecordType): JsonObject {
  const fields = type.defaultVariant.fields.filter(isWritable);
  const plain = fields.filter(({ unique }) => !unique);
  const changed = (plain.length > 0 ? plain : fields).slice(0, 2);
  const values = byName(changed, otherExample);
  const unfit = unfitIn(type, { ...shownValues(type, type.defaultVariant.fields), ...values });
  return byName(changed, (field) => (unfit.has(field) ? undefined : otherExample(field)));
}

export const itemExample = (type: RecordType): JsonObject => ({
  ...identifierOf(type),
  ...(type.preconditions === 'required' ? { [ITEM_TAG]: '"5a6NIQAV5ZkOhQXMrhOJmuKWnnI"' } : {}),
  ...changeExample(type),
});

export function recordExample(type: RecordType): JsonObject {
  const relations = byName(type.relations.values(), (relation) => {
    const { shown, source, target, toMany, fields } = relation;
    if (!shown) return undefined;
    if (nestedExample(relation, 0) === undefined) return toMany ? [] : null;
    const identifier = identifierOf(target, target === source ? 1 : 0);
    const record = { ...identifier, ...shownValues(target, fields) };
    return toMany ? [record] : record;
  });
  const values = shownValues(type, type.defaultVariant.fields);
  return { ...identifierOf(type), ...values, ...relations };
}

const isWritable = ({ readOnly, generated }: Field): boolean => !readOnly && generated === undefined;

/** Fields whose examples together break a check: examples use their defaults. */
const unfitFields = memoized((type: RecordType) => unfitIn(type, byName(type.fields.values(), ownExample)));

const unfitIn = (type: RecordType, values: JsonObject): ReadonlySet<Field> =>
  new Set(unmetBy(type, values).flatMap(({ fields }) => fields.filter(({ required }) => !required)));

const valuesOf = (type: RecordType, fields: readonly Field[]): JsonObject =>
  byName(fields, (field) => (isWritable(field) && !unfitFields(type).has(field) ? ownExample(field) : undefined));

const shownValues = (type: RecordType, fields: readonly Field[]): JsonObject => ({
  ...byName(fields, (field) => (field.generated === undefined ? (field.default ?? null) : ownExample(field))),
  ...valuesOf(type, fields),
});

const identifierOf = ({ identifier }: RecordType, seed = 0): JsonObject =>
  identifier.inRecord ? { [identifier.name]: sampleOf(identifier, seed) } : {};

/** The identifier in the body of a new record, where the client makes it. */
const givenIdentifier = (type: RecordType): JsonObject =>
  type.identifier.by === 'client' ? identifierOf(type, FIRST) : {};

const nestedExamples = (relations: readonly Relation[], depth: number): JsonObject =>
  byName(relations, (relation) => nestedExample(relation, depth));

/** A relation in a body: a new record if allowed, a link if one is required, else undefined. */
function nestedExample(relation: Relation, depth: number): JsonValue | undefined {
  const { source, target, nested, owned, required, toMany, kind, inverse } = relation;
  if (required && nested === 'link') return identifierOf(target);
  if (nested !== 'write' || (kind !== 'belongsTo' && !owned) || depth > MAX_DEPTH) return undefined;
  // A related record of the same type would repeat the record's unique values.
  const repeatsValues = source === target && target.indexes.some(({ unique }) => unique);
  if (!required && (depth > 0 || repeatsValues)) return undefined;
  const obligatory = sentRelations(target).filter((one) => one.required && one !== inverse);
  const record = {
    ...givenIdentifier(target),
    ...valuesOf(target, sentFields(target, relation.fields)),
    ...nestedExamples(obligatory, depth + 1),
  };
  return toMany ? [record] : record;
}
