/** Parses a pattern (ECMA-262, flag `u`). Constructs that cannot be matched in linear time are rejected by name. */
import { type CodePoints, complement, NAMED, NO_CODE_POINTS, propertyOf, union } from './code-points.ts';

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
