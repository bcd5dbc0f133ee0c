/** The constraints of a field, in words: said when a value breaks them. */
import type { FieldInfo } from '../data/model.ts';
import type { Say } from '../texts/texts.ts';
import { type FieldDraft, isNumber } from './field-draft.ts';
import { isOpen } from './numbers.ts';

const DECIMAL = /^-?(\d+)(?:\.(\d+))?$/;

/** The limits that a typed text breaks; undefined if the service would accept it or has to decide. */
export function brokenLimits(say: Say, field: FieldInfo, draft: FieldDraft): string | undefined {
  if (typeof draft !== 'string' || draft === '') return undefined;
  const broken = limitsOf(field)(say, field, draft);
  return broken.length === 0 ? undefined : broken.join(', ');
}

function limitsOf(field: FieldInfo): (say: Say, field: FieldInfo, text: string) => readonly string[] {
  const { type } = field;
  if (isNumber(field)) return ofNumber;
  if (type === 'array') return ofList;
  return type === 'string' ? ofText : () => [];
}

/** Text that is not JSON is reported elsewhere. */
function ofList(say: Say, { minItems = 0, maxItems }: FieldInfo, text: string): readonly string[] {
  try {
    const items: unknown = JSON.parse(text);
    const count = Array.isArray(items) ? items.length : minItems;
    return [
      ...(count < minItems ? [say('limit.fewest_items', { smart_count: minItems })] : []),
      ...(maxItems !== undefined && count > maxItems ? [say('limit.most_items', { smart_count: maxItems })] : []),
    ];
  } catch {
    return [];
  }
}

function ofText(say: Say, { minLength = 0, maxLength, pattern, examples }: FieldInfo, text: string): readonly string[] {
  const { length } = [...text];
  return [
    ...(length < minLength ? [say('limit.min_length', { smart_count: minLength })] : []),
    ...(maxLength !== undefined && length > maxLength ? [say('limit.max_length', { smart_count: maxLength })] : []),
    ...(pattern !== undefined && !isMatch(pattern, text) ? [patternText(say, pattern, examples)] : []),
  ];
}

/** An example says more than a pattern. */
export const patternText = (say: Say, pattern: string, [example]: FieldInfo['examples']): string =>
  typeof example === 'string' ? say('limit.like', { example }) : say('limit.pattern', { pattern });

/** Patterns that this browser cannot read are left to the service. */
function isMatch(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

function ofNumber(say: Say, field: FieldInfo, text: string): readonly string[] {
  const { type, minimum, maximum, precision, scale = 0 } = field;
  if (isOpen(text)) return [say('limit.two_ways')];
  const number = Number(text);
  if (Number.isNaN(number) || (type === 'integer' && !Number.isInteger(number)))
    return [say(`limit.${type === 'integer' ? 'integer' : 'number'}`)];
  const [, whole = '', fraction = ''] = DECIMAL.exec(text) ?? [];
  const hasTooMany =
    type === 'decimal' &&
    precision !== undefined &&
    (fraction.length > scale || whole.replace(/^0+/, '').length > precision - scale);
  return [
    ...(minimum !== undefined && number < Number(minimum) ? [say('limit.minimum', { limit: String(minimum) })] : []),
    ...(maximum !== undefined && number > Number(maximum) ? [say('limit.maximum', { limit: String(maximum) })] : []),
    ...(hasTooMany ? [say('limit.digits', { precision, scale })] : []),
  ];
}
