/** From bytes to an object that may be validated: JSON in UTF-8, each key once, not too deep, clean strings. */
import { isObject, type JsonObject, type JsonValue, pointer, unescapedSteps } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import {
  hasEscapedKey,
  NO_RAW_VALUES,
  parseValue,
  readItems,
  type RawMember,
  type RawReading,
  type RawValues,
  readingOf,
  readMembers,
  skipValue,
  takeValue,
} from '../raw-json.ts';
import type { Content } from './content.ts';
import { textFault } from './json-fault.ts';

export interface Body {
  readonly body: JsonObject;
  /** Empty if a body parser in front has left nothing but values. */
  readonly raw: RawValues;
}

export function bodyParser(type: RecordType, limits: BodyLimits): (content: Content) => Body {
  const readRaw = rawReader(type);
  const isFault = ({ code, ...fault }: Fault): boolean =>
    code !== 'number-range' || !('pointer' in fault) || !isKept(type, unescapedSteps(fault.pointer));
  return (content) => {
    if ('parsed' in content) return { body: inspected(content.parsed, true, limits).value, raw: NO_RAW_VALUES };
    const text = decode(content);
    const { value, keys } = readText(text, limits, isFault);
    const raw = readRaw(text, value);
    if (keys !== raw.keys) throw textProblem(text, limits);
    return { body: value, raw: raw.values };
  };
}

type IsFault = (fault: Fault) => boolean;

interface Inspected {
  readonly value: JsonObject;
  readonly keys: number;
}

function readText(text: string, limits: BodyLimits, isFault: IsFault, what = BODY): Inspected {
  const parsed = parse(text, limits, what);
  // Only an escape can bring a lone surrogate or U+0000 into a string: neither is UTF-8, or JSON, as it stands.
  return inspected(parsed, text.includes('\\u'), limits, isFault, what);
}

/** The object in a text that is not a body; messages call it `what`. */
export function parseText(text: string, limits: BodyLimits, isFault: IsFault, what: string): JsonObject {
  const { value, keys } = readText(text, limits, isFault, what);
  const reading = readingOf(text);
  skipValue(reading);
  if (keys !== reading.keys) throw textProblem(text, limits, what);
  return value;
}

const BODY = 'The body';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw jsonProblem('The body is empty; expected a JSON object');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw jsonProblem('The body is not valid UTF-8');
  }
}

function parse(text: string, limits: BodyLimits, what: string): unknown {
  const parsed = parseNatively(text, limits, what);
  if (!hasEscapedKey(text)) return parsed;
  if (textFault(text, limits.bodyDepth)) throw textProblem(text, limits, what);
  return parseValue(readingOf(text));
}

function parseNatively(text: string, limits: BodyLimits, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw textProblem(text, limits, what);
  }
}

function inspected(
  parsed: unknown,
  checkStrings: boolean,
  limits: BodyLimits,
  isFault: IsFault = () => true,
  what = BODY,
): Inspected {
  const { faults: found, keys, items, tooDeep } = inspect(parsed, checkStrings, limits.bodyDepth);
  if (tooDeep) throw jsonProblem(`${what} is nested deeper than ${limits.bodyDepth} levels`);
  refuseTooMuch({ bodyKeys: keys, bodyItems: items }, limits);
  const faults = found.filter(isFault);
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  if (isObject(parsed)) return { value: parsed, keys };
  const message = `${what} must be a JSON object, not ${kindOf(parsed)}`;
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;

function textProblem(text: string, { bodyDepth }: BodyLimits, what = BODY): Problem {
  const fault = textFault(text, bodyDepth);
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

export interface BodyLimits {
  /** Levels of objects and arrays. */
  readonly bodyDepth: number;
  /** Keys, at all levels. */
  readonly bodyKeys: number;
  /** Items of one array. */
  readonly bodyItems: number;
}

function refuseTooMuch(found: Omit<BodyLimits, 'bodyDepth'>, limits: BodyLimits): void {
  if (found.bodyKeys > limits.bodyKeys) throw tooMuch(`${found.bodyKeys} keys`, limits.bodyKeys);
  if (found.bodyItems > limits.bodyItems) throw tooMuch(`an array of ${found.bodyItems} items`, limits.bodyItems);
}

const tooMuch = (what: string, limit: number): Problem =>
  new Problem('content-too-large', `The body has ${what}; at most ${limit} are allowed`);

/** For a body that is refused before all of it has arrived. */
export const tooManyKeys = (limit: number): Problem => tooMuch(`more than ${limit} keys`, limit);

// Values that are stored as they were written, and their texts.

interface RawBody {
  readonly values: RawValues;
  /** How many keys the text names. */
  readonly keys: number;
}

interface Scan extends RawReading {
  readonly values: Map<JsonObject, Map<string, RawMember>>;
}

/** Reads the texts in a body of the type, which is valid JSON. Types that cannot hold such values are skipped. */
function rawReader(type: RecordType): (text: string, body: JsonValue) => RawBody {
  let keeps: boolean | undefined;
  return (text, body) => {
    keeps ??= mayKeep(type);
    const reading = readingOf(text);
    if (!keeps || !isObject(body)) {
      skipValue(reading);
      return { values: NO_RAW_VALUES, keys: reading.keys };
    }
    const scan: Scan = Object.assign(reading, { values: new Map() });
    readRecord(scan, type, body);
    return scan;
  };
}

/** Whether a body of the type can hold such a value, itself or in nested records. */
function mayKeep(root: RecordType): boolean {
  const types = new Set([root]);
  for (const { open, fields, relations } of types) {
    if (open || [...fields.values()].some((field) => field.type.keepsText)) return true;
    for (const { target } of relations.values()) types.add(target);
  }
  return false;
}

function readRecord(scan: Scan, type: RecordType, record: JsonObject): void {
  readMembers(scan, (key, name) => {
    const relation = type.relations.get(key);
    if (relation) readRelated(scan, relation.target, record[key]);
    else if (keepsText(type, key)) keep(scan, record, key, name);
    else skipValue(scan);
  });
}

/** A field that keeps text, or a key of an open type that is not a field. */
function keepsText(type: RecordType, key: string): boolean {
  const field = type.fields.get(key);
  if (field) return field.type.keepsText === true;
  return type.open && !(type.identifier.inRecord && key === type.identifier.name);
}

function keep(scan: Scan, record: JsonObject, key: string, name: string): void {
  const members = scan.values.get(record) ?? new Map<string, RawMember>();
  scan.values.set(record, members);
  members.set(key, { name, text: takeValue(scan) });
}

/** Any value other than a record or a set of records is refused by the validator. */
function readRelated(scan: Scan, type: RecordType, value: JsonValue | undefined): void {
  const first = scan.text[scan.at];
  if (first === '{' && isObject(value)) readRecord(scan, type, value);
  else if (first === '[' && Array.isArray(value)) readItems(scan, (index) => readRelated(scan, type, value[index]));
  else skipValue(scan);
}

/** Whether the value at the steps of a pointer is kept as text. */
function isKept(type: RecordType, [key = '', ...rest]: readonly string[]): boolean {
  const relation = type.relations.get(key);
  if (!relation) return keepsText(type, key);
  return isKept(relation.target, relation.toMany ? rest.slice(1) : rest);
}
