/** Reads JSON text without parsing its values, so that they can be stored as they were written. */
import type { JsonObject } from './json.ts';

/** The members to store as written: by record of a body, then by key in text order. */
export type RawValues = ReadonlyMap<JsonObject, RawMembers>;
export type RawMembers = ReadonlyMap<string, RawMember>;

export const NO_RAW_VALUES: RawValues = new Map();

/** A position in a text that is known to be valid JSON. */
export interface RawReading {
  readonly text: string;
  at: number;
  /** Whether there was white space between tokens. */
  spaced: boolean;
}

/** A member of an object, as written. */
export interface RawMember {
  /** The key with its quotes and escapes. */
  readonly name: string;
  /** The value, without white space between its tokens. */
  readonly text: string;
}

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const isSpace = (code: number): boolean => code === SPACE || code === NEWLINE || code === RETURN || code === TAB;
const opens = (code: number): boolean => code === OPEN_OBJECT || code === OPEN_ARRAY;
const closes = (code: number): boolean => code === CLOSE_OBJECT || code === CLOSE_ARRAY;

/** Index of the closing quote of the string that starts at `start`, or -1. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Index after the string; the end of the text if the string is cut off. */
function afterString(text: string, start: number): number {
  const end = stringEnd(text, start);
  return end === -1 ? text.length : end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** A reading at the first value of the text. */
export function readingOf(text: string): RawReading {
  const reading = { text, at: 0, spaced: false };
  skipSpace(reading);
  return reading;
}

function skipSpace(reading: RawReading): void {
  while (isSpace(reading.text.charCodeAt(reading.at))) reading.at += 1;
}

/** Moves past the value at the current position. */
export function skipValue(reading: RawReading): void {
  const first = reading.text.charCodeAt(reading.at);
  if (first === QUOTE) reading.at = afterString(reading.text, reading.at);
  else if (opens(first)) skipContainer(reading);
  else skipScalar(reading);
}

function skipContainer(reading: RawReading): void {
  const { text } = reading;
  let { at, spaced } = reading;
  let depth = 0;
  do {
    const code = text.charCodeAt(at);
    if (code <= SPACE) spaced = true;
    else if (opens(code)) depth += 1;
    else if (closes(code)) depth -= 1;
    at = code === QUOTE ? afterString(text, at) : at + 1;
  } while (depth > 0 && at < text.length);
  reading.at = at;
  reading.spaced = spaced;
}

/** A number or literal ends at the next delimiter. */
function skipScalar(reading: RawReading): void {
  const { text } = reading;
  let { at } = reading;
  for (let code = text.charCodeAt(at); at < text.length; code = text.charCodeAt(at)) {
    if (code === COMMA || closes(code) || isSpace(code)) break;
    at += 1;
  }
  reading.at = at;
}

/** Returns the value at the current position without white space, and moves past it. */
export function takeValue(reading: RawReading): string {
  const start = reading.at;
  reading.spaced = false;
  skipValue(reading);
  const text = reading.text.slice(start, reading.at);
  return reading.spaced ? compact(text) : text;
}

/** Reads the object at the current position. `read` is called at each value and must move past it. */
export function readMembers(reading: RawReading, read: (key: string, name: string) => void): void {
  const { text } = reading;
  for (let more = enter(reading); more; more = next(reading)) {
    const start = reading.at;
    const end = afterString(text, start);
    reading.at = end;
    skipSpace(reading);
    reading.at += 1;
    skipSpace(reading);
    const name = text.slice(start, end);
    read(keyOf(name), name);
  }
}

/** The same for an array. */
export function readItems(reading: RawReading, read: (index: number) => void): void {
  let index = 0;
  for (let more = enter(reading); more; more = next(reading)) read(index++);
}

const keyOf = (name: string): string => (name.includes('\\') ? String(JSON.parse(name)) : name.slice(1, -1));

/** Moves to the first member or item; if there is none, moves past the container and returns false. */
function enter(reading: RawReading): boolean {
  reading.at += 1;
  skipSpace(reading);
  if (!closes(reading.text.charCodeAt(reading.at))) return true;
  reading.at += 1;
  return false;
}

/** Moves past the comma and returns true, or past the container and returns false. */
function next(reading: RawReading): boolean {
  skipSpace(reading);
  const more = reading.text.charCodeAt(reading.at) === COMMA;
  reading.at += 1;
  if (more) skipSpace(reading);
  return more;
}

/** The members of an object, by key. */
export function membersOf(text: string): Map<string, RawMember> {
  const members = new Map<string, RawMember>();
  const reading = readingOf(text);
  readMembers(reading, (key, name) => members.set(key, { name, text: takeValue(reading) }));
  return members;
}

/** The text of an object with these members. */
export const rawObject = (members: Iterable<RawMember>): string =>
  `{${Array.from(members, ({ name, text }) => `${name}:${text}`).join(',')}}`;

/** Removes white space around and between tokens. */
export function compact(text: string): string {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) {
      if (at > start) parts.push(text.slice(start, at));
      start = at + 1;
    }
    at = code === QUOTE ? afterString(text, at) : at + 1;
  }
  parts.push(text.slice(start));
  return parts.join('');
}

/** Whether two texts are the same value, whatever the order of keys, the escapes and the notation of numbers. */
export const sameValue = (a: string, b: string): boolean => a === b || canonical(a) === canonical(b);

const canonical = (text: string): string => canonicalValue(readingOf(text));

function canonicalValue(reading: RawReading): string {
  const first = reading.text.charCodeAt(reading.at);
  if (first === OPEN_OBJECT) return canonicalObject(reading);
  if (first === OPEN_ARRAY) return canonicalArray(reading);
  const text = takeValue(reading);
  if (first === QUOTE) return text.includes('\\') ? JSON.stringify(JSON.parse(text)) : text;
  return canonicalNumber(text);
}

function canonicalObject(reading: RawReading): string {
  const members: (readonly [key: string, text: string])[] = [];
  readMembers(reading, (key) => members.push([key, canonicalValue(reading)]));
  const inOrder = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${inOrder.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

function canonicalArray(reading: RawReading): string {
  const items: string[] = [];
  readItems(reading, () => items.push(canonicalValue(reading)));
  return `[${items.join(',')}]`;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits without leading and trailing zeros, and the exponent. `true`, `false` and `null` are returned unchanged. */
function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (whole === '') return text;
  const digits = whole + fraction;
  let from = 0;
  let to = digits.length;
  while (digits[from] === '0') from += 1;
  if (from === to) return '0';
  while (digits[to - 1] === '0') to -= 1;
  // An exponent too large for exact arithmetic is kept: the number only equals the same text.
  if (!Number.isSafeInteger(Number(exponent))) return text;
  return `${sign}${digits.slice(from, to)}e${Number(exponent) - fraction.length + digits.length - to}`;
}
