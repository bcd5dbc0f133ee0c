/** Types of JSON values, and JSON Pointers (RFC 6901). */
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

/** One step of a pointer, escaped: `~` as `~0`, `/` as `~1`. */
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

/** undefined if the text is not JSON. */
export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
