/** A value while a person types it: a text, as it was typed. */
import { NumberText, parseJson, textOf, type Value } from '../data/json.ts';
import type { FieldInfo, TypeInfo } from '../data/model.ts';
import { isOpen, OpenNumber } from './numbers.ts';

/** The draft of one field. Null is null; the empty text is a text. Undefined: not shown, or left to the service. */
export type FieldDraft = string | boolean | null | undefined;

const TEXTS: ReadonlySet<string> = new Set(['string', 'decimal', 'date', 'timestamp']);
const NUMBERS: ReadonlySet<string> = new Set(['integer', 'number']);
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

export const isJson = ({ type }: FieldInfo): boolean => type !== 'boolean' && !TEXTS.has(type) && !NUMBERS.has(type);

export const isNumber = ({ type }: Pick<FieldInfo, 'type'>): boolean => NUMBERS.has(type) || type === 'decimal';

/** How many digits a number has behind its decimal mark; undefined: any. */
export const placesOf = ({ type, scale }: Pick<FieldInfo, 'type' | 'scale'>): number | undefined =>
  type === 'integer' ? 0 : type === 'decimal' ? scale : undefined;

/** What can be typed: of a new record, also an identifier that the service does not make. */
export const inputFields = ({ fields, identifier }: TypeInfo): readonly FieldInfo[] => [
  ...(identifier.by === 'client' ? [{ ...identifier, type: 'string', required: true }] : []),
  ...fields.filter(isWritable),
];

export const isWritable = (field: FieldInfo): boolean => field.generated === undefined && field.readOnly !== true;

export function draftOf(field: FieldInfo, value: Value | undefined): FieldDraft {
  if (value === undefined || value === null || typeof value === 'boolean') {
    return isJson(field) && typeof value === 'boolean' ? String(value) : value;
  }
  return isJson(field) ? JSON.stringify(value, undefined, 2) : textOf(value);
}

/** Undefined: the key is left out. Throws where a text is not JSON, and has to be, and where it could be two numbers. */
export function valueOf(field: FieldInfo, draft: FieldDraft): Value | undefined {
  if (draft === undefined || draft === null || typeof draft === 'boolean') return draft;
  if (isJson(field)) return parseJson(draft);
  if (isNumber(field) && isOpen(draft)) throw new OpenNumber(draft);
  // Only a string can be empty.
  if (draft === '' && field.type !== 'string') return null;
  // The service refuses text that is not a number, and says what it expects.
  return NUMBERS.has(field.type) && JSON_NUMBER.test(draft) ? new NumberText(draft) : draft;
}
