/**
 * `npm run test:nightly -- random`: the same on each database with more seeds, and then with longer sequences and new
 * seeds until one fails. `SEED=7` begins there, and `SEED=7 SEEDS=1` repeats it alone.
 */
import { databaseKinds } from '../support/databases.ts';
import { compareSeed, QUICK_SEEDS } from '../oracle/compare-seed.ts';

const FIRST = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000);
const COUNT = Number(process.env['SEEDS'] ?? Infinity);

jest.setTimeout(2 ** 31 - 1);

const more = Array.from({ length: 24 }, (_, index) => QUICK_SEEDS.length + 1 + index);
if (process.env['SEED'] === undefined)
  test.each(more)('seed %i', async (seed) => {
    expect(await compareSeed(seed, { sequences: 10, requests: 40 })).toBeGreaterThan(50);
  });

test(`seeds from ${FIRST} on`, async () => {
  let requests = 0;
  for (let seed = FIRST; seed < FIRST + COUNT; seed += 1) {
    process.stderr.write(`SEED=${seed}, after ${requests} requests on ${databaseKinds.join(' and ')}\n`);
    requests += await compareSeed(seed, { sequences: 10, requests: 200 });
  }
  expect(requests).toBeGreaterThan(0);
});
