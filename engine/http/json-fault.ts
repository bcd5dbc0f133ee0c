/** Where and why a text is not JSON, is nested too deep, or names a key twice. It only runs to explain a refusal. */
import { pointer } from '../json.ts';
import { shortened } from '../names.ts';

interface JsonTextFault {
  readonly pointer: string;
  readonly message: string;
}

interface JsonReading {
  readonly text: string;
  readonly maxDepth: number;
  at: number;
}

type JsonPath = readonly (string | number)[];

class JsonFault extends Error {
  readonly path: JsonPath;
  readonly at: number;

  constructor(message: string, path: JsonPath, at: number) {
    super(message);
    this.path = path;
    this.at = at;
  }
}

/** The first fault of the text, or undefined if it has none. `isPart`: of what has lines of its own, which the reader counts. */
export function textFault(text: string, maxDepth: number, isPart = false): JsonTextFault | undefined {
  const reading = { text, maxDepth, at: 0 };
  try {
    readValue(reading, []);
    if (!atEnd(reading)) throw unexpected(reading, 'the end of the text', []);
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { pointer: pointer(error.path), message: `${error.message}, at ${place(text, error.at, isPart)}` };
  }
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function readValue(reading: JsonReading, path: JsonPath): void {
  skipSpace(reading);
  const first = reading.text[reading.at];
  if (first === '{') readObject(reading, path);
  else if (first === '[') readArray(reading, path);
  else if (first === '"') readString(reading, path);
  else if (!takeMatch(reading, SCALAR)) throw unexpected(reading, 'a value', path);
}

function readObject(reading: JsonReading, path: JsonPath): void {
  open(reading, path);
  const keys = new Set<string>();
  if (take(reading, '}')) return;
  do {
    skipSpace(reading);
    const start = reading.at;
    const key = readString(reading, path, 'a key in double quotes');
    if (keys.has(key))
      throw new JsonFault(`the key ${JSON.stringify(shortened(key))} is repeated`, [...path, key], start);
    keys.add(key);
    if (!take(reading, ':')) throw unexpected(reading, '":"', path);
    readValue(reading, [...path, key]);
  } while (take(reading, ','));
  if (!take(reading, '}')) throw unexpected(reading, '"," or "}"', path);
}

function readArray(reading: JsonReading, path: JsonPath): void {
  open(reading, path);
  if (take(reading, ']')) return;
  let index = 0;
  do readValue(reading, [...path, index++]);
  while (take(reading, ','));
  if (!take(reading, ']')) throw unexpected(reading, '"," or "]"', path);
}

function open(reading: JsonReading, path: JsonPath): void {
  if (path.length >= reading.maxDepth) throw tooDeep(reading.maxDepth, path, reading.at);
  reading.at += 1;
}

const tooDeep = (maxDepth: number, path: JsonPath, at: number): JsonFault =>
  new JsonFault(`arrays and objects are nested deeper than ${maxDepth} levels`, path, at);

/** A quote, a backslash, or a control character. */
const STRING_STOP = /["\\]|[^ -\uffff]/g;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function readString(reading: JsonReading, path: JsonPath, expected = 'a value'): string {
  const start = reading.at;
  if (!take(reading, '"')) throw unexpected(reading, expected, path);
  for (let stop = nextStop(reading); stop !== '"'; stop = nextStop(reading)) {
    if (stop === undefined) throw new JsonFault('a string does not end', path, start);
    if (stop !== '\\') throw new JsonFault('a control character in a string must be escaped', path, reading.at);
    if (!takeMatch(reading, ESCAPE)) throw new JsonFault('a string has an unknown escape', path, reading.at);
  }
  reading.at += 1;
  return String(JSON.parse(reading.text.slice(start, reading.at)));
}

/** Goes to the next character that ends a string, begins an escape, or must be escaped. */
function nextStop(reading: JsonReading): string | undefined {
  STRING_STOP.lastIndex = reading.at;
  const match = STRING_STOP.exec(reading.text);
  if (match !== null) reading.at = match.index;
  return match?.[0];
}

function takeMatch(reading: JsonReading, token: RegExp): boolean {
  token.lastIndex = reading.at;
  const match = token.exec(reading.text);
  reading.at += match?.[0].length ?? 0;
  return match !== null;
}

function take(reading: JsonReading, character: string): boolean {
  skipSpace(reading);
  if (reading.text[reading.at] !== character) return false;
  reading.at += 1;
  return true;
}

function skipSpace(reading: JsonReading): void {
  takeMatch(reading, /[ \t\n\r]*/y);
}

function atEnd(reading: JsonReading): boolean {
  skipSpace(reading);
  return reading.at === reading.text.length;
}

function unexpected(reading: JsonReading, expected: string, path: JsonPath): JsonFault {
  const next = reading.text.codePointAt(reading.at);
  const found = next === undefined ? 'the text ends' : `found ${JSON.stringify(String.fromCodePoint(next))}`;
  return new JsonFault(`expected ${expected}, ${found}`, path, reading.at);
}

function place(text: string, at: number, isPart: boolean): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = `column ${at - before.lastIndexOf('\n')}`;
  return isPart && !text.includes('\n') ? column : `line ${line}, ${column}`;
}
