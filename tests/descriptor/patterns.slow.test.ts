/** Patterns of descriptors: which are accepted, and that each takes time that grows with the text alone. */
import { compilePattern, patternFault, slowPattern } from '../../engine/field-types/patterns.ts';

it.each([
  ['a(?=b)', 'has a look-ahead'],
  ['^(?!a)b', 'has a look-ahead'],
  ['(?<=a)b', 'has a look-behind'],
  ['(?<!a)b', 'has a look-behind'],
  ['(a)\\1', 'has a back-reference'],
  ['(?<x>a)\\k<x>', 'has a back-reference'],
  ['a{1001}', 'RE2 cannot match it: invalid repeat count'],
  ['(?:a{100}b){100}', 'invalid repeat count'],
  ['\\p{Script=Greek}', 'RE2 cannot match it: invalid character class range: `\\p{Script=Greek}`'],
  ['[a-', 'is not a regular expression (ECMA-262, with the flag "u"): Unterminated character class'],
  ['\\-', 'Invalid escape'],
  ['(?P<x>a)', 'Invalid group'],
  ['x'.repeat(1001), 'at most 1000'],
])('%s is refused', (source, reason) => {
  expect(patternFault(source)).toContain(reason);
});

it.each([
  ['^(a+)+$', 'aaa', 'ab'],
  ['^[\\p{L} -]+$', 'é x', 'é1'],
  ['^[(?=]$', '=', 'a'],
  ['^\\(?=\\1{0}$'.replace('\\1{0}', ''), '(=', ')='],
  ['^\\\\1$', '\\1', '1'],
  ['^\\u00e9\\u{1F600}\\uD83D\\uDE00.$', 'é😀😀😀', 'é😀😀'],
  ['^(?<year>\\d{4})$', '2030', '20301'],
  ['^[a-z]{1,1000}$', 'a', ''],
])('%s is accepted, and matches %s, not %s', (source, good, bad) => {
  expect(patternFault(source)).toBeUndefined();
  const matcher = compilePattern(source);
  expect([matcher.test(good), matcher.test(bad)]).toEqual([true, false]);
});

it.each([
  ['a.{0,500}b', undefined, 'declare a maxLength of at most'],
  ['a.{0,500}b', 1000, undefined],
  ['^[a-z]{1,90}$', undefined, undefined],
])('%s in texts of %d characters: %s', (source, maxLength, reason) => {
  if (reason === undefined) expect(slowPattern(source, maxLength)).toBeUndefined();
  else expect(slowPattern(source, maxLength)).toContain(reason);
});

// RegExp would take minutes for these, or exhaust its stack.
it.each(['^(?:[a-z]+)+$', '^(?:a|aa)+$', '[a-z]+x$', '^(?:ab?)*$', '^(?:a*)*b', '(?:a+a+)+y'])(
  '%s reads a long text in linear time',
  (source) => {
    const matcher = compilePattern(source);
    expect(matcher.test(`${'a'.repeat(100_000)}!`)).toBe(false);
    expect(matcher.test('a'.repeat(12))).toBe(new RegExp(source, 'u').test('a'.repeat(12)));
  },
);
