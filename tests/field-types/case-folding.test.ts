/** Case folding: held against what Node.js knows of upper and lower case, on SQLite and, where there is one, on PostgreSQL. */
import { folded } from '../../engine/field-types/case-folding.ts';
import unicode from '../../engine/field-types/unicode-data.json';
import { databaseAt } from '../../engine/storage/open.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { createDatabase, databaseKind, type TestDatabase } from '../support/databases.ts';
import fc from '../support/fast-check.ts';

const ranges = unicode.unassigned.join(' ').replaceAll(/[\da-f]+/g, String.raw`\u{$&}`);
const later = new RegExp(`[${ranges.replaceAll(' ', '')}]`, 'u');

/** Every code point of the fixed version of Unicode. */
const KNOWN = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((one) => !later.test(one));

/** Upper and lower case of each code point alone: a whole word would end in another sigma. */
const byCase = (text: string): string =>
  [...text.normalize('NFC')]
    .map((one) => one.toUpperCase().toLowerCase())
    .join('')
    .normalize('NFC');

/** Cherokee folds to capital letters, since it had no small ones at first. */
const isCherokee = (one: string): boolean => /\p{Script=Cherokee}/u.test(one);
/** The dotless i of Turkish, and the capital sharp s, whose lower case is not that of two letters. */
const OTHER: Readonly<Record<string, string>> = { ı: 'ı', ẞ: 'ss' };

test('each code point, against its upper and lower case', () => {
  const different = KNOWN.filter((one) => folded(one) !== byCase(one));
  expect(different.filter((one) => !isCherokee(one))).toEqual(Object.keys(OTHER));
  for (const [one, other] of Object.entries(OTHER)) expect(folded(one)).toBe(other);
  for (const one of different.filter(isCherokee)) expect(folded(one)).toBe(one.toUpperCase());
  expect(KNOWN.filter((one) => folded(folded(one)) !== folded(one))).toEqual([]);
});

test.each([
  ['Straße', 'STRASSE'],
  ['ΟΔΟΣ', 'οδος'],
  ['ΐ', 'Ϊ\u0301'],
  ['ﬃ', 'FFI'],
  ['\u212Aelvin', 'kelvin'],
  ['Å', 'A\u030A'],
  ['q\u0323\u0307', 'Q\u0307\u0323'],
  ['각', '\u1100\u1161\u11A8'],
  ['ᾳ', 'Α\u0345'],
])('%s and %s are equal', (one, other) => expect(folded(one)).toBe(folded(other)));

/** Texts that are equal, though a letter and its accent are in front of and behind a place where long texts are cut. */
const LONG: readonly (readonly [title: string, one: string, other: string])[] = [
  ...[0, 1, 2, 248, 249, 250, 251, 499, 500].flatMap((length) =>
    ['ä', 'x', '각', '\u{1D400}'].map(
      (before) =>
        [
          `${before} ${length} times`,
          `${before.repeat(length)}É${'é'.repeat(260)}`,
          `${before.repeat(length).normalize('NFD')}e\u0301${'e\u0301'.repeat(260)}`,
        ] as const,
    ),
  ),
  ['300 words', 'É '.repeat(300), 'e\u0301 '.repeat(300)],
  [
    '200 marks',
    `x${'\u0323'.repeat(100)}${'\u0301'.repeat(100)}${'y'.repeat(99)}`,
    `x${'\u0301\u0323'.repeat(100)}${'y'.repeat(99)}`,
  ],
  [
    '260 marks',
    `é${'\u0323'.repeat(130)}${'\u0301'.repeat(130)}`,
    `e${'\u0323'.repeat(130)}\u0301${'\u0301'.repeat(130)}`,
  ],
  ...[248, 249, 250, 251, 252, 253, 254, 255].map(
    (marks) =>
      [`ǖ and ${marks} marks`, `ǖ${'\u0301'.repeat(marks)}`, `u\u0308\u0304${'\u0301'.repeat(marks)}`] as const,
  ),
  ...[0, 1, 2, 248, 249, 250, 251, 499, 500].map(
    (length) => [`α ${length} times`, `${'α'.repeat(length)}ά`, `${'α'.repeat(length)}α\u0301`] as const,
  ),
  ['a jamo', `${'가'.repeat(249)}각`, `${'가'.repeat(249)}\u1100\u1161\u11A8`],
];

test('a million combining marks are folded in linear time', () => {
  expect(folded(`x${'\u0301\u0323'.repeat(500_000)}`)).toBe('x');
});

test.each([
  ['i', 'ı'],
  ['ss', 'sz'],
  ['a', 'á'],
  ['a\u200D', 'a'],
  ['x\u{1C89}', 'x\u{1C8A}'],
  ['\u{113C2}\u{113B8}', '\u{113C7}'],
])('%j and %j are not', (one, other) => expect(folded(one)).not.toBe(folded(other)));

const letter = fc.oneof(
  fc.constantFrom(...KNOWN.filter((one) => folded(one) !== one)),
  fc.constantFrom(...KNOWN.filter((one) => /\p{M}/u.test(one))),
  fc.constantFrom(...'aAiIsSßσΣ ', '\u0345', '\u{1100}', '\u{1161}', '\u{1C89}', '\u{113C2}', '\u{113B8}'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 2 }),
);
const anyText = fc.array(letter, { maxLength: 8 }).map((parts) => parts.join('').toWellFormed().replaceAll('\0', ''));

let database: TestDatabase;
let driver: Driver;
beforeAll(async () => {
  database = await createDatabase();
  driver = await databaseAt(database.url).open();
});
afterAll(async () => {
  await driver.close();
  await database.remove();
});

const foldedThere = async (texts: readonly string[]): Promise<readonly unknown[]> => {
  const array =
    databaseKind === 'sqlite' ? 'json_each(?)' : 'json_array_elements_text(?) with ordinality as each(value, key)';
  const sql = `select ${driver.dialect.folded('value')} from ${array} order by key`;
  return driver.column({ sql }, [JSON.stringify(texts)]);
};

test('folds as the engine does', async () => {
  // PostgreSQL normalizes by the version of Unicode that it knows; what later ones added is left out.
  const known = KNOWN.filter((one) => one !== '\0' && !/\p{Co}/u.test(one));
  for (let at = 0; at < known.length; at += 50_000) {
    const texts = known.slice(at, at + 50_000);
    expect(await foldedThere(texts)).toEqual(texts.map(folded));
  }
  const random = fc.sample(
    anyText.filter((text) => !later.test(text)),
    3000,
  );
  const long = [
    '',
    'É x'.repeat(500),
    `${'e\u0301\u0323'.repeat(400)}ß`,
    `${'Ä'.repeat(251)}\u0323`,
    'ẞ'.repeat(250),
    ...LONG.flatMap(([, one, other]) => [one, other]),
  ];
  for (const texts of [random, long]) expect(await foldedThere(texts)).toEqual(texts.map(folded));
});
