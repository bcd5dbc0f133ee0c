import { operandsOf, operators } from '../../engine/query/operators.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import fc from '../support/fast-check.ts';

const RUNS = Number(process.env['RUNS'] ?? 300);

/** What the manual says: the segments one after the other, the first at the beginning and the last at the end. */
function finds(pattern: string, text: string): boolean {
  const lower = (all: string): string => all.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const segments = lower(pattern).split('*');
  const [first = '', last = ''] = [segments[0], segments.at(-1)];
  const all = lower(text);
  if (segments.length === 1) return all === first;
  if (all.length < first.length + last.length || !all.startsWith(first) || !all.endsWith(last)) return false;
  const middle = all.slice(first.length, all.length - last.length);
  const end = segments.slice(1, -1).reduce((place, segment) => {
    const found = place < 0 ? -1 : middle.indexOf(segment, place);
    return found < 0 ? -1 : found + segment.length;
  }, 0);
  return end >= 0;
}

const letters = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom('a', 'a', 'a', 'b', 'A', 'B', 'É', 'é', '%', '_', '\\', '\u{1F600}', 'ſ'),
    maxLength,
  });

const pairs = fc
  .tuple(letters(60), fc.array(letters(12), { minLength: 1, maxLength: 6 }), fc.array(fc.nat(60), { maxLength: 6 }))
  .map(([text, segments, cuts]): [string, string] => {
    const signs = [...text];
    const cut = cuts
      .toSorted((a, b) => a - b)
      .map((place, index, all) => signs.slice(all[index - 1] ?? 0, place).join(''));
    return [text, (cuts.length > 1 ? [...cut, ''] : segments).join('*')];
  });

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

async function asked(sql: string, values: readonly string[]): Promise<boolean> {
  const found = await driver.value({ sql: `select 1 from (select cast(? as text) as v) as t where ${sql}` }, values);
  return found === 1 || found === '1';
}
const found = (pattern: string, text: string): Promise<boolean> =>
  asked(operators.like.condition('v', 1, driver.dialect.like), [text, ...operandsOf('like', pattern).map(String)]);

it('every pattern finds what it should', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async ([text, pattern]) => {
      expect(await found(pattern, text)).toBe(finds(pattern, text));
    }),
    { numRuns: RUNS },
  );
});
