/** Numbers in the way of the reader's language, with each of their digits. */

const PLAIN = /^-?\d+(?:\.(\d+))?$/;
const MOST_DIGITS = 100;

const formats = new Map<string, Intl.NumberFormat>();

/** Short integers stay without marks between thousands: they are often years or codes. */
export function numberInWords(text: string, language: string): string {
  const [, fraction = ''] = PLAIN.exec(text) ?? [];
  if (!PLAIN.test(text) || fraction.length > MOST_DIGITS) return text;
  const key = `${language} ${fraction.length}`;
  const format =
    formats.get(key) ??
    new Intl.NumberFormat(language, {
      minimumFractionDigits: fraction.length,
      maximumFractionDigits: fraction.length,
      useGrouping: fraction === '' ? 'min2' : 'auto',
    });
  formats.set(key, format);
  // A text is formatted digit by digit; as a number it would be rounded.
  return format.format(text as Intl.StringNumericLiteral);
}

/** The decimal mark: a comma in many languages. */
const decimalMark = (language: string): string => new Intl.NumberFormat(language).format(1.5).charAt(1);

const TYPED = /^-?\d*\.\d*$/;

/** A number in an input: with the decimal mark of the language. */
export const numberTyped = (text: string, language: string): string =>
  TYPED.test(text) ? text.replace('.', decimalMark(language)) : text;

/** The number that was typed with a decimal comma, where the language has one. */
export function numberRead(text: string, language: string): string {
  const isLocal = decimalMark(language) === ',' && /^-?[\d.]*,\d*$/.test(text);
  return isLocal ? text.replaceAll('.', '').replace(',', '.') : text;
}
