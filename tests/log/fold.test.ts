/** Random requests: the log, folded from its start, gives the tables. */
import fc, { shortening } from '../support/fast-check.ts';
import { randomSchema, writeSchema } from '../support/random-schema.ts';
import { afterRequests, type Check, operations, recordedNested } from './after-requests.ts';
import { expectFold } from './fold.ts';
import { some } from '../support/whole.ts';

const entriesOf: Check<number> = ({ server }, model) => expectFold(server.database, model);

test.each(some([1, 2, 3]))('of random schemas, seed %i', async (seed) => {
  let entries = 0;
  const property = fc.asyncProperty(
    randomSchema,
    operations(40),
    fc.nat(6),
    shortening(async (drawn, requests, recorded) => {
      // One to three types say that they are recorded.
      const descriptors = drawn.map((one, at) => ({ ...one, history: ((recorded + 1) >> at) % 2 === 1 }));
      entries += await afterRequests(writeSchema(descriptors), requests, entriesOf);
    }),
  );
  await fc.assert(property, { seed, numRuns: 5 });
  expect(entries).toBeGreaterThan(20);
});

test('of types with links, parts and unique values', async () => {
  let entries = 0;
  const property = fc.asyncProperty(
    operations(100),
    shortening(async (requests) => {
      entries += await afterRequests(recordedNested(), requests, entriesOf);
    }),
  );
  await fc.assert(property, { seed: 1, numRuns: 3 });
  expect(entries).toBeGreaterThan(50);
});
