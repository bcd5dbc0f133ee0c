/** JSON values, pointers to them, and the order of faults by pointers. */
import { memoized } from '../memo.ts';
import { attempted, type Fault, faultyRequest, type Problem } from '../problem.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const withoutUndefined = (members: Readonly<Record<string, JsonValue | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));

/** The values of things by their names, without those that are undefined. */
export const byName = <T extends { readonly name: string }>(
  things: Iterable<T>,
  valueOf: (thing: T) => JsonValue | undefined,
): JsonObject => withoutUndefined(Object.fromEntries([...things].map((thing) => [thing.name, valueOf(thing)])));

/** RFC 6901: `/a~1b/0` for `['a/b', 0]`; the empty string for the whole. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${escapeStep(step)}`).join('');
}

export function escapeStep(step: string | number): string {
  const text = String(step);
  // Optimized: every key of every write needs this.
  return text.includes('/') || text.includes('~') ? text.replaceAll('~', '~0').replaceAll('/', '~1') : text;
}

/** The pointer and its ancestors: `/a/0` and `/a` for `/a/0`. */
export function enclosing(start: string): readonly string[] {
  const pointers: string[] = [];
  for (let rest = start; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) pointers.push(rest);
  return pointers;
}

export const unescapedSteps = (text: string): readonly string[] => text.split('/').slice(1).map(unescapedStep);

export const unescapedStep = (step: string): string =>
  step.includes('~') ? step.replaceAll('~1', '/').replaceAll('~0', '~') : step;

export const parsedJson = (text: string): JsonValue | undefined => attempted(() => JSON.parse(text) as JsonValue);

export const invalidJson = (message: string, at = ''): Problem =>
  faultyRequest('invalid-json', [{ pointer: at, code: 'invalid-json', message }]);

export function textFault(text: string, what: string): [code: string, message: string] | undefined {
  if (text.includes('\0')) return ['nul-character', `${what} contains U+0000, which cannot be stored`];
  if (text.isWellFormed()) return undefined;
  return ['lone-surrogate', `${what} contains half of a surrogate pair; it must be well-formed Unicode`];
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

export function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw invalidJson('The body is empty; expected a JSON object');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw invalidJson('The body is not valid UTF-8');
  }
}

/** Equal for values that differ in the order of keys alone. */
export const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: JsonValue) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );

export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const NUMBER_PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

export function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER_PARTS.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  if (end === 0) return '0';
  // Exact arithmetic is impossible: only identical strings are equal.
  if (!Number.isSafeInteger(Number(exponent))) return text;
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

/** Whether a JSON number is an integer, such as `77.0` and `7.8e1`; JavaScript rounds `4503599627370497.5` to one. */
export const isWhole = (text: string): boolean => /^-?\d+$/.test(text) || !/e-/i.test(canonicalNumber(text));

/** Sorts faults as in the body, missing keys last, one per location and all unmet checks. `at`: the body's pointer. */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue, at = ''): readonly Fault[] {
  if (faults.length < 2) return faults;
  /** A sort key for the location: it sorts before locations inside it. */
  const orderOf = (location: string): string => {
    let value: unknown = body;
    const indexes = unescapedSteps(location.slice(at.length)).map((step) => {
      const index = typeof value === 'object' && value !== null ? indexesOf(value).get(step) : undefined;
      value = index === undefined ? undefined : Reflect.get(value as object, step);
      return index === undefined ? '~' : String(index).padStart(8, '0');
    });
    return indexes.join('');
  };
  const located = [...Map.groupBy(faults, pointerOf)].map(([location, all]) => ({ order: orderOf(location), all }));
  return located
    .toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)))
    .flatMap(({ all }) => (all[0]?.code === 'check' ? all.filter(({ code }) => code === 'check') : all.slice(0, 1)));
}

const indexesOf = memoized((value: object) => new Map(Object.keys(value).map((key, index) => [key, index])));

const pointerOf = (fault: Fault): string => ('pointer' in fault ? fault.pointer : '');

export const onePerLocation = (faults: readonly Fault[]): readonly Fault[] =>
  [...Map.groupBy(faults, pointerOf).values()].flatMap((all) => all.slice(0, 1));
