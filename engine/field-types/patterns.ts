/** Patterns of descriptors must compile in ECMAScript (flag `u`), for editors and clients, and in RE2, which matches in linear time. */
import { RE2JS } from 're2js';
import { reasonOf } from '../problem.ts';

const MAX_LENGTH = 1000;
/** Maximum steps for a string, each about ten nanoseconds. */
const MAX_STEPS = 300_000_000;
const ANY_LENGTH = 1_048_576;

const own = new Set<string>();

/** Marks a pattern of the engine: RegExp matches it in linear time, ten times as fast. */
export function ownPattern(text: string): string {
  own.add(text);
  return text;
}

/** Throws if RE2 cannot match the pattern. Returns the part of a RegExp that Ajv uses; it caches by `toString`. */
export function compilePattern(text: string): { test(text: string): boolean; toString(): string } {
  if (own.has(text)) return new RegExp(text, 'u');
  const compiled = inRe2(text);
  return { test: (value) => compiled.test(value), toString: () => text };
}

const SURROGATES = /\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/gi;

/** RE2JS translates all escapes of ECMAScript except surrogate pairs. */
const inRe2 = (text: string): RE2JS =>
  RE2JS.compile(
    RE2JS.translateRegExp(
      text.replaceAll(SURROGATES, (_, high: string, low: string) => {
        const pair = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
        return `\\u{${(pair.codePointAt(0) ?? 0).toString(16)}}`;
      }),
    ),
  );

/** An escape, a character class, or the start of a group. */
const PARTS = /\\(?:k<\w+>|[pPu]\{[^}]*\}|.)|\[(?:\\.|[^\]])*\]|\(\?(?:<?[=!])?/gsu;

const UNSUPPORTED: readonly (readonly [part: RegExp, reason: string])[] = [
  [/^\\(?:[1-9]|k<)/, 'it has a back-reference (\\1, \\k<name>)'],
  [/^\(\?<[=!]/, 'it has a look-behind, (?<= or (?<!; match the preceding text itself'],
  [/^\(\?[=!]/, 'it has a look-ahead, (?= or (?!; use minLength and maxLength, or a field of its own'],
];

/** Why a pattern is not accepted; undefined if it is. */
export function patternFault(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `it has ${text.length} characters; a pattern has at most ${MAX_LENGTH}`;
  try {
    void new RegExp(text, 'u');
  } catch (error) {
    return `it is not a regular expression (ECMA-262, with the flag "u"): ${reasonOf(error).split(': ').at(-1)}`;
  }
  const parts = text.match(PARTS) ?? [];
  const known = UNSUPPORTED.find(([part]) => parts.some((one) => part.test(one)));
  if (known) return known[1];
  try {
    void inRe2(text);
    return undefined;
  } catch (error) {
    return reasonOf(error).replace('error parsing regexp', 'RE2 cannot match it');
  }
}

/** Why a valid pattern takes too long for strings of this length; undefined if it does not. */
export function slowPattern(text: string, maxLength = ANY_LENGTH): string | undefined {
  if (patternFault(text) !== undefined) return undefined;
  const steps = inRe2(text).programSize();
  if (steps * maxLength <= MAX_STEPS) return undefined;
  return `it takes up to ${steps} steps for each character; declare a maxLength of at most ${Math.floor(MAX_STEPS / steps)}`;
}
