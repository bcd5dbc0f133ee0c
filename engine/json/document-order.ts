/** Sorts the faults of a body in document order. */
import { isObject, type JsonObject, type JsonValue, unescapedSteps } from './json.ts';
import { memoized } from '../memo.ts';
import type { Fault } from '../problem.ts';

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

/** The first fault of each location. */
export const onePerLocation = (faults: readonly Fault[]): readonly Fault[] =>
  [...Map.groupBy(faults, placeOf).values()].flatMap((all) => all.slice(0, 1));

/** The first of two locations in a body. */
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
