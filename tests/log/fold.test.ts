/** Random requests: the log, folded from its start, gives the tables. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareSequence, START } from '../oracle/compare-sequence.ts';
import { type Operation, randomOperation } from '../oracle/random-operations.ts';
import fc, { shortening } from '../support/fast-check.ts';
import { randomSchema, readModel, writeSchema } from '../support/random-schema.ts';
import { openBench } from '../support/replaying.ts';
import { expectFold } from './fold.ts';

async function entriesAfter(directory: string, requests: readonly Operation[]): Promise<number> {
  try {
    const model = readModel(directory);
    fc.pre(model !== undefined && [...model.types.values()].some(({ history }) => history));
    let sent = 0;
    const clock = (): Date => new Date(START + sent * 1000);
    const bench = await openBench(directory, model, { settings: { clock }, onSend: () => (sent += 1) });
    try {
      await compareSequence(bench, model, requests);
      return await expectFold(bench.server.database, model);
    } finally {
      await bench.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const operations = (most: number) => fc.array(randomOperation, { minLength: most / 2, maxLength: most, size: 'max' });

test.each([1, 2, 3])('of random schemas, seed %i', async (seed) => {
  let entries = 0;
  const property = fc.asyncProperty(
    randomSchema,
    operations(40),
    fc.nat(6),
    shortening(async (drawn, requests, recorded) => {
      // One to three types say that they are recorded.
      const descriptors = drawn.map((one, at) => ({ ...one, history: ((recorded + 1) >> at) % 2 === 1 }));
      entries += await entriesAfter(writeSchema(descriptors), requests);
    }),
  );
  await fc.assert(property, { seed, numRuns: 5 });
  expect(entries).toBeGreaterThan(20);
});

const NESTED = 'tests/fixtures/nested';

test('of types with links, parts and unique values', async () => {
  let entries = 0;
  const property = fc.asyncProperty(
    operations(100),
    shortening(async (requests) => {
      const directory = mkdtempSync(join(tmpdir(), 'schema-'));
      for (const file of readdirSync(NESTED))
        writeFileSync(join(directory, file), `history: true\n${readFileSync(join(NESTED, file), 'utf8')}`);
      entries += await entriesAfter(directory, requests);
    }),
  );
  await fc.assert(property, { seed: 1, numRuns: 3 });
  expect(entries).toBeGreaterThan(50);
});
