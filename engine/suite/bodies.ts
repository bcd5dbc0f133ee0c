/** Bodies from the samples of the field types, and the records that a case needs before its own request. */
import { foldedValue } from '../field-types/case-folding.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { Field, Model, RecordType, Relation } from '../model/model.ts';
import { unmetBy } from '../query/checks.ts';
import { ANY, collection, condition, guard, item, MISSING, ref, type Step } from './cases.ts';

/** How a request makes a record of a type: by its own create, inside another record, or not at all, but one may be there. */
type Source = 'create' | Relation | 'borrow';

export interface Samples {
  readonly model: Model;
  readonly sources: ReadonlyMap<RecordType, Source>;
  /** Numbers that make values differ. */
  seed: number;
}

/** One case in the making. */
export interface Draft {
  readonly samples: Samples;
  readonly steps: Step[];
  /** By name of the record, what it holds. */
  readonly records: Map<string, JsonObject>;
  readonly used: Map<Field, Set<string>>;
  /** Types of which a record is being obtained. */
  readonly pending: Set<RecordType>;
}

export const newDraft = (samples: Samples): Draft => ({
  samples,
  steps: [],
  records: new Map(),
  used: new Map(),
  pending: new Set(),
});

/** Types are added until no more can be: each source depends only on types that were added before. */
export function createSamples(model: Model, seed: number): Samples {
  const sources = new Map<RecordType, Source>();
  const types = [...model.types.values()];
  const sourceOf = (type: RecordType): Source | undefined => {
    if (type.operations.has('create') && isPossible(sources, type)) return 'create';
    const around = types
      .filter((one) => one !== type && one.operations.has('create') && sources.get(one) === 'create')
      .flatMap((one) => [...one.relations.values()])
      .filter(({ target, nested, link }) => target === type && nested === 'write' && !isUniqueLink(link))
      .find((one) => isPossible(sources, type, one));
    return type.identifier.inRecord ? around : undefined;
  };
  const grow = (find: (type: RecordType) => Source | undefined): boolean => {
    const found = types.filter((type) => !sources.has(type)).map((type) => [type, find(type)] as const);
    for (const [type, source] of found) if (source) sources.set(type, source);
    return found.some(([, source]) => source);
  };
  while (grow(sourceOf) || grow((type) => (isBorrowed(type) ? 'borrow' : undefined)));
  return { model, sources, seed };
}

/** A record that only one other can be linked to is of no use once it has been made inside that one. */
const isUniqueLink = (link: Relation['link']): boolean => link.at !== 'join' && link.reference.unique;

const isBorrowed = ({ operations }: RecordType): boolean => !operations.has('create') && operations.has('list');

/** Whether everything that a new record needs can be had. */
function isPossible(
  sources: ReadonlyMap<RecordType, Source>,
  type: RecordType,
  via?: Relation,
  above: readonly RecordType[] = [],
): boolean {
  if (above.includes(type) || !takesWhole(type, via)) return false;
  return neededBy(type, via).every(
    ({ target, nested, ...relation }) =>
      (target.identifier.inRecord && sources.has(target)) ||
      (nested === 'write' && isPossible(sources, target, { target, nested, ...relation }, [...above, type])),
  );
}

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

/** A value that the field accepts; undefined where no other record may have it and the samples are used up. */
function sample({ samples, used }: Draft, type: RecordType, field: Field): JsonValue | undefined {
  if (!isAlone(type, field)) return field.type.good(field, (samples.seed += 1));
  const before = used.get(field) ?? new Set();
  used.set(field, before);
  for (let tries = 0; tries < 50; tries += 1) {
    const value = field.type.good(field, (samples.seed += 1));
    const equal = keyOf(field, value);
    if (before.has(equal)) continue;
    before.add(equal);
    return value;
  }
  return undefined;
}

/** Whether its unique values are so few that a record of somebody else may have them. */
const isScarce = (type: RecordType): boolean =>
  [...type.fields.values()].some((field) => {
    const values = Array.from({ length: 20 }, (_, seed) => keyOf(field, field.type.good(field, seed)));
    return isAlone(type, field) && new Set(values).size < values.length;
  });

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

/** A body that create accepts, after the steps that make what it links to; undefined where there is none. */
export function newBody(
  draft: Draft,
  type: RecordType,
  { via, full = false, values = {} }: BodyWish = {},
): JsonObject | undefined {
  if (!takesWhole(type, via)) return undefined;
  const body: Record<string, JsonValue> = {};
  const fields = writable(type, via);
  for (const field of fields) {
    const isNeeded = field.required || (isAlone(type, field) && field.default !== undefined);
    if (Object.hasOwn(values, field.name) || !(full || isNeeded)) continue;
    const value = sample(draft, type, field);
    if (value !== undefined) body[field.name] = value;
    else if (isNeeded) return undefined;
  }
  for (const relation of neededBy(type, via)) {
    if (Object.hasOwn(values, relation.name)) continue;
    const related = relatedBody(draft, relation);
    if (!related) return undefined;
    body[relation.name] = related;
  }
  const free = fields.filter(({ name }) => !Object.hasOwn(values, name));
  return meeting(type, { ...body, ...values }, free);
}

/** What a relation may hold: a link to a record that is made for it, else a new record. */
export function relatedBody(draft: Draft, relation: Relation): JsonObject | undefined {
  const { target, nested } = relation;
  const made = target.identifier.inRecord ? obtain(draft, target) : undefined;
  if (made !== undefined) return { [target.identifier.name]: ref(made) };
  return nested === 'write' ? newBody(draft, target, { via: relation }) : undefined;
}

/**
 * The body of a request that is refused before references are looked at: it links to records that are not there. undefined
 * where it would break a check, besides what is wrong with the values.
 */
export function refusedBody(
  draft: Draft,
  type: RecordType,
  values: JsonObject,
  above: readonly RecordType[] = [],
): JsonObject | undefined {
  const needed = [...type.fields.values()].filter(({ required, name }) => required && !Object.hasOwn(values, name));
  const links = neededBy(type).filter(({ name }) => !Object.hasOwn(values, name));
  const linkOf = ({ target }: Relation): JsonObject =>
    target.identifier.inRecord || above.includes(target)
      ? { [target.identifier.name]: MISSING + (draft.samples.seed += 1) }
      : (refusedBody(draft, target, {}, [...above, type]) ?? {});
  const body = {
    ...Object.fromEntries(needed.map((field) => [field.name, field.type.good(field, (draft.samples.seed += 1))])),
    ...values,
    ...Object.fromEntries(links.map((relation) => [relation.name, linkOf(relation)])),
  };
  const free = writable(type).filter(({ name }) => !Object.hasOwn(values, name));
  const isGiven = ({ name }: Field): boolean => Object.hasOwn(values, name);
  const isMeant = unmetBy(type, body).every(({ fields }) => fields.some(isGiven));
  return meeting(type, body, free) ?? (isMeant ? body : undefined);
}

// Records that a case needs.

export const nameFor = ({ records }: Draft, type: RecordType): string => `${type.name} ${records.size + 1}`;

/** The step that creates a record and keeps its identifier under a name. */
export function creation(draft: Draft, type: RecordType, name: string, body: JsonObject): Step {
  draft.records.set(name, body);
  const { identifier } = type;
  return {
    request: { method: 'POST', path: collection(type), body },
    expected: { status: 201 },
    keep: { [name]: identifier.inRecord ? `/${identifier.name}` : 'location' },
    ...(isScarce(type) ? { taken: 'skip' } : {}),
  };
}

/** Adds the steps after which there is a record, whose name is returned; undefined where no request makes one. */
export function obtain(draft: Draft, type: RecordType, wish: BodyWish = {}): string | undefined {
  const source = draft.samples.sources.get(type);
  if (source === undefined || draft.pending.has(type)) return undefined;
  draft.pending.add(type);
  const name =
    source === 'create'
      ? obtainNew(draft, type, wish)
      : source === 'borrow'
        ? borrow(draft, type, wish)
        : obtainNested(draft, source, wish);
  draft.pending.delete(type);
  return name;
}

function obtainNew(draft: Draft, type: RecordType, wish: BodyWish): string | undefined {
  const body = newBody(draft, type, wish);
  if (!body) return undefined;
  const name = nameFor(draft, type);
  const step = creation(draft, type, name, body);
  const isTold = !step.taken || wish.full || wish.values;
  draft.steps.push(isTold ? step : { ...step, taken: 'use' });
  if (!isTold) draft.records.set(name, { ...unknown(type), ...body });
  return name;
}

/** What a record holds that was there before. */
const unknown = ({ fields }: RecordType): JsonObject => Object.fromEntries([...fields.keys()].map((key) => [key, ANY]));

function obtainNested(draft: Draft, relation: Relation, wish: BodyWish): string | undefined {
  const { source, target, toMany } = relation;
  const child = newBody(draft, target, { ...wish, via: relation });
  const body = child && newBody(draft, source, { values: { [relation.name]: toMany ? [child] : child } });
  if (!body) return undefined;
  const step = creation(draft, source, nameFor(draft, source), body);
  const name = nameFor(draft, target);
  draft.records.set(name, child);
  const pointer = `/${relation.name}${toMany ? '/0' : ''}/${target.identifier.name}`;
  const path = collection(source, `?include=${encodeURIComponent(relation.name)}`);
  draft.steps.push({ ...step, request: { ...step.request, path }, keep: { ...step.keep, [name]: pointer } });
  return name;
}

/** A record that is there already. What it holds is known once it was changed. */
function borrow(draft: Draft, type: RecordType, { full = false, values = {} }: BodyWish): string | undefined {
  const name = nameFor(draft, type);
  const others = [...draft.records.keys()].filter((other) => other.startsWith(`${type.name} `));
  const skipped = others.map((other) => `&${condition([type.identifier.name, 'ne'], '')}{${other}}`);
  if (!type.identifier.inRecord) return undefined;
  const fields = type.operations.has('update') ? writable(type).filter((field) => !isAlone(type, field)) : [];
  const set = meeting(type, full ? valuesOf(draft, fields) : values, fields);
  if (!set) return undefined;
  draft.steps.push({
    request: { method: 'GET', path: collection(type, `?${condition(['limit', '1'], 1)}${skipped.join('')}`) },
    expected: { status: 200 },
    keep: { [name]: `/0/${type.identifier.name}` },
    borrows: fields.map((field) => field.name),
  });
  draft.records.set(name, full && fields.length > 0 ? { ...unknown(type), ...set, ...values } : unknown(type));
  if (!full || fields.length === 0) return name;
  draft.steps.push({
    request: { method: 'PATCH', path: item(type, name), body: { ...set, ...values }, ...guard(type) },
    expected: { status: 200 },
  });
  return name;
}

const valuesOf = ({ samples }: Draft, fields: readonly Field[]): JsonObject =>
  Object.fromEntries(fields.map((field) => [field.name, field.type.good(field, (samples.seed += 1))]));

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

/** A record as responses show it that was written with this body. `include`: the relations that are shown. */
export function shown(
  draft: Draft,
  type: RecordType,
  name: string,
  given: JsonObject,
  include?: readonly string[],
): JsonObject {
  const { inRecord, name: key } = type.identifier;
  const relations = [...type.relations.values()].filter((one) => include?.includes(one.name) ?? one.shown);
  return {
    ...(inRecord ? { [key]: ref(name) } : {}),
    ...fieldsShown(type.defaultVariant.fields, given),
    ...openKeysIn(type, given),
    ...Object.fromEntries(relations.map((one) => [one.name, relatedShown(draft, one, given[one.name])])),
  };
}

function relatedShown(draft: Draft, relation: Relation, given: JsonValue | undefined): JsonValue {
  if (relation.toMany)
    return (Array.isArray(given) ? given : []).map((one: JsonValue) => oneShown(draft, relation, one));
  return given === undefined || given === null ? null : oneShown(draft, relation, given);
}

/** A linked record has the values that it was made with, and those that are given here. */
function oneShown({ records, samples }: Draft, { target, fields }: Relation, given: JsonValue): JsonObject {
  const { inRecord, name: key } = target.identifier;
  const { [key]: link, ...values } = given as JsonObject;
  const before = isObject(link) ? records.get(String(link['$ref'])) : {};
  const isKnown = before !== undefined && (link === undefined || samples.sources.get(target) !== 'borrow');
  const all = { ...(isKnown ? {} : unknown(target)), ...before, ...values };
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
