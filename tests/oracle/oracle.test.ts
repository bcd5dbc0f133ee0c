import { compareSeed, QUICK_SEEDS } from './compare-seed.ts';

test.each(QUICK_SEEDS)('seed %i', async (seed) => {
  expect(await compareSeed(seed, { sequences: 10, requests: 40 })).toBeGreaterThan(50);
});
