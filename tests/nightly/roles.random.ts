/** `npm run test:nightly -- random roles`: 50,000 reads by random roles on each database. `SEED=7` begins there. */
import { databaseKinds } from '../support/databases.ts';
import { compareReads } from '../access/reading/compare-reads.ts';

const FIRST = Number(process.env['SEED'] ?? 1000);
const REQUESTS = Number(process.env['RUNS'] ?? 50_000);

jest.setTimeout(2 ** 31 - 1);

test.each(databaseKinds)('%s', async (kind) => {
  let compared = 0;
  for (let seed = FIRST; compared < REQUESTS; seed += 1) {
    process.stderr.write(`SEED=${seed}, after ${compared} requests on ${kind}\n`);
    compared += await compareReads(seed, kind, { schemas: 10, roles: 5, requests: 100 });
  }
  expect(compared).toBeGreaterThanOrEqual(REQUESTS);
});
