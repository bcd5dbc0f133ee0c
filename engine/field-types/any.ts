/** Any JSON value, stored as sent; it cannot filter lists. */
import { isDeepStrictEqual } from 'node:util';
import { asIs, validJson } from './columns.ts';
import { type ColumnType, type FieldType, pick } from './field-type.ts';

const sqliteColumn: ColumnType = {
  sqlType: 'text',
  encode: (value) => JSON.stringify(value),
  decode: (value) => JSON.parse(String(value)),
  read: validJson,
  json: validJson,
  comparable: asIs,
  operand: (value) => JSON.stringify(value),
  extracted: (name, path) => `nullif(${name} -> ${path}, 'null')`,
};

const postgresColumn: ColumnType = {
  ...sqliteColumn,
  // jsonb would reorder the keys.
  sqlType: 'json',
  read: asIs,
  json: (name) => `${name}::json::text`,
  extracted: (name, path) => `nullif((${name} -> ${path})::text, 'null')::json`,
};

export const document = {
  operators: [],
  keepsText: true,
  faults: () => [],
  parse: () => undefined,
  equal: (a, b) => isDeepStrictEqual(a, b),
  compare: () => 0,
  columns: { sqlite: sqliteColumn, postgres: postgresColumn },
} satisfies Partial<FieldType>;

/** `scalars`: the types whose columns can become columns of this type. */
export const anyType = (scalars: readonly FieldType[]): FieldType => ({
  ...document,
  name: 'any',
  schema: () => ({}),
  expected: () => 'any JSON value',
  good: (_shape, seed) => pick([{ z: seed, a: [seed, null] }, [seed], `text ${seed}`, seed], seed),
  edges: () => [0, '', false, [], {}, { b: { c: [] }, a: 'é' }],
  bad: () => [],
  columns: {
    sqlite: {
      ...sqliteColumn,
      convertsFrom: {
        array: asIs,
        ...Object.fromEntries(scalars.map(({ name, columns }) => [name, columns.sqlite.json])),
      },
    },
    postgres: {
      ...postgresColumn,
      convertsFrom: {
        array: asIs,
        ...Object.fromEntries(
          scalars.map(({ name, columns: { postgres } }) => [name, (column) => `(${postgres.json(column)})::json`]),
        ),
      },
    },
  },
});
