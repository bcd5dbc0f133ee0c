/** Exact decimal numbers: strings in JSON, returned as sent; 1.5 and 1.50 are equal. */
import { ownPattern } from './patterns.ts';
import { asText, NOT_STRINGS, plainColumn, textColumn } from './columns.ts';
import { boundsFault, type FieldType, numeral, numeric, rangeOf, type Shape } from './field-type.ts';
import { averageOf, call } from './totals.ts';

/** A double holds this many decimal digits exactly. */
const MAX_PRECISION = 15;

function digits(shape: Shape): { readonly whole: number; readonly fraction: number } {
  const fraction = numeric(shape, 'scale', 0);
  return { whole: numeric(shape, 'precision', MAX_PRECISION) - fraction, fraction };
}

/** Significant digits: with more than MAX_PRECISION, two numbers may be the same REAL. */
function significant(text: string): number {
  const trimmed = text.includes('.') ? text.replace(/0+$/, '') : text;
  return trimmed.replace(/[-.]/g, '').replace(/^0+/, '').length;
}

/** `-0.00` becomes `0.00`. */
const unsignedZero = (value: unknown): string => String(value).replace(/^-(?=0(\.0+)?$)/, '');

const shortest = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

function pattern(shape: Shape): string {
  const { whole, fraction } = digits(shape);
  const integerPart = whole === 0 ? '0' : `(0|[1-9]\\d{0,${whole - 1}})`;
  return ownPattern(`^-?${integerPart}${fraction === 0 ? '' : `(\\.\\d{1,${fraction}})?`}$`);
}

function limits(column: string, shape: Shape): string {
  const { whole, fraction } = digits(shape);
  const { minimum, maximum } = shape.constraints;
  return [
    `scale(${column}) <= ${fraction}`,
    `abs(${column}) < 1${'0'.repeat(whole)}`,
    ...(minimum === undefined ? [] : [`${column} >= ${String(minimum)}`]),
    ...(maximum === undefined ? [] : [`${column} <= ${String(maximum)}`]),
  ].join(' and ');
}

const unsigned = { ...plainColumn, encode: unsignedZero };

export const decimal: FieldType = {
  ...numeral,
  name: 'decimal',
  schema: (shape) => {
    const { minimum, maximum } = shape.constraints;
    return {
      type: 'string',
      pattern: pattern(shape),
      ...(minimum === undefined ? {} : { 'x-minimum': minimum }),
      ...(maximum === undefined ? {} : { 'x-maximum': maximum }),
    };
  },
  expected: (shape) => {
    const { whole, fraction } = digits(shape);
    return `a decimal number${rangeOf(shape.constraints)} as a string, with at most ${whole} digits before the decimal point and ${fraction} after it`;
  },
  faults: (shape) => [...boundsFault(shape, 'scale', 'precision'), ...numeral.faults(shape)],
  comparedTogether: {
    keywords: ['precision', 'scale'],
    widens: (before, after) =>
      digits(before).whole <= digits(after).whole && digits(before).fraction <= digits(after).fraction,
  },
  parse: (text) =>
    /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text) && significant(text) <= MAX_PRECISION ? text : undefined,
  equal: (a, b) => a === b || (a !== null && b !== null && Number(a) === Number(b)),
  columns: {
    sqlite: {
      ...unsigned,
      sqlType: 'text',
      json: textColumn.json,
      // Exact: a REAL holds 15 decimal digits.
      comparable: (column) => `cast(${column} as real)`,
      operand: (value) => Number(value) + 0,
      aggregates: {
        sum: call('records_sum'),
        avg: call('records_avg'),
        min: call('records_least'),
        max: call('records_greatest'),
      },
      sumOrder: call('records_rank'),
      // Prefers more digits: 1.50 to 1.5.
      spelling: (column) => `max(${column})`,
      convertsFrom: { integer: asText },
    },
    postgres: {
      ...unsigned,
      // A numeric without a scale keeps the client's trailing zeros.
      sqlType: 'numeric',
      limits,
      json: (column) => `'"' || ${column}::numeric::text || '"'`,
      operand: (value) => shortest(unsignedZero(value)),
      extracted: (document, path) => `(${document} ->> ${path})::numeric`,
      aggregates: {
        avg: averageOf,
        min: (column) => `round(min(${column}), max(scale(${column})))`,
        max: (column) => `round(max(${column}), max(scale(${column})))`,
      },
      spelling: (column) => `max(${column}::text collate "C")`,
      convertsFrom: { integer: (column) => `${column}::numeric` },
    },
  },
  good: (shape, seed) => {
    const { whole, fraction } = digits(shape);
    const { minimum, maximum } = shape.constraints;
    if (whole === 0) return minimum ?? `0.${String(1 + (seed % 9))}`;
    const low = Math.ceil(Number(minimum ?? 0));
    const high = Number(maximum ?? 10 ** whole - 1);
    if (low > high) return minimum ?? maximum ?? '0';
    const value = low + (seed % Math.min(Math.floor(high) - low + 1, 10 ** 9));
    return fraction > 0 && value + 0.5 <= high ? `${value}.5` : String(value);
  },
  edges: (shape) => {
    const { minimum, maximum } = shape.constraints;
    const { whole, fraction } = digits(shape);
    const largest = `${'9'.repeat(Math.max(whole, 0)) || '0'}${fraction === 0 ? '' : `.${'9'.repeat(fraction)}`}`;
    const accepted = new RegExp(pattern(shape));
    const fits = (text: string): boolean =>
      accepted.test(text) && Number(text) >= Number(minimum ?? text) && Number(text) <= Number(maximum ?? text);
    return [minimum ?? `-${largest}`, ...['1.5', '1.50', '10', '9', '0.0'].filter(fits), maximum ?? largest];
  },
  bad: (shape) => {
    const { whole, fraction } = digits(shape);
    const unlike = ['', '+1', '01', '1e3', '.5', ' 1', '1.', 'NaN'];
    const long = ['9'.repeat(whole + 1), `0.${'1'.repeat(fraction + 1)}`];
    return [...NOT_STRINGS, ...unlike, ...long];
  },
};
