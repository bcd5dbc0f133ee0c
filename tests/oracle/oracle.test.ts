import { POSTGRES_URL } from '../support/databases.ts';
import { compareSeed } from './compare-seed.ts';

/** As many as take a minute. A seed that `npm run test:nightly -- random` finds is added when its cause is cured. */
const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1);

/** On PostgreSQL, the nightly run compares. */
const onSqlite = POSTGRES_URL === '' ? test : test.skip;

onSqlite.each(SEEDS)('seed %i', async (seed) => {
  expect(await compareSeed(seed, { sequences: 10, requests: 40, shrinking: 600_000 })).toBeGreaterThan(50);
});
