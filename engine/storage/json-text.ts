/** SQL that puts JSON together as text: nothing is parsed between the levels, and any number of keys is possible. */
import type { SqlValue } from '../field-types/field-type.ts';

/** PostgreSQL takes 100 arguments of one function (FUNC_MAX_ARGS), SQLite more in every build. */
const MAX_ARGUMENTS = 100;

export const literal = (value: SqlValue): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

function concat(parts: readonly string[]): string {
  if (parts.length <= MAX_ARGUMENTS) return `concat(${parts.join(', ')})`;
  const groups = Array.from({ length: Math.ceil(parts.length / MAX_ARGUMENTS) }, (_, index) =>
    concat(parts.slice(index * MAX_ARGUMENTS, (index + 1) * MAX_ARGUMENTS)),
  );
  return concat(groups);
}

/** `openKeys` is the text of an object whose keys follow those of the entries. */
export function jsonObject(
  entries: readonly (readonly [key: string, json: string])[],
  openKeys: string | undefined,
): string {
  if (entries.length === 0) return openKeys ?? `'{}'`;
  const parts = entries.flatMap(([key, json], index) => [
    literal(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    json,
  ]);
  const end =
    openKeys === undefined ? `'}'` : `case ${openKeys} when '{}' then '}' else ',' || substr(${openKeys}, 2) end`;
  return concat([...parts, end]);
}

export const jsonOptional = (json: string, from: string): string => `coalesce((select ${json} from ${from}), 'null')`;

export const jsonNullable = (json: string): string => `coalesce(${json}, 'null')`;
