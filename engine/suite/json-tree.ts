/** JSON that keeps how it was written: read into a tree, and written with exact texts in it. The suites share no parser with the service. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts';

/** A value in an answer. */
export interface Tree {
  /** Exactly as it stands there. */
  readonly text: string;
  /** Of a member: its key in quotes. */
  readonly name?: string;
  readonly items?: readonly Tree[];
  /** By key, in order. */
  readonly members?: ReadonlyMap<string, Tree>;
}

interface Tokens {
  readonly text: string;
  readonly all: readonly RegExpExecArray[];
  next: number;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/g;

/** undefined where the text is not JSON. */
export function readJson(text: string): Tree | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return readTree({ text, all: [...text.matchAll(TOKEN)], next: 0 });
}

const peek = ({ all, next }: Tokens): string => all[next]?.[0] ?? '';
const placeOf = ({ all, text }: Tokens, at: number): number => all[at]?.index ?? text.length;

function readTree(tokens: Tokens): Tree {
  const start = placeOf(tokens, tokens.next);
  const open = peek(tokens);
  tokens.next += 1;
  const parts = open === '{' ? { members: readMembers(tokens) } : open === '[' ? { items: readItems(tokens) } : {};
  const last = tokens.all[tokens.next - 1];
  return { text: tokens.text.slice(start, (last?.index ?? 0) + (last?.[0].length ?? 0)), ...parts };
}

function readMembers(tokens: Tokens): ReadonlyMap<string, Tree> {
  const members = new Map<string, Tree>();
  while (peek(tokens) !== '}') {
    const name = peek(tokens);
    tokens.next += 2;
    members.set(String(JSON.parse(name)), { ...readTree(tokens), name });
    if (peek(tokens) === ',') tokens.next += 1;
  }
  tokens.next += 1;
  return members;
}

function readItems(tokens: Tokens): readonly Tree[] {
  const items: Tree[] = [];
  while (peek(tokens) !== ']') {
    items.push(readTree(tokens));
    if (peek(tokens) === ',') tokens.next += 1;
  }
  tokens.next += 1;
  return items;
}

/** A value that stands for exactly this text. */
export const raw = (text: string): JsonObject => ({ $json: text });

/** The exact text that a value stands for, if it does. */
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

/** The members of a body, in the order in which they are sent. */
export function entriesOf(body: JsonObject): readonly (readonly [key: string, value: JsonValue])[] {
  const last = keysOf(body);
  const first = Object.keys(body).filter((key) => key !== '$keys' && !last.includes(key));
  return [...first, ...last].map((key) => [key, body[key] ?? null]);
}

/** The keys of an object whose order matters. */
export function keysOf(body: JsonObject): readonly string[] {
  const { $keys: keys } = body;
  return Array.isArray(keys) ? keys.map(String).filter((key) => Object.hasOwn(body, key)) : [];
}
