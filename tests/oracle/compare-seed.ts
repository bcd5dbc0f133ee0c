/** One seed: random schemas, and for each a sequence of random requests, on each database that is there. */
import { rmSync } from 'node:fs';
import fc from '../support/fast-check.ts';
import { randomSchema, readModel, writeSchema } from '../support/random-schema.ts';
import { openTwins } from '../support/twins.ts';
import { compareSequence } from './compare-sequence.ts';
import { randomOperation } from './random-operations.ts';

interface Size {
  /** Sequences, each with a schema of its own. */
  readonly sequences: number;
  /** Requests of the longest sequence. */
  readonly requests: number;
  /** Milliseconds for finding a shorter sequence that fails too. */
  readonly shrinking: number;
}

/** Throws the shortest sequence of requests that was answered differently. Returns how many requests were compared. */
export async function compareSeed(seed: number, { sequences, requests, shrinking }: Size): Promise<number> {
  let compared = 0;
  const operations = fc.array(randomOperation, { maxLength: requests, size: 'max' });
  const property = fc.asyncProperty(randomSchema, operations, async (descriptors, drawn) => {
    const directory = writeSchema(descriptors);
    try {
      const model = readModel(directory);
      fc.pre(model !== undefined);
      const twins = await openTwins(directory, model, { inAnyOrder: true });
      try {
        let own = 0;
        await twins.both(async (bench) => void (own = await compareSequence(bench, model, drawn)));
        compared += own;
      } finally {
        await twins.close();
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
  await fc.assert(property, { seed, numRuns: sequences, interruptAfterTimeLimit: shrinking });
  return compared;
}
