/** Owned sets whose order is a field of their records: a record is moved by changing it. */
import type { FieldInfo, TypeInfo } from '../data/model.ts';
import { type FieldDraft, isWritable } from '../presentations/field-draft.ts';
import { type Item, keyOf } from './draft.ts';

/** The field that holds the position of each record, if people may write it. */
export function positionField({ order, fields }: TypeInfo): FieldInfo | undefined {
  const [first] = order;
  return fields.find((field) => field.name === first && field.type === 'integer' && isWritable(field));
}

const positionOf = (field: FieldInfo, { record }: Item): number => {
  const text = record?.[keyOf(field.name)];
  return typeof text === 'string' && /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
};

const isDistinct = (numbers: readonly number[]): boolean =>
  new Set(numbers).size === numbers.length && numbers.every(Number.isSafeInteger);

/** The positions in the order of the items: those that there are, or new ones where they would not tell the items apart. */
export function positionsOf(field: FieldInfo, items: readonly Item[]): readonly FieldDraft[] {
  const there = items.map((item) => positionOf(field, item));
  const first = Number(field.minimum ?? 1);
  const positions = isDistinct(there) ? there.toSorted((one, other) => one - other) : items.map((_, at) => first + at);
  return positions.map(String);
}

/** A new item comes behind the others, if they have positions. */
export function atEnd(field: FieldInfo, items: readonly Item[], item: Item): Item {
  const there = items.map((one) => positionOf(field, one)).filter(Number.isSafeInteger);
  if (item.record === null || there.length === 0) return item;
  return { ...item, record: { ...item.record, [keyOf(field.name)]: String(Math.max(...there) + 1) } };
}
