/**
 * LIKE for long patterns. SQLite's LIKE starts again at every place of a text; this one reads the text once, by the
 * algorithm of Knuth, Morris and Pratt.
 */
import { createBoundedCache } from '../../memo.ts';

/** Its name in SQL. */
export const LIKE = 'records_like';

interface Segment {
  readonly codes: Uint16Array;
  /** Of each prefix, the length of its longest end that is a beginning too: how much still matches after a mismatch. */
  readonly borders: Uint16Array;
}

const segmentsOf = createBoundedCache<readonly Segment[]>(200);

/** Whether the text matches the pattern, in lower case, with `*` between its segments. */
export function isLike(pattern: string, text: string | null): 0 | 1 | null {
  if (text === null) return null;
  const known = segmentsOf.get(pattern);
  const segments = known ?? pattern.split('*').map(prepare);
  if (!known) segmentsOf.set(pattern, segments);
  return matches(segments, text) ? 1 : 0;
}

function matches(segments: readonly Segment[], text: string): boolean {
  const [first, last] = [segments[0], segments.at(-1)];
  if (!first || !last) return false;
  const end = text.length - last.codes.length;
  let place = first.codes.length;
  if (end < place || !standsAt(first, text, 0) || !standsAt(last, text, end)) return false;
  for (const segment of segments.slice(1, -1)) {
    place = endOf(segment, text, place, end);
    if (place < 0) return false;
  }
  return true;
}

function prepare(text: string): Segment {
  const codes = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  const borders = new Uint16Array(codes.length);
  let length = 0;
  for (let index = 1; index < codes.length; index += 1) {
    while (length > 0 && codes[length] !== codes[index]) length = borders[length - 1] ?? 0;
    if (codes[length] === codes[index]) length += 1;
    borders[index] = length;
  }
  return { codes, borders };
}

/** A UTF-16 code unit; ASCII letters in lower case. */
function codeAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 65 && code <= 90 ? code + 32 : code;
}

const standsAt = ({ codes }: Segment, text: string, place: number): boolean =>
  codes.every((code, index) => codeAt(text, place + index) === code);

/** Where the first occurrence between the two places ends, or -1. */
function endOf({ codes, borders }: Segment, text: string, from: number, to: number): number {
  let length = 0;
  for (let index = from; index < to; index += 1) {
    const code = codeAt(text, index);
    while (length > 0 && codes[length] !== code) length = borders[length - 1] ?? 0;
    if (codes[length] === code) length += 1;
    if (length === codes.length) return index + 1;
  }
  return -1;
}
