/** Numbers in the way of the reader's language, with each of their digits. */

import { textOf, type ValueObject } from '../data/json.ts';
import type { FieldInfo } from '../data/model.ts';

const PLAIN = /^-?\d+(?:\.(\d+))?$/;
const MOST_DIGITS = 100;

const formats = new Map<string, Intl.NumberFormat>();

/** Short integers stay without marks between thousands: they are often years or codes. */
export function numberInWords(text: string, language: string, style: Intl.NumberFormatOptions = {}): string {
  const [, fraction = ''] = PLAIN.exec(text) ?? [];
  if (!PLAIN.test(text) || fraction.length > MOST_DIGITS) return text;
  const key = `${language} ${fraction.length} ${JSON.stringify(style)}`;
  const format =
    formats.get(key) ??
    new Intl.NumberFormat(language, {
      minimumFractionDigits: fraction.length,
      maximumFractionDigits: fraction.length,
      useGrouping: fraction === '' ? 'min2' : 'auto',
      ...style,
    });
  formats.set(key, format);
  // A text is formatted digit by digit; as a number it would be rounded.
  return format.format(text as Intl.StringNumericLiteral);
}

interface Marks {
  readonly group: string;
  readonly decimal: string;
  readonly groups: RegExp;
}

const THREES = /^[1-9]\d{0,2}(?:_\d{3})+$/;
/** Lakh and crore: 12,34,567. */
const TWOS = /^[1-9]\d?(?:_\d{2})*_\d{3}$/;

/** Spaces and apostrophes are written in several ways, and mean the same. */
const plainMarks = (text: string): string =>
  text.replaceAll(/\s/gu, ' ').replaceAll(/[\u2018\u2019\u02BC\u00B4]/g, "'");

function marksOf(language: string): Marks {
  const parts = new Intl.NumberFormat(language, { useGrouping: 'always' }).formatToParts(1_234_567.8);
  const mark = (wanted: string): string => plainMarks(parts.find(({ type }) => type === wanted)?.value ?? '');
  const isInTwos = parts.filter(({ type }) => type === 'integer')[1]?.value.length === 2;
  return { group: mark('group'), decimal: mark('decimal'), groups: isInTwos ? TWOS : THREES };
}

export const decimalMark = (language: string): string => marksOf(language).decimal;

/** What people write who learned another language, or copy from elsewhere. */
const CUSTOMS: readonly Marks[] = [',', '.'].flatMap((decimal) =>
  [',', '.', ' ', "'"].filter((group) => group !== decimal).map((group) => ({ group, decimal, groups: THREES })),
);

/** The number that a text is with these marks, as the interface writes it; undefined if it is none. */
function readWith({ group, decimal, groups }: Marks, body: string): string | undefined {
  const [whole = '', fraction = '', ...more] = body.split(decimal);
  const plain = groups.test(whole.replaceAll(group, '_')) ? whole.replaceAll(group, '') : whole;
  if (more.length > 0 || !/^\d*$/.test(plain) || !/^\d*$/.test(fraction) || plain + fraction === '') return undefined;
  return [plain.replace(/^0+(?=\d)/, '') || '0', fraction].filter(Boolean).join('.');
}

/** Zeros behind the places of a field say nothing. */
function inPlaces(number: string, places: number | undefined): string {
  const [whole = '', fraction = ''] = number.split('.');
  const kept = places === undefined ? fraction : fraction.slice(0, places) + fraction.slice(places).replace(/0+$/, '');
  return [whole, kept].filter(Boolean).join('.');
}

const TYPED = /^([-+\u2212]?) ?([\d., '\u066B\u066C]*\d[.,\u066B]?)(e[+-]?\d+)?$/i;

/**
 * The numbers that a typed text can mean, as the interface writes them: none, one, or two between which a person has to
 * choose. The decimal mark of the language is always one; its group mark stands for a fraction in other languages.
 * `places`: as many as the field has; undefined if it takes any.
 */
export function numberReadings(typed: string, language: string, places: number | undefined): readonly string[] {
  const text = plainMarks(typed.replaceAll(/\p{Sc}/gu, '')).trim();
  const [, sign = '', body = '', exponent = ''] = TYPED.exec(text) ?? [];
  if (body === '') return [];
  const marks = marksOf(language);
  const own = readWith(marks, body);
  const isFraction = body.includes(marks.decimal);
  const isWhole = places === 0;
  const isOwn = own !== undefined && isWhole !== isFraction;
  const all = isOwn ? [own] : [...new Set([own, ...CUSTOMS.map((custom) => readWith(custom, body))])];
  const numbers = all
    .filter((one) => one !== undefined)
    .map((one) => (sign === '' || sign === '+' ? '' : '-') + inPlaces(one, places) + exponent);
  if (!isWhole) return numbers;
  // A part of a whole number was meant as one, even where other marks would make it whole.
  const isPart = (one: string): boolean => (exponent === '' ? /\.\d*[1-9]/.test(one) : !Number.isInteger(Number(one)));
  return own !== undefined && isPart(own + exponent) ? [] : numbers.filter((one) => !isPart(one));
}

/** The end of a draft whose text can be read in two ways: it is no number until a person has chosen. */
const OPEN = '?';

export const isOpen = (draft: unknown): boolean => typeof draft === 'string' && draft.endsWith(OPEN);

/** Thrown instead of a value that nobody may have meant. */
export class OpenNumber extends Error {}

/** The draft of what was typed: a number, or a text that every check refuses. */
export function numberDraft(typed: string, language: string, places: number | undefined): string {
  const [only = typed, ...others] = numberReadings(typed, language, places);
  return others.length === 0 ? only : typed + OPEN;
}

/** The two numbers of an open draft. */
export const openReadings = (draft: string, language: string, places: number | undefined): readonly string[] =>
  isOpen(draft) ? numberReadings(draft.slice(0, -OPEN.length), language, places) : [];

/** A draft in its input: a number without groups and with the decimal mark of the language. */
export const numberTyped = (draft: string, language: string): string =>
  isOpen(draft)
    ? draft.slice(0, -OPEN.length)
    : PLAIN.test(draft)
      ? draft.replace('.', marksOf(language).decimal)
      : draft;

/** A number that cannot be taken for another: with its groups, and as many places as its field has. */
export function numberSpoken(text: string, language: string, places: number): string {
  const [, fraction = ''] = PLAIN.exec(text) ?? [];
  if (!PLAIN.test(text) || fraction.length > MOST_DIGITS) return text;
  const minimumFractionDigits = Math.min(Math.max(places, fraction.length), MOST_DIGITS);
  const format = new Intl.NumberFormat(language, { minimumFractionDigits, maximumFractionDigits: MOST_DIGITS });
  return format.format(text as Intl.StringNumericLiteral);
}

/** The sum of plain numbers; other texts are left out. */
export function sumOf(texts: readonly string[]): string {
  const numbers = texts.filter((text) => PLAIN.test(text));
  const places = Math.max(0, ...numbers.map((text) => PLAIN.exec(text)?.[1]?.length ?? 0));
  const units = numbers.map((text) => {
    const [whole = '', fraction = ''] = text.split('.');
    return BigInt(whole + fraction.padEnd(places, '0'));
  });
  const sum = units.reduce((total, one) => total + one, 0n);
  const digits = (sum < 0n ? -sum : sum).toString().padStart(places + 1, '0');
  const point = digits.length - places;
  return (sum < 0n ? '-' : '') + digits.slice(0, point) + (places === 0 ? '' : `.${digits.slice(point)}`);
}

const CURRENCY = /^[A-Z]{3}$/;

/** The field that holds the currency of an amount, if that is not always the same. */
export const currencyField = ({ shows }: Pick<FieldInfo, 'shows'>): string | undefined =>
  typeof shows === 'object' && !CURRENCY.test(shows.money) ? shows.money : undefined;

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** A number of a field, as what it is. `record`: where its currency stands, if that is not always the same. */
export function numberShown(
  { shows, scale }: Pick<FieldInfo, 'shows' | 'scale'>,
  text: string,
  language: string,
  record: ValueObject = {},
): string {
  if (shows === 'percent') return numberInWords(text, language, { style: 'unit', unit: 'percent' });
  if (shows === 'bytes') {
    const size = Number(text);
    const power = Math.min(Math.floor(Math.log10(Math.max(Math.abs(size), 1)) / 3), UNITS.length - 1);
    const style = { style: 'unit', unit: UNITS[power] ?? 'byte', maximumFractionDigits: 1 } as const;
    return new Intl.NumberFormat(language, style).format(size / 1000 ** power);
  }
  if (typeof shows !== 'object') return numberInWords(text, language);
  const currency = CURRENCY.test(shows.money) ? shows.money : textOf(record[shows.money]).toUpperCase();
  const [, fraction = ''] = PLAIN.exec(text) ?? [];
  const places = Math.max(fraction.length, scale === 0 ? 0 : 2);
  const digits = { minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: 'auto' } as const;
  return numberInWords(text, language, CURRENCY.test(currency) ? { style: 'currency', currency, ...digits } : digits);
}
