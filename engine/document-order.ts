/** The order in which the faults of a body are told: that of the places they lie in. */
import { escapeStep, isObject, type JsonValue } from './json.ts';
import { type Fault, MAX_ERRORS } from './problem.ts';

/**
 * One fault for each place. A key that is missing comes after those that its object has. Only as many faults as an
 * answer tells are put in order: the others follow as they come.
 */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue): readonly Fault[] {
  if (faults.length < 2) return faults;
  const byPlace = new Map<string, Fault>();
  for (const fault of faults) {
    const place = 'pointer' in fault ? fault.pointer : '';
    if (!byPlace.has(place)) byPlace.set(place, fault);
  }
  const first = firstPlaces(new Set(byPlace.keys()), body, MAX_ERRORS).flatMap((place) => byPlace.get(place) ?? []);
  return first.length === byPlace.size ? first : [...new Set([...first, ...byPlace.values()])];
}

/** Of two places in a body the one that comes first. */
export const firstPlace = (a: string, b: string, body: JsonValue): string =>
  firstPlaces(new Set([a, b]), body, 1)[0] ?? a;

/** The first so many of the places, in order. */
function firstPlaces(places: ReadonlySet<string>, body: JsonValue, most: number): readonly string[] {
  const below = placesBelow(places);
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

/** By pointer: those one step below it that are among the places, or lead to one. */
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
