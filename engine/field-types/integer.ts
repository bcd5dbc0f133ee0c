/** Integers that every JSON parser reads exactly (RFC 8259, section 6). */
import { isWhole } from '../json/json.ts';
import { asIs, plainColumn } from './columns.ts';
import {
  expectedOf,
  type FieldType,
  listed,
  numeral,
  numeric,
  parsedNumber,
  pick,
  rangeOf,
  type Shape,
} from './field-type.ts';
import { averageOf, call, sumOfIntegers } from './totals.ts';

const bounds = (shape: Shape) => ({
  minimum: numeric(shape, 'minimum', Number.MIN_SAFE_INTEGER),
  maximum: numeric(shape, 'maximum', Number.MAX_SAFE_INTEGER),
});

/** JSON may contain -0, which databases return as 0. */
const column = { ...plainColumn, encode: (value: unknown) => Number(value) + 0, operand: Number };

export const integer: FieldType = {
  ...numeral,
  name: 'integer',
  schema: (shape) => ({ type: 'integer', ...shape.constraints, ...bounds(shape) }),
  expected: (shape) => expectedOf(shape) ?? `an integer${rangeOf(bounds(shape))}`,
  parse: (text) => {
    const value = parsedNumber(text);
    return Number.isSafeInteger(value) && isWhole(text) ? value : undefined;
  },
  columns: {
    sqlite: {
      ...column,
      sqlType: 'integer',
      json: asIs,
      aggregates: { sum: sumOfIntegers, avg: call('records_avg') },
      sumOrder: call('records_rank'),
    },
    postgres: {
      ...column,
      sqlType: 'bigint',
      // A sum is no bigint, and a column that others made a text is no number.
      json: (value) => `(${value} + 0)::text`,
      aggregates: { avg: averageOf },
      // JSON may contain 1.0 or 1e2, which are integers too.
      extracted: (document, path) => `(${document} ->> ${path})::numeric::bigint`,
    },
  },
  temporary: (index) => Number.MIN_SAFE_INTEGER + index,
  good: (shape, seed) => {
    const values = listed(shape);
    if (values) return pick(values, seed);
    const { minimum, maximum } = bounds(shape);
    const from = Math.max(minimum, Math.min(maximum, 1));
    return maximum - from < 1 ? from : from + (seed % (maximum - from + 1));
  },
  edges: (shape) => listed(shape) ?? Object.values(bounds(shape)),
  bad: () => ['1', '', true, 1.5, 1e300, [], {}],
};
