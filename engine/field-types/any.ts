/** Any JSON value, stored as the text that was sent; lists cannot be filtered by it. */
import { isDeepStrictEqual } from 'node:util';
import { asIs } from './columns.ts';
import { type ColumnType, type FieldType, pick } from './field-type.ts';

const sqliteColumn: ColumnType = {
  sqlType: 'text',
  encode: (value) => JSON.stringify(value),
  decode: (value) => JSON.parse(String(value)),
  json: asIs,
  comparable: asIs,
  operand: (value) => JSON.stringify(value),
  extracted: (name, path) => `nullif(${name} -> ${path}, 'null')`,
};

const postgresColumn: ColumnType = {
  ...sqliteColumn,
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

/** Shared properties of the types of free JSON. */
export const document = {
  operators: [],
  keepsText: true,
  longest: () => Infinity,
  faults: () => [],
  parse: () => undefined,
  equal: (a, b) => isDeepStrictEqual(a, b),
  compare: () => 0,
  columns: { sqlite: sqliteColumn, postgres: postgresColumn },
} satisfies Partial<FieldType>;

/** `scalars`: the types whose columns can become columns of any value. */
export const anyType = (scalars: readonly FieldType[]): FieldType => ({
  ...document,
  name: 'any',
  schema: () => ({}),
  expected: () => 'any JSON value',
  good: (_shape, seed) => pick([{ z: seed, a: [seed, null] }, [seed], `text ${seed}`, seed], seed),
  edges: () => [0, '', false, [], {}, { b: { c: [] }, a: 'é' }],
  texts: () => RAW_TEXTS,
  bad: () => [],
  columns: {
    sqlite: {
      ...sqliteColumn,
      takes: {
        array: asIs,
        ...Object.fromEntries(scalars.map(({ name, columns }) => [name, columns.sqlite.json])),
      },
    },
    postgres: {
      ...postgresColumn,
      takes: {
        array: asIs,
        ...Object.fromEntries(
          scalars.map(({ name, columns: { postgres } }) => [name, (column) => `(${postgres.json(column)})::json`]),
        ),
      },
    },
  },
});
