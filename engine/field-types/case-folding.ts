/**
 * Full case folding after normalization: texts that differ only in case, or in how their accents are encoded, have one folded
 * text. The Unicode version is fixed, so that all instances fold alike, whichever version their Node.js knows.
 */
import type { JsonValue } from '../json.ts';
import { FULL_FOLDINGS, SINGLE_FOLDINGS, UNASSIGNED } from './unicode-data.ts';

const codePoint = (hex: string): number => Number.parseInt(hex, 16);
const textOf = (hex: readonly string[]): string => String.fromCodePoint(...hex.map(codePoint));
const wordsOf = (data: string): readonly string[] => data.trim().split(/\s+/);

function* singleFoldings(): Generator<readonly [from: string, to: string]> {
  for (const word of wordsOf(SINGLE_FOLDINGS)) {
    const [, start = '', end = start, step = '1', target = ''] =
      /^([^-/>]+)(?:-([^/>]+))?(?:\/(\d))?>(.+)$/.exec(word) ?? [];
    const distance = codePoint(target) - codePoint(start);
    for (let from = codePoint(start); from <= codePoint(end); from += Number(step))
      yield [String.fromCodePoint(from), String.fromCodePoint(from + distance)];
  }
}

const fullFoldings = wordsOf(FULL_FOLDINGS).map((word) => {
  const [from = '', to = ''] = word.split('>');
  return [textOf([from]), textOf(to.split('.'))] as const;
});

/** What each code point becomes that does not stay as it is. */
export const FOLDINGS: ReadonlyMap<string, string> = new Map([...singleFoldings(), ...fullFoldings]);

const inClass = (range: string): string => range.replaceAll(/[\da-f]+/g, String.raw`\u{$&}`);
const FOLDED = new RegExp(
  `[${[...FOLDINGS.keys()].map((one) => `\\u{${one.codePointAt(0)?.toString(16)}}`).join('')}]`,
  'gu',
);
const unassigned = wordsOf(UNASSIGNED).map(inClass).join('');
const LATER = new RegExp(`[${unassigned}]`, 'u');
const AROUND_LATER = new RegExp(`([${unassigned}]+)`, 'u');

const ASCII = /^[\0-\x7f]*$/;
/** Sorting accents takes time by the square of how many follow one another. No piece begins with one, unless that many come before. */
export const MOST_TOGETHER = 250;
const PIECES = new RegExp(`[\\0-\\x7f]*[^\\0-\\x7f]{1,${MOST_TOGETHER}}|[\\0-\\x7f]+`, 'gu');

const composed = (text: string): string => text.replace(PIECES, (piece) => piece.normalize('NFC'));

/** A code point that the version does not know stays, and nothing is composed with it. */
function normalized(text: string): string {
  if (!LATER.test(text)) return composed(text);
  return text
    .split(AROUND_LATER)
    .map((part, index) => (index % 2 === 0 ? composed(part) : part))
    .join('');
}

/** What texts are compared by that differ at most in case. Folding it again changes nothing. */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const mapped = normalized(text).replace(FOLDED, (one) => FOLDINGS.get(one) ?? one);
  return normalized(mapped);
}

/** The same for each text of an operand. */
export function foldedValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(foldedValue);
  return typeof value === 'string' ? folded(value) : value;
}
