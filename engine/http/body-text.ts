/** JSON text that a client sent: in UTF-8, each key once, not too deep, clean strings. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../json.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import { hasEscapedKey, parseValue, readingOf, skipValue } from '../raw-json.ts';
import { textFault } from './json-fault.ts';

type IsFault = (fault: Fault, isArray: boolean) => boolean;

interface Inspected {
  readonly value: JsonValue;
  readonly keys: number;
  /** Keys and values that cannot be stored. */
  readonly faults: readonly Fault[];
}

export function readText(text: string, limits: TextLimits, isFault: IsFault, what = BODY): Inspected {
  const parsed = parse(text, limits, what);
  // Only an escape can bring a lone surrogate or U+0000 into a string: neither is UTF-8, or JSON, as it stands.
  return inspected(parsed, text.includes('\\u'), limits, isFault, what);
}

/** The object in a text that is not a body; messages call it `what`. */
export function parseText(text: string, limits: TextLimits, isFault: IsFault, what: string): JsonObject {
  const { value, keys, faults } = readText(text, limits, isFault, what);
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  const reading = readingOf(text);
  skipValue(reading);
  if (keys !== reading.keys) throw textProblem(text, limits, what);
  if (isObject(value)) return value;
  const message = `${what} must be a JSON object, not ${kindOf(value)}`;
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}

const BODY = 'The body';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

export function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw jsonProblem('The body is empty; expected a JSON object');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw jsonProblem('The body is not valid UTF-8');
  }
}

function parse(text: string, limits: TextLimits, what: string): unknown {
  const parsed = parseNatively(text, limits, what);
  if (!hasEscapedKey(text)) return parsed;
  if (textFault(text, limits.bodyDepth)) throw textProblem(text, limits, what);
  return parseValue(readingOf(text));
}

function parseNatively(text: string, limits: TextLimits, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw textProblem(text, limits, what);
  }
}

export function inspected(
  parsed: unknown,
  checkStrings: boolean,
  limits: TextLimits,
  isFault: IsFault = () => true,
  what = BODY,
): Inspected {
  const { faults: found, keys, items, tooDeep } = inspect(parsed, checkStrings, limits.bodyDepth);
  if (tooDeep) throw jsonProblem(`${what} is nested deeper than ${limits.bodyDepth} levels`);
  refuseTooMuch({ bodyKeys: keys, bodyItems: items }, limits);
  const isArray = Array.isArray(parsed);
  const faults = found.filter((fault) => isFault(fault, isArray));
  return { value: parsed as JsonValue, keys, faults };
}

export const kindOf = (value: unknown): string =>
  Array.isArray(value) ? 'an array' : value === null ? 'null' : isObject(value) ? 'an object' : `a ${typeof value}`;

export function textProblem(text: string, { bodyDepth }: TextLimits, what = BODY): Problem {
  const fault = textFault(text, bodyDepth, what !== BODY);
  return fault === undefined
    ? jsonProblem(`${what} is not valid JSON`)
    : jsonProblem(`${what} is not valid JSON: ${fault.message}`, fault.pointer);
}

const jsonProblem = (message: string, at = ''): Problem =>
  new Problem('invalid-json', message, { errors: [{ pointer: at, code: 'invalid-json', message }] });

// One walk over a parsed body, for what a schema cannot say: its depth, and keys and strings that cannot be stored.

interface Inspection {
  readonly keys: number;
  /** Of the longest array. */
  readonly items: number;
  readonly tooDeep: boolean;
  readonly faults: readonly Fault[];
}

interface InspectionState {
  readonly checkStrings: boolean;
  readonly maxDepth: number;
  readonly path: (string | number)[];
  readonly faults: Fault[];
  keys: number;
  items: number;
  tooDeep: boolean;
}

/** `checkStrings` is false if the strings are known to be well-formed. */
export function inspect(value: unknown, checkStrings: boolean, maxDepth: number): Inspection {
  const walk: InspectionState = { checkStrings, maxDepth, path: [], faults: [], keys: 0, items: 0, tooDeep: false };
  visit(value, walk);
  return walk;
}

function visit(value: unknown, walk: InspectionState): void {
  if (typeof value === 'string') visitString(value, walk);
  else if (typeof value === 'number') visitNumber(value, walk);
  else if (typeof value === 'object' && value !== null) visitContainer(value, walk);
}

function visitContainer(value: object, walk: InspectionState): void {
  if (walk.path.length >= walk.maxDepth) walk.tooDeep = true;
  else if (Array.isArray(value)) visitItems(value, walk);
  else for (const key of Object.keys(value)) visitMember(key, Reflect.get(value, key), walk);
}

function visitItems(value: readonly unknown[], walk: InspectionState): void {
  walk.items = Math.max(walk.items, value.length);
  for (const [index, item] of value.entries()) visitStep(index, item, walk);
}

function visitStep(step: string | number, value: unknown, walk: InspectionState): void {
  walk.path.push(step);
  visit(value, walk);
  walk.path.pop();
}

function visitMember(key: string, value: unknown, walk: InspectionState): void {
  walk.keys += 1;
  walk.path.push(key);
  if (key === '__proto__') refuse(walk, 'reserved-key', 'The key "__proto__" is reserved');
  if (walk.checkStrings) checkText(key, 'The key', walk);
  visit(value, walk);
  walk.path.pop();
}

function visitString(value: string, walk: InspectionState): void {
  if (walk.checkStrings) checkText(value, 'The string', walk);
}

/** `1e999` is valid JSON, but JavaScript has no such number. */
function visitNumber(value: number, walk: InspectionState): void {
  if (!Number.isFinite(value)) refuse(walk, 'number-range', 'The number is too large');
}

function checkText(text: string, what: string, walk: InspectionState): void {
  if (text.includes('\0')) refuse(walk, 'nul-character', `${what} contains U+0000, which cannot be stored`);
  if (!text.isWellFormed())
    refuse(walk, 'lone-surrogate', `${what} contains half of a surrogate pair; it must be well-formed Unicode`);
}

function refuse(walk: InspectionState, code: string, message: string): void {
  walk.faults.push({ pointer: pointer(walk.path), code, message });
}

// Limits of a body besides its bytes: a small body can be expensive to check.

export interface TextLimits {
  /** Levels of objects and arrays. */
  readonly bodyDepth: number;
  /** Keys, at all levels. */
  readonly bodyKeys: number;
  /** Items of one array. */
  readonly bodyItems: number;
}

export function refuseTooMuch(found: Omit<TextLimits, 'bodyDepth'>, limits: TextLimits): void {
  if (found.bodyKeys > limits.bodyKeys) throw tooMuch(`${found.bodyKeys} keys`, limits.bodyKeys);
  if (found.bodyItems > limits.bodyItems) throw tooMuch(`an array of ${found.bodyItems} items`, limits.bodyItems);
}

const tooMuch = (what: string, limit: number): Problem =>
  new Problem('content-too-large', `The body has ${what}; at most ${limit} are allowed`);

/** For a body that is refused before all of it has arrived. */
export const tooManyKeys = (limit: number): Problem => tooMuch(`more than ${limit} keys`, limit);
