/** Sorts the faults of a body in document order. */
import { escapeStep, isObject, type JsonValue } from './json.ts';
import { type Fault, MAX_ERRORS } from './problem.ts';

/**
 * At most one fault per location. A missing key comes after the existing keys of its object. Only the first MAX_ERRORS
 * faults, which a response lists, are sorted.
 */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue): readonly Fault[] {
  if (faults.length < 2) return faults;
  const byPlace = firstByLocation(faults);
  const first = firstPlaces(byPlace, body, MAX_ERRORS).flatMap((place) => byPlace.get(place) ?? []);
  if (first.length === byPlace.size) return first;
  const sorted = new Set(first);
  return [...first, ...[...byPlace.values()].filter((fault) => !sorted.has(fault))];
}

/** The first fault of each location, by pointer. */
export function firstByLocation(faults: readonly Fault[]): ReadonlyMap<string, Fault> {
  const byPlace = new Map<string, Fault>();
  for (const fault of faults) {
    const place = 'pointer' in fault ? fault.pointer : '';
    if (!byPlace.has(place)) byPlace.set(place, fault);
  }
  return byPlace;
}

/** The first of two locations in a body. */
export const firstPlace = (a: string, b: string, body: JsonValue): string =>
  firstPlaces(new Set([a, b]), body, 1)[0] ?? a;

/** A Set of locations, or a Map by location. */
type Locations = Pick<ReadonlyMap<string, unknown>, 'has'> & { keys(): Iterable<string> };

/** The first `most` of the locations, in order. */
function firstPlaces(places: Locations, body: JsonValue, most: number): readonly string[] {
  const below = placesBelow(places.keys());
  const first: string[] = [];
  const visit = (value: unknown, place: string): void => {
    if (first.length === most) return;
    if (places.has(place)) first.push(place);
    const inside = below.get(place);
    if (!inside) return;
    const keys = isObject(value) || Array.isArray(value) ? Object.keys(value) : [];
    for (const key of keys) {
      if (first.length === most) return;
      const next = `${place}/${escapeStep(key)}`;
      if (inside.delete(next)) visit((value as Record<string, unknown>)[key], next);
    }
    for (const missing of inside) visit(undefined, missing);
  };
  visit(body, '');
  return first;
}

/** By pointer: its direct children that are among the locations, or lead to one. */
function placesBelow(places: Iterable<string>): ReadonlyMap<string, Set<string>> {
  const below = new Map<string, Set<string>>();
  for (let place of places)
    while (place !== '') {
      const parent = place.slice(0, place.lastIndexOf('/'));
      const known = below.get(parent);
      if (known?.has(place)) break;
      if (known) known.add(place);
      else below.set(parent, new Set([place]));
      place = parent;
    }
  return below;
}
