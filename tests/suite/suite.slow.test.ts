/** Replays the generated suites of the shipped types against the listener that `npm start` builds: on each database, with the same answers. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sampled } from '../support/sample.ts';
import { plainCases } from '../support/suites.ts';
import { loadModel } from '../support/model.ts';
import { openTwins, type Twins } from '../support/twins.ts';

const model = loadModel('schema');
let twins: Twins;
beforeAll(async () => void (twins = await openTwins('schema', model)));
afterAll(() => twins?.close());

for (const type of model.types.values()) {
  const cases = sampled(plainCases(model, type), 8).map((one) => [`${one.title} (${one.group})`, one] as const);
  if (cases.length > 0) describe(type.name, () => void it.each(cases)('%s', (_title, one) => twins.replayAll([one])));
}

it('leaves no row that refers to nothing', async () => {
  expect(await twins.danglingRows()).toEqual([]);
});
