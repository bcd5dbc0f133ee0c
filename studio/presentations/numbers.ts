/** Numbers in the way of the reader's language, with each of their digits. */

const PLAIN = /^-?\d+(?:\.(\d+))?$/;
/** As many digits behind the point as formats take. */
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
