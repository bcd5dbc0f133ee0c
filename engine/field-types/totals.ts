/**
 * Exact totals of numbers that are kept as text. SQLite's own sum() would round decimals and overflow with integers,
 * and its min() and max() would compare texts: its driver adds these functions to each connection.
 */
import { sortable } from './date.ts';
import type { SqlValue } from './field-type.ts';

/** An aggregate: `step` is called with the value of each row. */
interface Total<T> {
  readonly start: () => T;
  readonly step: (total: T, value: SqlValue) => T;
  readonly result: (total: T) => SqlValue;
}

/** Some values, added up by how many digits they have after the point. */
interface Sum {
  /** Doubles that hold integers: of 1.50, it is 150 in the third place. */
  readonly parts: number[];
  /** What the parts could no longer hold. */
  readonly beyond: bigint[];
}

const POWERS = Array.from({ length: 16 }, (_, digits) => 10 ** digits);

const fractionOf = (text: string): number => {
  const point = text.indexOf('.');
  return point < 0 ? 0 : text.length - point - 1;
};

const sum: Total<Sum> = {
  start: () => ({ parts: [], beyond: [] }),
  step: (total, value) => {
    if (value === null) return total;
    const { parts, beyond } = total;
    const digits = fractionOf(String(value));
    // Exact: the product is an integer of at most 15 digits, and off by less than a half.
    const units = Math.round(Number(value) * (POWERS[digits] ?? NaN));
    const part = (parts[digits] ?? 0) + units;
    if (Number.isSafeInteger(part)) parts[digits] = part;
    else {
      beyond[digits] = (beyond[digits] ?? 0n) + BigInt(parts[digits] ?? 0);
      parts[digits] = units;
    }
    return total;
  },
  result: ({ parts, beyond }) => {
    const most = parts.length - 1;
    if (most < 0) return null;
    let units = 0n;
    for (let digits = 0; digits <= most; digits += 1)
      units += ((beyond[digits] ?? 0n) + BigInt(parts[digits] ?? 0)) * 10n ** BigInt(most - digits);
    return decimalText(units, most);
  },
};

/** `fraction`: digits after the point. */
function decimalText(units: bigint, fraction: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(fraction + 1, '0');
  return fraction === 0 ? sign + digits : `${sign}${digits.slice(0, -fraction)}.${digits.slice(-fraction)}`;
}

interface Extreme {
  text: string | undefined;
  value: number;
  /** Digits after the point of the value that has most. */
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
    if (isDecimal) total.fraction = Math.max(total.fraction, fractionOf(text));
    return total;
  },
  result: ({ text, fraction }) => {
    if (text === undefined) return null;
    const own = fractionOf(text);
    return isDecimal && fraction > own ? `${text}${own === 0 ? '.' : ''}${'0'.repeat(fraction - own)}` : text;
  },
});

/** A text that sorts as the number does, whatever its size. */
function rank(text: SqlValue): SqlValue {
  if (text === null) return null;
  const [whole = '', fraction = ''] = String(text).replace('-', '').split('.');
  const digits = whole.padStart(WIDEST, '0') + fraction.padEnd(POWERS.length, '0');
  if (!String(text).startsWith('-')) return `1${digits}`;
  return `0${digits.replace(/\d/g, (digit) => String(9 - Number(digit)))}`;
}

/** Digits before the point of a sum: those of a value, and those of how many values there can be. */
const WIDEST = 40;

const PART = 1_000_000_000;

/** SQL: the sum of integers, whatever their number: both parts of each are added up. */
export const sumOfIntegers = (column: string): string =>
  `records_whole(cast(sum(${column} / ${PART}) as text), cast(sum(${column} % ${PART}) as text))`;

const whole = (high: SqlValue, low: SqlValue): SqlValue =>
  high === null || low === null ? null : String(BigInt(high) * BigInt(PART) + BigInt(low));

/** As SQLite calls them, with whatever `start` returned. */
const aggregate = <T>({ start, step, result }: Total<T>) => ({
  start,
  step: (total: unknown, value: unknown): unknown => step(total as T, value as SqlValue),
  result: (total: unknown): unknown => result(total as T),
});

/** By their names in SQL. */
export const SQLITE_AGGREGATES = {
  records_sum: aggregate(sum),
  records_least: aggregate(extreme(1, true)),
  records_greatest: aggregate(extreme(-1, true)),
  records_least_number: aggregate(extreme(1, false)),
  records_greatest_number: aggregate(extreme(-1, false)),
} as const;

export const SQLITE_FUNCTIONS = {
  records_rank: rank,
  records_whole: whole,
  records_instant: (text: SqlValue): SqlValue => (text === null ? null : sortable(String(text))),
} as const;

/** SQL: a call of one of these. */
export const call =
  (name: keyof typeof SQLITE_AGGREGATES | keyof typeof SQLITE_FUNCTIONS) =>
  (argument: string): string =>
    `${name}(${argument})`;
