/** Compares an answer with what a case expects, binding variables on the way. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../json.ts';
import { bind, type Bindings, fill, referenceName } from './bindings.ts';
import { keysOf, rawText, type Tree, valueOf } from './json-tree.ts';

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

const differs = (place: string, expected: JsonValue | undefined, got: Tree | undefined): Difference =>
  difference(place, expected, got && (JSON.parse(got.text) as JsonValue));

function matchReference(name: string, got: Tree | undefined, place: string, bindings: Bindings): Difference[] {
  const known = bindings.get(name);
  if (known !== undefined) return match(known, got, place, bindings);
  const refusal = got === undefined ? 'a value' : bind(name, valueOf(got), bindings);
  return refusal === undefined ? [] : [{ place, expected: `${refusal} (${name})`, got: got?.text ?? 'nothing' }];
}

function matchArray(expected: readonly JsonValue[], got: Tree | undefined, place: string, bindings: Bindings) {
  const found = got?.items;
  if (!found) return [differs(place, expected, got)];
  const items = expected.flatMap((item, index) => match(item, found[index], `${place}/${index}`, bindings));
  const surplus = found
    .slice(expected.length)
    .map((item, index) => differs(`${place}/${expected.length + index}`, undefined, item));
  return [...items, ...surplus];
}

function matchObject(expected: JsonObject, got: Tree | undefined, place: string, bindings: Bindings) {
  const found = got?.members;
  if (!found) return [differs(place, expected, got)];
  const keys = new Set([...Object.keys(expected).filter((key) => key !== '$keys'), ...found.keys()]);
  return [
    ...[...keys].flatMap((key) => matchKey(expected, found, key, `${place}/${escapeStep(key)}`, bindings)),
    ...matchOrder(keysOf(expected), found, place),
  ];
}

type Members = ReadonlyMap<string, Tree>;

function matchKey(expected: JsonObject, got: Members, key: string, place: string, bindings: Bindings): Difference[] {
  const wanted = Object.hasOwn(expected, key) ? expected[key] : undefined;
  const found = got.get(key);
  return wanted === undefined ? [differs(place, undefined, found)] : match(wanted, found, place, bindings);
}

function matchOrder(expected: readonly string[], got: Members, place: string): Difference[] {
  const found = [...got.keys()].filter((key) => expected.includes(key));
  return JSON.stringify(expected) === JSON.stringify(found) ? [] : [difference(`${place} keys`, expected, found)];
}

/** Every place where `got` is not what the template `expected` says. */
export function match(expected: JsonValue, got: Tree | undefined, place: string, bindings: Bindings): Difference[] {
  if (Array.isArray(expected)) return matchArray(expected, got, place, bindings);
  if (!isObject(expected))
    return got !== undefined && JSON.parse(got.text) === expected ? [] : [differs(place, expected, got)];
  const name = referenceName(expected);
  if (name !== undefined) return matchReference(name, got, place, bindings);
  const text = rawText(expected);
  if (text !== undefined) return text === got?.text ? [] : [{ place, expected: text, got: got?.text ?? 'nothing' }];
  if (expected['$merge'] !== undefined) return match(fill(expected, bindings), got, place, bindings);
  return matchObject(expected, got, place, bindings);
}
