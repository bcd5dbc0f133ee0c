/** JSON: pointers, a one-pass parser that can keep raw values, merge patch, and the order of faults in a body. */
import { isDeepStrictEqual } from 'node:util';
import { memoized } from '../memo.ts';
import { shortened } from '../names.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** RFC 6901: `/a~1b/0` for `['a/b', 0]`; the empty string for the whole. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${escapeStep(step)}`).join('');
}

export function escapeStep(step: string | number): string {
  const text = String(step);
  // Optimized: every key of every write needs this.
  return text.includes('/') || text.includes('~') ? text.replaceAll('~', '~0').replaceAll('/', '~1') : text;
}

/** The pointer and its ancestors: `/a/0` and `/a` for `/a/0`. */
export function enclosing(start: string): readonly string[] {
  const pointers: string[] = [];
  for (let rest = start; rest !== ''; rest = rest.slice(0, rest.lastIndexOf('/'))) pointers.push(rest);
  return pointers;
}

export const unescapedSteps = (text: string): readonly string[] => text.split('/').slice(1).map(unescapedStep);

export const unescapedStep = (step: string): string =>
  step.includes('~') ? step.replaceAll('~1', '/').replaceAll('~0', '~') : step;

export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

export interface TextLimits {
  readonly bodyKeys: number;
  readonly bodyDepth: number;
  readonly bodyItems: number;
}

/** The members of each object that are stored as raw JSON, by key. */
export type RawValues = ReadonlyMap<JsonObject, RawMembers>;
export type RawMembers = ReadonlyMap<string, RawMember>;

export const NO_RAW_VALUES: RawValues = new Map();

export interface RawMember {
  /** The key, with quotes and escapes. */
  readonly name: string;
  /** The value, without insignificant white space. */
  readonly text: string;
}

/** Selects the members to keep raw: `text`: the whole member; undefined: nothing in it. */
export interface KeptMembers {
  of(key: string): 'text' | KeptMembers | undefined;
}

export type JsonPath = readonly (string | number)[];

interface ReadingOptions {
  readonly limits: TextLimits;
  /** Applies to the object, or to each object of the array; `text` keeps everything. */
  readonly kept?: 'text' | KeptMembers | undefined;
  readonly what?: string;
  readonly number?: (text: string) => JsonValue;
  /** Whether a path has an integer. Numbers there that are rounded to integers stay text, which no validator accepts. */
  readonly takesInteger?: (path: JsonPath) => boolean;
}

interface JsonText {
  readonly value: JsonValue;
  /** The raw JSON with `kept: 'text'`, else empty. */
  readonly text: string;
  readonly keys: number;
  readonly raw: RawValues;
  readonly faults: readonly Fault[];
}

/** Objects and arrays per allowed key: `[]` takes far more memory than its two characters. */
const CONTAINERS = 5;

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

export const readJson = (text: string, options: ReadingOptions): JsonText => new Tokenizer(text, options).read();

export function readObject(
  text: string,
  options: ReadingOptions & { readonly what: string },
): Omit<JsonText, 'value'> & { readonly object: JsonObject } {
  const { value, ...rest } = readJson(text, options);
  if (isObject(value)) return { object: value, ...rest };
  const message = `${options.what} must be a JSON object, not ${kindOf(value)}`;
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}

class Tokenizer {
  readonly #text: string;
  readonly #options: ReadingOptions;
  readonly #limits: TextLimits;
  readonly #what: string;
  readonly #path: (string | number)[] = [];
  readonly #faults: Fault[] = [];
  #raw: Map<JsonObject, RawMembers> | undefined;
  #at = 0;
  #keys = 0;
  #containers = 0;
  #isKept = false;
  /** The raw JSON so far, and the index where it continues. */
  #kept = '';
  #keptTo = 0;

  constructor(text: string, options: ReadingOptions) {
    this.#text = text;
    this.#options = options;
    this.#limits = options.limits;
    this.#what = options.what ?? 'The body';
  }

  read(): JsonText {
    const { kept } = this.#options;
    const value = kept === 'text' ? this.#keep() : this.#value(kept);
    const text = this.#kept;
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected('the end of the text');
    return { value, text, keys: this.#keys, raw: this.#raw ?? NO_RAW_VALUES, faults: this.#faults };
  }

  #value(kept: KeptMembers | undefined): JsonValue {
    this.#skipSpace();
    const first = this.#text.charCodeAt(this.#at);
    if (first === QUOTE) return this.#string('The string');
    if (first === OPEN_OBJECT) return this.#object(kept);
    if (first === OPEN_ARRAY) return this.#array(kept);
    return this.#scalar();
  }

  /** Keeps a value's raw JSON, without insignificant white space. */
  #keep(): JsonValue {
    this.#skipSpace();
    this.#kept = '';
    this.#keptTo = this.#at;
    this.#isKept = true;
    const value = this.#value(undefined);
    this.#isKept = false;
    this.#kept += this.#text.slice(this.#keptTo, this.#at);
    return value;
  }

  #object(kept: KeptMembers | undefined): JsonObject {
    this.#open();
    const object: Record<string, JsonValue> = {};
    let members: Map<string, RawMember> | undefined;
    if (this.#take(CLOSE_OBJECT)) return object;
    do {
      this.#skipSpace();
      const start = this.#at;
      if (this.#text.charCodeAt(start) !== QUOTE) throw this.#unexpected('a key in double quotes');
      const key = this.#string('The key');
      const end = this.#at;
      if (!this.#take(COLON)) throw this.#unexpected('":"');
      this.#path.push(key);
      if (Object.hasOwn(object, key)) throw this.#fault(`the key ${JSON.stringify(shortened(key))} is repeated`, start);
      this.#keys += 1;
      if (this.#keys > this.#limits.bodyKeys) throw this.#tooMuch(`more than ${this.#limits.bodyKeys} keys`);
      const keeping = kept?.of(key);
      if (keeping === 'text') {
        object[key] = this.#keep();
        members ??= new Map();
        members.set(key, { name: this.#text.slice(start, end), text: this.#kept });
      } else if (key === '__proto__') {
        this.#refuse('reserved-key', 'The key "__proto__" is reserved');
        Object.defineProperty(object, key, { value: this.#value(keeping), enumerable: true });
      } else object[key] = this.#value(keeping);
      this.#path.pop();
    } while (this.#take(COMMA));
    if (!this.#take(CLOSE_OBJECT)) throw this.#unexpected('"," or "}"');
    if (members) {
      this.#raw ??= new Map();
      this.#raw.set(object, members);
    }
    return object;
  }

  #array(kept: KeptMembers | undefined): readonly JsonValue[] {
    this.#open();
    const items: JsonValue[] = [];
    if (this.#take(CLOSE_ARRAY)) return items;
    const { bodyItems } = this.#limits;
    do {
      if (items.length === bodyItems) throw this.#tooMuch(`an array of more than ${bodyItems} items`);
      this.#path.push(items.length);
      items.push(this.#value(kept));
      this.#path.pop();
    } while (this.#take(COMMA));
    if (!this.#take(CLOSE_ARRAY)) throw this.#unexpected('"," or "]"');
    return items;
  }

  #open(): void {
    const { bodyDepth } = this.#limits;
    if (this.#path.length >= bodyDepth)
      throw this.#fault(`arrays and objects are nested deeper than ${bodyDepth} levels`, this.#at);
    this.#containers += 1;
    const most = CONTAINERS * this.#limits.bodyKeys;
    if (this.#containers > most) throw this.#tooMuch(`more than ${most} objects and arrays`);
    this.#at += 1;
  }

  #string(role: 'The key' | 'The string'): string {
    const start = this.#at;
    let at = start + 1;
    let isPlain = true;
    for (let code = this.#text.charCodeAt(at); code !== QUOTE; code = this.#text.charCodeAt(at)) {
      if (code === BACKSLASH) {
        isPlain = false;
        ESCAPE.lastIndex = at;
        if (!ESCAPE.test(this.#text)) throw this.#fault('a string has an unknown escape', at);
        at = ESCAPE.lastIndex;
      } else if (code >= SPACE) at += 1;
      else if (Number.isNaN(code)) throw this.#fault('a string does not end', start);
      else throw this.#fault('a control character in a string must be escaped', at);
    }
    this.#at = at + 1;
    if (isPlain) return this.#text.slice(start + 1, at);
    const value = String(JSON.parse(this.#text.slice(start, at + 1)));
    // Only escapes can encode U+0000 or half a surrogate pair: other strings need no check.
    const fault = textFault(value, role);
    if (fault) this.#refuse(...fault, role === 'The key' ? [...this.#path, value] : this.#path);
    return value;
  }

  #scalar(): JsonValue {
    SCALAR.lastIndex = this.#at;
    if (!SCALAR.test(this.#text)) throw this.#unexpected('a value');
    const text = this.#text.slice(this.#at, SCALAR.lastIndex);
    this.#at = SCALAR.lastIndex;
    if (text === 'null') return null;
    if (text === 'true' || text === 'false') return text === 'true';
    if (this.#options.number) return this.#options.number(text);
    const value = Number(text);
    // `1e999` is valid JSON, but parsed as Infinity.
    if (!Number.isFinite(value) && !this.#isKept) this.#refuse('number-range', 'The number is too large');
    const isRounded = Number.isInteger(value) && !isWhole(text);
    return isRounded && this.#options.takesInteger?.(this.#path) ? text : value;
  }

  #take(wanted: number): boolean {
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== wanted) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    const start = this.#at;
    let at = start;
    for (let code = this.#text.charCodeAt(at); code <= SPACE; code = this.#text.charCodeAt(at)) {
      if (code !== SPACE && code !== NEWLINE && code !== RETURN && code !== TAB) break;
      at += 1;
    }
    if (at === start) return;
    this.#at = at;
    if (!this.#isKept) return;
    this.#kept += this.#text.slice(this.#keptTo, start);
    this.#keptTo = at;
  }

  #refuse(code: string, message: string, at: readonly (string | number)[] = this.#path): void {
    this.#faults.push({ pointer: pointer(at), code, message });
  }

  #tooMuch(what: string): Problem {
    return new Problem('content-too-large', `${this.#what} has ${what}; send it in parts`);
  }

  #unexpected(expected: string): Problem {
    const next = this.#text.codePointAt(this.#at);
    const found = next === undefined ? 'the text ends' : `found ${JSON.stringify(String.fromCodePoint(next))}`;
    return this.#fault(`expected ${expected}, ${found}`, this.#at);
  }

  #fault(message: string, at: number): Problem {
    return invalidJson(`${this.#what} is not valid JSON: ${message}, at ${this.#locationOf(at)}`, pointer(this.#path));
  }

  /** Only bodies and multiline input have line numbers: other input is part of a body. */
  #locationOf(at: number): string {
    const before = this.#text.slice(0, at);
    const column = `column ${at - before.lastIndexOf('\n')}`;
    return this.#what === 'The body' || this.#text.includes('\n')
      ? `line ${before.split('\n').length}, ${column}`
      : column;
  }
}

export const invalidJson = (message: string, at = ''): Problem =>
  new Problem('invalid-json', message, { errors: [{ pointer: at, code: 'invalid-json', message }] });

export function textFault(text: string, what: string): [code: string, message: string] | undefined {
  if (text.includes('\0')) return ['nul-character', `${what} contains U+0000, which cannot be stored`];
  if (text.isWellFormed()) return undefined;
  return ['lone-surrogate', `${what} contains half of a surrogate pair; it must be well-formed Unicode`];
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

export function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw invalidJson('The body is empty; expected a JSON object');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw invalidJson('The body is not valid UTF-8');
  }
}

export const kindOf = (value: unknown): string =>
  Array.isArray(value)
    ? 'an array'
    : value === null
      ? 'null'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;

// Stored JSON, which other programs may have made invalid.

const STORED: ReadingOptions = {
  limits: { bodyDepth: Infinity, bodyKeys: Infinity, bodyItems: Infinity },
  kept: { of: () => 'text' },
};

function readStored(text: string, options: ReadingOptions): JsonText | undefined {
  try {
    return readJson(text, options);
  } catch {
    return undefined;
  }
}

export function membersOf(text: string): RawMembers {
  const [members = new Map()] = readStored(text, STORED)?.raw.values() ?? [];
  return text.trimStart().startsWith('{') ? members : new Map();
}

export const rawObject = (members: Iterable<RawMember>): string =>
  `{${Array.from(members, ({ name, text }) => `${name}:${text}`).join(',')}}`;

/** JSON Merge Patch (RFC 7396): members not in the patch keep their raw JSON and place. */
export function mergePatch(target: string | undefined, patch: string): string {
  if (!patch.startsWith('{')) return patch;
  const members = new Map(membersOf(target ?? ''));
  for (const [key, change] of membersOf(patch)) {
    const before = members.get(key);
    if (change.text === 'null') members.delete(key);
    else members.set(key, { name: before?.name ?? change.name, text: mergePatch(before?.text, change.text) });
  }
  return rawObject(members.values());
}

/** Whether the values are equal, ignoring key order, escapes and number notation. */
export function sameValue(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [a, b].map((text) => readStored(text, COMPARED));
  return one !== undefined && other !== undefined && isDeepStrictEqual(one.value, other.value);
}

/** Compares numbers as strings with U+0000, which no JSON string here contains. */
const COMPARED: ReadingOptions = { ...STORED, kept: undefined, number: (text) => `\0${canonicalNumber(text)}` };

const NUMBER_PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER_PARTS.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  if (end === 0) return '0';
  // Exact arithmetic is impossible: only identical strings are equal.
  if (!Number.isSafeInteger(Number(exponent))) return text;
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

/** Whether a JSON number is an integer, such as `77.0` and `7.8e1`; JavaScript rounds `4503599627370497.5` to one. */
export const isWhole = (text: string): boolean => /^-?\d+$/.test(text) || !/e-/i.test(canonicalNumber(text));

/** Sorts faults as in the body, missing keys last, one per location and all unmet checks. `at`: the body's pointer. */
export function inDocumentOrder(faults: readonly Fault[], body: JsonValue, at = ''): readonly Fault[] {
  if (faults.length < 2) return faults;
  /** A sort key for the location: it sorts before locations inside it. */
  const orderOf = (location: string): string => {
    let value: unknown = body;
    const indexes = unescapedSteps(location.slice(at.length)).map((step) => {
      const index = typeof value === 'object' && value !== null ? indexesOf(value).get(step) : undefined;
      value = index === undefined ? undefined : Reflect.get(value as object, step);
      return index === undefined ? '~' : String(index).padStart(8, '0');
    });
    return indexes.join('');
  };
  const located = [...Map.groupBy(faults, pointerOf)].map(([location, all]) => ({ order: orderOf(location), all }));
  return located
    .toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)))
    .flatMap(({ all }) => (all[0]?.code === 'check' ? all.filter(({ code }) => code === 'check') : all.slice(0, 1)));
}

const indexesOf = memoized((value: object) => new Map(Object.keys(value).map((key, index) => [key, index])));

const pointerOf = (fault: Fault): string => ('pointer' in fault ? fault.pointer : '');

export const onePerLocation = (faults: readonly Fault[]): readonly Fault[] =>
  [...Map.groupBy(faults, pointerOf).values()].flatMap((all) => all.slice(0, 1));
