/** The source line of a diagnostic with carets under the place, in columns as a terminal shows them. */
const MAX_WIDTH = 100;
/** How much of a long line is shown before the place. */
const LEAD = 40;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\uFE0F/u;
/** Characters that would move the cursor, or none at all. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Text that a terminal shows in one line, whatever is in it. */
export const printable = (text: string): string => text.replaceAll('\r\n', '\n').replace(UNSAFE, '\uFFFD');

/** A tab stays a tab, so that the carets below move with it; what is wide takes two places. */
function blank(text: string): string {
  return [...graphemes.segment(text)]
    .map(({ segment }) => (segment === '\t' ? '\t' : WIDE.test(segment) ? '  ' : ' '))
    .join('');
}

const shown = (text: string): string => text.split('\t').map(printable).join('\t');

/** `column` is 1-based, in UTF-16 code units; `length` reaches at most to the end of the line. */
export function frame(source: string, line: number, column: number, length: number): string {
  const start = column - 1;
  const end = Math.min(source.length, start + Math.max(1, length));
  const [from, to] =
    source.length <= MAX_WIDTH
      ? [0, source.length]
      : [start <= LEAD ? 0 : start - LEAD, Math.max(0, start - LEAD) + MAX_WIDTH];
  const [head, tail] = [from === 0 ? '' : '…', to >= source.length ? '' : '…'];
  const before = head + shown(source.slice(from, start).toWellFormed());
  const place = shown(source.slice(start, Math.min(end, to)).toWellFormed());
  const number = String(line);
  const carets = '^'.repeat(Math.max(1, blank(place).length));
  return [
    `${number} | ${before}${place}${shown(source.slice(Math.min(end, to), to).toWellFormed())}${tail}`.trimEnd(),
    `${' '.repeat(number.length)} | ${blank(before)}${carets}`,
  ].join('\n');
}
