/** Replays the generated suites of random schemas whose types offer some operations only and need some of their relations. */
import { describe, expect, it, jest } from '@jest/globals';
import { rmSync } from 'node:fs';
import { replayAll } from '../support/replaying.ts';
import { drawn } from '../support/sample.ts';
import { plainCases } from '../support/suites.ts';
import { openTwins } from '../support/twins.ts';
import { partialSchema, readModel, writeSchema } from '../support/random-schema.ts';
import fc from '../support/fast-check.ts';

/** `SEED=7 RUNS=300 npx jest tests/suite/random` draws other schemas, and more of them. */
const numRuns = drawn(12);
/** Cases of one schema that are replayed, spread over all of them. */
const MOST_CASES = Number(process.env['CASES'] ?? 60);
/** Only for a run that would never end. */
jest.setTimeout(Math.max(1_800_000, numRuns * 60_000));

const spread = <T>(all: readonly T[], first: number): readonly T[] => {
  const stride = Math.max(1, Math.ceil(all.length / MOST_CASES));
  return all.filter((_, index) => index % stride === first % stride);
};

describe('the suites of random schemas', () => {
  it('are generated, and pass', async () => {
    let schemas = 0;
    const property = fc.asyncProperty(partialSchema, fc.nat(1000), async (descriptors, first) => {
      const directory = writeSchema(descriptors);
      try {
        const model = readModel(directory);
        fc.pre(model !== undefined);
        const cases = [...model.types.values()].flatMap((type) => plainCases(model, type));
        const twins = await openTwins(directory, model);
        try {
          await twins.both((bench) => replayAll(bench, spread(cases, first), true));
          expect(await twins.danglingRows()).toEqual([]);
          schemas += 1;
        } finally {
          await twins.close();
        }
      } finally {
        rmSync(directory, { recursive: true });
      }
    });
    await fc.assert(property, { numRuns });
    expect(schemas).toBeGreaterThanOrEqual(numRuns);
  });
});
