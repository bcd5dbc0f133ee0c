/** Random requests over random schemas: the service answers what the oracle says, one request after the other, on each database. */
import { describe, expect, it, jest } from '@jest/globals';
import { rmSync } from 'node:fs';
import { compareSequence } from './compare-sequence.ts';
import { databaseKinds } from '../support/databases.ts';
import { randomOperation } from './random-operations.ts';
import { randomSchema, readModel, writeSchema } from '../support/random-schema.ts';
import { drawn } from '../support/sample.ts';
import { openTwins } from '../support/twins.ts';
import fc from '../support/fast-check.ts';

const { REQUESTS, SEED } = process.env;
/** `SEED=7 RUNS=500 npx jest tests/model-based` draws other sequences, and more of them. */
const numRuns = drawn(databaseKinds.length > 1 ? 25 : 50);
/** `REQUESTS=100000` goes on until each database has answered as many, and prints its seeds: `npm run test:model`. */
const requests = Number(REQUESTS ?? 0);
/** Only for a run that would never end. */
jest.setTimeout(Math.max(1_800_000, numRuns * 60_000, requests * 1000));

/** How long a search for the shortest sequence may take. */
const SHRINKING = Number(process.env['SHRINKING'] ?? 600_000);

let shortest = Infinity;

/** A long run says what it has found before the search for the shortest sequence ends. */
function tell(length: number, error: unknown): void {
  if (requests === 0 || length >= shortest) return;
  shortest = length;
  process.stderr.write(`${length} operations differ: ${String(error).slice(-2000)}\n`);
}

describe('model', () => {
  it('and service agree on every request of a random sequence', async () => {
    const done = { sequences: 0, requests: 0 };
    const property = fc.asyncProperty(
      randomSchema,
      fc.array(randomOperation, { maxLength: requests === 0 ? 40 : 200, size: 'max' }),
      async (descriptors, operations) => {
        const directory = writeSchema(descriptors);
        try {
          const model = readModel(directory);
          fc.pre(model !== undefined);
          const twins = await openTwins(directory, model, { inAnyOrder: true });
          try {
            let own = 0;
            await twins.both(async (bench) => void (own = await compareSequence(bench, model, operations)));
            done.requests += own;
            done.sequences += 1;
          } catch (error) {
            tell(operations.length, error);
            throw error;
          } finally {
            await twins.close();
          }
        } finally {
          rmSync(directory, { recursive: true });
        }
      },
    );
    if (requests === 0) await fc.assert(property, { numRuns });
    for (let seed = Number(SEED ?? Date.now() % 1_000_000); done.requests < requests; seed += 1) {
      await fc.assert(property, { numRuns, seed, interruptAfterTimeLimit: SHRINKING });
      process.stderr.write(
        `SEED=${seed} RUNS=${numRuns}: ${done.requests} requests on ${databaseKinds.join(' and ')}\n`,
      );
    }
    expect(done.sequences).toBeGreaterThanOrEqual(numRuns);
  });
});
