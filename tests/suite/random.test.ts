/** The suites of random schemas pass: types that offer some operations only, and need some of their relations. */
import { rmSync } from 'node:fs';
import { suiteOf } from '../../engine/suite/suite.ts';
import { failureText, run } from '../../engine/suite/run.ts';
import fc from '../support/fast-check.ts';
import { partialSchema, readModel, writeSchema } from '../support/random-schema.ts';
import { startTestServer } from '../support/server.ts';

/** `SEED=7 RUNS=100 npx jest tests/suite/random` draws others, and more of them. */
const numRuns = Number(process.env['RUNS'] ?? 6);

test('the suites of random schemas pass', async () => {
  const property = fc.asyncProperty(partialSchema, async (descriptors) => {
    const directory = writeSchema(descriptors);
    try {
      const model = readModel(directory);
      fc.pre(model !== undefined);
      const server = await startTestServer({ schemaDirectory: directory });
      try {
        const results = await run(suiteOf(model), { url: server.url, model });
        expect(results.filter(({ outcome }) => outcome === 'failed').map(failureText)).toEqual([]);
      } finally {
        await server.close();
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
  await fc.assert(property, { numRuns });
});
