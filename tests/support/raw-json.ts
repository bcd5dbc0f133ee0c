/** Random JSON as text: valid, in forms that JSON.stringify never writes. */
import fc from './fast-check.ts';

const digits = (most: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength: most }).map((all) => all.join(''));

const whole = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.constantFrom(...'123456789'), fc.option(digits(40))).map(([first, rest]) => first + (rest ?? '')),
);

const rawNumber: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('', '-'),
    whole,
    fc.option(digits(30)),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'), digits(4))),
  )
  .map(([sign, digitsBefore, fraction, exponent]) =>
    [sign, digitsBefore, fraction === null ? '' : `.${fraction}`, exponent?.join('') ?? ''].join(''),
  );

const ESCAPES = [
  '\\"',
  '\\\\',
  '\\/',
  '\\b',
  '\\f',
  '\\n',
  '\\r',
  '\\t',
  '\\u0041',
  '\\u00E9',
  '\\ud83d\\ude00',
  '\\u2028',
];

const rawString: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...ESCAPES, ...'abc 019:,{}[]é😀\u2028\u007f'), { maxLength: 8 })
  .map((parts) => `"${parts.join('')}"`);

/** Keys that look like indices, that every object inherits, that are empty. */
const rawKey = fc.oneof(
  fc.nat({ max: 30 }).map((index) => `"${index}"`),
  fc.constantFrom('""', '"constructor"', '"toString"', '"a"', '"\\u0062"', '"-1"', '"01"', '"4294967295"', '"1.0"'),
  rawString,
);

const memberKey = ([key]: readonly [string, string]): unknown => JSON.parse(key);

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.constantFrom('null', 'true', 'false', '1.0', '-0', '1e400', '12345678901234567890', '9007199254740993'),
    rawNumber,
    rawString,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(rawKey, tie('value')), { maxLength: 5, selector: memberKey })
      .map((members) => `{${members.map(([key, text]) => `${key}:${text}`).join(',')}}`),
  ),
}));

/** Without white space between tokens, each key once, and no key that is reserved. */
export const rawJson: fc.Arbitrary<string> = value;

export function spaced(text: string, spaces: Iterable<string>): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^"[\]{},:]+/g) ?? [];
  const between = spaces[Symbol.iterator]();
  const space = (): string => String(between.next().value ?? '');
  return space() + tokens.map((token) => token + space()).join('');
}
