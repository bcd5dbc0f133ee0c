/**
 * Matches the patterns of descriptors in time linear in the length of the text. They have the meaning of ECMA-262 (flag
 * `u`): RE2 gets each position as a set of code points, so that none of its own classes is used. Patterns that RegExp
 * matches in linear time too are left to RegExp, which is about fifty times as fast.
 */
import { RE2JS } from 're2js';
import {
  areDisjoint,
  type CodePoints,
  NO_CODE_POINTS,
  parsePattern,
  PatternFault,
  type PatternPart,
  union,
} from './parse.ts';

interface Matcher {
  test(text: string): boolean;
  /** Ajv uses it as a cache key. */
  toString(): string;
}

/** A part that the text must match, or must not. */
interface LookaheadTest {
  readonly part: PatternPart;
  readonly negative: boolean;
}

/** Maximum characters for RegExp: on longer texts it may exhaust its backtracking stack. */
const MAX_NATIVE = 65_536;
const MAX_LENGTH = 1000;
/** Maximum steps for one text. A step takes a few nanoseconds with few states, about thirty with many. */
const MAX_STEPS = 100_000_000;
const ANY_LENGTH = 1_048_576;

/** Throws a PatternFault if the pattern is not supported (`patternFault` says so earlier, with a reason). */
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

/** Why a pattern is not supported for texts of this many characters, and what to do; undefined if it is supported. */
export function patternFault(text: string, maxLength = ANY_LENGTH): string | undefined {
  if (text.length > MAX_LENGTH) return `it has ${text.length} characters; a pattern has at most ${MAX_LENGTH}`;
  try {
    const demands = demandsOf(parsePattern(text));
    const steps = demands.reduce((sum, demand) => sum + programOf(demand).programSize(), 0);
    if (isSimple(demands) || steps * maxLength <= MAX_STEPS) return undefined;
    return `it takes up to ${steps} steps for each character; declare a maxLength of at most ${Math.floor(MAX_STEPS / steps)}`;
  } catch (error) {
    if (error instanceof PatternFault) return error.message;
    // The grammar has already reported an invalid regular expression.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isSimple = (demands: readonly LookaheadTest[]): boolean =>
  demands.every(({ part }) => isAnchored(part) && isPredictable(part));

const isAnchored = (part: PatternPart): boolean => part.kind === 'sequence' && isStart(part.parts[0]);
const isStart = (part: PatternPart | undefined): boolean => part?.kind === 'place' && part.sign === '^';

/** Lookaheads at the start become tests of their own: `^(?=A)(?!B)C` is ^A, not ^B, and ^C. */
function demandsOf(pattern: PatternPart): readonly LookaheadTest[] {
  if (pattern.kind !== 'sequence' || !isStart(pattern.parts[0])) return [{ part: pattern, negative: false }];
  const [start, ...others] = pattern.parts as readonly [PatternPart, ...PatternPart[]];
  const from = (parts: readonly PatternPart[]): PatternPart => ({ kind: 'sequence', parts: [start, ...parts] });
  const end = others.findIndex(({ kind }) => kind !== 'lookahead');
  const count = end < 0 ? others.length : end;
  const looks = others.slice(0, count).flatMap((part) => (part.kind === 'lookahead' ? [part] : []));
  return [
    ...looks.map(({ part, negative }) => ({ part: from([part]), negative })),
    { part: from(others.slice(count)), negative: false },
  ];
}

function matcherOf(demand: LookaheadTest): (text: string) => boolean {
  const program = programOf(demand);
  return demand.negative ? (text) => !program.test(text) : (text) => program.test(text);
}

function programOf({ part }: LookaheadTest): RE2JS {
  const text = inRe2(part);
  try {
    return RE2JS.compile(text);
  } catch {
    throw new PatternFault('its nested repetitions exceed 1000; limit the length with minLength and maxLength instead');
  }
}

const PLACES: Readonly<Record<string, string>> = { '^': '\\A', $: '\\z' };

function inRe2(part: PatternPart): string {
  if (part.kind === 'one') return classOf(part.of);
  if (part.kind === 'place') return PLACES[part.sign] ?? part.sign;
  if (part.kind === 'sequence') return part.parts.map(inRe2).join('');
  if (part.kind === 'choice') return `(?:${part.parts.map(inRe2).join('|')})`;
  if (part.kind === 'repeat')
    return `(?:${inRe2(part.part)}){${part.min},${part.max === Infinity ? '' : String(part.max)}}`;
  throw new PatternFault(
    'it has a lookahead (?= or (?! that is not at its start; move each lookahead directly after a leading ^, as in ^(?=.*[0-9])[a-z0-9]+$',
  );
}

function classOf(set: CodePoints): string {
  const [[first = 0, last = 0] = [], ...others] = set;
  if (others.length === 0 && first === last && set.length === 1) return point(first);
  const ranges = set.map(([from, to]) => `${point(from)}-${point(to)}`).join('');
  return set.length === 0 ? '[^\\x{0}-\\x{10FFFF}]' : `[${ranges}]`;
}

const point = (code: number): string => `\\x{${code.toString(16)}}`;

// Whether the next character always decides alone how a pattern continues. RegExp matches such a pattern in linear time
// too: every alternative that it backtracks to fails at its first character.

/** `follow`: what may come after the part. */
export function isPredictable(part: PatternPart, follow: CodePoints = NO_CODE_POINTS): boolean {
  if (part.kind === 'one' || part.kind === 'place') return true;
  if (part.kind === 'lookahead') return isPredictable(part.part);
  if (part.kind === 'repeat') return isPredictableRepeat(part, follow);
  const { parts } = part;
  if (part.kind === 'sequence')
    return parts.every((each, index) => isPredictable(each, firstOf(parts.slice(index + 1), follow)));
  const starts = parts.map((each) => (isEmptyable(each) ? union([startOf(each), follow]) : startOf(each)));
  return (
    parts.filter(isEmptyable).length <= 1 &&
    starts.every((start, index) => starts.slice(index + 1).every((other) => areDisjoint(start, other))) &&
    parts.every((each) => isPredictable(each, follow))
  );
}

function isPredictableRepeat(
  { part, min, max }: Extract<PatternPart, { kind: 'repeat' }>,
  follow: CodePoints,
): boolean {
  if (isEmptyable(part)) return false;
  if (max > min && !areDisjoint(startOf(part), follow)) return false;
  return isPredictable(part, max > 1 ? union([startOf(part), follow]) : follow);
}

/** The characters that a sequence followed by `follow` can start with. */
function firstOf(parts: readonly PatternPart[], follow: CodePoints): CodePoints {
  const end = parts.findIndex((part) => !isEmptyable(part));
  if (end < 0) return union([...parts.map(startOf), follow]);
  return union(parts.slice(0, end + 1).map(startOf));
}

function startOf(part: PatternPart): CodePoints {
  if (part.kind === 'one') return part.of;
  if (part.kind === 'sequence') return firstOf(part.parts, NO_CODE_POINTS);
  if (part.kind === 'choice') return union(part.parts.map(startOf));
  return part.kind === 'repeat' ? startOf(part.part) : NO_CODE_POINTS;
}

/** Whether the part may match the empty text. */
function isEmptyable(part: PatternPart): boolean {
  if (part.kind === 'one') return false;
  if (part.kind === 'sequence') return part.parts.every(isEmptyable);
  if (part.kind === 'choice') return part.parts.some(isEmptyable);
  return part.kind !== 'repeat' || part.min === 0 || isEmptyable(part.part);
}
