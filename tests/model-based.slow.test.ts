/** Random requests over random schemas: the service answers what the oracle says, one request after the other, on each database. */
import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Descriptor } from '../engine/descriptor/descriptor.ts';
import type { Model } from '../engine/model/model.ts';
import { compareSequence } from './support/compare-sequence.ts';
import { databaseKinds } from './support/databases.ts';
import { loadModel } from './support/model.ts';
import { randomOperation } from './support/random-operations.ts';
import { randomSchema, yamlOf } from './support/random-schema.ts';
import { openTwins } from './support/twins.ts';

/** `SEED=7 RUNS=500 npx jest tests/model-based` draws other sequences, and more of them. */
const seed = Number(process.env['SEED'] ?? 2030);
const numRuns = Number(process.env['RUNS'] ?? (databaseKinds.length > 1 ? 25 : 50));
const longest = Math.max(100_000, numRuns * 4_000);
jest.setTimeout(longest + 200_000);

function writeSchema(descriptors: readonly Descriptor[]): string {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'schema-'));
  for (const descriptor of descriptors)
    writeFileSync(join(directory, `${descriptor.type.toLowerCase()}.yaml`), yamlOf(descriptor));
  return directory;
}

/** Not everything that can be drawn is a schema: the descriptor stage has the say. */
function modelOf(directory: string): Model | undefined {
  try {
    return loadModel(directory);
  } catch {
    return undefined;
  }
}

describe('model', () => {
  it('and service agree on every request of a random sequence', async () => {
    let sequences = 0;
    const property = fc.asyncProperty(
      randomSchema,
      fc.array(randomOperation, { maxLength: 40, size: 'max' }),
      async (descriptors, operations) => {
        const directory = writeSchema(descriptors);
        try {
          const model = modelOf(directory);
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
    await fc.assert(property, {
      seed,
      numRuns,
      endOnFailure: false,
      interruptAfterTimeLimit: longest,
    });
    expect(sequences).toBeGreaterThanOrEqual(numRuns);
  });
});
