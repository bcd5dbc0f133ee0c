/** Raw JSON: members of stored objects, merge patch, and equality. */
import { isDeepStrictEqual } from 'node:util';
import { attempted } from '../problem.ts';
import { canonicalNumber } from './json.ts';
import { type JsonText, type RawMember, type RawMembers, readJson, type ReadingOptions } from './tokenizer.ts';

// Stored JSON, which other programs may have made invalid.

const STORED: ReadingOptions = {
  limits: { bodyDepth: Infinity, bodyKeys: Infinity, bodyItems: Infinity },
  kept: { of: () => 'text' },
};

const readStored = (text: string, options: ReadingOptions): JsonText | undefined =>
  attempted(() => readJson(text, options));

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
