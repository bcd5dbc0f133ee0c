/** Builds the body of a request from a person's changes. Unchanged keys are left out. */
import { isSameValue, isValueList, isValueObject, parseJson, type Value, type ValueObject } from '../data/json.ts';
import {
  identifierValue,
  isToMany,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';
import { type FieldDraft, inputFields, valueOf } from '../presentations/field-draft.ts';
import { OpenNumber } from '../presentations/numbers.ts';
import type { Say } from '../texts/texts.ts';
import { type Draft, type Item, itemsOf, keyOf, newDraft, OTHER_KEYS, type RecordDraft } from './draft.ts';

/** A text that has no value, since it is not JSON or can be two numbers, and its place in the form. */
export class DraftFault extends Error {
  readonly path: string;

  constructor(path: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.path = path;
  }
}

export const draftFaultText = (say: Say, cause: unknown): string =>
  cause instanceof OpenNumber
    ? say('limit.two_ways')
    : say('form.not_json', { message: cause instanceof Error ? cause.message : String(cause) });

interface Place {
  readonly model: StudioModel;
  readonly type: TypeInfo;
  /** In the form. */
  readonly path: string;
}

const isSame = (one: Draft, other: Draft): boolean => JSON.stringify(one) === JSON.stringify(other);

/** `before`: what the form began with. */
export function bodyOf(place: Place, draft: RecordDraft, before: RecordDraft): ValueObject {
  const { model, type, path } = place;
  const body: Record<string, Value> = {};
  const changed = (key: string): boolean => key in draft && !isSame(draft[key], before[key]);
  for (const field of inputFields(type)) {
    const key = keyOf(field.name);
    if (!changed(key)) continue;
    const value = attempt(`${path}${key}`, () => valueOf(field, draft[key] as FieldDraft));
    if (value !== undefined) body[field.name] = value;
  }
  for (const relation of type.relations) {
    const key = keyOf(relation.name);
    if (relation.readOnly || !changed(key)) continue;
    const there = { model, type: typeNamed(model, relation.type), path: `${path}${key}.` };
    const value = relationValue(there, relation, draft[key], before[key]);
    // Inputs that were opened, and nothing typed into them, are no change.
    const unchanged = relationValue(there, relation, before[key], before[key]);
    if (!isSameValue(value, unchanged)) body[relation.name] = value;
  }
  // Not assigned: "__proto__" is a key like the others, which the service refuses.
  return changed(OTHER_KEYS) ? { ...body, ...otherKeys(`${path}${OTHER_KEYS}`, draft, before) } : body;
}

function relationValue(place: Place, relation: RelationInfo, draft: Draft, before: Draft): Value {
  const items = itemsOf(draft);
  const known = new Map(itemsOf(before).map((item) => [item.id, item]));
  const values = items.map((item, index) => {
    const path = isToMany(relation) ? `${place.path}${index}.record.` : `${place.path}record.`;
    return itemValue({ ...place, path }, relation, item, item.id === null ? undefined : known.get(item.id));
  });
  return isToMany(relation) ? values : (values[0] ?? null);
}

function itemValue(
  place: Place,
  relation: RelationInfo,
  { id, record, stored }: Item,
  before: Item | undefined,
): Value {
  const began = before?.stored ?? stored ?? newDraft(place.type, relation);
  const changes = record === null ? {} : bodyOf(place, record, began);
  return id === null ? changes : { [place.type.identifier.name]: identifierValue(place.type, id), ...changes };
}

/** A key that is gone becomes null, which removes it. */
function otherKeys(path: string, draft: RecordDraft, before: RecordDraft): ValueObject {
  const [now, then] = [draft, before].map((one) => {
    const text = one[OTHER_KEYS];
    const value = typeof text === 'string' && text.trim() !== '' ? attempt(path, () => parseJson(text)) : {};
    if (!isValueObject(value)) throw new DraftFault(path, '{ … }');
    return new Map(Object.entries(value));
  });
  const gone = [...(then?.keys() ?? [])].filter((key) => now?.has(key) !== true);
  const kept = [...(now ?? [])].filter(([key, value]) => !isSameValue(value, then?.get(key)));
  return Object.fromEntries([...kept, ...gone.map((key): [string, Value] => [key, null])]);
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof DraftFault) throw error;
    throw new DraftFault(path, error);
  }
}

/** Whether keys of an open type go, in the record or in one within it: that takes a merge patch. */
export function removesKeys(model: StudioModel, type: TypeInfo, body: ValueObject): boolean {
  const relations = new Map(type.relations.map((relation) => [relation.name, relation]));
  const fields = new Set(type.fields.map(({ name }) => name));
  return Object.entries(body).some(([key, value]) => {
    const relation = relations.get(key);
    if (relation === undefined) return value === null && !fields.has(key);
    const within = typeNamed(model, relation.type);
    const records = (isValueList(value) ? value : [value]).filter(isValueObject);
    return records.some((record) => removesKeys(model, within, record));
  });
}
