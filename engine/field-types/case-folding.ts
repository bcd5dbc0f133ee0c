/**
 * Full case folding after normalization. The Unicode version is fixed, so that results do not depend on Node.js; a later
 * version requires a migration of stored strings. `unicode-data.json` has what is needed of CaseFolding.txt, statuses C
 * (`41-5a>61` folds A to a, B to b, and so on; `100-12e/2>101` every second code point) and F (one code point to several),
 * and of UnicodeData.txt the unassigned code points: normalization of all others never changes.
 */
import type { JsonValue } from '../json/json.ts';
import unicode from './unicode-data.json';

const codePoint = (hex: string): number => Number.parseInt(hex, 16);
const textOf = (hex: readonly string[]): string => String.fromCodePoint(...hex.map(codePoint));
const wordsOf = (lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(' '));

function* singleFoldings(): Generator<readonly [from: string, to: string]> {
  for (const word of wordsOf(unicode.singleFoldings)) {
    const [, start = '', end = start, step = '1', target = ''] =
      /^([^-/>]+)(?:-([^/>]+))?(?:\/(\d))?>(.+)$/.exec(word) ?? [];
    const distance = codePoint(target) - codePoint(start);
    for (let from = codePoint(start); from <= codePoint(end); from += Number(step))
      yield [String.fromCodePoint(from), String.fromCodePoint(from + distance)];
  }
}

const fullFoldings = wordsOf(unicode.fullFoldings).map((word) => {
  const [from = '', to = ''] = word.split('>');
  return [textOf([from]), textOf(to.split('.'))] as const;
});

export const FOLDINGS: ReadonlyMap<string, string> = new Map([...singleFoldings(), ...fullFoldings]);

const inClass = (range: string): string => range.replaceAll(/[\da-f]+/g, String.raw`\u{$&}`);
const FOLDED = new RegExp(
  `[${[...FOLDINGS.keys()].map((one) => `\\u{${one.codePointAt(0)?.toString(16)}}`).join('')}]`,
  'gu',
);
const unassigned = wordsOf(unicode.unassigned).map(inClass).join('');
const LATER = new RegExp(`[${unassigned}]`, 'u');
const AROUND_LATER = new RegExp(`([${unassigned}]+)`, 'u');

const ASCII = /^[\0-\x7f]*$/;
/** Code points that may combine with preceding ones: marks, and the vowels and finals of Hangul. */
const JOINING = String.raw`\p{M}\u1160-\u11ff`;
/** Normalization is quadratic in the combining marks of a letter: a letter with this many loses them all. */
export const MAX_COMBINING_MARKS = 255;
/** A letter with too many has this many in a row: its composed base contains up to three more. */
export const MANY_COMBINING_MARKS = 250;
const MANY_MARKS = new RegExp(`[${JOINING}]{${MANY_COMBINING_MARKS}}`, 'u');
const EXCESS_MARKS = new RegExp(`[${JOINING}]{${MAX_COMBINING_MARKS},}`, 'gu');

const withoutExcessMarks = (text: string): string =>
  [...text]
    .map((one) => one.normalize('NFD'))
    .join('')
    .replace(EXCESS_MARKS, '');

const composed = (text: string): string =>
  (text.length >= MANY_COMBINING_MARKS && MANY_MARKS.test(text) ? withoutExcessMarks(text) : text).normalize('NFC');

/** Joining code points as ranges, for regular expressions without `\p{M}`. */
export const joiningRanges = (): readonly (readonly [first: number, last: number])[] => {
  const isJoining = new RegExp(`[${JOINING}]`, 'u');
  const ranges: [number, number][] = [];
  for (let code = 0x300; code <= 0xe01ef; code += 1) {
    if (!isJoining.test(String.fromCodePoint(code))) continue;
    const last = ranges.at(-1);
    if (last?.[1] === code - 1) last[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
};

/** Keeps code points that the fixed version of Unicode lacks, and composes nothing with them. */
function normalized(text: string): string {
  if (!LATER.test(text)) return composed(text);
  return text
    .split(AROUND_LATER)
    .map((part, index) => (index % 2 === 0 ? composed(part) : part))
    .join('');
}

/** The string to compare, ignoring case. Folding it again changes nothing. */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const mapped = normalized(text).replace(FOLDED, (one) => FOLDINGS.get(one) ?? one);
  return normalized(mapped);
}

export function foldedValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(foldedValue);
  return typeof value === 'string' ? folded(value) : value;
}
