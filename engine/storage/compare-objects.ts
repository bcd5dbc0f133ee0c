/** What belongs to a table against what should: the differences, in words. */
import { isDeepStrictEqual } from 'node:util';

/** Columns, keys, indexes and whatever else, by what people call them. */
export type Objects = ReadonlyMap<string, unknown>;

export function compareObjects(expected: Objects, found: Objects): readonly string[] {
  if (found.size === 0) return ['it is missing'];
  const names = new Set([...expected.keys(), ...found.keys()]);
  return [...names].flatMap((name) => {
    if (!found.has(name)) return `${name} is missing`;
    if (!expected.has(name)) return `${name} is there besides`;
    return isDeepStrictEqual(expected.get(name), found.get(name)) ? [] : `${name} is another one`;
  });
}
