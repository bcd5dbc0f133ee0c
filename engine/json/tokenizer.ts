/** Reads JSON in one pass, within limits: values, repeated keys, positions, and the raw JSON of chosen members. */
import { shortened } from '../names.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import { invalidJson, isObject, isWhole, type JsonObject, type JsonValue, kindOf, pointer, textFault } from './json.ts';

export interface TextLimits {
  readonly bodyKeys: number;
  readonly bodyDepth: number;
  readonly bodyItems: number;
}

/** How to read what is no request: records may come from a service with higher limits. */
export const WIDE = { limits: { bodyDepth: 1000, bodyKeys: Infinity, bodyItems: Infinity }, takesInteger: () => true };

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

export interface ReadingOptions {
  readonly limits: TextLimits;
  /** Applies to the object, or to each object of the array; `text` keeps everything. */
  readonly kept?: 'text' | KeptMembers | undefined;
  readonly what?: string;
  readonly number?: (text: string) => JsonValue;
  /** Whether a path has an integer. Numbers there that are rounded to integers stay text, which no validator accepts. */
  readonly takesInteger?: (path: JsonPath) => boolean;
}

export interface JsonText {
  readonly value: JsonValue;
  /** The raw JSON with `kept: 'text'`, else empty. */
  readonly text: string;
  readonly keys: number;
  readonly raw: Map<JsonObject, RawMembers>;
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
  readonly #raw = new Map<JsonObject, RawMembers>();
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
    return { value, text, keys: this.#keys, raw: this.#raw, faults: this.#faults };
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
    if (members) this.#raw.set(object, members);
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
    const actual = next === undefined ? 'the text ends' : `found ${JSON.stringify(String.fromCodePoint(next))}`;
    return this.#fault(`expected ${expected}, ${actual}`, this.#at);
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
