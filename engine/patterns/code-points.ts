/** Sets of code points that one position of a pattern accepts. Texts are well-formed, so sets never need surrogates. */

/** Sorted ranges that neither overlap nor touch. */
export type CodePoints = readonly (readonly [first: number, last: number])[];

const LAST = 0x10_ffff;

export const NO_CODE_POINTS: CodePoints = [];
export const ANYTHING: CodePoints = [[0, LAST]];

export function union(sets: readonly CodePoints[]): CodePoints {
  const merged: [number, number][] = [];
  for (const [first, last] of [...new Set(sets)].flat().toSorted(([a], [b]) => a - b)) {
    const before = merged.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

export function complement(set: CodePoints): CodePoints {
  const ends = [...set, [LAST + 1, LAST + 1] as const];
  return ends.flatMap(([first], index) => {
    const from = (set[index - 1]?.[1] ?? -1) + 1;
    return from < first ? [[from, first - 1] as const] : [];
  });
}

export function areDisjoint(a: CodePoints, b: CodePoints): boolean {
  for (let [i, j] = [0, 0]; ;) {
    const [left, right] = [a[i], b[j]];
    if (!left || !right) return true;
    if (left[1] < right[0]) i += 1;
    else if (right[1] < left[0]) j += 1;
    else return false;
  }
}

const DIGITS: CodePoints = [[0x30, 0x39]];
const WORD: CodePoints = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const LINE_ENDS: CodePoints = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const SPACE: CodePoints = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x16_80, 0x16_80],
  [0x20_00, 0x20_0a],
  [0x20_28, 0x20_29],
  [0x20_2f, 0x20_2f],
  [0x20_5f, 0x20_5f],
  [0x30_00, 0x30_00],
  [0xfe_ff, 0xfe_ff],
];

/** The character class escapes of ECMA-262, and the dot. */
export const NAMED: Readonly<Record<string, CodePoints>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
  '.': complement(LINE_ENDS),
};

const properties = new Map<string, CodePoints>();

/** The set of `\p{…}` or `\P{…}` in this Node.js version's Unicode, found by testing every code point. */
export function propertyOf(escape: string): CodePoints {
  const known = properties.get(escape);
  if (known) return known;
  const found: [number, number][] = [];
  for (const [run] of everyCharacter().matchAll(new RegExp(`${escape}+`, 'gu'))) {
    const last = run.length > 1 && /[\uDC00-\uDFFF]$/.test(run.slice(-1)) ? run.slice(-2) : run.slice(-1);
    found.push([run.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0]);
  }
  properties.set(escape, found);
  return found;
}

function everyCharacter(): string {
  const parts: string[] = [];
  for (let first = 0; first <= LAST; first += 4096) {
    const block = Array.from({ length: 4096 }, (_, index) => first + index);
    parts.push(String.fromCodePoint(...block.filter((point) => point < 0xd800 || point > 0xdfff)));
  }
  return parts.join('');
}
