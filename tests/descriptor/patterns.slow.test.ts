/** Patterns of descriptors mean what ECMA-262 says, and take time that grows with the text alone. */
import { parsePattern } from '../../engine/patterns/parse.ts';
import { compilePattern, patternFault } from '../../engine/patterns/compile.ts';

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
