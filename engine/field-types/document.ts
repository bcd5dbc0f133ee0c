/** Shared by the field types that store JSON as text; lists cannot be filtered by them. */
import { isDeepStrictEqual } from 'node:util';
import type { ColumnType, FieldType } from './field-type.ts';

const column: ColumnType = {
  sqlType: 'text',
  encode: (value) => JSON.stringify(value),
  decode: (value) => JSON.parse(String(value)),
  json: (name) => name,
  comparable: (name) => name,
  operand: (value) => JSON.stringify(value),
  extracted: (name, path) => `nullif(${name} -> ${path}, 'null')`,
};

const postgresColumn: ColumnType = {
  ...column,
  // jsonb would reorder the keys.
  sqlType: 'json',
  json: (name) => `${name}::text`,
  extracted: (name, path) => `nullif((${name} -> ${path})::text, 'null')::json`,
};

/** Long and exact numbers, numbers in unusual forms, keys that JavaScript would reorder, escapes, and deep nesting. */
export const RAW_TEXTS = [
  '{"2":1.0,"10":{"b":9007199254740993,"9":[],"a":-0},"1":null}',
  '12345678901234567890',
  '1e400',
  '[1.0,1E+2,0.1000000000000000055511151231257827]',
  '"\\u00e9\\/"',
  `${'[{"1":'.repeat(10)}0.0${'}]'.repeat(10)}`,
] as const;

export const document = {
  operators: [],
  keepsText: true,
  longest: () => Infinity,
  faults: () => [],
  parse: () => undefined,
  equal: (a, b) => isDeepStrictEqual(a, b),
  compare: () => 0,
  columns: { sqlite: column, postgres: postgresColumn },
} satisfies Partial<FieldType>;
