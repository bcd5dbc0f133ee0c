/** JSON as cases hold it: with variables and exact texts in it, and read without losing how it was written. */
import { isObject, type JsonObject, type JsonValue, parsedJson } from '../../engine/json/json.ts';

export interface Tree {
  readonly text: string;
  /** Of a member: its key in quotes. */
  readonly name?: string;
  readonly items?: readonly Tree[];
  readonly members?: ReadonlyMap<string, Tree>;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g;

/** undefined where the text is not JSON. */
export function readJson(text: string): Tree | undefined {
  if (parsedJson(text) === undefined) return undefined;
  const tokens = [...text.matchAll(TOKEN)].map(({ index, 0: token }) => ({ index, token, end: index + token.length }));
  let next = 0;
  const peek = (): string => tokens[next]?.token ?? '';
  const read = (): Tree => {
    const [start, open] = [tokens[next]?.index, peek()];
    const [items, members]: [Tree[], Map<string, Tree>] = [[], new Map()];
    next += 1;
    const isOpen = (): boolean => (open === '{' && peek() !== '}') || (open === '[' && peek() !== ']');
    while (isOpen()) {
      const name = peek();
      if (open === '{') next += 2;
      if (open === '{') members.set(String(JSON.parse(name)), { ...read(), name });
      else items.push(read());
      if (peek() === ',') next += 1;
    }
    if (open === '{' || open === '[') next += 1;
    const parts = open === '{' ? { members } : open === '[' ? { items } : {};
    return { text: text.slice(start, tokens[next - 1]?.end), ...parts };
  };
  return read();
}

export const raw = (text: string): JsonObject => ({ $json: text });

export function rawText(value: JsonValue | undefined): string | undefined {
  const text = isObject(value) ? value['$json'] : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** A template that only this value fits: its members, or its text where JSON.stringify would write another one. */
export const valueOf = (tree: Tree): JsonValue =>
  tree.members ? Object.fromEntries([...tree.members].map(([key, member]) => [key, inside(member)])) : inside(tree);

function inside({ text, items, members }: Tree): JsonValue {
  if (items || members) return raw(text);
  const value = JSON.parse(text) as JsonValue;
  return JSON.stringify(value) === text ? value : raw(text);
}

/** A body as it is sent: exact texts as they are, the keys of `$keys` last, in that order. */
export function writeJson(value: JsonValue): string {
  const text = rawText(value);
  if (text !== undefined) return text;
  if (Array.isArray(value)) return `[${value.map((item: JsonValue) => writeJson(item)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${entriesOf(value)
    .map(([key, item]) => `${JSON.stringify(key)}:${writeJson(item)}`)
    .join(',')}}`;
}

export function entriesOf(body: JsonObject): readonly (readonly [key: string, value: JsonValue])[] {
  const last = keysOf(body);
  const first = Object.keys(body).filter((key) => key !== '$keys' && !last.includes(key));
  return [...first, ...last].map((key) => [key, body[key] ?? null]);
}

export function keysOf(body: JsonObject): readonly string[] {
  const { $keys: keys } = body;
  return Array.isArray(keys) ? keys.map(String).filter((key) => Object.hasOwn(body, key)) : [];
}

export type Bindings = Map<string, JsonValue>;

const PLACEHOLDER = /\{([^{}]+)\}/g;

export const reference = (name: string): JsonObject => ({ $ref: name });

export function referenceName(value: JsonValue | undefined): string | undefined {
  const name = isObject(value) ? value['$ref'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

const TIME = /^(?:time|day) (\d+)$/;

/** Which request a variable for a time or a day stands for; undefined for any other value. */
export function timeNumber(value: JsonValue | undefined): number | undefined {
  const [, number] = TIME.exec(referenceName(value) ?? '') ?? [];
  return number === undefined ? undefined : Number(number);
}

const GIVEN = /:(uuid|string) (\d+)$/;

export const isGiven = (name: string): boolean => GIVEN.test(name);

/** What a client chose, as answers show it; undefined for any other variable. */
function givenValue(name: string): string | undefined {
  const [, kind, number] = GIVEN.exec(name) ?? [];
  if (number === undefined) return undefined;
  const digits = Number(number).toString(16).padStart(15, '0');
  return kind === 'uuid'
    ? `00000000-0000-4000-8${digits.slice(0, 3)}-${digits.slice(3)}`
    : `$é/%20 ${number.padStart(16, '0')}?#`;
}

export class Variables extends Map<string, JsonValue> {
  override get(name: string): JsonValue | undefined {
    const given = givenValue(name);
    return given ?? super.get(name);
  }
}

function bound(name: string, bindings: Bindings): JsonValue {
  const found = bindings.get(name);
  // Uuids are taken in either case.
  const value = isGiven(name) && name.includes(':uuid ') && name.endsWith('1') ? String(found).toUpperCase() : found;
  if (value === undefined) throw new Error(`the variable ${name} is not bound by an earlier answer`);
  return value;
}

export const fillPath = (path: string, bindings: Bindings): string =>
  path.replaceAll(PLACEHOLDER, (_, name: string) => encodeURIComponent(String(bound(name, bindings))));

export function fill(value: JsonValue, bindings: Bindings): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => fill(item, bindings));
  if (!isObject(value)) return value;
  const name = referenceName(value);
  if (name !== undefined) return bound(name, bindings);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, bindings)]));
}

/** Of version 7. */
const UUID = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** Variables for identifiers have a colon: `Order:1`. No two of one type stand for the same record. */
function isTaken(name: string, value: JsonValue, bindings: Bindings): boolean {
  const prefix = name.slice(0, name.indexOf(':') + 1);
  return [...bindings].some(([other, taken]) => taken === value && other.startsWith(prefix));
}

/** Binds a variable to what an answer shows, or says what was expected instead. */
export function bind(name: string, value: JsonValue, bindings: Bindings): string | undefined {
  if (name.includes(':')) {
    const isNew = name.includes(':made ')
      ? typeof value === 'string' && UUID.test(value)
      : Number.isSafeInteger(value) && Number(value) > 0;
    if (!isNew) return 'a new identifier';
    if (isTaken(name, value, bindings)) return 'an identifier that no other record has';
  }
  bindings.set(name, value);
  return undefined;
}
