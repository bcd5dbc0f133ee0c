import { compareSeed, QUICK_SEEDS } from './compare-seed.ts';
import { some } from '../support/whole.ts';

test.each(some(QUICK_SEEDS, 3))('seed %i', async (seed) => {
  expect(await compareSeed(seed, { sequences: 10, requests: 40 })).toBeGreaterThan(50);
});
