/** Tests that replay the generated suites of one schema folder, group by group, on each database. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { type Case, conditionsOf } from '../../engine/suite/case.ts';
import { suiteOf } from '../../engine/suite/suite.ts';
import { loadModel } from './model.ts';
import { sampled } from './sample.ts';
import { openTwins, type Twins } from './twins.ts';

/** What needs more than requests stands in tests/suite/deployments. */
export const plainCases = (model: Model, type: RecordType): readonly Case[] =>
  suiteOf(model, type).filter((one) => conditionsOf(one).length === 0);

/** Where there are very many types, some stand for the rest: the first, the last, and one between. */
const chosen = (types: readonly RecordType[]): readonly RecordType[] =>
  types.length < 50 ? types : [types[0], types[types.length >> 1], types.at(-1)].flatMap((type) => type ?? []);

/** Of each group, every `usual`-th case, in the order of all. */
export function ofEachGroup(cases: readonly Case[], usual: number): readonly Case[] {
  const groups = [...Map.groupBy(cases, ({ group }) => group).values()];
  const kept = new Set(groups.flatMap((all) => sampled(all, usual)));
  return cases.filter((one) => kept.has(one));
}

/** `usual`: one of how many cases of a group `npm test` replays. */
export function describeSuites(name: string, directory: string, usual: number): void {
  describe(`fixture ${name}`, () => {
    const model = loadModel(directory);
    const types = chosen([...model.types.values()]);
    const cases = ofEachGroup(
      types.flatMap((type) => plainCases(model, type)),
      usual,
    );
    let twins: Twins;
    beforeAll(async () => void (twins = await openTwins(directory, model)));
    afterAll(() => twins?.close());

    const groups = [...Map.groupBy(cases, ({ type, group }) => `${type} ${group}`)];
    it.each(groups)('%s', (_title, ofGroup) => twins.replayAll(ofGroup));

    it('leaves no row that refers to nothing', async () => {
      expect(await twins.danglingRows()).toEqual([]);
    });
  });
}
