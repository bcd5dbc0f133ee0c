/** `export` and `import`: every record, its identifier and its relations, from each database to each. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import {
  createDatabase,
  type DatabaseKind,
  databaseKinds,
  POSTGRES_URL,
  type TestDatabase,
} from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { type Ran, runCommand } from '../support/project.ts';

if (POSTGRES_URL === '') it.todo('the ways from and to PostgreSQL need a server: npm run test:postgres');

const ways = databaseKinds.flatMap((from) => databaseKinds.map((to) => [from, to] as const));
let directory: string;
let databases: TestDatabase[];
const file = (): string => join(directory, 'records.ndjson');

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'transfer-'));
  databases = [];
});
afterEach(async () => {
  await Promise.all(databases.map((database) => database.remove()));
});

async function empty(kind: DatabaseKind): Promise<TestDatabase> {
  const made = await createDatabase(kind);
  databases.push(made);
  return made;
}

const run = (command: 'export' | 'import', { url }: TestDatabase, SCHEMA_DIR = 'tests/fixtures/store'): Promise<Ran> =>
  runCommand(command, command === 'export' ? [file(), '--force'] : [file()], { DATABASE_URL: url, SCHEMA_DIR });

async function serving<T>(
  { url: databaseUrl }: TestDatabase,
  work: (url: string) => Promise<T>,
  schemaDirectory = 'tests/fixtures/store',
) {
  const { url, close } = await serve({
    ...readSettings({}),
    port: 0,
    databaseUrl,
    schemaDirectory,
    shutdownTimeout: 1000,
  });
  try {
    return await work(url);
  } finally {
    await close();
  }
}

async function everything(url: string, schemaDirectory = 'tests/fixtures/store'): Promise<readonly unknown[]> {
  const types = [...loadModel(schemaDirectory).types.values()].filter(({ operations }) => operations.has('list'));
  // One after the other: no more whole lists may be read at once than there are connections.
  const lists: unknown[] = [];
  for (const { path } of types) lists.push((await ask(url, `GET /api/${encodeURIComponent(path)}`)).body);
  return lists;
}

async function fill(url: string): Promise<void> {
  const zone = { zone_name: 'Größe "1"', zone_elements: [{ b: 1, a: [null, 1.5] }, { '': '' }] };
  const { body } = await ask(url, 'POST /api/shipping-markups', {
    min_weight: '1.50',
    zone,
    shipping_method: { code: 'x' },
  });
  const { zone: made } = body as { zone: { zone_id: number } };
  await ask(url, 'POST /api/shipping-markups', { zone: { zone_id: made.zone_id } });
  await ask(url, 'POST /api/global-tabs', { custom_tab: {}, providers: [{ code: 'Core' }] });
  await ask(url, 'POST /api/sales-tax-rates', { membership: { coupons: [{ n: 1 }, { n: 2 }] }, tax: {} });
  await ask(url, 'POST /api/content-images', { cloudicons: [{ z: 1, a: 2 }, 'é', 1e21] });
  await ask(url, 'POST /api/tax-classes', { id: 700 });
  await ask(url, 'DELETE /api/tax-classes/700');
  await ask(url, 'DELETE /api/notifications/2');
}

describe.each(ways)('from %s to %s', (from, to) => {
  it('every record arrives, identifiers are not used again, deleted seeds stay deleted', async () => {
    const [source, target] = [await empty(from), await empty(to)];
    const before = await serving(source, async (url) => {
      await fill(url);
      return everything(url);
    });
    expect(await run('export', source)).toMatchObject({ code: 0, err: '' });
    const written = readFileSync(file(), 'utf8');
    expect(await run('import', target)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/^Read \d+ lines/),
    });
    await serving(target, async (url) => {
      expect(await everything(url)).toEqual(before);
      expect((await ask(url, 'GET /api/sales-tax-rates/1?include=membership.coupons')).body).toMatchObject({
        membership: { coupons: [{ n: 1 }, { n: 2 }] },
      });
      expect((await ask(url, 'POST /api/tax-classes', {})).body).toMatchObject({ id: 701 });
    });
    expect(await run('export', target)).toMatchObject({ code: 0 });
    expect(readFileSync(file(), 'utf8').split('\n').length).toBeGreaterThanOrEqual(written.split('\n').length);
  });
});

describe.each(databaseKinds)('into %s', (kind) => {
  it.each([
    ['a database that has records', (text: string) => text, true, 'has records of'],
    [
      'half of an export',
      (text: string) => text.slice(0, text.length / 2).replace(/[^\n]*$/, ''),
      false,
      'Line 1 /lines: The file is not whole: this line says that',
    ],
    ['something else', () => '{"a":1}\n', false, 'Line 1 is not the first line of an export'],
  ])('%s is refused, and nothing is changed', async (_, spoil, filled, message) => {
    const source = await empty(kind);
    await serving(source, fill);
    await run('export', source);
    writeFileSync(file(), spoil(readFileSync(file(), 'utf8')));
    const target = filled ? source : await empty(kind);
    expect(await run('import', target)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    if (!filled)
      await serving(target, async (url) => expect((await ask(url, 'GET /api/global-tabs')).body).toEqual([]));
    expect(readdirSync(directory)).toEqual(['records.ndjson']);
  });
});
