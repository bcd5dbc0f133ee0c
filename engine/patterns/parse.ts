/** The text of a pattern (ECMA-262, flag `u`) -> its parts. What no engine can decide in linear time is refused by name. */
import { type CodePoints, complement, NAMED, NO_CODE_POINTS, propertyOf, union } from './code-points.ts';

/** A pattern that is not taken: the message says why, and what to write instead. */
export class PatternFault extends Error {}

export type PatternPart =
  | { readonly kind: 'one'; readonly of: CodePoints }
  | { readonly kind: 'place'; readonly sign: string }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternPart[] }
  | { readonly kind: 'repeat'; readonly part: PatternPart; readonly min: number; readonly max: number }
  | { readonly kind: 'lookahead'; readonly part: PatternPart; readonly negative: boolean };

/** Times that a part may be repeated, as RE2 has it. */
const MAX_TIMES = 1000;
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 };

/** Throws a PatternFault, or the SyntaxError of RegExp. */
export function parsePattern(text: string): PatternPart {
  void new RegExp(text, 'u');
  return createParser([...text]).choice();
}

/** RegExp has said that the text is well-formed: nothing is missing here. */
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
        `it repeats a part more than ${MAX_TIMES} times; limit the text by minLength and maxLength`,
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
      throw new PatternFault('it refers back to a group (\\1, \\k<name>), which takes too long');
    return one(escaped());
  }

  function group(): PatternPart {
    if (looksAt('?<=') || looksAt('?<!'))
      throw new PatternFault('it looks behind (?<= or (?<!, which is not supported; name what stands before instead');
    const negative = looksAt('?!');
    const isLookahead = take('?=') || take('?!');
    if (!isLookahead && take('?<')) until('>');
    else if (!isLookahead && looksAt('?') && !take('?:'))
      throw new PatternFault('it changes flags inside (?i: and the like; write both cases instead, as [Aa] does');
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

  /** Behind a backslash. */
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

  /** Two escapes that are the halves of one character are that character. */
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
