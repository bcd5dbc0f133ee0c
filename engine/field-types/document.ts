/** What the field types that keep JSON as it comes share: serialized text, never filtered by. */
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
  // Not jsonb, which would sort the keys.
  sqlType: 'json',
  json: (name) => `${name}::text`,
  extracted: (name, path) => `nullif((${name} -> ${path})::text, 'null')::json`,
};

export const document = {
  keywords: {},
  operators: [],
  keepsText: true,
  faults: () => [],
  parse: () => undefined,
  equal: (a, b) => isDeepStrictEqual(a, b),
  compare: () => 0,
  columns: { sqlite: column, postgres: postgresColumn },
} satisfies Partial<FieldType>;
