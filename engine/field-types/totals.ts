/** Functions for SQLite: its sum() would round decimals and overflow with integers, and its min() and max() compare strings. */
import { sortable } from './date.ts';
import { attempted } from '../problem.ts';
import type { SqlValue } from './field-type.ts';
import { localDate } from './periods.ts';

export interface Total<T> {
  start(): T;
  step(total: T, value: unknown): T;
  result(total: T): SqlValue;
}

/** Decimals have at most this many digits on either side of the point. */
const DIGITS = 15;

const split = (text: string): readonly [whole: string, fraction: string] => {
  const [whole = '', fraction = ''] = text.split('.');
  return [whole, fraction];
};

/** The decimal * 10^DIGITS. What other programs have stored, and is no decimal, counts as 0, as in orders. */
const unitsOf = ([whole, fraction]: ReturnType<typeof split>): bigint =>
  attempted(() => BigInt(whole + fraction.padEnd(DIGITS, '0'))) ?? 0n;

/** `units`: the sum * 10^DIGITS; `fraction`: the most digits after the point, -1 without a value. */
const sum: Total<{ units: bigint; fraction: number }> = {
  start: () => ({ units: 0n, fraction: -1 }),
  step: (total, value) => {
    if (value === null) return total;
    const decimal = split(String(value));
    return { units: total.units + unitsOf(decimal), fraction: Math.max(total.fraction, decimal[1].length) };
  },
  result: ({ units, fraction }) => {
    if (fraction < 0) return null;
    const digits = String(units < 0n ? -units : units).padStart(DIGITS + 1, '0');
    const text = `${digits.slice(0, -DIGITS)}.${digits.slice(-DIGITS)}`.slice(0, fraction - DIGITS || undefined);
    return (units < 0n ? '-' : '') + (fraction === 0 ? text.slice(0, -1) : text);
  },
};

/** Digits of an average after the point. */
const PLACES = 6;

/** Rounded half away from zero, as PostgreSQL does. */
const average: Total<{ units: bigint; count: bigint }> = {
  start: () => ({ units: 0n, count: 0n }),
  step: (total, value) =>
    value === null ? total : { units: total.units + unitsOf(split(String(value))), count: total.count + 1n },
  result: ({ units, count }) => {
    if (count === 0n) return null;
    const unit = 10n ** BigInt(DIGITS - PLACES) * count;
    const rounded = ((units < 0n ? -units : units) * 2n + unit) / (unit * 2n);
    const digits = String(rounded).padStart(PLACES + 1, '0');
    const text = `${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`.replace(/\.?0+$/, '');
    return units < 0n && rounded > 0n ? `-${text}` : text;
  },
};

interface Extreme {
  text: string | undefined;
  value: number;
  fraction: number;
}

/** `sign`: 1 for the least value, -1 for the greatest. */
const extreme = (sign: 1 | -1, isDecimal: boolean): Total<Extreme> => ({
  start: () => ({ text: undefined, value: sign * Infinity, fraction: 0 }),
  step: (total, found) => {
    if (found === null) return total;
    const text = String(found);
    const value = Number(text);
    if (sign * (value - total.value) < 0 || total.text === undefined) [total.text, total.value] = [text, value];
    if (isDecimal) total.fraction = Math.max(total.fraction, split(text)[1].length);
    return total;
  },
  result: ({ text, fraction }) => {
    if (text === undefined) return null;
    const own = split(text)[1].length;
    return isDecimal && fraction > own ? `${text}${own === 0 ? '.' : ''}${'0'.repeat(fraction - own)}` : text;
  },
});

/** A string that sorts like the number. */
function rank(text: SqlValue): SqlValue {
  if (text === null) return null;
  const [whole, fraction] = split(String(text).replace('-', ''));
  const digits = whole.padStart(WIDEST, '0') + fraction.padEnd(DIGITS, '0');
  if (!String(text).startsWith('-')) return `1${digits}`;
  return `0${digits.replace(/\d/g, (digit) => String(9 - Number(digit)))}`;
}

/** Maximum digits of a sum before the point. */
const WIDEST = 40;

const PART = 1_000_000_000;

/** SQL for an average in PostgreSQL, whose avg() has fewer digits after the point the more there are before it. */
export const averageOf = (column: string): string =>
  `trim_scale(round(sum(${column}) * 1.${'0'.repeat(4 * PLACES)} / count(${column}), ${PLACES}))`;

/** SQL for a sum of integers: sums of their high and low parts cannot overflow. */
export const sumOfIntegers = (column: string): string =>
  `records_whole(cast(sum(${column} / ${PART}) as text), cast(sum(${column} % ${PART}) as text))`;

const whole = (high: SqlValue, low: SqlValue): SqlValue =>
  high === null || low === null ? null : String(BigInt(high) * BigInt(PART) + BigInt(low));

export const SQLITE_AGGREGATES = {
  records_sum: sum,
  records_avg: average,
  records_least: extreme(1, true),
  records_greatest: extreme(-1, true),
  records_least_number: extreme(1, false),
  records_greatest_number: extreme(-1, false),
} as const;

export const SQLITE_FUNCTIONS = {
  records_rank: rank,
  records_whole: whole,
  records_local: localDate,
  records_instant: (text: SqlValue): SqlValue => (text === null ? null : sortable(String(text))),
} as const;

export const call =
  (name: keyof typeof SQLITE_AGGREGATES | keyof typeof SQLITE_FUNCTIONS) =>
  (argument: string): string =>
    `${name}(${argument})`;
