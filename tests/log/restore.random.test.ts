/** Random requests, after which each record is deleted and brought back: the tables are as they were. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../../engine/model/model.ts';
import { compareSequence, START } from '../oracle/compare-sequence.ts';
import { type Operation, randomOperation } from '../oracle/random-operations.ts';
import fc from '../support/fast-check.ts';
import { randomSchema, readModel, writeSchema } from '../support/random-schema.ts';
import { type Bench, openBench } from '../support/replaying.ts';
import { expectFold, stored } from './fold.ts';

const SHRINKING_MS = 60_000;

/** Without stamps: a link that comes back is a change of the record that has it. */
async function tablesOf({ server }: Bench, model: Model, of: string) {
  const stamps = new Set(
    [...model.types.values()].flatMap(({ table, fields }) =>
      [...fields.values()].flatMap(({ generated, column }) =>
        generated?.startsWith('updated') ? `${table} ${column}` : [],
      ),
    ),
  );
  const rows = [...(await stored(server.database, model))].map(([place, values]) => {
    const [table = ''] = place.split('/');
    const kept = Object.entries(values).filter(([column]) => place === of || !stamps.has(`${table} ${column}`));
    return [place, Object.fromEntries(kept)] as const;
  });
  return rows.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

const hasStamps = ({ types }: Model): boolean =>
  [...types.values()].some(({ fields }) =>
    [...fields.values()].some(({ generated }) => generated?.startsWith('updated')),
  );

async function restoreEach(bench: Bench, model: Model): Promise<number> {
  let restored = 0;
  const { send } = bench;
  for (const type of model.types.values()) {
    const list = await send(`GET /api/${type.path}`, {}, undefined);
    for (const record of JSON.parse(list.text) as Record<string, string | number>[]) {
      const id = record[type.identifier.name] ?? '';
      const path = `/api/${type.path}/${id}`;
      const before = await send(`GET ${path}`, {}, undefined);
      if (before.status !== 200) continue;
      const tables = await tablesOf(bench, model, `${type.table}/${id}`);
      const deleted = await send(`DELETE ${path}`, {}, undefined);
      if (deleted.status !== 200) continue;
      const after = await tablesOf(bench, model, `${type.table}/${id}`);
      const dry = await send(`POST ${path}/$restore?dryRun=true`, {}, undefined);
      expect(await tablesOf(bench, model, `${type.table}/${id}`)).toEqual(after);
      const answer = await send(`POST ${path}/$restore`, {}, undefined);
      expect([path, answer.status, answer.status < 300 || answer.text]).toEqual([path, 200, true]);
      expect(await tablesOf(bench, model, `${type.table}/${id}`)).toEqual(tables);
      expect(answer.text).toBe((await send(`GET ${path}`, {}, undefined)).text);
      if (!hasStamps(model)) expect(answer.text).toBe(before.text);
      expect([path, dry.text]).toEqual([path, expect.stringContaining(`"body":${answer.text}}`)]);
      restored += 1;
    }
  }
  return restored;
}

async function restoredAfter(directory: string, requests: readonly Operation[]): Promise<number> {
  try {
    const model = readModel(directory);
    fc.pre(model !== undefined);
    let sent = 0;
    const clock = (): Date => new Date(START + sent * 1000);
    const bench = await openBench(directory, model, { settings: { clock }, onSend: () => (sent += 1) });
    try {
      await compareSequence(bench, model, requests);
      const restored = await restoreEach(bench, model);
      await expectFold(bench.server.database, model);
      return restored;
    } finally {
      await bench.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const operations = (most: number) => fc.array(randomOperation, { minLength: most / 2, maxLength: most, size: 'max' });

test.each([1, 2, 3])('of random schemas, seed %i', async (seed) => {
  let restored = 0;
  const property = fc.asyncProperty(randomSchema, operations(20), async (drawn, requests) => {
    restored += await restoredAfter(writeSchema(drawn.map((one) => ({ ...one, history: true }))), requests);
  });
  await fc.assert(property, { seed, numRuns: 5, interruptAfterTimeLimit: SHRINKING_MS });
  expect(restored).toBeGreaterThan(5);
});

const NESTED = 'tests/fixtures/nested';

test('of types with links, parts and unique values', async () => {
  let restored = 0;
  const property = fc.asyncProperty(operations(50), async (requests) => {
    const directory = mkdtempSync(join(tmpdir(), 'schema-'));
    for (const file of readdirSync(NESTED))
      writeFileSync(join(directory, file), `history: true\n${readFileSync(join(NESTED, file), 'utf8')}`);
    restored += await restoredAfter(directory, requests);
  });
  await fc.assert(property, { seed: 1, numRuns: 3, interruptAfterTimeLimit: SHRINKING_MS });
  expect(restored).toBeGreaterThan(8);
});
