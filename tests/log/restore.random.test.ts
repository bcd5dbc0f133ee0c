/** Random requests, after which each record is deleted, also by SQL, and brought back: the tables are as they were. */
import { type Model, owningReferences, type RecordType } from '../../engine/model/model.ts';
import { runSql, type TestDatabase } from '../support/databases.ts';
import fc, { shortening } from '../support/fast-check.ts';
import { randomSchema, writeSchema } from '../support/random-schema.ts';
import type { Bench } from '../support/replaying.ts';
import { afterRequests, type Check, operations, recordedNested } from './after-requests.ts';
import { expectFold, stored } from './fold.ts';
import { some } from '../support/whole.ts';

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

/** Whether foreign keys let another program delete the record. */
const deletedBySql = (database: TestDatabase, { table, identifier }: RecordType, id: string | number) =>
  runSql(
    database,
    ...(database.kind === 'sqlite' ? ['pragma foreign_keys = on'] : []),
    `delete from "${table}" where "${identifier.column}" = '${id}'`,
  ).then(
    () => true,
    () => false,
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
      const isDeleted =
        restored % 2 === 0
          ? (await send(`DELETE ${path}`, {}, undefined)).status === 200
          : await deletedBySql(bench.server.database, type, id);
      if (!isDeleted) continue;
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

/** Whether a deletion takes others than parts, which do not come back with the record. */
const takesOthers = ({ types }: Model): boolean =>
  [...types.values()].some((type) =>
    type.references.some((one) => one.onDelete === 'cascade' && !owningReferences(type).includes(one)),
  );

const restored: Check<number> = async (bench, model) => {
  if (takesOthers(model)) return 0;
  const count = await restoreEach(bench, model);
  await expectFold(bench.server.database, model);
  return count;
};

test.each(some([1, 2, 3]))('of random schemas, seed %i', async (seed) => {
  let records = 0;
  const property = fc.asyncProperty(
    randomSchema,
    operations(20),
    shortening(async (drawn, requests) => {
      const directory = writeSchema(drawn.map((one) => ({ ...one, history: true })));
      records += await afterRequests(directory, requests, restored);
    }),
  );
  await fc.assert(property, { seed, numRuns: 5 });
  expect(records).toBeGreaterThan(5);
});

test('of types with links, parts and unique values', async () => {
  let records = 0;
  const property = fc.asyncProperty(
    operations(50),
    shortening(async (requests) => {
      records += await afterRequests(recordedNested(), requests, restored);
    }),
  );
  await fc.assert(property, { seed: 1, numRuns: 3 });
  expect(records).toBeGreaterThan(8);
});
