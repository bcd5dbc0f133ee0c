/** Floating-point numbers (IEEE 754 binary64). */
import { asText, plainColumn, validJson } from './columns.ts';
import { type FieldType, numeral, numeric, parsedNumber, rangeOf } from './field-type.ts';
import { call } from './totals.ts';

/** SQL for an integer without fraction and exponent. */
const asWritten = (value: string, text: string): string =>
  `case when abs(${value}) < 1e15 and ${value} = cast(${value} as integer) then cast(cast(${value} as integer) as text) else ${text} end`;

/** SQL for the JavaScript notation; PostgreSQL writes two-digit exponents, from 1e15 and 1e-5 on, and infinity as a string. */
const postgresText = (value: string): string =>
  `case when ${value} = 0 or abs(${value}) >= 1e-4 and abs(${value}) < 1e15 then ${value}::text` +
  ` when abs(${value}) >= 1e-6 and abs(${value}) < 1e21 then ${value}::text::numeric::text` +
  ` else replace(to_json(${value})::text, 'e-0', 'e-') end`;

const column = {
  ...plainColumn,
  encode: (value: unknown) => String(Number(value) + 0),
  decode: Number,
  operand: Number,
};

export const number: FieldType = {
  ...numeral,
  name: 'number',
  schema: (shape) => ({ type: 'number', ...shape.constraints }),
  expected: ({ constraints }) => `a number${rangeOf(constraints)}`,
  parse: (text) => {
    const value = parsedNumber(text);
    return Number.isFinite(value) ? value : undefined;
  },
  columns: {
    sqlite: {
      ...column,
      // SQLite prints a REAL with 15 digits, which do not identify a number. Other programs can write any text.
      sqlType: 'text',
      json: validJson,
      comparable: (name) => `cast(${name} as real)`,
      extracted: (document, path) => asWritten(`${document} ->> ${path}`, `nullif(${document} -> ${path}, 'null')`),
      aggregates: { min: call('records_least_number'), max: call('records_greatest_number') },
      convertsFrom: { integer: asText },
    },
    postgres: {
      ...column,
      sqlType: 'double precision',
      json: postgresText,
      extracted: (document, path) => `(${document} ->> ${path})::double precision`,
      convertsFrom: { integer: (name) => `${name}::double precision` },
    },
  },
  temporary: (index) => Number.MIN_SAFE_INTEGER + index,
  good: (shape, seed) =>
    Math.min(numeric(shape, 'maximum', Number.MAX_VALUE), Math.max(numeric(shape, 'minimum', 0), 0) + seed + 0.1),
  edges: (shape) => [shape.constraints['minimum'] ?? 5e-324, shape.constraints['maximum'] ?? 1e21],
  bad: () => ['1', '', true, [], {}],
};
