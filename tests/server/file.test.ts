/** The file of an SQLite database is removed, moved, replaced or served twice: no request is answered from what is lost. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { fileOf } from '../support/databases.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { exchange } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { mountSmall } from '../support/small-disk.ts';
import { some } from '../support/whole.ts';

const SCHEMA = 'tests/fixtures/access';
const JSON_BODY = { headers: { 'content-type': 'application/json' }, body: '{"text":"new"}' };
const compiled = useCompiled();

const READS = [
  'GET /api/memos/1',
  'GET /api/memos',
  'GET /api/memos?_cnd[text][like]=%25a%25',
  'GET /api/memos/$summary',
  'GET /api/memos?_cnd[limit]=0&_cnd[limit]=5',
];
const WRITES = ['PATCH /api/memos/1', 'DELETE /api/memos/1', 'POST /api/memos?dryRun=true'];

const losses: Readonly<Record<string, (file: string) => void>> = {
  'is removed': (file) => rmSync(file),
  'is moved': (file) => renameSync(file, `${file}.away`),
  'is replaced by a copy': (file) => {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  },
  'is removed with its log': (file) => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix);
  },
  'loses its log': (file) => rmSync(`${file}-wal`),
  'loses its index of the log': (file) => rmSync(`${file}-shm`),
  'is emptied': (file) => truncateSync(file),
  'is cut off': (file) => truncateSync(file, 512),
  'has its log emptied': (file) => truncateSync(`${file}-wal`),
  'has its log cut off': (file) => truncateSync(`${file}-wal`, 40_960),
  'is moved, and a link put in its place': (file) => {
    renameSync(file, `${file}.away`);
    symlinkSync(`${file}.away`, file);
  },
  'goes with its folder': (file) => renameSync(dirname(file), `${dirname(file)}-away`),
};

describe.each(some(Object.entries(losses), 4))('a file that %s', (_, lose) => {
  let server: TestServer;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'file-'));
    mkdirSync(join(folder, 'data'));
    const database = {
      kind: 'sqlite',
      url: `sqlite:${join(folder, 'data/records.db')}`,
      remove: async () => undefined,
    } as const;
    server = await startTestServer({ schemaDirectory: SCHEMA, database, settings: { logLevel: 'silent' } });
  });
  afterEach(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test('fails every request with 503', async () => {
    const ask = async (title: string): Promise<readonly [string, number]> => [
      title,
      (await exchange(server.url, title, title.startsWith('GET') ? {} : JSON_BODY)).status,
    ];
    // Search processes have the file open.
    for (const title of ['POST /api/memos', ...READS])
      expect(await ask(title)).toEqual([title, title.startsWith('POST') ? 201 : 200]);
    lose(fileOf(server.database));
    // Reads look every five milliseconds.
    await sleep(10);
    for (const title of ['POST /api/memos', ...READS, ...WRITES, 'GET /health/ready'])
      expect(await ask(title)).toEqual([title, 503]);
  });
});

describe('a second service', () => {
  let folder: string;
  let first: Running;
  const start = (file: string, environment: Environment = {}): Running =>
    compiled.run('server.js', [], { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${file}`, ...environment });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'second-'));
    first = start(join(folder, 'records.db'));
    await urlOf(first);
  });

  const names: readonly [string, (from: string, to: string) => void, RegExp][] = [
    ['the same name', () => undefined, /records\.db is served by another process; one process serves an SQLite file/],
    ['a symbolic link', symlinkSync, /link\.db is served by another process/],
    ['a hard link', linkSync, /link\.db is in use under another name, a hard link; stop the other process\. Nothing/],
  ];
  test.each(some(names))('is refused by %s, and starts once the first has ended', async (what, link, message) => {
    const file = join(folder, what === 'the same name' ? 'records.db' : 'link.db');
    link(join(folder, 'records.db'), file);
    const second = start(file);
    expect(await second.ended).toBe(1);
    expect([second.out(), second.err()]).toEqual(['', expect.stringMatching(message)]);
    // A command may use the file beside it.
    const copy = compiled.run('engine/cli.js', ['backup', join(folder, 'copy.db')], {
      DATABASE_URL: `sqlite:${join(folder, 'records.db')}`,
    });
    expect(await copy.ended).toBe(0);
    first.child.kill('SIGKILL');
    await first.ended;
    await urlOf(start(file));
  });
});

const small = mountSmall(4);
afterAll(() => small?.remove());

(small ? test : test.skip)('a service starts on a full disk: it reads, and writes are 507', async () => {
  const file = `${small?.directory}/records.db`;
  const settings = { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${file}` };
  const first = compiled.run('server.js', [], settings);
  expect((await exchange(await urlOf(first), 'POST /api/memos', JSON_BODY)).status).toBe(201);
  first.child.kill('SIGKILL');
  await first.ended;
  // The second service must not find free space in the journal of the first one.
  rmSync(`${file}-lock-journal`, { force: true });
  const empty = small?.fill();
  const fresh = compiled.run('server.js', [], { ...settings, DATABASE_URL: `sqlite:${small?.directory}/fresh.db` });
  expect(await fresh.ended).toBe(1);
  expect(fresh.err()).toMatch(/^The database has no space left on its disk\n$/);
  const url = await urlOf(compiled.run('server.js', [], settings));
  expect((await exchange(url, 'GET /api/memos/1')).status).toBe(200);
  expect((await exchange(url, 'POST /api/memos', JSON_BODY)).status).toBe(507);
  empty?.();
  expect((await exchange(url, 'POST /api/memos', JSON_BODY)).status).toBe(201);
});

// Root may do everything, unless it gives that up.
const AS_OTHERS = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];

function faultOf(file: string, ...asked: readonly string[]): string {
  const cli = join(compiled.directory, 'engine/cli.js');
  const [program = '', ...words] = [...AS_OTHERS, process.execPath, cli, ...asked];
  const env = { ...process.env, SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${file}` };
  return spawnSync(program, words, { env, encoding: 'utf8' }).stderr;
}

const LOCKED = [
  ['the file', 0o777, 0o444, ''],
  ['the folder', 0o555, 0o666, ''],
  ['a file beside it', 0o777, 0o666, '-wal'],
  ['the file, nor read it', 0o777, 0o000, ''],
] as const;

test.each(some(LOCKED, 2))('a user who may not write %s learns what to grant', async (_, ofFolder, ofFile, beside) => {
  const folder = mkdtempSync(join(tmpdir(), 'rights-'));
  const file = join(folder, 'records.db');
  await (await databaseAt(`sqlite:${file}`).open()).close();
  if (beside !== '') writeFileSync(file + beside, '', { mode: 0o400 });
  chmodSync(file, ofFile);
  chmodSync(folder, ofFolder);
  expect(faultOf(file, 'plan')).toMatch(
    /records\.db cannot be opened \(EACCES: .*\)\. The user of this process \(uid \d+\) must/,
  );
  chmodSync(folder, 0o777);
  rmSync(folder, { recursive: true });
});

test('a backup by a user who may not look into the folder does not say that there is no database', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rights-'));
  const file = join(folder, 'records.db');
  await (await databaseAt(`sqlite:${file}`).open()).close();
  chmodSync(folder, 0o000);
  expect(faultOf(file, 'backup', `${folder}.copy`)).toMatch(/^EACCES: permission denied, stat '.*records\.db'\n$/);
  chmodSync(folder, 0o777);
  rmSync(folder, { recursive: true });
});

test('a file below a folder that takes none is refused', async () => {
  const service = compiled.run('server.js', [], { SCHEMA_DIR: SCHEMA, DATABASE_URL: 'sqlite:/proc/x/y/records.db' });
  expect(await service.ended).toBe(1);
  expect(service.err()).toMatch(/The database \/proc\/x\/y\/records\.db cannot be opened \(ENOENT: no such file/);
});

const NO_FILES = [
  ['/dev/null', 'DATABASE_URL names /dev/null, which is a folder, a pipe or a device; it needs a file\n'],
  ['/tmp', 'DATABASE_URL names /tmp, which is a folder, a pipe or a device; it needs a file\n'],
] as const;

test.each(some(NO_FILES))('%s is refused, also by a plan and a backup', async (path, says) => {
  const copy = join(tmpdir(), 'copy-of-none');
  const programs = [['server.js'], ['engine/cli.js', 'plan'], ['engine/cli.js', 'backup', copy]] as const;
  for (const [program, ...words] of programs) {
    const service = compiled.run(program, words, { SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${path}` });
    expect(await service.ended).toBe(1);
    expect(service.err()).toBe(says);
  }
});

test.each(some(['-lock', '-wal', '-shm', '-journal']))(
  'a part of another database, FILE%s, is refused and stays',
  async (suffix) => {
    const file = join(mkdtempSync(join(tmpdir(), 'part-')), 'records.db');
    for (const path of [file, file + suffix]) writeFileSync(path, '');
    for (const [program, ...words] of [['server.js'], ['engine/cli.js', 'apply']] as const) {
      const service = compiled.run(program, words, { SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${file}${suffix}` });
      expect(await service.ended).toBe(1);
      expect(service.err()).toBe(
        `DATABASE_URL names ${file}${suffix}, which is a part of another database; it needs a file\n`,
      );
    }
    expect(statSync(file + suffix).size).toBe(0);
    const other = compiled.run('engine/cli.js', ['plan'], {
      SCHEMA_DIR: SCHEMA,
      DATABASE_URL: `sqlite:${join(dirname(file), `other${suffix}`)}`,
    });
    // There are steps to carry out.
    expect([await other.ended, other.err()]).toEqual([2, '']);
  },
);

test('READ_URL beside an SQLite file is refused', async () => {
  const READ_URL = 'postgres://127.0.0.1:1/records';
  const file = join(mkdtempSync(join(tmpdir(), 'read-')), 'records.db');
  const service = compiled.run('server.js', [], { SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${file}`, READ_URL });
  expect(await service.ended).toBe(1);
  expect(service.err()).toContain('READ_URL names replicas of a PostgreSQL database; an SQLite file has none');
});

test.each([
  ['sqlite://data/x.db', 'sqlite:data/x.db or sqlite:/data/x.db'],
  ['sqlite:///data/x.db', 'sqlite:data/x.db or sqlite:/data/x.db'],
  ['sqlite:x.db?mode=ro', 'sqlite:x.db'],
  ['sqlite:/data/x.db?', 'sqlite:/data/x.db'],
  ['sqlite:file:x.db', 'sqlite:x.db'],
  ['file:x.db', 'sqlite:x.db'],
  ['file:///data/x.db', 'sqlite:data/x.db or sqlite:/data/x.db'],
  ['SQLITE:data/x.db', 'sqlite:data/x.db'],
  ['sqlite: data/x.db', 'sqlite:data/x.db'],
  ['sqlite:data/x.db\r', 'sqlite:data/x.db'],
  ['sqlite:file:///data/x.db?cache=shared', 'sqlite:data/x.db or sqlite:/data/x.db'],
  ['sqlite:data/', 'sqlite:data'],
])('DATABASE_URL=%s: did you mean %s?', (url, meant) => {
  expect(() => readSettings({ DATABASE_URL: url })).toThrow(
    `DATABASE_URL is "${url.replace(/\?.*/, '?…')}"; expected sqlite: and the path of a file, like sqlite:data/records.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE; did you mean ${meant}?`,
  );
});

test.each(['sqlite:', 'sqlite::memory:', 'sqlite:~/x.db', 'sqlite:"x.db"', "sqlite:'x.db'"])(
  'DATABASE_URL=%s means no file of that name',
  (url) => {
    expect(() => readSettings({ DATABASE_URL: url })).toThrow(/USER:PASSWORD@HOST:PORT\/DATABASE$/);
  },
);
