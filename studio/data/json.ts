/** JSON whose numbers stay the text that was sent: no digit is lost on the way through the browser. */

/** The third argument is newer than the library of TypeScript. */
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

declare global {
  interface JSON {
    rawJSON?(text: string): object;
  }
}

export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): object | undefined {
    return JSON.rawJSON?.(this.text);
  }
}

export type Value = null | boolean | string | NumberText | readonly Value[] | ValueObject;
export interface ValueObject {
  readonly [key: string]: Value;
}

/** Whether this browser gives the text of numbers. */
export const isSupported = (): boolean => JSON.rawJSON !== undefined;

export const parseJson = (text: string): Value =>
  JSON.parse(text, ((_key: string, value: unknown, { source = '' }: { readonly source?: string } = {}) =>
    typeof value === 'number' ? new NumberText(source) : value) satisfies Reviver) as Value;

export const writeJson = (value: Value, space?: number): string => JSON.stringify(value, undefined, space);

export const isValueObject = (value: Value | undefined): value is ValueObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);

export const isValueList = (value: Value | undefined): value is readonly Value[] => Array.isArray(value);

export const isSameValue = (one: Value | undefined, other: Value | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Numbers and strings as they are read, anything else as JSON. */
export function textOf(value: Value | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return value instanceof NumberText ? value.text : writeJson(value);
}
