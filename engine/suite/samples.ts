/** Bodies from the samples of the field types, the records that a case needs, and what responses show of them. */
import { foldedValue } from '../field-types/case-folding.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { Field, RecordType, Relation } from '../model/model.ts';
import { unmetBy } from '../query/checks.ts';
import {
  ANY,
  type Case,
  collection,
  condition,
  createdId,
  type Expected,
  guard,
  item,
  MISSING,
  recordIn,
  type Request,
  type Session,
  Skip,
} from './run.ts';

export interface Samples {
  /** Numbers that make values differ. */
  seed: number;
}

/** What a case works with. */
export interface Context extends Session {
  readonly samples: Samples;
  /** Unique values that are taken. */
  readonly used: Map<Field, Set<string>>;
  /** Types of which a record is being obtained. */
  readonly pending: Set<RecordType>;
  /** The records that the case has obtained, by type and identifier. */
  readonly records: Map<string, JsonObject>;
}

/** A record as the default view shows it. */
export interface Obtained {
  readonly id: number;
  readonly record: JsonObject;
}

export type MakeCase = (
  title: string,
  isPossible: boolean,
  work: (context: Context) => Promise<unknown>,
) => readonly Case[];

export const caseMaker =
  (samples: Samples, type: string): MakeCase =>
  (title, isPossible, work) => {
    const run = (session: Session): Promise<unknown> =>
      work({ ...session, samples, used: new Map(), pending: new Set(), records: new Map() });
    return isPossible ? [{ type, title, run }] : [];
  };

/** Whether requests can have a record of the type: create one, or borrow one that is there. */
export const isObtainable = ({ operations, identifier }: RecordType): boolean =>
  operations.has('create') || (operations.has('list') && identifier.inRecord);

/** Whether a record that is nested in the relation can have all that it needs. */
const takesWhole = ({ fields }: RecordType, via?: Relation): boolean =>
  !via || [...fields.values()].every((field) => !field.required || via.fields.includes(field));

const neededBy = ({ relations }: RecordType, via?: Relation): readonly Relation[] =>
  [...relations.values()].filter((one) => one.required && one !== via?.inverse);

/** What clients may write. `via`: the relation that the record is nested in. */
export const writable = (type: RecordType, via?: Relation): readonly Field[] =>
  (via?.fields ?? type.defaultVariant.fields).filter((field) => !field.readOnly && field.generated === undefined);

/** Whether a value must differ from those of other records, whatever they are linked to. */
const isAlone = ({ indexes }: RecordType, field: Field): boolean =>
  field.unique ||
  indexes.some(({ unique, members }) => unique && members.every((one) => 'column' in one) && members[0] === field);

const keyOf = (field: Field, value: JsonValue): string => JSON.stringify(field.caseless ? foldedValue(value) : value);

export const goodValue = ({ samples }: Context, field: Field): JsonValue => field.type.good(field, (samples.seed += 1));

/** A value that the field accepts; undefined where no other record may have it and the samples are used up. */
function sample(context: Context, type: RecordType, field: Field): JsonValue | undefined {
  if (!isAlone(type, field)) return goodValue(context, field);
  const before = context.used.get(field) ?? new Set();
  context.used.set(field, before);
  for (let tries = 0; tries < 50; tries += 1) {
    const value = goodValue(context, field);
    const key = keyOf(field, value);
    if (!before.has(key)) return before.add(key) && value;
  }
  return undefined;
}

/** Whether its unique values are so few that a record of somebody else may have them. */
const isScarce = (type: RecordType): boolean =>
  [...type.fields.values()].some((field) => {
    const values = Array.from({ length: 20 }, (_, seed) => keyOf(field, field.type.good(field, seed)));
    return isAlone(type, field) && new Set(values).size < values.length;
  });

/** A value that is not the one that is stored. */
export const differing = (field: Field, stored: JsonValue): JsonValue | undefined =>
  [1, 2, 3, 4]
    .map((seed) => field.type.good(field, seed))
    .find((value) => stored === null || !field.type.equal(value, stored));

/** Enough to change two fields at once. */
const MOST_VARIATIONS = 3000;

/** The body, and the same with other values in these fields: one field after the other, then several at once. */
export function variations(body: JsonObject, fields: readonly Field[]): readonly JsonObject[] {
  const others = (one: JsonObject, { name, type, ...field }: Field): readonly JsonObject[] =>
    [
      ...Array.from({ length: 8 }, (_, seed) => type.good(field, seed + 1)),
      ...type.edges(field),
      ...(field.nullable ? [null] : []),
    ].map((value) => ({ ...one, [name]: value }));
  let all: readonly JsonObject[] = [body];
  for (const field of fields) all = all.concat(all.flatMap((one) => others(one, field))).slice(0, MOST_VARIATIONS);
  return all;
}

/** The body with other values in `free` fields, if that is needed to meet the checks; undefined where none is found. */
export function meeting(type: RecordType, body: JsonObject, free: readonly Field[]): JsonObject | undefined {
  const unmet = unmetBy(type, body);
  if (unmet.length === 0) return body;
  const fields = new Set(unmet.flatMap((check) => check.fields));
  const changeable = [...fields].filter((field) => free.includes(field) && !isAlone(type, field));
  return variations(body, changeable).find((one) => unmetBy(type, one).length === 0);
}

interface BodyWish {
  readonly via?: Relation | undefined;
  /** Every field, not only those that are required. */
  readonly full?: boolean;
  /** Values that it must have. */
  readonly values?: JsonObject;
}

/** A body that create accepts, once what it links to has been created. */
export async function newBody(
  context: Context,
  type: RecordType,
  { via, full = false, values = {} }: BodyWish = {},
): Promise<JsonObject> {
  if (!takesWhole(type, via)) throw new Skip();
  const body: Record<string, JsonValue> = {};
  const free = writable(type, via).filter(({ name }) => !Object.hasOwn(values, name));
  for (const field of free) {
    const isNeeded = field.required || (isAlone(type, field) && field.default !== undefined);
    if (!full && !isNeeded) continue;
    const value = sample(context, type, field);
    if (value !== undefined) body[field.name] = value;
    else if (isNeeded) throw new Skip();
  }
  for (const relation of neededBy(type, via))
    if (!Object.hasOwn(values, relation.name)) body[relation.name] = await relatedBody(context, relation);
  return meeting(type, { ...body, ...values }, free) ?? Promise.reject(new Skip());
}

/** What a relation may hold: a link to a record, else a new record. */
export async function relatedBody(context: Context, relation: Relation): Promise<JsonObject> {
  const { target, nested } = relation;
  const { inRecord, name } = target.identifier;
  if (inRecord && isObtainable(target) && !context.pending.has(target))
    return { [name]: (await obtain(context, target)).id };
  if (nested !== 'write') throw new Skip();
  return newBody(context, target, { via: relation });
}

/**
 * The body of a request that is refused before references are looked at: it links to records that are not there. undefined
 * where it would break a check, besides what is wrong with the values.
 */
export function refusedBody(
  samples: Samples,
  type: RecordType,
  values: JsonObject,
  above: readonly RecordType[] = [],
): JsonObject | undefined {
  const isGiven = ({ name }: Field | Relation): boolean => Object.hasOwn(values, name);
  const needed = [...type.fields.values()].filter((field) => field.required && !isGiven(field));
  const linkOf = ({ target }: Relation): JsonObject =>
    target.identifier.inRecord || above.includes(target)
      ? { [target.identifier.name]: MISSING + (samples.seed += 1) }
      : (refusedBody(samples, target, {}, [...above, type]) ?? {});
  const links = neededBy(type).filter((relation) => !isGiven(relation));
  const body = {
    ...Object.fromEntries(needed.map((field) => [field.name, field.type.good(field, (samples.seed += 1))])),
    ...values,
    ...Object.fromEntries(links.map((relation) => [relation.name, linkOf(relation)])),
  };
  const isMeant = unmetBy(type, body).every(({ fields }) => fields.some(isGiven));
  return (
    meeting(
      type,
      body,
      writable(type).filter((field) => !isGiven(field)),
    ) ?? (isMeant ? body : undefined)
  );
}

// Records that a case needs.

/** The key of a record in `records`. */
const nameOf = ({ name }: RecordType, id: JsonValue | undefined): string => `${name} ${String(id)}`;

function obtained({ records }: Context, type: RecordType, id: number, record: JsonObject): Obtained {
  records.set(nameOf(type, id), record);
  return { id, record };
}

/** A record, for the case alone where it can be created. */
export async function obtain(context: Context, type: RecordType, wish: BodyWish = {}): Promise<Obtained> {
  const { pending } = context;
  if (!isObtainable(type) || pending.has(type)) throw new Skip();
  pending.add(type);
  try {
    if (!type.operations.has('create')) return await borrow(context, type, wish);
    return await create(context, type, await newBody(context, type, wish));
  } finally {
    pending.delete(type);
  }
}

/** Creates a record. The case is skipped where another record has one of few unique values. */
export async function create(
  context: Context,
  type: RecordType,
  body: JsonObject,
  query = '',
  expected: (id: number) => Expected = () => ({ status: 201 }),
): Promise<Obtained> {
  const request: Request = { method: 'POST', path: collection(type, query), body };
  const response = await context.send(request);
  if (response.status === 409 && isScarce(type)) throw new Skip();
  const id = createdId(response);
  context.check(request, expected(id), response);
  return obtained(context, type, id, recordIn(response));
}

/** A record that is there already. It gets the values that are asked for, and its own again after the case. */
async function borrow(context: Context, type: RecordType, { full, values = {} }: BodyWish): Promise<Obtained> {
  const key = type.identifier.name;
  const others = [...context.records.keys()].filter((name) => name.startsWith(nameOf(type, '')));
  const skipped = others.map((name) => `&${condition([key, 'ne'], name.split(' ').at(-1))}`).join('');
  const path = collection(type, `?${condition(['limit', '1'], 1)}${skipped}`);
  const { body } = await context.expect({ method: 'GET', path }, { status: 200 });
  const [record] = body as readonly JsonObject[];
  if (!record) throw new Skip();
  const id = Number(record[key]);
  const fields = type.operations.has('update') ? writable(type).filter((field) => !isAlone(type, field)) : [];
  const wanted = full ? Object.fromEntries(fields.map((field) => [field.name, goodValue(context, field)])) : values;
  const set = meeting(type, wanted, fields);
  if (!set) throw new Skip();
  const put = (changes: JsonObject): Request => ({
    method: 'PATCH',
    path: item(type, id),
    body: changes,
    ...guard(type),
  });
  if (!full || fields.length === 0) return obtained(context, type, id, record);
  context.later(put(Object.fromEntries(fields.map(({ name }) => [name, record[name] ?? null]))));
  const { body: after } = await context.expect(put({ ...set, ...values }), { status: 200 });
  return obtained(context, type, id, after as JsonObject);
}

// What responses show.

const initial = (field: Field): JsonValue =>
  field.generated !== undefined || field.isNowByDefault ? ANY : (field.default ?? null);

const fieldsShown = (fields: readonly Field[], given: JsonObject): JsonObject =>
  Object.fromEntries(
    fields.map((field) => [
      field.name,
      given[field.name] ?? (Object.hasOwn(given, field.name) ? null : initial(field)),
    ]),
  );

/** A new record as responses show it that was created with this body. `include`: the relations that are shown. */
export function shown(
  context: Context,
  type: RecordType,
  id: JsonValue,
  given: JsonObject,
  include?: readonly string[],
): JsonObject {
  const { inRecord, name: key } = type.identifier;
  const relations = [...type.relations.values()].filter((one) => include?.includes(one.name) ?? one.shown);
  return {
    ...(inRecord ? { [key]: id } : {}),
    ...fieldsShown(type.defaultVariant.fields, given),
    ...openKeysIn(type, given),
    ...Object.fromEntries(relations.map((one) => [one.name, relatedShown(context, one, given[one.name] ?? null)])),
  };
}

function relatedShown(context: Context, relation: Relation, given: JsonValue): JsonValue {
  const all = (given === null ? [] : [given].flat()) as readonly JsonObject[];
  const records = all.map((one) => oneShown(context, relation, one));
  return relation.toMany ? records : (records[0] ?? null);
}

/** A linked record has the values that it has, and those that are given here. */
function oneShown({ records }: Context, { target, fields }: Relation, given: JsonObject): JsonObject {
  const { inRecord, name: key } = target.identifier;
  const { [key]: link, ...values } = given;
  const before = link === undefined ? {} : (records.get(nameOf(target, link)) ?? {});
  const unknown = link === undefined ? {} : anyOf(fields);
  const all = { ...unknown, ...before, ...values, ...anyOf(fields.filter(isMoving)) };
  const isWhole = fields.length === target.defaultVariant.fields.length;
  return {
    ...(inRecord ? { [key]: link ?? ANY } : {}),
    ...fieldsShown(fields, all),
    ...(isWhole ? openKeysIn(target, all) : {}),
  };
}

/** The keys that no field or relation has. */
const openKeysIn = ({ open, fields, relations, identifier }: RecordType, given: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(given).filter(([key]) => open && !fields.has(key) && !relations.has(key) && key !== identifier.name),
  );

const isMoving = ({ generated }: Field): boolean => generated?.startsWith('updated') ?? false;
const anyOf = (all: readonly (Field | Relation)[]): JsonObject =>
  Object.fromEntries(all.map(({ name }) => [name, ANY]));

/** The record with these changes, as the default view shows it. What it holds may not be known. */
export function changed(type: RecordType, record: JsonObject, changes: JsonObject = {}): JsonObject {
  const relations = [...type.relations.values()].filter((one) => one.shown);
  const { fields } = type.defaultVariant;
  return { ...anyOf([...fields, ...relations]), ...record, ...changes, ...anyOf(fields.filter(isMoving)) };
}
