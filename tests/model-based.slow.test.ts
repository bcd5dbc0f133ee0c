/** Random requests over random schemas: the service answers what the oracle says, one request after the other, on each database. */
import { describe, expect, it, jest } from '@jest/globals';
import { rmSync } from 'node:fs';
import { compareSequence } from './support/compare-sequence.ts';
import { databaseKinds } from './support/databases.ts';
import { randomOperation } from './support/random-operations.ts';
import { randomSchema, readModel, writeSchema } from './support/random-schema.ts';
import { openTwins } from './support/twins.ts';
import fc from './support/fast-check.ts';

/** `SEED=7 RUNS=500 npx jest tests/model-based` draws other sequences, and more of them. */
const numRuns = Number(process.env['RUNS'] ?? (databaseKinds.length > 1 ? 25 : 50));
/** Only for a run that would never end. */
jest.setTimeout(Math.max(1_800_000, numRuns * 60_000));

describe('model', () => {
  it('and service agree on every request of a random sequence', async () => {
    let sequences = 0;
    const property = fc.asyncProperty(
      randomSchema,
      fc.array(randomOperation, { maxLength: 40, size: 'max' }),
      async (descriptors, operations) => {
        const directory = writeSchema(descriptors);
        try {
          const model = readModel(directory);
          fc.pre(model !== undefined);
          const twins = await openTwins(directory, model);
          try {
            await twins.both((bench) => compareSequence(bench, model, operations));
            sequences += 1;
          } finally {
            await twins.close();
          }
        } finally {
          rmSync(directory, { recursive: true });
        }
      },
    );
    await fc.assert(property, { numRuns });
    expect(sequences).toBeGreaterThanOrEqual(numRuns);
  });
});
