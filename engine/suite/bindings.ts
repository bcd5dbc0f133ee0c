/** The variables of a case, and what each stands for in the database at hand. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts';

export type Bindings = Map<string, JsonValue>;

const PLACEHOLDER = /\{([^{}]+)\}/g;

export const reference = (name: string): JsonObject => ({ $ref: name });

/** The name in `{ "$ref": name }`; undefined for any other value. */
export function referenceName(value: JsonValue | undefined): string | undefined {
  const name = isObject(value) ? value['$ref'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

function bound(name: string, bindings: Bindings): JsonValue {
  const value = bindings.get(name);
  if (value === undefined) throw new Error(`the variable ${name} is not bound by an earlier answer`);
  return value;
}

/** A path with its variables filled in; one that begins with `+` stands for part of a path and is not encoded. */
export const fillPath = (path: string, bindings: Bindings): string =>
  path.replaceAll(PLACEHOLDER, (_, name: string) =>
    name.startsWith('+') ? String(bound(name.slice(1), bindings)) : encodeURIComponent(String(bound(name, bindings))),
  );

/** Headers with their variables filled in. */
export const fillHeaders = (headers: Readonly<Record<string, string>>, bindings: Bindings): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([key, text]) => [
      key,
      text.replaceAll(PLACEHOLDER, (_, name: string) => String(bound(name, bindings))),
    ]),
  );

/** A body with its variables filled in. */
export function fill(value: JsonValue, bindings: Bindings): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => fill(item, bindings));
  if (!isObject(value)) return value;
  const name = referenceName(value);
  if (name !== undefined) return bound(name, bindings);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, bindings)]));
}

/** Variables for identifiers have a colon: `Order:1`. No two of one type stand for the same record. */
function isTaken(name: string, value: JsonValue, bindings: Bindings): boolean {
  const prefix = name.slice(0, name.indexOf(':') + 1);
  return [...bindings].some(([other, taken]) => taken === value && other.startsWith(prefix));
}

/** Binds a variable to what an answer shows, or says what was expected instead. */
export function bind(name: string, value: JsonValue, bindings: Bindings): string | undefined {
  if (name.includes(':')) {
    if (!Number.isSafeInteger(value) || Number(value) < 1) return 'a new identifier';
    if (isTaken(name, value, bindings)) return 'an identifier that no other record has';
  }
  bindings.set(name, value);
  return undefined;
}
