/** Parses a pattern (ECMA-262, flag `u`). Constructs that cannot be matched in linear time are rejected by name. */

/** A pattern that is not supported: the message says why, and what to write instead. */
export class PatternFault extends Error {}

export type PatternPart =
  | { readonly kind: 'one'; readonly of: CodePoints }
  | { readonly kind: 'place'; readonly sign: string }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternPart[] }
  | { readonly kind: 'repeat'; readonly part: PatternPart; readonly min: number; readonly max: number }
  | { readonly kind: 'lookahead'; readonly part: PatternPart; readonly negative: boolean };

/** RE2's limit for counted repetitions. */
const MAX_TIMES = 1000;
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 };

/** Throws a PatternFault, or the SyntaxError of RegExp if the pattern is invalid. */
export function parsePattern(text: string): PatternPart {
  void new RegExp(text, 'u');
  return createParser([...text]).choice();
}

/** RegExp has already accepted the text, so there are no syntax errors to handle. */
function createParser(signs: readonly string[]): { choice(): PatternPart } {
  let place = 0;

  const peek = (ahead = 0): string => signs[place + ahead] ?? '';
  const looksAt = (text: string): boolean => [...text].every((sign, index) => peek(index) === sign);

  function take(text: string): boolean {
    const found = looksAt(text);
    if (found) place += text.length;
    return found;
  }

  function until(end: string): string {
    const from = place;
    while (peek() !== end) place += 1;
    place += 1;
    return signs.slice(from, place - 1).join('');
  }

  function choice(): PatternPart {
    const parts = [sequence()];
    while (take('|')) parts.push(sequence());
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  function sequence(): PatternPart {
    const parts: PatternPart[] = [];
    while (place < signs.length && peek() !== '|' && peek() !== ')') parts.push(repeated(atom()));
    return { kind: 'sequence', parts };
  }

  function repeated(part: PatternPart): PatternPart {
    const times = timesOf();
    if (!times) return part;
    take('?');
    const [min, max] = times;
    if (min > MAX_TIMES || (max > MAX_TIMES && max !== Infinity))
      throw new PatternFault(
        `it repeats a part more than ${MAX_TIMES} times; limit the length with minLength and maxLength instead`,
      );
    return { kind: 'repeat', part, min, max };
  }

  function timesOf(): readonly [min: number, max: number] | undefined {
    if (take('*')) return [0, Infinity];
    if (take('+')) return [1, Infinity];
    if (take('?')) return [0, 1];
    if (!take('{')) return undefined;
    const [min = '', max = min] = until('}').split(',');
    return [Number(min), max === '' ? Infinity : Number(max)];
  }

  function atom(): PatternPart {
    const sign = peek();
    place += 1;
    if (sign === '^' || sign === '$') return { kind: 'place', sign };
    if (sign === '.') return one(NAMED['.'] ?? NO_CODE_POINTS);
    if (sign === '[') return one(characterClass());
    if (sign === '(') return group();
    if (sign !== '\\') return one(single(codeOf(sign)));
    if (peek() === 'b' || peek() === 'B') return { kind: 'place', sign: `\\${signs[place++] ?? ''}` };
    if (/[1-9k]/.test(peek()))
      throw new PatternFault('it has a backreference (\\1, \\k<name>), which cannot be matched in linear time');
    return one(escaped());
  }

  function group(): PatternPart {
    if (looksAt('?<=') || looksAt('?<!'))
      throw new PatternFault(
        'it has a lookbehind (?<= or (?<!, which is not supported; match the preceding text itself instead',
      );
    const negative = looksAt('?!');
    const isLookahead = take('?=') || take('?!');
    if (!isLookahead && take('?<')) until('>');
    else if (!isLookahead && looksAt('?') && !take('?:'))
      throw new PatternFault('it changes flags inside, as with (?i:; write both cases instead, as in [Aa]');
    const part = choice();
    take(')');
    return isLookahead ? { kind: 'lookahead', part, negative } : part;
  }

  function characterClass(): CodePoints {
    const isNegated = take('^');
    const sets: CodePoints[] = [];
    while (!take(']')) {
      const first = member();
      if (peek() !== '-' || peek(1) === ']') sets.push(first);
      else {
        place += 1;
        sets.push([[first[0]?.[0] ?? 0, member()[0]?.[1] ?? 0]]);
      }
    }
    return isNegated ? complement(union(sets)) : union(sets);
  }

  function member(): CodePoints {
    const sign = peek();
    place += 1;
    if (sign !== '\\') return single(codeOf(sign));
    return take('b') ? single(8) : escaped();
  }

  /** After a backslash. */
  function escaped(): CodePoints {
    const sign = peek();
    place += 1;
    const named = sign === '.' ? undefined : NAMED[sign];
    if (named) return named;
    if (sign === 'p' || sign === 'P') return propertyOf(`\\${sign}{${(take('{'), until('}'))}}`);
    const control = CONTROLS[sign];
    if (control !== undefined) return single(control);
    if (sign === 'c') return single(codeOf(signs[place++] ?? '') % 32);
    if (sign === 'x') return single(hexadecimal(2));
    if (sign === 'u') return single(take('{') ? Number.parseInt(until('}'), 16) : unit());
    return single(codeOf(sign));
  }

  function hexadecimal(digits: number): number {
    place += digits;
    return Number.parseInt(signs.slice(place - digits, place).join(''), 16);
  }

  /** `\uD83D\uDE00`: a surrogate pair is one character. */
  function unit(): number {
    const code = hexadecimal(4);
    const isPair = code >= 0xd800 && code <= 0xdbff && /^\\u[dD][c-fC-F]/.test(signs.slice(place, place + 4).join(''));
    if (!isPair) return code;
    place += 2;
    return (code - 0xd800) * 1024 + hexadecimal(4) - 0xdc00 + 0x1_0000;
  }

  return { choice };
}

const one = (of: CodePoints): PatternPart => ({ kind: 'one', of });
const single = (code: number): CodePoints => [[code, code]];
const codeOf = (sign: string): number => sign.codePointAt(0) ?? 0;

// Sets of code points that one position of a pattern accepts. Texts are well-formed, so sets never need surrogates.

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

function complement(set: CodePoints): CodePoints {
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

type Range = CodePoints[number];

/** Where neighbours may differ; the surrogates between them are in no text. */
const VARIED: readonly Range[] = [
  [0, 0xd7ff],
  [0xe000, 0x3_ffff],
  [0xe_0000, 0xe_0fff],
];

/** Planes that are unassigned or private, but for the last two code points of each, which are no characters. */
const UNIFORM: readonly Range[] = [
  ...Array.from({ length: 10 }, (_, index) => (index + 4) << 16),
  0xe_1000,
  0xf_0000,
  0x10_0000,
].flatMap((first) => [
  [first, first | 0xfffd],
  [first | 0xfffe, first | 0xffff],
]);

let texts: readonly string[] | undefined;
const properties = new Map<string, CodePoints>();

/** The set of `\p{…}` or `\P{…}` in this Node.js version's Unicode. */
function propertyOf(escape: string): CodePoints {
  const known = properties.get(escape);
  if (known) return known;
  texts ??= VARIED.map(textOf);
  const isIn = new RegExp(escape, 'u');
  const runs = new RegExp(`${escape}+`, 'gu');
  const varied = texts.flatMap((text) =>
    [...text.matchAll(runs)].map(([run]): Range => {
      const last = /[\uDC00-\uDFFF]$/.test(run) ? run.slice(-2) : run.slice(-1);
      return [codeOf(run), codeOf(last)];
    }),
  );
  const found = union([varied, UNIFORM.filter(([first]) => isIn.test(String.fromCodePoint(first)))]);
  properties.set(escape, found);
  return found;
}

/** All characters of the range. */
function textOf([first, last]: Range): string {
  const units: number[] = [];
  for (let code = first; code <= last; code += 1)
    if (code <= 0xffff) units.push(code);
    else units.push(0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
  return Buffer.from(Uint16Array.from(units).buffer).toString('utf16le');
}
