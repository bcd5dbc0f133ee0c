/** Compares an answered record with the specification's tables: each field there, of its JSON type, and nothing else. */
import { answered, OBJECTS, PARTIAL } from './specification.ts';

/** The relations that are shown, each with those shown inside it. */
export interface Include {
  readonly [relation: string]: Include;
}

/** The dot path of each relation of a tree: what `include=` takes, joined by commas. */
export const includePaths = (include: Include, prefix = ''): readonly string[] =>
  Object.entries(include).flatMap(([name, inner]) =>
    [`${prefix}${name}`].concat(includePaths(inner, `${prefix}${name}.`)),
  );

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const HOLDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  integer: (value) => Number.isSafeInteger(value),
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  'any[]': (value) => Array.isArray(value),
};

/** Where the record differs from the table of its type; empty where it fits. Sets may not be empty, nothing may be null. */
export function misfits(
  type: string,
  value: unknown,
  include: Include,
  shown?: readonly string[],
  at = type,
): string[] {
  if (!isRecord(value)) return [`${at}: expected an object of ${type}, got ${JSON.stringify(value)}`];
  if (OBJECTS[type] === undefined) return HOLDS['integer']?.(value['id']) ? [] : [`${at}: expected an identifier`];
  const expected = Object.entries(answered(type)).filter(
    ([name, said]) => (shown?.includes(name) ?? true) && (HOLDS[said] !== undefined || name in include),
  );
  const unknown = Object.keys(value).filter((key) => !expected.some(([name]) => name === key));
  return [
    ...unknown.map((key) => `${at}.${key}: not in the table`),
    ...expected.flatMap(([name, said]) => fieldMisfits(type, name, said, value[name], include, `${at}.${name}`)),
  ];
}

function fieldMisfits(
  type: string,
  name: string,
  said: string,
  value: unknown,
  include: Include,
  at: string,
): string[] {
  const holds = HOLDS[said];
  if (holds) return holds(value) ? [] : [`${at}: expected ${said}, got ${JSON.stringify(value)}`];
  const inner = include[name] ?? {};
  const shown = PARTIAL[`${type}.${name}`];
  if (!said.endsWith('[]')) return misfits(said, value, inner, shown, at);
  if (!Array.isArray(value) || value.length === 0) return [`${at}: expected records of ${said}`];
  return value.flatMap((item, index) => misfits(said.slice(0, -2), item, inner, shown, `${at}[${index}]`));
}
