/** Replays the generated suites of every schema against the listener that `npm start` builds. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Model, RecordType } from '../engine/model/model.ts';
import { type Case, conditionsOf } from '../engine/suite/case.ts';
import { suiteOf } from '../engine/suite/suite.ts';
import { loadModel } from './support/model.ts';
import { type Bench, openBench, replayAll } from './support/replaying.ts';
import { fixtureSchemas, manyTypes, wideSchema } from './support/schemas.ts';

/** What needs more than requests stands in suite-deployments.test.ts. */
const casesOf = (model: Model, type: RecordType): readonly Case[] =>
  suiteOf(model, type).filter((one) => conditionsOf(one).length === 0);

/** Where there are very many types, some stand for the rest: the first, the last, and one between. */
const chosen = (types: readonly RecordType[]): readonly RecordType[] =>
  types.length < 50 ? types : [types[0], types[types.length >> 1], types.at(-1)].flatMap((type) => type ?? []);

const typesOf = (directory: string) => {
  const model = loadModel(directory);
  return { model, types: chosen([...model.types.values()]) };
};

describe('schema', () => {
  const { model, types } = typesOf('schema');
  let bench: Bench;
  beforeAll(async () => void (bench = await openBench('schema', model)));
  afterAll(() => bench?.close());

  for (const type of types) {
    const cases = casesOf(model, type).map((one) => [`${one.title} (${one.group})`, one] as const);
    if (cases.length > 0)
      describe(type.name, () => void it.each(cases)('%s', (_title, one) => replayAll(bench, [one])));
  }

  it('leaves no row that refers to nothing', async () => {
    expect(await bench.observer.danglingRows()).toEqual([]);
  });
});

const byGroup = (cases: readonly Case[]) =>
  [...new Set(cases.map(({ group }) => group))].map(
    (group) => [group, cases.filter((one) => one.group === group)] as const,
  );

const odd = [
  ...fixtureSchemas,
  { name: '200 fields', directory: wideSchema() },
  { name: '300 types', directory: manyTypes() },
];

describe.each(odd)('fixture $name', ({ directory }) => {
  const { model, types } = typesOf(directory);
  let bench: Bench;
  beforeAll(async () => void (bench = await openBench(directory, model)));
  afterAll(() => bench?.close());

  for (const type of types) {
    const groups = byGroup(casesOf(model, type));
    if (groups.length > 0) it.each(groups)(`${type.name} %s`, (_group, cases) => replayAll(bench, cases));
  }

  it('leaves no row that refers to nothing', async () => {
    expect(await bench.observer.danglingRows()).toEqual([]);
  });
});
