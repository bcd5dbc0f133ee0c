/** Types of JSON values, JSON Pointers (RFC 6901), and the order of faults in a body. */
import { memoized } from '../memo.ts';
import type { Fault } from '../problem.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `/a~1b/0` for `['a/b', 0]`; the empty string for the whole document (RFC 6901, section 3). */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${escapeStep(step)}`).join('');
}

export function escapeStep(step: string | number): string {
  const text = String(step);
  // Runs for every key of every write, and hardly any key needs escaping.
  return text.includes('/') || text.includes('~') ? text.replaceAll('~', '~0').replaceAll('/', '~1') : text;
}

/** The place that a pointer leads to, and each place around it except the whole document: `/a/0` and `/a` for `/a/0`. */
export function enclosing(place: string): readonly string[] {
  const places: string[] = [];
  for (let rest = place; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) places.push(rest);
  return places;
}

/** The steps of a pointer: `/a~1b/0` as `['a/b', '0']`. */
export const unescapedSteps = (text: string): readonly string[] => text.split('/').slice(1).map(unescapedStep);

export const unescapedStep = (step: string): string =>
  step.includes('~') ? step.replaceAll('~1', '/').replaceAll('~0', '~') : step;

export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

// Document order.

/**
 * At most one fault per location, but every check that it breaks. A missing key comes after the existing keys of its
 * object. `at`: where the body stands that they are all about.
 */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue, at = ''): readonly Fault[] {
  if (faults.length < 2) return faults;
  const rankOf = ranking(body, at);
  const places = [...Map.groupBy(faults, placeOf)].map(([place, all]) => ({ rank: rankOf(place), all }));
  return places
    .toSorted((one, other) => compare(one.rank, other.rank))
    .flatMap(({ all }) => (all[0]?.code === 'check' ? all.filter(({ code }) => code === 'check') : all.slice(0, 1)));
}

const placeOf = (fault: Fault): string => ('pointer' in fault ? fault.pointer : '');

export const onePerLocation = (faults: readonly Fault[]): readonly Fault[] =>
  [...Map.groupBy(faults, placeOf).values()].flatMap((all) => all.slice(0, 1));

export function firstPlace(a: string, b: string, body: JsonValue): string {
  const rankOf = ranking(body, '');
  return compare(rankOf(a), rankOf(b)) > 0 ? b : a;
}

/** The index of each step of a location among the keys or items around it. */
type Rank = readonly number[];

/** Once for each object: bodies are not changed while they are checked. */
const indexesOf = memoized((value: JsonObject) => new Map(Object.keys(value).map((key, index) => [key, index])));

const ranking =
  (body: JsonValue, at: string) =>
  (place: string): Rank => {
    let value: unknown = body;
    return unescapedSteps(place.slice(at.length)).map((step) => {
      const index = Array.isArray(value) ? Number(step) : isObject(value) ? indexesOf(value).get(step) : undefined;
      value = index === undefined ? undefined : Reflect.get(value as object, step);
      return index ?? Infinity;
    });
  };

/** A location comes before those inside it. */
function compare(one: Rank, other: Rank): number {
  const at = one.findIndex((index, depth) => index !== other[depth]);
  if (at < 0) return one.length - other.length;
  return (one[at] ?? 0) < (other[at] ?? -1) ? -1 : 1;
}
