/** Compares an answer with what a case expects, binding variables on the way. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../json.ts';
import { bind, type Bindings, fill, referenceName } from './bindings.ts';

export interface Difference {
  /** Where: `status`, `header location`, `body/zone/zone_id`. */
  readonly place: string;
  readonly expected: string;
  readonly got: string;
}

const SHOWN = 400;

/** A value as a report shows it. */
export function shown(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text;
}

export const difference = (place: string, expected: JsonValue | undefined, got: JsonValue | undefined): Difference => ({
  place,
  expected: shown(expected),
  got: shown(got),
});

function matchReference(name: string, got: JsonValue | undefined, place: string, bindings: Bindings): Difference[] {
  const known = bindings.get(name);
  if (known !== undefined) return match(known, got, place, bindings);
  const refusal = got === undefined ? 'a value' : bind(name, got, bindings);
  return refusal === undefined ? [] : [{ place, expected: `${refusal} (${name})`, got: shown(got) }];
}

function matchArray(expected: readonly JsonValue[], got: JsonValue | undefined, place: string, bindings: Bindings) {
  if (!Array.isArray(got)) return [difference(place, expected, got)];
  const items = expected.flatMap((item, index) => match(item, got[index], `${place}/${index}`, bindings));
  const surplus = got
    .slice(expected.length)
    .map((item: JsonValue, index: number) => difference(`${place}/${expected.length + index}`, undefined, item));
  return [...items, ...surplus];
}

function matchObject(expected: JsonObject, got: JsonValue | undefined, place: string, bindings: Bindings) {
  if (!isObject(got)) return [difference(place, expected, got)];
  const keys = new Set([...Object.keys(expected), ...Object.keys(got)]);
  return [...keys].flatMap((key) => matchKey(expected, got, key, `${place}/${escapeStep(key)}`, bindings));
}

function matchKey(expected: JsonObject, got: JsonObject, key: string, place: string, bindings: Bindings): Difference[] {
  const wanted = Object.hasOwn(expected, key) ? expected[key] : undefined;
  const found = Object.hasOwn(got, key) ? got[key] : undefined;
  return wanted === undefined ? [difference(place, undefined, found)] : match(wanted, found, place, bindings);
}

function matchExact(expected: JsonValue, got: JsonValue | undefined, place: string): Difference[] {
  return JSON.stringify(expected) === JSON.stringify(got) ? [] : [difference(place, expected, got)];
}

/** Every place where `got` is not what the template `expected` says. */
export function match(
  expected: JsonValue,
  got: JsonValue | undefined,
  place: string,
  bindings: Bindings,
): Difference[] {
  if (Array.isArray(expected)) return matchArray(expected, got, place, bindings);
  if (!isObject(expected)) return expected === got ? [] : [difference(place, expected, got)];
  const name = referenceName(expected);
  if (name !== undefined) return matchReference(name, got, place, bindings);
  if (expected['$exact'] !== undefined) return matchExact(expected['$exact'], got, place);
  if (expected['$merge'] !== undefined) return match(fill(expected, bindings), got, place, bindings);
  return matchObject(expected, got, place, bindings);
}
