/** One seed: random schemas, each with a sequence of random requests, on each available database. */
import { rmSync } from 'node:fs';
import type { IdentifierDescriptor } from '../../engine/descriptor/descriptor.ts';
import fc, { shortening } from '../support/fast-check.ts';
import { randomSchema, readModel, writeSchema } from '../support/random-schema.ts';
import { databaseKinds } from '../support/databases.ts';
import { openBench } from '../support/replaying.ts';
import { compareSequence, START } from './compare-sequence.ts';
import { randomOperation } from './random-operations.ts';

/**
 * Those of `npm test`, as many as take 20 s. A seed that `npm run test:nightly -- random` finds is added when its cause is
 * cured.
 */
export const QUICK_SEEDS = [1, 2, 3, 4, 5, 6];

/** The identifiers that types are drawn with. */
const KEYS: readonly [IdentifierDescriptor, ...IdentifierDescriptor[]] = [
  { name: 'id' },
  { name: 'id', type: 'uuid' },
  { name: 'id', type: 'uuid', by: 'client' },
  { name: 'id', type: 'integer', by: 'client' },
  { name: 'key', type: 'string', maxLength: 40, examples: ['é/%20 ?#'] },
];

interface Size {
  readonly sequences: number;
  readonly requests: number;
}

/** Throws the shortest sequence of requests that was answered differently. Returns how many requests were compared. */
export async function compareSeed(seed: number, { sequences, requests }: Size): Promise<number> {
  let compared = 0;
  const operations = fc.array(randomOperation, { maxLength: requests, size: 'max' });
  const kinds = fc.array(fc.constantFrom(...KEYS), { minLength: 3, maxLength: 3 });
  const property = fc.asyncProperty(
    randomSchema,
    operations,
    kinds,
    shortening(async (plain, drawn, keys) => {
      const descriptors = plain.map((one, index) => ({ ...one, identifier: keys[index] ?? KEYS[0] }));
      const directory = writeSchema(descriptors);
      try {
        const model = readModel(directory);
        fc.pre(model !== undefined);
        for (const kind of databaseKinds) {
          let sent = 0;
          // Each request has a time of its own.
          const clock = (): Date => new Date(START + sent * 1000);
          const bench = await openBench(directory, model, { kind, settings: { clock }, onSend: () => (sent += 1) });
          try {
            compared += await compareSequence(bench, model, drawn);
          } finally {
            await bench.close();
          }
        }
      } finally {
        rmSync(directory, { recursive: true });
      }
    }),
  );
  await fc.assert(property, { seed, numRuns: sequences });
  return compared;
}
