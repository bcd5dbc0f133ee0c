/** A role reads what a service would answer that has the visible part alone. */
import { databaseKind } from '../../support/databases.ts';
import { compareReads } from './compare-reads.ts';
import { some } from '../../support/whole.ts';

/** The nightly run compares more, on both databases. */
const SEEDS = databaseKind === 'sqlite' ? [1, 2, 3] : [1];

test.each(some(SEEDS))('seed %i', async (seed) => {
  expect(await compareReads(seed, databaseKind, { schemas: 6, roles: 3, requests: 25 })).toBeGreaterThan(100);
});
