/** Integers that every JSON parser reads exactly (RFC 8259, section 6). */
import {
  boundsFault,
  byNumber,
  COMPARING,
  expectedOf,
  type FieldType,
  JSON_NUMBER,
  listed,
  numeric,
  pick,
  type Shape,
  SHORT,
} from './field-type.ts';
import { call, sumOfIntegers } from './totals.ts';

const bounds = (shape: Shape) => ({
  minimum: numeric(shape, 'minimum', Number.MIN_SAFE_INTEGER),
  maximum: numeric(shape, 'maximum', Number.MAX_SAFE_INTEGER),
});

export const integer: FieldType = {
  name: 'integer',
  operators: COMPARING,
  hasNoCommas: true,
  longest: () => SHORT,
  schema: (shape) => ({ type: 'integer', ...shape.constraints, ...bounds(shape) }),
  expected: (shape) => {
    const { minimum, maximum } = bounds(shape);
    return expectedOf(shape) ?? `an integer from ${minimum} to ${maximum}`;
  },
  faults: (shape) => boundsFault(shape, 'minimum', 'maximum'),
  parse: (text) => {
    const value = Number(text);
    return JSON_NUMBER.test(text) && Number.isSafeInteger(value) ? value + 0 : undefined;
  },
  equal: (a, b) => a === b,
  compare: byNumber,
  comparedAs: 'number',
  columns: {
    sqlite: {
      sqlType: 'integer',
      encode: (value) => Number(value) + 0,
      decode: (value) => value,
      json: (column) => column,
      comparable: (column) => column,
      operand: (value) => Number(value),
      extracted: (document, path) => `${document} ->> ${path}`,
      aggregates: { sum: sumOfIntegers },
      sumOrder: call('records_rank'),
    },
    postgres: {
      sqlType: 'bigint',
      encode: (value) => Number(value) + 0,
      decode: (value) => value,
      json: (column) => `${column}::text`,
      comparable: (column) => column,
      operand: (value) => Number(value),
      // The JSON may hold 1.0 or 1e2, which are integers too.
      extracted: (document, path) => `(${document} ->> ${path})::numeric::bigint`,
      aggregates: { sum: (column) => `sum(${column})` },
    },
  },
  spare: (place) => Number.MIN_SAFE_INTEGER + place,
  good: (shape, seed) => {
    const values = listed(shape);
    if (values) return pick(values, seed);
    const { minimum, maximum } = bounds(shape);
    const from = Math.max(minimum, Math.min(maximum, 1));
    return maximum - from < 1 ? from : from + (seed % (maximum - from + 1));
  },
  edges: (shape) => listed(shape) ?? Object.values(bounds(shape)),
  bad: (shape) => {
    const { minimum, maximum } = bounds(shape);
    const outside = [minimum - 1, maximum + 1].filter((value) => Number.isSafeInteger(value));
    return ['1', '', true, 1.5, 1e300, [], {}, ...outside];
  },
};
