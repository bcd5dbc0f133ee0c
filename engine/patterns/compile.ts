/**
 * Patterns of descriptors, in time that grows with the length of the text alone. They mean what ECMA-262 says (flag `u`):
 * each place of a pattern is handed to RE2 as the code points that it takes, so that no other meaning of a word of RE2 is
 * left. A pattern that RegExp decides in linear time as well is left to it, which is some fifty times as fast.
 */
import { RE2JS } from 're2js';
import type { CodePoints } from './code-points.ts';
import { parsePattern, type Part, PatternFault } from './parse.ts';
import { isPredictable } from './predictable.ts';

export interface Matcher {
  test(text: string): boolean;
  /** By which Ajv tells one from another. */
  toString(): string;
}

/** What a text must match from its beginning, or must not. */
interface Demand {
  readonly part: Part;
  readonly negative: boolean;
}

/** Characters that RegExp is given: it keeps a stack of the ways to go back. */
const MAX_NATIVE = 65_536;
const MAX_LENGTH = 1000;
/** Steps for one text: with few states to remember they take some nanoseconds each, with many thirty. */
const MAX_STEPS = 100_000_000;
const ANY_LENGTH = 1_048_576;

/** Throws a PatternFault where `check` would have refused the pattern. */
export function compilePattern(text: string, maxNative = MAX_NATIVE): Matcher {
  const demands = demandsOf(parsePattern(text));
  const native = isSimple(demands) ? new RegExp(text, 'u') : undefined;
  let compiled: readonly ((value: string) => boolean)[] | undefined;
  const matches = (value: string): boolean => {
    compiled ??= demands.map(matcherOf);
    return compiled.every((match) => match(value));
  };
  return {
    test: (value) => (native && value.length <= maxNative ? native.test(value) : matches(value)),
    toString: () => text,
  };
}

/** Why a pattern is not taken for texts of this many characters, and what to do; undefined where it is. */
export function patternFault(text: string, maxLength = ANY_LENGTH): string | undefined {
  if (text.length > MAX_LENGTH) return `it has ${text.length} characters; a pattern has at most ${MAX_LENGTH}`;
  try {
    const demands = demandsOf(parsePattern(text));
    const steps = demands.reduce((sum, demand) => sum + programOf(demand).programSize(), 0);
    if (isSimple(demands) || steps * maxLength <= MAX_STEPS) return undefined;
    return `it takes up to ${steps} steps for each character; declare a maxLength of at most ${Math.floor(MAX_STEPS / steps)}`;
  } catch (error) {
    if (error instanceof PatternFault) return error.message;
    // What no regular expression is has been reported by the grammar.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isSimple = (demands: readonly Demand[]): boolean =>
  demands.every(({ part }) => isAnchored(part) && isPredictable(part));

const isAnchored = (part: Part): boolean => part.kind === 'sequence' && isStart(part.parts[0]);
const isStart = (part: Part | undefined): boolean => part?.kind === 'place' && part.sign === '^';

/** Lookaheads at the beginning of a text are demands of their own: `^(?=A)(?!B)C` is ^A, not ^B, and ^C. */
function demandsOf(pattern: Part): readonly Demand[] {
  if (pattern.kind !== 'sequence' || !isStart(pattern.parts[0])) return [{ part: pattern, negative: false }];
  const [start, ...others] = pattern.parts as readonly [Part, ...Part[]];
  const from = (parts: readonly Part[]): Part => ({ kind: 'sequence', parts: [start, ...parts] });
  const end = others.findIndex(({ kind }) => kind !== 'lookahead');
  const count = end < 0 ? others.length : end;
  const looks = others.slice(0, count).flatMap((part) => (part.kind === 'lookahead' ? [part] : []));
  return [
    ...looks.map(({ part, negative }) => ({ part: from([part]), negative })),
    { part: from(others.slice(count)), negative: false },
  ];
}

function matcherOf(demand: Demand): (text: string) => boolean {
  const program = programOf(demand);
  return demand.negative ? (text) => !program.test(text) : (text) => program.test(text);
}

function programOf({ part }: Demand): RE2JS {
  const text = inRe2(part);
  try {
    return RE2JS.compile(text);
  } catch {
    throw new PatternFault(
      'its parts repeat each other more than 1000 times; limit the text by minLength and maxLength',
    );
  }
}

const PLACES: Readonly<Record<string, string>> = { '^': '\\A', $: '\\z' };

function inRe2(part: Part): string {
  if (part.kind === 'one') return classOf(part.of);
  if (part.kind === 'place') return PLACES[part.sign] ?? part.sign;
  if (part.kind === 'sequence') return part.parts.map(inRe2).join('');
  if (part.kind === 'choice') return `(?:${part.parts.map(inRe2).join('|')})`;
  if (part.kind === 'repeat')
    return `(?:${inRe2(part.part)}){${part.min},${part.max === Infinity ? '' : String(part.max)}}`;
  throw new PatternFault(
    'it looks ahead (?= or (?! in another place than at its beginning; move each lookahead directly behind a leading ^, as in ^(?=.*[0-9])[a-z0-9]+$',
  );
}

function classOf(set: CodePoints): string {
  const [[first = 0, last = 0] = [], ...others] = set;
  if (others.length === 0 && first === last && set.length === 1) return point(first);
  const ranges = set.map(([from, to]) => `${point(from)}-${point(to)}`).join('');
  return set.length === 0 ? '[^\\x{0}-\\x{10FFFF}]' : `[${ranges}]`;
}

const point = (code: number): string => `\\x{${code.toString(16)}}`;
