/** How the studio shows values, and what becomes of what is typed: in whatever time zone these tests run. */
import type { FieldInfo } from '../../studio/data/model.ts';
import { isRight, presentationName } from '../../studio/presentations/choose.ts';
import { CONTAINS, filterNodes, filterOperators, readCondition } from '../../studio/presentations/filter.ts';
import { brokenLimits } from '../../studio/presentations/limits.ts';
import { valueOf } from '../../studio/presentations/field-draft.ts';
import {
  numberDraft,
  numberInWords,
  numberReadings,
  numberShown,
  numberSpoken,
  numberTyped,
  OpenNumber,
  openReadings,
} from '../../studio/presentations/numbers.ts';
import { newRow, nodesOf, OpenFilter } from '../../studio/lists/filter-draft.ts';
import { dateText, localInput, periodDays, spanOf, storedTime, timeText } from '../../studio/presentations/times.ts';
import { writeTree } from '../../studio/data/filter-tree.ts';

const fieldOf = (words: Partial<FieldInfo>): FieldInfo => ({
  name: 'f',
  title: 'F',
  type: 'string',
  examples: [],
  operators: [],
  isOrderIndexed: false,
  ...words,
});

test.each([
  [{}, 'text'],
  [{ format: 'email' }, 'link'],
  [{ format: 'uri' }, 'link'],
  [{ format: 'toString' }, 'text'],
  [{ enum: ['a'] }, 'choice'],
  [{ type: 'integer', enum: ['1'] }, 'choice'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'decimal' }, 'number'],
  [{ type: 'boolean' }, 'flag'],
  [{ type: 'date' }, 'date'],
  [{ type: 'timestamp' }, 'timestamp'],
  [{ type: 'array', items: { type: 'string' } }, 'list'],
  [{ type: 'array' }, 'json'],
  [{ type: 'any' }, 'json'],
  [{ type: 'not-known-yet' }, 'json'],
] as const)('%j is shown as %s', (words, name) => {
  expect(presentationName(fieldOf(words))).toBe(name);
  expect(isRight(fieldOf(words))).toBe(name === 'number');
});

test.each([
  ['12345678901234567890.10', 'en', '12,345,678,901,234,567,890.10'],
  ['12345678901234567890.10', 'de', '12.345.678.901.234.567.890,10'],
  ['-1234.5', 'en', '-1,234.5'],
  ['0.00', 'en', '0.00'],
  ['2026', 'en', '2026'],
  ['123456', 'en', '123,456'],
  ['1e300', 'en', '1e300'],
  ['1.5E-7', 'en', '1.5E-7'],
  ['not a number', 'en', 'not a number'],
])('the number %s in %s is %s', (text, language, shown) => {
  expect(numberInWords(text, language)).toBe(shown);
});

test.each([
  ['2026-11-25', 'en', 'Nov 25, 2026'],
  ['2026-11-25', 'de', '25.11.2026'],
  ['0001-01-01x', 'en', '0001-01-01x'],
])('the date %s in %s is %s', (text, language, shown) => {
  expect(dateText(text, language)).toBe(shown);
});

test.each(['2026-11-25T21:44:28Z', '2026-11-25T21:44:28.120Z', '1999-12-31T23:59:00Z', '2026-03-29T01:30:00Z'])(
  '%s is the same point in time after it was shown in an input',
  (text) => {
    const shown = localInput(text) ?? '';
    expect(shown).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{3})?$/);
    expect(new Date(storedTime(shown)).getTime()).toBe(new Date(text).getTime());
  },
);

test('a point in time is shown with its zone, and with seconds only where it has any', () => {
  const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(new Date('2026-11-25T12:00:00Z'));
  const name = zone.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  expect(timeText('2026-11-25T12:34:00.000Z', 'en')).toMatch(/^\w+ \d+, 2026, \d\d:\d\d\s[AP]M /);
  expect(timeText('2026-11-25T12:34:00.000Z', 'en')).toContain(name);
  expect(timeText('2026-11-25T12:34:56.127Z', 'en')).toMatch(/:56\s/);
  expect(timeText('soon', 'en')).toBe('soon');
});

const at = (...parts: readonly [number, number, number, number?, number?, number?]): string =>
  new Date(parts[0], parts[1] - 1, parts[2], parts[3] ?? 0, parts[4] ?? 0, parts[5] ?? 0).toISOString();

test.each([
  ['2026-11-25', at(2026, 11, 25), at(2026, 11, 26)],
  ['2026-12-31', at(2026, 12, 31), at(2027, 1, 1)],
  ['2026-11-25T10:30', at(2026, 11, 25, 10, 30), at(2026, 11, 25, 10, 31)],
  ['2026-11-25T10:30:15', at(2026, 11, 25, 10, 30, 15), at(2026, 11, 25, 10, 30, 16)],
])('%s stands for all that is within it', (text, from, to) => {
  expect(spanOf(text)).toEqual({ from, to });
});

const NOW = new Date(2026, 10, 3, 15, 0);
test.each([
  ['today', '2026-11-03', '2026-11-04'],
  ['last_7_days', '2026-10-28', '2026-11-04'],
  ['this_month', '2026-11-01', '2026-12-01'],
] as const)('%s is from %s until before %s', (period, from, to) => {
  expect(periodDays(period, NOW)).toEqual({ from, to });
});

const DAY = [at(2026, 11, 25), at(2026, 11, 26)] as const;
test.each([
  ['timestamp', 'eq', '2026-11-25', [`[f][gte]=${DAY[0]}`, `[f][lt]=${DAY[1]}`]],
  ['timestamp', 'ne', '2026-11-25', [`[$any][0][f][lt]=${DAY[0]}`, `[$any][1][f][gte]=${DAY[1]}`]],
  ['timestamp', 'lt', '2026-11-25', [`[f][lt]=${DAY[0]}`]],
  ['timestamp', 'lte', '2026-11-25', [`[f][lt]=${DAY[1]}`]],
  ['timestamp', 'gt', '2026-11-25', [`[f][gte]=${DAY[1]}`]],
  ['timestamp', 'gte', '2026-11-25', [`[f][gte]=${DAY[0]}`]],
  ['timestamp', 'gte', '2026-11-25T10:00:00Z', ['[f][gte]=2026-11-25T10:00:00Z']],
  ['timestamp', 'null', 'true', ['[f][null]=true']],
  ['timestamp', '$period.today', '', [`[f][gte]=${at(2026, 11, 3)}`, `[f][lt]=${at(2026, 11, 4)}`]],
  ['date', '$period.this_month', '', ['[f][gte]=2026-11-01', '[f][lt]=2026-12-01']],
  ['date', 'eq', '2026-11-25', ['[f][eq]=2026-11-25']],
  ['string', 'eq', '2026-11-25', ['[f][eq]=2026-11-25']],
])('a filter of a %s: %s “%s”', (type, operator, text, expected) => {
  const nodes = filterNodes(fieldOf({ type }), 'f', operator, [text], NOW);
  expect(writeTree(nodes).map(([name, value]) => `${name.replace('_cnd', '')}=${value}`)).toEqual(expected);
});

const say = (key: string, values: object = {}): string => [key, ...Object.values(values)].join(' ');

test.each<[words: Partial<FieldInfo>, typed: string, said: string | undefined]>([
  [{ minLength: 2 }, 'a', 'limit.min_length 2'],
  [{ maxLength: 2 }, 'äöü', 'limit.max_length 2'],
  [{ maxLength: 2 }, '😀😀', undefined],
  [{ pattern: '^[A-Z]+$' }, 'a', 'limit.pattern ^[A-Z]+$'],
  [{ pattern: '^[A-Z]+$', examples: ['AB'] }, 'a', 'limit.like AB'],
  [{ pattern: '(' }, 'a', undefined],
  [{ type: 'integer' }, '1.5', 'limit.integer'],
  [{ type: 'decimal' }, 'x', 'limit.number'],
  [{ type: 'decimal', minimum: '1' }, '0.5', 'limit.minimum 1'],
  [{ type: 'number', maximum: 1 }, '2', 'limit.maximum 1'],
  [{ type: 'decimal', precision: 4, scale: 2 }, '123.4', 'limit.digits 4 2'],
  [{ type: 'decimal', precision: 4, scale: 2 }, '0012.345', 'limit.digits 4 2'],
  [{ type: 'decimal', precision: 4, scale: 2 }, '0012.34', undefined],
  [{ type: 'array', minItems: 2 }, '[1]', 'limit.fewest_items 2'],
  [{ type: 'array', maxItems: 1 }, '[1, 2]', 'limit.most_items 1'],
  [{ type: 'array', maxItems: 1 }, '[', undefined],
  [{ minLength: 2 }, '', undefined],
])('%j and the text %s', (words, typed, said) => {
  expect(brokenLimits(say, fieldOf(words), typed)).toBe(said);
});

test('a part of a text is the first operator, and needs no *', () => {
  const field = fieldOf({ operators: ['eq', 'like'] });
  expect(filterOperators(field, field.operators)).toEqual([CONTAINS, 'eq', 'like']);
  expect(filterNodes(field, 'f', CONTAINS, ['a'])).toEqual([
    { kind: 'condition', path: 'f', operator: 'like', values: ['*a*'] },
  ]);
  expect(readCondition('like', '*a*')).toEqual({ operator: CONTAINS, value: 'a' });
  expect(readCondition('like', '*a*b*')).toEqual({ operator: 'like', value: '*a*b*' });
});

test.each([
  ['3.000', 'de', 'integer', ['3000']],
  ['1.234.567', 'de', 'integer', ['1234567']],
  ['1,000', 'en', 'integer', ['1000']],
  ["1'000", 'en', 'integer', ['1000']],
  ["1'000", 'de-CH', 'integer', ['1000']],
  ['1 000', 'fr', 'integer', ['1000']],
  ['1\u202f000', 'fr', 'integer', ['1000']],
  ['1,00,000', 'en-IN', 'integer', ['100000']],
  ['007', 'de', 'integer', ['7']],
  ['1,000', 'de', 'integer', ['1', '1000']],
  ['3.000', 'en', 'integer', ['3', '3000']],
  ['1,5', 'de', 'integer', []],
  ['3.456', 'en', 'integer', []],
  ['12.5', 'de', 'integer', []],
  ['1.500', 'de', 'decimal', ['1500', '1.500']],
  ['1,500', 'en', 'decimal', ['1500', '1.500']],
  ['-1.600', 'de', 'decimal', ['-1600', '-1.600']],
  ['1.500', 'fr', 'decimal', ['1500', '1.500']],
  ['1.500', 'en', 'decimal', ['1.500']],
  ['1,500', 'de', 'decimal', ['1.500']],
  ['0.500', 'de', 'decimal', ['0.500']],
  ['1234.567', 'de', 'decimal', ['1234.567']],
  ['1.234,56', 'de', 'decimal', ['1234.56']],
  ['1.234,56', 'en', 'decimal', ['1234.56']],
  ['1,234.56', 'de', 'decimal', ['1234.56']],
  ["1'234.50", 'de-CH', 'decimal', ['1234.50']],
  ['1 234,5', 'fr', 'decimal', ['1234.5']],
  ['12.345.678,9', 'de', 'decimal', ['12345678.9']],
  ['12,34,56', 'de', 'decimal', []],
  ['1.23.456', 'de', 'decimal', []],
  ['1.2.3', 'de', 'decimal', []],
  ['12.5', 'de', 'decimal', ['12.5']],
  ['-,5', 'fr', 'decimal', ['-0.5']],
  ['\u22125', 'de', 'decimal', ['-5']],
  ['12,', 'de', 'decimal', ['12']],
  ['12,50 €', 'de', 'decimal', ['12.50']],
  ['1.5e-7', 'de', 'number', ['1.5e-7']],
  ['12345678901234567890,10', 'de', 'decimal', ['12345678901234567890.10']],
  ['5 %', 'de', 'decimal', []],
  ['many', 'de', 'decimal', []],
  ['', 'de', 'decimal', []],
] as const)('%s typed in %s as %s can mean %j', (text, language, type, readings) => {
  expect(numberReadings(text, language, type === 'integer' ? 0 : undefined)).toEqual(readings);
});

test.each(['de', 'de-AT', 'de-CH', 'en', 'en-IN', 'fr', 'sv', 'pl', 'hi', 'es', 'pt-PT'])(
  'a number as %s writes it is read as that number, or both of its readings are offered',
  (language) => {
    for (const number of ['0', '7', '1234', '1234567', '0.5', '12.25', '1234.5', '1234567.125', '-98765.4321']) {
      const shown = numberSpoken(number, language, 0);
      expect(numberReadings(shown, language, undefined)).toContain(number);
      expect(numberReadings(numberTyped(number, language), language, undefined)).toEqual([number]);
    }
  },
);

test('a text that can be two numbers has no value until one is chosen', () => {
  const draft = numberDraft('1.500', 'de', 2);
  expect(numberTyped(draft, 'de')).toBe('1.500');
  expect(openReadings(draft, 'de', 2)).toEqual(['1500', '1.50']);
  expect(() => valueOf(fieldOf({ type: 'decimal' }), draft)).toThrow(OpenNumber);
  expect(brokenLimits(say, fieldOf({ type: 'decimal' }), draft)).toBe('limit.two_ways');
  const price = fieldOf({ type: 'decimal', operators: ['eq'] });
  const subject = { path: 'f', title: 'F', operators: price.operators, field: price };
  const row = { ...newRow(), path: 'f', operator: 'eq' };
  expect(() => nodesOf([{ ...row, text: draft }], [subject], () => [])).toThrow(OpenFilter);
  expect(() => nodesOf([row], [subject], () => [])).toThrow(OpenFilter);
  expect(nodesOf([{ ...row, text: '1500' }], [subject], () => [])).toEqual([
    { kind: 'condition', path: 'f', operator: 'eq', values: ['1500'] },
  ]);
});

test.each([
  ['1271.68', 'en', '$1,271.68'],
  ['2192', 'en', '$2,192.00'],
  ['2192', 'de', '2.192,00\u00A0$'],
  ['999.5', 'en', '$999.50'],
])('an amount of money %s is read in %s as %s, like those beside it', (text, language, shown) => {
  const field = { shows: { money: 'currency' }, scale: 2 };
  expect(numberShown(field, text, language, { currency: 'usd' })).toBe(shown);
});
