/** Floating-point numbers (IEEE 754 binary64). */
import {
  boundsFault,
  byNumber,
  COMPARING,
  type FieldType,
  JSON_NUMBER,
  numeric,
  type Shape,
  SHORT,
} from './field-type.ts';
import { asText } from './text.ts';
import { call } from './totals.ts';

const bounds = (shape: Shape) => ({
  minimum: numeric(shape, 'minimum', -Number.MAX_VALUE),
  maximum: numeric(shape, 'maximum', Number.MAX_VALUE),
});

/** SQL: the text of a number, without fraction and exponent if it is an integer. */
const asWritten = (value: string, text: string): string =>
  `case when abs(${value}) < 1e15 and ${value} = cast(${value} as integer) then cast(cast(${value} as integer) as text) else ${text} end`;

/** SQL: as JavaScript writes it; PostgreSQL has exponents from 1e15 and 1e-5 on, of two digits at least. */
const postgresText = (value: string): string =>
  `case when ${value} = 0 or abs(${value}) >= 1e-4 and abs(${value}) < 1e15 then ${value}::text` +
  ` when abs(${value}) >= 1e-6 and abs(${value}) < 1e21 then ${value}::text::numeric::text` +
  ` else replace(${value}::text, 'e-0', 'e-') end`;

export const number: FieldType = {
  name: 'number',
  operators: COMPARING,
  hasNoCommas: true,
  longest: () => SHORT,
  schema: (shape) => ({ type: 'number', ...shape.constraints }),
  expected: (shape) => {
    const { minimum, maximum } = shape.constraints;
    const from = minimum === undefined ? '' : ` from ${String(minimum)}`;
    return `a number${from}${maximum === undefined ? '' : ` up to ${String(maximum)}`}`;
  },
  faults: (shape) => boundsFault(shape, 'minimum', 'maximum'),
  parse: (text) => {
    const value = Number(text);
    return JSON_NUMBER.test(text) && Number.isFinite(value) ? value + 0 : undefined;
  },
  equal: (a, b) => a === b,
  compare: byNumber,
  comparedAs: 'number',
  columns: {
    sqlite: {
      // Stored as the shortest text that parses to the same number: SQLite prints a REAL with 15 digits, which is not enough.
      sqlType: 'text',
      encode: (value) => String(Number(value) + 0),
      decode: (value) => Number(value),
      json: (column) => column,
      comparable: (column) => `cast(${column} as real)`,
      operand: (value) => Number(value),
      extracted: (document, path) => asWritten(`${document} ->> ${path}`, `nullif(${document} -> ${path}, 'null')`),
      aggregates: { min: call('records_least_number'), max: call('records_greatest_number') },
      takes: { integer: asText },
    },
    postgres: {
      sqlType: 'double precision',
      encode: (value) => String(Number(value) + 0),
      decode: (value) => Number(value),
      json: postgresText,
      comparable: (column) => column,
      operand: (value) => Number(value),
      extracted: (document, path) => `(${document} ->> ${path})::double precision`,
      takes: { integer: (column) => `${column}::double precision` },
    },
  },
  spare: (place) => Number.MIN_SAFE_INTEGER + place,
  good: (shape, seed) => {
    const { minimum, maximum } = bounds(shape);
    return Math.min(maximum, Math.max(minimum, 0) + seed + 0.1);
  },
  edges: (shape) => [shape.constraints['minimum'] ?? 5e-324, shape.constraints['maximum'] ?? 1e21],
  bad: (shape) => {
    const { minimum, maximum } = shape.constraints;
    const outside = [
      ...(minimum === undefined ? [] : [Number(minimum) - 1]),
      ...(maximum === undefined ? [] : [Number(maximum) + 1]),
    ];
    return ['1', '', true, [], {}, ...outside];
  },
};
