/** Tests that replay the generated suites of one schema folder, group by group, on each database. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { type Case, conditionsOf } from '../../engine/suite/case.ts';
import { suiteOf } from '../../engine/suite/suite.ts';
import { loadModel } from './model.ts';
import { openTwins, type Twins } from './twins.ts';

/** What needs more than requests stands in tests/suite/deployments. */
export const plainCases = (model: Model, type: RecordType): readonly Case[] =>
  suiteOf(model, type).filter((one) => conditionsOf(one).length === 0);

/** Where there are very many types, some stand for the rest: the first, the last, and one between. */
const chosen = (types: readonly RecordType[]): readonly RecordType[] =>
  types.length < 50 ? types : [types[0], types[types.length >> 1], types.at(-1)].flatMap((type) => type ?? []);

const { SAMPLE } = process.env;

/** `SAMPLE=3`: every third case, from the first on; `usual` is without it. */
export function sampled(cases: readonly Case[], usual = 1): readonly Case[] {
  const stride = SAMPLE === undefined ? usual : Number(SAMPLE);
  return cases.filter((_, index) => index % stride === 0);
}

const byGroup = (cases: readonly Case[], usual: number) =>
  [...Map.groupBy(cases, ({ group }) => group)].map(([group, all]) => [group, sampled(all, usual)] as const);

export function describeSuites(name: string, directory: string, usual = 1): void {
  describe(`fixture ${name}`, () => {
    const model = loadModel(directory);
    let twins: Twins;
    beforeAll(async () => void (twins = await openTwins(directory, model)));
    afterAll(() => twins?.close());

    for (const type of chosen([...model.types.values()])) {
      const groups = byGroup(plainCases(model, type), usual);
      if (groups.length > 0) it.each(groups)(`${type.name} %s`, (_group, cases) => twins.replayAll(cases));
    }

    it('leaves no row that refers to nothing', async () => {
      expect(await twins.danglingRows()).toEqual([]);
    });
  });
}
