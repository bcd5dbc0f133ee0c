/** Whether changed constraints still accept every value that they accepted before. When in doubt, they do not. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../json/json.ts';
import type { FieldType, Shape } from './field-type.ts';

type Value = JsonValue | undefined;

const lower = (before: Value, after: Value): boolean =>
  after === undefined || Number(after) <= Number(before ?? -Infinity);
const upper = (before: Value, after: Value): boolean =>
  after === undefined || Number(after) >= Number(before ?? Infinity);
const listed = (before: Value, after: Value): boolean =>
  after === undefined || (isList(before) && isList(after) && before.every((one) => after.includes(one)));
const sameOrGone = (before: Value, after: Value): boolean => after === undefined || isDeepStrictEqual(before, after);

const isList = (value: Value): value is readonly JsonValue[] => Array.isArray(value);

/** A keyword without an entry here must stay the same or be removed. */
const rules: Readonly<Record<string, (before: Value, after: Value) => boolean>> = {
  minLength: lower,
  minimum: lower,
  minItems: lower,
  maxLength: upper,
  maximum: upper,
  maxItems: upper,
  enum: listed,
};

export function widens(type: FieldType, before: Shape, after: Shape): boolean {
  const keywords = new Set([...Object.keys(before.constraints), ...Object.keys(after.constraints)]);
  for (const keyword of type.together?.keywords ?? []) keywords.delete(keyword);
  const each = [...keywords].every((keyword) =>
    (rules[keyword] ?? sameOrGone)(before.constraints[keyword], after.constraints[keyword]),
  );
  return each && (type.together?.widens(before, after) ?? true);
}
