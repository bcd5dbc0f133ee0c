/** Replays the generated suites of every schema against the listener that `npm start` builds. */
import type { Case } from '../engine/suite/case.ts';
import { formatFailures } from '../engine/suite/report.ts';
import { createReplayer, type Replayer } from '../engine/suite/replay.ts';
import { suiteOf } from '../engine/suite/suite.ts';
import { loadModel } from './support/model.ts';
import { createObserver, type Observer } from './support/observer.ts';
import { fixtureSchemas, manyTypes, wideSchema } from './support/schemas.ts';
import { startTestServer, type TestServer } from './support/server.ts';

/** Where there are very many types, the first ones stand for the rest. */
const MAX_TYPES = 20;

const schemas = [
  { name: 'schema', directory: 'schema' },
  ...fixtureSchemas,
  { name: '200 fields', directory: wideSchema() },
  { name: '300 types', directory: manyTypes() },
];

describe.each(schemas)('$name', ({ directory }) => {
  const model = loadModel(directory);
  let server: TestServer;
  let observer: Observer;
  let replayer: Replayer;

  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: directory });
    observer = createObserver(server.databaseFile, model);
    replayer = createReplayer({ url: server.url, observe: () => observer.snapshot() });
  });

  afterAll(async () => {
    replayer?.close();
    observer?.close();
    await server?.close();
  });

  async function run(one: Case): Promise<void> {
    const result = await replayer.replay(one);
    if (result.outcome !== 'passed') throw new Error(`\n${formatFailures(result)}`);
  }

  for (const type of [...model.types.values()].slice(0, MAX_TYPES)) {
    const cases = suiteOf(model, type);
    const byTitle = cases.map((one) => [one.title, one] as const);
    if (cases.length > 0) describe(type.name, () => void it.each(byTitle)('%s', (_title, one) => run(one)));
  }

  it('leaves no row that refers to nothing', () => {
    expect(observer.danglingRows()).toEqual([]);
  });
});
