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
  databaseKind,
  databaseKinds,
  POSTGRES_URL,
  type TestDatabase,
} from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { createProject, type Ran, runCommand } from '../support/project.ts';

if (POSTGRES_URL === '') it.todo('the ways from and to PostgreSQL need a server: npm run test:postgres');

const ways = databaseKinds
  .flatMap((from) => databaseKinds.map((to) => [from, to] as const))
  .filter((way) => way.includes(databaseKind));
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

  it('a retry after the move gets the same answer as before', async () => {
    const [source, target] = [await empty(from), await empty(to)];
    const requests = [
      ['POST /api/tax-classes', { position: 5 }],
      ['POST /api/tax-classes', [{ position: 6 }, { position: 7 }]],
      ['PUT /api/tax-classes/1', { position: 8 }],
      ['POST /api/tax-classes', { position: 9 }],
      ['DELETE /api/tax-classes/4', undefined],
      ['DELETE /api/tax-classes?_cnd[position]=7', undefined],
    ] as const;
    const sendAll = async (url: string): Promise<readonly unknown[]> => {
      const answers: unknown[] = [];
      for (const [index, [title, body]] of requests.entries()) {
        const { status, headers, body: text } = await ask(url, title, body, { 'idempotency-key': `key/${index}` });
        answers.push([status, headers.get('location'), text]);
      }
      return answers;
    };
    const [answers, before] = await serving(source, async (url) => {
      await sendAll(url);
      // Records that have changed or gone since are answered as they are.
      return [await sendAll(url), await everything(url)] as const;
    });
    expect(await run('export', source)).toMatchObject({ code: 0, err: '' });
    expect(await run('import', target)).toMatchObject({ code: 0, err: '' });
    await serving(target, async (url) => {
      expect(await sendAll(url)).toEqual(answers);
      expect(await everything(url)).toEqual(before);
      const other = await ask(url, 'POST /api/tax-classes', { position: 1 }, { 'idempotency-key': 'key/0' });
      expect(other).toMatchObject({ status: 422, body: { type: 'urn:problem:idempotency-conflict' } });
    });
  });
});

describe(`into ${databaseKind}`, () => {
  it('an export without keys, as earlier versions wrote it, is read', async () => {
    const lines = [
      '{"format":1,"lines":2}',
      '{"type":"TaxClass","identifier":3,"fields":{"position":4},"references":{}}',
      '{"sequence":"TaxClass","last":9}',
    ];
    writeFileSync(file(), `${lines.join('\n')}\n`);
    const target = await empty(databaseKind);
    expect(await run('import', target)).toMatchObject({ code: 0, err: '' });
    await serving(target, async (url) =>
      expect((await ask(url, 'GET /api/tax-classes/3')).body).toMatchObject({ position: 4 }),
    );
  });

  it.each([
    ['{"key":"a","identity":"","hash":"h","created":"yesterday","status":201,"identifiers":[1]}', 'Line 2 /created'],
    [
      '{"key":"a","identity":"","hash":"h","created":"2026-01-02T03:04:05.678Z","status":201,"identifiers":[true]}',
      'Line 2 /identifiers/0',
    ],
    ['{"key":"a","hash":"h","created":"2026-01-02T03:04:05.678Z","status":201,"identifiers":[1]}', 'Line 2 /identity'],
    ['{"key":1}', 'Line 2 /key'],
  ])('the line of a key that is not one is refused: %s', async (line, message) => {
    writeFileSync(file(), `{"format":1,"lines":1}\n${line}\n`);
    expect(await run('import', await empty(databaseKind))).toMatchObject({
      code: 1,
      err: expect.stringContaining(message),
    });
  });

  it('keys of records with identifiers of another type, and of types that are gone', async () => {
    const [note, other] = ['type: Note\nfields: { n: { type: integer } }\n', 'type: Other\n'];
    const uuid = note.replace('Note\n', 'Note\nidentifier: { type: uuid }\n');
    const project = await createProject({ 'note.yaml': note, 'other.yaml': other });
    const post = (key: string) => (url: string) => ask(url, 'POST /api/notes', { n: 1 }, { 'idempotency-key': key });
    expect(await project.serving(post('old'))).toMatchObject({ status: 201, body: { id: 1 } });
    await project.serving((url) => ask(url, 'DELETE /api/notes/1'));
    await project.starts({ 'note.yaml': uuid });
    expect(await project.serving(post('old'))).toMatchObject({ status: 201, body: undefined });
    expect(await project.serving(post('new'))).toMatchObject({ status: 201, body: { n: 1 } });
    project.write({ 'note.yaml': null });
    expect(await project.run('apply', '--allow', 'drop-type:Note')).toMatchObject({ code: 0 });
    expect(await project.run('export', file(), '--force')).toMatchObject({ code: 0 });
    const target = await createProject({ 'other.yaml': other });
    expect(await target.run('import', file())).toMatchObject({ code: 0, err: '' });
    await project.remove();
    await target.remove();
  });

  it('a duplicate key in the file is refused', async () => {
    const line =
      '{"key":"a","identity":"","hash":"h","created":"2026-01-02T03:04:05.678Z","status":201,"identifiers":[1]}';
    writeFileSync(file(), `{"format":1,"lines":2}\n${line}\n${line}\n`);
    expect(await run('import', await empty(databaseKind))).toMatchObject({
      code: 1,
      err: expect.stringContaining('Line 3: This key is in the file twice'),
    });
  });

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
    const source = await empty(databaseKind);
    await serving(source, fill);
    await run('export', source);
    writeFileSync(file(), spoil(readFileSync(file(), 'utf8')));
    const target = filled ? source : await empty(databaseKind);
    expect(await run('import', target)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    if (!filled)
      await serving(target, async (url) => expect((await ask(url, 'GET /api/global-tabs')).body).toEqual([]));
    expect(readdirSync(directory)).toEqual(['records.ndjson']);
  });
});
