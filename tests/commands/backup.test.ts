import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { StartError } from '../../engine/problem.ts';
import { backUp, restore, verify } from '../../engine/storage/sqlite/backup.ts';
import { fileOf } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { createProject, type Project } from '../support/project.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { type Assembly, WriteLoad } from '../support/write-load.ts';
import { until } from '../support/leaving.ts';
import { mountSmall, type SmallDisk } from '../support/small-disk.ts';

const SCHEMA = 'tests/fixtures/durability';

const directory = mkdtempSync(join(tmpdir(), 'backup-'));

const at = (name: string): string => join(directory, name);

const startOn = (name: string): Promise<TestServer> =>
  startTestServer({ schemaDirectory: SCHEMA, settings: { databaseUrl: `sqlite:${at(name)}` } });

const recordsOf = async (server: TestServer): Promise<readonly Assembly[]> =>
  JSON.parse((await exchange(server.url, 'GET /api/assemblies')).text) as Assembly[];

test('a backup under load is consistent: restored, it has no half-written record', async () => {
  const server = await startOn('live.db');
  const load = new WriteLoad();
  const running = load.run(server.url, 6);
  await until(() => load.acknowledged > 20);
  const acknowledged = [...load.known].filter(([, { acknowledged: state }]) => state !== 'gone').map(([id]) => id);
  const { rows } = await backUp(at('live.db'), at('copy.db'));
  expect(rows).toBeGreaterThan(0);
  const after = load.acknowledged + 20;
  await until(() => load.acknowledged > after);
  await server.close();
  await running;
  const restored = await restore(at('copy.db'), at('live.db'));
  expect(existsSync(restored.former ?? '')).toBe(true);
  const again = await startOn('live.db');
  const records = await recordsOf(again);
  expect(
    records.filter(
      ({ stamp, parts, box }) => parts.length !== 3 || [...parts, box].some((one) => one?.stamp !== stamp),
    ),
  ).toEqual([]);
  const there = new Set(records.map(({ id }) => id));
  const stillThere = acknowledged.filter((id) => load.known.get(id)?.acknowledged !== 'gone');
  expect(stillThere.filter((id) => !there.has(id))).toEqual([]);
  await again.close();
});

const readOnly = mountSmall(4);
afterAll(() => readOnly?.remove());
(readOnly ? test : test.skip)(
  'a file on a disk that is read-only is copied, unless a process has left a part beside it',
  async () => {
    const { directory: disk } = readOnly as SmallDisk;
    const file = join(disk, 'records.db');
    const server = await startTestServer({ schemaDirectory: SCHEMA, settings: { databaseUrl: `sqlite:${file}` } });
    const headers = { 'content-type': 'application/json' };
    expect((await exchange(server.url, 'POST /api/boxes', { headers, body: '{"stamp":7}' })).status).toBe(201);
    copyFileSync(`${file}-wal`, at('left-wal'));
    await server.close();
    const remount = (how: string): unknown => execFileSync('mount', ['-o', `remount,${how}`, disk]);
    remount('ro');
    const { rows } = await backUp(file, at('from-read-only.db'));
    expect(rows).toBeGreaterThan(0);
    remount('rw');
    copyFileSync(at('left-wal'), `${file}-wal`);
    remount('ro');
    await expect(backUp(file, at('without-wal.db'))).rejects.toThrow(/records.db cannot be copied to .*without-wal.db/);
    expect(existsSync(at('without-wal.db'))).toBe(false);
  },
);

describe('nothing is replaced', () => {
  let contents: Buffer;
  beforeAll(async () => {
    const server = await startOn('kept.db');
    await exchange(server.url, 'POST /api/boxes', {
      headers: { 'content-type': 'application/json' },
      body: '{"stamp":1}',
    });
    await server.close();
    contents = readFileSync(at('kept.db'));
    await backUp(at('kept.db'), at('good.db'));
    writeFileSync(at('text'), 'no database at all, but long enough to be looked at as one'.repeat(20));
    const other = new Database(at('foreign.db'));
    other.exec('create table other (a)');
    other.close();
    copyFileSync(at('good.db'), at('damaged.db'));
    const bytes = readFileSync(at('good.db'));
    bytes.fill(0xff, 4096 * 2, 4096 * 5);
    writeFileSync(at('damaged.db'), bytes);
  });

  test.each([
    ['missing', /There is no file/],
    ['text', /cannot be read as an SQLite database/],
    ['foreign.db', /not a database of this engine/],
    ['damaged.db', /is damaged|cannot be read/],
  ])('by %s', async (name, message) => {
    await expect(restore(at(name), at('kept.db'))).rejects.toThrow(message);
    expect(readFileSync(at('kept.db')).equals(contents)).toBe(true);
  });

  test('while the service runs', async () => {
    const server = await startOn('kept.db');
    await expect(restore(at('good.db'), at('kept.db'))).rejects.toThrow('is in use');
    await server.close();
  });

  test.each([
    ['good.db', 'nowhere/copy.db', /cannot be written: .*ENOENT/],
    ['text', 'unmade.db', /cannot be copied to .+ not a database/],
  ])('by a backup of %s to %s, which says why', async (from, to, message) => {
    await expect(backUp(at(from), at(to))).rejects.toThrow(message);
    await expect(backUp(at(from), at(to))).rejects.toBeInstanceOf(StartError);
    expect(existsSync(at(to))).toBe(false);
  });

  test('by a backup onto a file that is there', async () => {
    await expect(backUp(at('kept.db'), at('text'))).rejects.toThrow('already exists');
    expect(verify(at('good.db')).rows).toBeGreaterThan(0);
  });
});

test('a damaged database is replaced, and kept', async () => {
  writeFileSync(at('broken.db'), 'x'.repeat(5000));
  const { former } = await restore(at('good.db'), at('broken.db'));
  expect(readFileSync(former ?? '', 'utf8')).toBe('x'.repeat(5000));
  expect(verify(at('broken.db')).rows).toBeGreaterThan(0);
});

describe('the command', () => {
  const SHELF = 'type: Shelf\nfields: { label: { type: string, required: true }, height: { type: integer } }\n';
  let project: Project;
  beforeAll(async () => {
    project = await createProject({ 'shelf.yaml': SHELF }, undefined, 'sqlite');
    await project.serving(async (url) => {
      const headers = { 'content-type': 'application/json' };
      await exchange(url, 'POST /api/shelves', { headers, body: '{"label":"A","height":3}' });
    });
    expect(await project.run('backup', at('shelves.db'))).toMatchObject({ code: 0, err: '' });
  });
  afterAll(() => project.remove());

  const restored = () => project.run('restore', at('shelves.db'));

  test('refuses a backup that the service could not start with, unless forced', async () => {
    project.write({ 'shelf.yaml': SHELF.replace('label: { type: string, required: true }, ', '') });
    // The two files beside the database come and go.
    const files = (): readonly string[] =>
      readdirSync(directoryOf(project)).filter((name) => !/-(?:wal|shm)$/.test(name));
    const before = files();
    const { code, err } = await restored();
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/would not start.*--allow drop-field:Shelf\.label.*Nothing was changed/s),
    ]);
    expect(files()).toEqual(before);
    expect(await project.run('restore', at('shelves.db'), '--force')).toMatchObject({ code: 0, err: '' });
  });
});

const directoryOf = ({ database }: Project): string => dirname(fileOf(database));
