/** The suite of each schema passes, and removes the records that it has made. */
import type { RecordType } from '../../engine/model/model.ts';
import { suiteOf } from '../../engine/suite/suite.ts';
import { failureText, run } from '../../engine/suite/run.ts';
import { databaseKind } from '../support/databases.ts';
import { keyedSchema } from '../support/keyed.ts';
import { loadModel } from '../support/model.ts';
import { createObserver, type Observer } from '../support/observer.ts';
import { fixtureSchemas, manyTypes } from '../support/schemas.ts';
import { shippedSchemas } from '../support/shipped.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { isWhole, some } from '../support/whole.ts';

/** Their types are like those of the others. */
const large = [
  { name: 'an ERP of 19 types', directory: 'tests/fixtures/erp' },
  { name: '200 types', directory: manyTypes(200) },
];

const keyed = shippedSchemas.flatMap(({ name, directory }) =>
  (['uuid', 'string'] as const).map((kind) => ({
    name: `${name}, with keys of type ${kind}`,
    directory: keyedSchema(directory, kind),
  })),
);

const schemas = [
  ...shippedSchemas,
  ...(isWhole ? large : []),
  ...(isWhole || databaseKind === 'sqlite' ? keyed : []),
  { name: 'one type', directory: 'tests/fixtures/one-type' },
  ...fixtureSchemas,
  { name: 'nested', directory: 'tests/fixtures/nested' },
  { name: 'keys of three kinds', directory: 'tests/fixtures/keys' },
];

/** Where there are very many types, some of them stand for the others. */
const MOST_TYPES = 12;
const SOME_TYPES = 3;

/** Whether requests can delete all records of the type, and whatever refers to them. */
const isRemovable = (type: RecordType, above: readonly RecordType[] = []): boolean =>
  above.includes(type) ||
  (type.operations.has('delete') && type.referrers.every((referrer) => isRemovable(referrer.type, [...above, type])));

describe.each(schemas)('the suite of $name', ({ directory }) => {
  const model = loadModel(directory);
  const byType = Map.groupBy(suiteOf(model), ({ type }) => type);
  const isShipped = shippedSchemas.some((shipped) => shipped.directory === directory);
  const all = [...byType.keys()].filter((_, index, { length }) => index % Math.ceil(length / MOST_TYPES) === 0);
  const types = isShipped ? all : some(all, SOME_TYPES);
  let server: TestServer;
  let observer: Observer;

  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: directory });
    observer = await createObserver(server.database, model);
  });

  afterAll(async () => {
    await observer?.close();
    await server?.close();
  });

  test.each(types)('%s', async (type) => {
    const before = await observer.snapshot();
    const results = await run(byType.get(type) ?? [], { url: server.url, model });
    expect(results.filter(({ outcome }) => outcome === 'failed').map(failureText)).toEqual([]);
    expect(results.filter(({ outcome }) => outcome === 'passed')).not.toEqual([]);
    const after = await observer.snapshot();
    const removable = [...model.types.values()].filter((one) => isRemovable(one)).map(({ table }) => table);
    expect(removable.filter((table) => after.get(table) !== before.get(table))).toEqual([]);
    expect(await observer.danglingRows()).toEqual([]);
  });
});
