import { POSTGRES_URL } from '../support/databases.ts';
import { compareSeed, QUICK_SEEDS } from './compare-seed.ts';

/** On PostgreSQL, the nightly run compares. */
const onSqlite = POSTGRES_URL === '' ? test : test.skip;

onSqlite.each(QUICK_SEEDS)('seed %i', async (seed) => {
  expect(await compareSeed(seed, { sequences: 10, requests: 40 })).toBeGreaterThan(50);
});
