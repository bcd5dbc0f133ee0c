/**
 * What a form holds while a person types: texts, as they were typed. Names of fields and relations begin with `$` here, since
 * the library of the form does not take every name.
 */
import { isValueList, isValueObject, parseJson, type Value, type ValueObject } from '../data/json.ts';
import {
  type FieldInfo,
  identifierOf,
  isToMany,
  nameOf,
  otherValues,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';
import { draftOf, type FieldDraft, inputFields, isWritable } from '../presentations/field-draft.ts';

/** A related record: one that is there, one to be made, or one that is there with changes. */
export interface Item {
  readonly id: string | null;
  readonly name: string;
  readonly record: RecordDraft | null;
  /** The stored draft, with which changes are compared. Null for a new record, and for a chosen one until it is read. */
  readonly stored: RecordDraft | null;
}

export type Draft = FieldDraft | Item | readonly Item[];
export interface RecordDraft {
  readonly [key: string]: Draft;
}

export const keyOf = (name: string): string => `$${name}`;
/** Keys of open types that no field names, together as JSON. */
export const OTHER_KEYS = '#other';

/** `through`: the relation that leads here, whose way back is not shown. */
export function recordDraft(
  model: StudioModel,
  type: TypeInfo,
  values: ValueObject,
  through?: RelationInfo,
): RecordDraft {
  const others = otherValues(type, values);
  return Object.fromEntries([
    ...type.fields
      .filter(({ name }) => name in values)
      .map((field) => [keyOf(field.name), draftOf(field, values[field.name])]),
    ...type.relations
      .filter(({ name }) => name in values && name !== through?.inverse)
      .map((relation) => [keyOf(relation.name), relationDraft(model, relation, values[relation.name])]),
    ...(type.open
      ? [[OTHER_KEYS, others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), undefined, 2)]]
      : []),
  ] as [string, Draft][]);
}

function relationDraft(model: StudioModel, relation: RelationInfo, value: Value | undefined): Draft {
  const type = typeNamed(model, relation.type);
  const item = (values: ValueObject): Item => {
    const stored = recordDraft(model, type, values, relation);
    const [id, name] = [identifierOf(type, values), nameOf(type, values, relation.label)];
    return { id, name, record: isInline(relation) ? stored : null, stored };
  };
  if (isToMany(relation)) return isValueList(value) ? value.filter(isValueObject).map(item) : [];
  return isValueObject(value) ? item(value) : null;
}

/** A linked record as the relation shows it: fields that the relation leaves out cannot be changed through it. */
export function storedDraft(model: StudioModel, relation: RelationInfo, values: ValueObject): RecordDraft {
  const type = typeNamed(model, relation.type);
  const shown = new Set([...relation.fields, ...type.relations.map(({ name }) => name)]);
  const named = new Set(type.fields.map(({ name }) => name));
  const seen = Object.entries(values).filter(([name]) => !named.has(name) || shown.has(name));
  return recordDraft(model, type, Object.fromEntries(seen), relation);
}

/** Records that belong to this one alone are edited within it; others are chosen. */
export const isInline = ({ owned, nested }: RelationInfo): boolean => owned === true && nested === 'write';

/** Others may be changed here too; of one that was only just chosen, what would be changed has to be read first. */
export function isChangeable(
  model: StudioModel,
  { nested, readOnly, type, fields: shown }: RelationInfo,
  { stored }: Item,
): boolean {
  const { open, fields, relations } = typeNamed(model, type);
  if (nested !== 'write' || readOnly) return false;
  if (stored === null) return open || fields.some((field) => isWritable(field) && shown.includes(field.name));
  const writable = [...fields.filter(isWritable), ...relations.filter((relation) => !relation.readOnly)];
  return OTHER_KEYS in stored || writable.some(({ name }) => keyOf(name) in stored);
}

/** The same values for a record that is to be made: what belonged to the one before is made again, too. */
export function draftAnew(model: StudioModel, type: TypeInfo, draft: RecordDraft): RecordDraft {
  const anew = (relation: RelationInfo, item: Item): Item =>
    isInline(relation) && item.record !== null
      ? { ...item, id: null, record: draftAnew(model, typeNamed(model, relation.type), item.record), stored: null }
      : item;
  const entries = type.relations.flatMap((relation): readonly (readonly [string, Draft])[] => {
    const key = keyOf(relation.name);
    const items = itemsOf(draft[key]).map((item) => anew(relation, item));
    return key in draft ? [[key, isToMany(relation) ? items : (items[0] ?? null)]] : [];
  });
  return { ...newDraft(type), ...draft, ...Object.fromEntries(entries) };
}

export const itemsOf = (draft: Draft): readonly Item[] =>
  Array.isArray(draft)
    ? (draft as readonly Item[])
    : typeof draft === 'object' && draft !== null
      ? [draft as Item]
      : [];

/** A record that is to be made, with the defaults that the service would fill in. */
export function newDraft(type: TypeInfo, through?: RelationInfo): RecordDraft {
  const entries: readonly [string, Draft][] = [
    ...inputFields(type).map((field): [string, Draft] => [keyOf(field.name), defaultOf(field)]),
    ...type.relations
      .filter((relation) => !relation.readOnly && relation.name !== through?.inverse)
      .map((relation): [string, Draft] => [keyOf(relation.name), isToMany(relation) ? [] : null]),
    ...(type.open ? [[OTHER_KEYS, ''] as [string, Draft]] : []),
  ];
  return Object.fromEntries(entries);
}

/** `now` is what the service fills in when it is done. */
const defaultOf = (field: FieldInfo): FieldDraft =>
  field.default === undefined || (['date', 'timestamp'].includes(field.type) && field.default === 'now')
    ? undefined
    : draftOf(field, parseJson(JSON.stringify(field.default)));

export const newItem = (model: StudioModel, relation: RelationInfo): Item => ({
  id: null,
  name: '',
  record: newDraft(typeNamed(model, relation.type), relation),
  stored: null,
});
