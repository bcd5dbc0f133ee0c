/** `export` and `import`: every record, its identifier and its relations, from each database to each. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  rmSync(directory, { recursive: true });
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

const THING = 'type: Thing\nfields:\n  a: { type: string }\n';

function writeThing(more: string): string {
  const folder = mkdtempSync(join(directory, 'thing-'));
  writeFileSync(join(folder, 'thing.yaml'), `${THING}${more}`);
  return folder;
}

describe.each(databaseKinds)('into %s with other descriptors', (kind) => {
  it.each([
    ['', '{"a":"x","b":"kept nowhere"}', '{}', 'Line 2 /fields/b: Unknown key "b"'],
    ['', '{"a":"x"}', '{"thing_id":7}', 'Line 2 /references/thing_id: Unknown key "thing_id"'],
    ['  n: { type: integer, required: true }\n', '{"a":"x"}', '{}', 'Line 2 /fields/n: "n" is required'],
  ])('fields %j, record %s, references %s: refused', async (more, fields, references, message) => {
    const line = `{"type":"Thing","identifier":7,"fields":${fields},"references":${references}}`;
    writeFileSync(file(), `{"format":1,"lines":1}\n${line}\n`);
    const target = await empty(kind);
    const schema = writeThing(more);
    expect(await run('import', target, schema)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(await serving(target, (url) => everything(url, schema), schema)).toEqual([[]]);
  });
});

const KNOTS: Readonly<Record<string, string>> = {
  knot: `type: Knot
fields: { name: { type: string } }
relations:
  next: { kind: belongsTo, type: Knot }
  end: { kind: belongsTo, type: End }
  ends: { kind: manyToMany, type: End, inverse: knots }
`,
  end: `type: End
relations:
  knot: { kind: belongsTo, type: Knot, required: true }
  knots: { kind: manyToMany, type: Knot, inverse: ends }
`,
};

function writeKnots(): string {
  const folder = mkdtempSync(join(directory, 'knots-'));
  for (const [name, text] of Object.entries(KNOTS)) writeFileSync(join(folder, `${name}.yaml`), text);
  return folder;
}

/** Records that lead to later ones, to each other in circles, and to themselves. */
async function fillKnots(source: TestDatabase, schema: string): Promise<void> {
  const links = [
    [1, 3],
    [2, 1],
    [3, 3],
  ] as const;
  await serving(
    source,
    async (url) => {
      for (const [id] of links) await ask(url, 'POST /api/knots', { id, name: `k${id}` });
      for (const [id] of links)
        await ask(url, 'POST /api/ends', { id, knot: { id }, knots: [{ id: 1 }, { id }].slice(0, id) });
      for (const [id, next] of links) {
        const { status } = await ask(url, `PUT /api/knots/${id}`, { next: { id: next }, end: { id: 4 - id } });
        expect(status).toBe(200);
      }
    },
    schema,
  );
}

describe.each(databaseKinds)('into %s', (kind) => {
  it('a record that another refers to is missing: it is named, and nothing is changed', async () => {
    const source = await empty(kind);
    const schema = writeKnots();
    await fillKnots(source, schema);
    await run('export', source, schema);
    const lines = readFileSync(file(), 'utf8').split('\n');
    const without = lines.filter((line) => !line.startsWith('{"type":"Knot","identifier":3'));
    expect(without).toHaveLength(lines.length - 1);
    const { lines: count, ...head } = JSON.parse(without[0] ?? '') as { lines: number };
    writeFileSync(file(), [JSON.stringify({ ...head, lines: count - 1 }), ...without.slice(1)].join('\n'));
    const target = await empty(kind);
    expect(await run('import', target, schema)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Line \d \/references\/\w+: There is no Knot 3 in the file\n/),
    });
    expect(await serving(target, (url) => everything(url, schema), schema)).toEqual([[], []]);
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
    [
      'no JSON',
      (text: string) => text.replace('\n', '\n{,\n'),
      false,
      'Line 2: The line is not valid JSON: expected a key in double quotes, found ",", at column 2',
    ],
    [
      'a type that is gone',
      (text: string) => text.replace('"type":"Notification"', '"type":"Gone"'),
      false,
      '/type: No descriptor declares the type "Gone"; did you mean "Zone"?',
    ],
    [
      'a record twice',
      (text: string) => text.replace(/^([^\n]*\n)([^\n]*\n)/, '$1$2$2'),
      false,
      'Line 3 /identifier: ',
    ],
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
