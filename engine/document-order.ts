/** The order in which the faults of a body are told: that of the places they lie in. */
import { isObject, type JsonValue, unescapedSteps } from './json.ts';
import type { Fault } from './problem.ts';

/** One fault for each place. A key that is missing comes after those that its object has. */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue): readonly Fault[] {
  if (faults.length < 2) return faults;
  const rankOf = ranking(body);
  const byPlace = new Map<string, { readonly fault: Fault; readonly rank: readonly number[] }>();
  for (const fault of faults) {
    const place = 'pointer' in fault ? fault.pointer : '';
    if (!byPlace.has(place)) byPlace.set(place, { fault, rank: rankOf(place) });
  }
  return [...byPlace.values()].toSorted((a, b) => compare(a.rank, b.rank)).map(({ fault }) => fault);
}

/** Of two places in a body the one that comes first. */
export function firstPlace(a: string, b: string, body: JsonValue): string {
  const rankOf = ranking(body);
  return compare(rankOf(a), rankOf(b)) <= 0 ? a : b;
}

/** Where each step of a pointer stands among its neighbours. */
function ranking(body: JsonValue): (pointer: string) => readonly number[] {
  const known = new Map<object, ReadonlyMap<string, number>>();
  const placesIn = (value: object): ReadonlyMap<string, number> => {
    const places = known.get(value) ?? new Map(Object.keys(value).map((key, index) => [key, index]));
    known.set(value, places);
    return places;
  };
  return (pointer) => {
    let value: unknown = body;
    return unescapedSteps(pointer).map((step) => {
      const place = isObject(value) || Array.isArray(value) ? placesIn(value).get(step) : undefined;
      value = place === undefined ? undefined : (value as Record<string, unknown>)[step];
      return place ?? Number.MAX_SAFE_INTEGER;
    });
  };
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, rank] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (rank !== other) return rank - other;
  }
  return a.length - b.length;
}
