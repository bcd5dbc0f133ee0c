/** Patterns of descriptors mean what ECMA-262 says, and take time that grows with the text alone. */
import { describe, expect, it } from '@jest/globals';
import { compilePattern, isPredictable, patternFault } from '../../engine/patterns/compile.ts';
import { parsePattern } from '../../engine/patterns/parse.ts';
import { drawn } from '../support/sample.ts';
import fc from '../support/fast-check.ts';

const RUNS = drawn(500);

const SIGNS = [
  'a',
  'b',
  'c',
  'A',
  'Z',
  'k',
  's',
  '0',
  '7',
  '_',
  '-',
  '.',
  ' ',
  '\t',
  '\n',
  '\r',
  '\u2028',
  '\u00A0',
  '\uFEFF',
  '\u180E',
  'é',
  'ß',
  'ſ',
  '\u212A',
  'Ω',
  '١',
  '\u{1F600}',
  '\u{10FFFF}',
  '\uE000',
  '\b',
  '\v',
  '/',
];
const sign = fc.constantFrom(...SIGNS);
const escaped = (text: string): string => text.replace(/[\^$\\.*+?()[\]{}|/]/gu, '\\$&');
const inClass = (text: string): string => text.replace(/[\^$\\.*+?()[\]{}|/-]/gu, '\\$&');

const ESCAPES = [
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '\\p{L}',
  '\\P{Lu}',
  '\\p{Script=Greek}',
  '\\p{N}',
  '\\p{Any}',
  '\\p{ASCII}',
  '\\p{Emoji}',
  '\\t',
  '\\n',
  '\\v',
  '\\f',
  '\\r',
  '\\0',
  '\\cJ',
  '\\x41',
  '\\u00e9',
  '\\u{1F600}',
  '\\ud83d\\ude00',
  '\\/',
];
const range = fc.tuple(sign, sign).map(([a, b]) => {
  const [from = a, to = b] = [a, b].toSorted((x, y) => (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0));
  return `${inClass(from)}-${inClass(to)}`;
});
const members = fc.array(fc.oneof(sign.map(inClass), range, fc.constantFrom(...ESCAPES, '\\b', '\\-', '^')), {
  maxLength: 4,
});
const set = fc
  .tuple(fc.constantFrom('', '^'), members)
  .map(([not, all]) => `[${not}${all[0] === '^' && not === '' ? '\\' : ''}${all.join('')}]`);
const quantifier = fc
  .tuple(fc.constantFrom('*', '+', '?', '{0}', '{2}', '{1,}', '{0,3}', '{2,5}', '{3,3}'), fc.constantFrom('', '?'))
  .map((both) => both.join(''));

const { pattern } = fc.letrec<{ pattern: string; sequence: string; item: string; atom: string }>((tie) => ({
  pattern: fc.oneof(
    { weight: 4, arbitrary: tie('sequence') },
    fc.array(tie('sequence'), { minLength: 2, maxLength: 3 }).map((all) => all.join('|')),
  ),
  sequence: fc.array(tie('item'), { maxLength: 4 }).map((all) => all.join('')),
  item: fc.oneof(
    { weight: 6, arbitrary: tie('atom') },
    { weight: 4, arbitrary: fc.tuple(tie('atom'), quantifier).map((both) => both.join('')) },
    { weight: 1, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
  ),
  atom: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    sign.map(escaped),
    fc.constantFrom('.', ...ESCAPES),
    set,
    tie('pattern').map((inner) => `(?:${inner})`),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?<name>${inner.replaceAll('(?<name>', '(?:')})`),
  ),
}));

/** One name is one group. */
const named = pattern.map((text) => {
  let seen = false;
  return text.replaceAll('(?<name>', () => (seen ? '(?:' : ((seen = true), '(?<name>')));
});
const whole = fc.oneof(
  named,
  named.map((text) => `^(?:${text})$`),
  fc
    .tuple(fc.array(fc.tuple(fc.constantFrom('?=', '?!'), named), { maxLength: 3 }), pattern)
    .map(
      ([looks, rest]) =>
        `^${looks.map(([kind, text]) => `(${kind}${text.replaceAll('?<name>', '?:')})`).join('')}${rest.includes('|') ? `(?:${rest})` : rest}`,
    ),
);
const text = fc.string({
  unit: fc.oneof(
    { weight: 9, arbitrary: sign },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  ),
  maxLength: 8,
});

describe('a pattern', () => {
  it('means what RegExp says, whichever engine decides it', () => {
    const seen = { simple: 0, matched: 0, unmatched: 0 };
    fc.assert(
      fc.property(whole, fc.array(text, { minLength: 5, maxLength: 15 }), (source, texts) => {
        fc.pre(isRegExp(source));
        const expected = byStandard(source);
        if (isPredictable(parsePattern(source))) seen.simple += 1;
        for (const matcher of [compilePattern(source), compilePattern(source, -1)])
          for (const value of texts) {
            expect([value, matcher.test(value)]).toEqual([value, expected(value)]);
            seen[expected(value) ? 'matched' : 'unmatched'] += 1;
          }
      }),
      { numRuns: RUNS },
    );
    // Else it would say nothing.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS / 10);
  });
});

/** Where a search begins is asked for each character: left to itself, V8 finds `\\B` inside a surrogate pair too. */
function byStandard(source: string): (value: string) => boolean {
  const sticky = new RegExp(source, 'uy');
  return (value) => {
    for (let place = 0; place <= value.length; place += (value.codePointAt(place) ?? 0) > 0xffff ? 2 : 1) {
      sticky.lastIndex = place;
      if (sticky.test(value)) return true;
    }
    return false;
  };
}

function isRegExp(source: string): boolean {
  try {
    return new RegExp(source, 'u').source !== '';
  } catch {
    return false;
  }
}

describe('check', () => {
  it.each([
    ['a(?=b)', 'has a lookahead (?= or (?! that is not at its start'],
    ['(?=.*[0-9])[A-Z]', 'move each lookahead directly after a leading ^'],
    ['(?<=a)b', 'has a lookbehind'],
    ['(?<!a)b', 'has a lookbehind'],
    ['(a)\\1', 'has a backreference'],
    ['(?<x>a)\\k<x>', 'has a backreference'],
    ['a{1001}', 'more than 1000 times'],
    ['(?:a{100}b){100}', 'nested repetitions exceed 1000'],
    ['a.{0,500}b', 'declare a maxLength of at most'],
    ['x'.repeat(1001), 'at most 1000'],
  ])('refuses %s', (source, reason) => {
    expect(patternFault(source)).toContain(reason);
  });

  it.each([
    ['^(a+)+$', undefined],
    ['^(?=.*[0-9])(?=.*[A-Z])(?!.*\\s).{8,64}$', 64],
    ['^[\\p{L} -]+$', undefined],
    ['a.{0,500}b', 1000],
    ['^[a-z]{1,1000}$', undefined],
  ])('takes %s', (source, maxLength) => {
    expect(patternFault(source, maxLength)).toBeUndefined();
  });

  // Each of these took the former analysis a second or more.
  it('is done at once with two hundred patterns, however they are built', () => {
    const sources = Array.from(
      { length: 200 },
      (_, index) =>
        [
          `(?:[a-z]+[0-9]*)*${index}`,
          '('.repeat(300) + index + ')?'.repeat(300),
          `${'a?'.repeat(300)}${index}`,
          `[^${'\\p{L}'.repeat(150)}]${index}`,
          `(?:${'a|'.repeat(300)}${index})*`,
        ][index % 5] ?? '',
    );
    expect(sources.filter((source) => !isRegExp(source))).toEqual([]);
    for (const source of sources) patternFault(source);
  });
});

describe('a long text', () => {
  // RegExp would take minutes for these, or end for want of a stack.
  it.each([
    ['^(?=.*[0-9])[A-Z]*$', 'A'],
    ['^(?:[a-z]+)+$', 'a'],
    ['^(?:a|aa)+$', 'a'],
    ['[a-z]+x$', 'a'],
    ['^(?:ab?)*$', 'a'],
    ['^(?:a*)*b', 'a'],
    ['(?:x+x+)+y', 'x'],
  ])('%s is matched in linear time', (source, letter) => {
    const matcher = compilePattern(source);
    expect(matcher.test(`${letter.repeat(1_000_000)}!`)).toBe(false);
    expect(matcher.test(letter.repeat(12))).toBe(new RegExp(source, 'u').test(letter.repeat(12)));
  });
});

describe.each([
  '\\p{L}',
  '\\P{Lu}',
  '\\p{Cn}',
  '\\p{Co}',
  '\\p{Any}',
  '\\p{Noncharacter_Code_Point}',
  '\\p{Default_Ignorable_Code_Point}',
  '\\p{Script_Extensions=Latin}',
])('%s', (escape) => {
  it('has the code points that RegExp finds', () => {
    const part = parsePattern(`^${escape}`);
    const [, one] = part.kind === 'sequence' ? part.parts : [];
    const ranges = one?.kind === 'one' ? one.of : [];
    const found = new RegExp(escape, 'u');
    const isIn = (code: number): boolean => ranges.some(([first, last]) => first <= code && code <= last);
    // Between the ends of ranges, all are in it, or none is.
    const ends = ranges.flatMap(([first, last]) => [first - 1, first, last, last + 1]);
    const every = Array.from({ length: 0x11_0000 / 251 }, (_, index) => index * 251);
    const planes = Array.from({ length: 17 }, (_, plane) =>
      [0, 1, 0xfffd, 0xfffe, 0xffff].map((low) => plane * 0x1_0000 + low),
    );
    const wrong = [...ends, ...every, ...planes.flat()]
      .filter((code) => code >= 0 && code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff))
      .filter((code) => isIn(code) !== found.test(String.fromCodePoint(code)));
    expect(wrong).toEqual([]);
  });
});
