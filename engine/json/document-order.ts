/** Sorts the faults of a body in document order. */
import { append } from '../append.ts';
import { escapeStep, isObject, type JsonValue } from '../json.ts';
import { type Fault, MAX_ERRORS } from '../problem.ts';

/**
 * At most one fault per location, but every check that it breaks. A missing key comes after the existing keys of its
 * object. Only the first MAX_ERRORS faults, which a response lists, are sorted. `at`: where the body stands that they are
 * all about.
 */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue, at = ''): readonly Fault[] {
  if (faults.length < 2) return faults;
  const byPlace = Map.groupBy(faults, placeOf);
  const first = firstPlaces([...byPlace.keys()], body, { at, most: MAX_ERRORS });
  const told = (all: readonly Fault[] = []): readonly Fault[] =>
    all[0]?.code === 'check' ? all.filter(({ code }) => code === 'check') : all.slice(0, 1);
  const sorted = first.flatMap((place) => told(byPlace.get(place)));
  for (const place of first) byPlace.delete(place);
  return [...sorted, ...[...byPlace.values()].flatMap(told)];
}

const placeOf = (fault: Fault): string => ('pointer' in fault ? fault.pointer : '');

/** The first fault of each location, by pointer. */
export function firstByLocation(faults: readonly Fault[]): Map<string, Fault> {
  const byPlace = new Map<string, Fault>();
  for (const fault of faults) {
    const place = placeOf(fault);
    if (!byPlace.has(place)) byPlace.set(place, fault);
  }
  return byPlace;
}

/** The first of two locations in a body. */
export const firstPlace = (a: string, b: string, body: JsonValue): string =>
  firstPlaces([a, b], body, { at: '', most: 1 })[0] ?? a;

interface FirstPlaces {
  /** Where the body stands. */
  readonly at: string;
  readonly most: number;
}

/** The first `most` of the locations, each of which is given once, in order. */
function firstPlaces(places: readonly string[], body: unknown, { at, most }: FirstPlaces): readonly string[] {
  if (places.length === 1) return places;
  const first = places.includes(at) ? [at] : [];
  const below = placesBelow(places, at);
  const visit = (value: unknown, child: string): void => {
    const inside = below.get(child);
    if (inside === undefined || first.length >= most) return;
    below.delete(child);
    append(first, firstPlaces(inside, value, { at: child, most: most - first.length }));
  };
  if (isObject(body) || Array.isArray(body))
    for (const key of Object.keys(body)) {
      if (first.length >= most || below.size === 0) break;
      visit(Reflect.get(body, key), `${at}/${escapeStep(key)}`);
    }
  for (const missing of below.keys()) visit(undefined, missing);
  return first;
}

/** The locations by the direct child of `at` that they are, or are within. */
function placesBelow(places: readonly string[], at: string): Map<string, string[]> {
  const below = new Map<string, string[]>();
  for (const place of places) {
    if (place === at) continue;
    const end = place.indexOf('/', at.length + 1);
    const child = end === -1 ? place : place.slice(0, end);
    const inside = below.get(child);
    if (inside) inside.push(place);
    else below.set(child, [place]);
  }
  return below;
}
