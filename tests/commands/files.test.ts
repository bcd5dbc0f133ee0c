/** Files of commands: private, never overwritten, complete or absent; and escapes on terminals. */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { followSettled } from '../../engine/files.ts';
import { printable } from '../../engine/process.ts';
import { ask } from '../support/ask.ts';
import { fileOf } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { mountSmall } from '../support/small-disk.ts';

const BOOK = 'type: Book\nfields: { title: { type: string }, data: { type: any } }\n';

let filled: Project;
beforeAll(async () => {
  filled = await createProject({ 'book.yaml': BOOK }, undefined, 'sqlite');
  await filled.serving(async (url) => {
    for (let id = 1; id <= 50; id += 1) await ask(url, 'POST /api/books', { title: `t${id}`, data: { id } });
  });
});
afterAll(() => filled.remove());

let directory: string;
let project: Project;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'files-'));
  project = await createProject({ 'book.yaml': BOOK }, undefined, 'sqlite');
  copyFileSync(fileOf(filled.database), database());
});
afterEach(async () => {
  await project.remove();
});
const at = (name: string): string => join(directory, name);
const database = (): string => fileOf(project.database);
const modeOf = (file: string): number => statSync(file).mode & 0o777;

describe('every file with records is for its owner only', () => {
  it('databases with their SQLite files, exports, backups, restored files, copies before a change', async () => {
    await project.serving(async (url) => {
      await ask(url, 'POST /api/books', { title: 'open' });
      for (const suffix of ['', '-wal', '-shm']) expect([suffix, modeOf(database() + suffix)]).toEqual([suffix, 0o600]);
    });
    expect(await project.run('export', at('records'))).toMatchObject({ code: 0 });
    expect(await project.run('backup', at('copy.db'))).toMatchObject({ code: 0 });
    expect([modeOf(at('records')), modeOf(at('copy.db'))]).toEqual([0o600, 0o600]);
    rmSync(database());
    expect(await project.run('restore', at('copy.db'))).toMatchObject({ code: 0 });
    expect(modeOf(database())).toBe(0o600);
    project.write({ 'book.yaml': 'type: Book\nfields: { title: { type: string } }\n' });
    expect(await project.run('apply', '--allow', 'drop-field:Book.data')).toMatchObject({ code: 0 });
    const copy = readdirSync(dirname(database())).find((name) => name.includes('.backup-')) ?? '';
    expect(modeOf(join(dirname(database()), copy))).toBe(0o600);
  });
});

describe.each(['export', 'backup'] as const)('%s FILE', (command) => {
  const whole = (file: string): boolean =>
    /^(\{"format":1|SQLite format 3)/.test(readFileSync(file, 'utf8').slice(0, 20));

  it('replaces a file with --force alone', async () => {
    writeFileSync(at('out'), 'precious');
    const { code, err } = await project.run(command, at('out'));
    expect([code, err, readFileSync(at('out'), 'utf8')]).toEqual([
      1,
      expect.stringContaining('already exists; choose another name, or replace it with --force'),
      'precious',
    ]);
    expect(await project.run(command, at('out'), '--force')).toMatchObject({ code: 0 });
    expect([whole(at('out')), modeOf(at('out')), readdirSync(directory)]).toEqual([true, 0o600, ['out']]);
  });

  it('writes through no link, and leaves files of others alone', async () => {
    writeFileSync(at('victim'), 'precious');
    symlinkSync(at('victim'), at('out.partial'));
    symlinkSync(at('nowhere'), at('dangling'));
    symlinkSync(at('victim'), at('link'));
    expect(await project.run(command, at('out'))).toMatchObject({ code: 0 });
    expect(await project.run(command, at('dangling'))).toMatchObject({ code: 1 });
    expect(await project.run(command, at('link'))).toMatchObject({ code: 1 });
    expect(await project.run(command, at('link'), '--force')).toMatchObject({ code: 0 });
    expect(readFileSync(at('victim'), 'utf8')).toBe('precious');
    expect(readdirSync(directory).toSorted()).toEqual(['dangling', 'link', 'out', 'out.partial', 'victim']);
  });

  it('never replaces the database, under any name', async () => {
    const before = readFileSync(database());
    symlinkSync(database(), at('soft'));
    symlinkSync(dirname(database()), at('folder'));
    const names = [
      database(),
      ...['-wal', '-shm', '-journal'].map((suffix) => database() + suffix),
      at('soft'),
      join(at('folder'), basename(database())),
      join(dirname(database()), '.', `${basename(database())}-wal`),
    ];
    for (const name of names)
      expect([name, await project.run(command, name, '--force')]).toEqual([
        name,
        { code: 1, out: '', err: expect.stringContaining('is the database itself, or belongs to it') },
      ]);
    expect(readFileSync(database()).equals(before)).toBe(true);
  });
});

it('backup and the report of an import never replace a pipe, a device or a folder', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  mkdirSync(at('folder'));
  await project.run('export', at('lines'));
  for (const name of [at('pipe'), at('folder')])
    for (const [word, ...more] of [
      ['backup', name],
      ['import', at('lines'), '--report', name],
    ] as const)
      expect(await project.run(word, ...more, '--force')).toEqual({
        code: 1,
        out: '',
        err: expect.stringContaining(`${name} is a folder, a pipe or a device, and this needs a file`),
      });
  expect(await project.run('backup', '-')).toMatchObject({ code: 1, out: '' });
  expect(readdirSync(directory).toSorted()).toEqual(['folder', 'lines', 'pipe']);
  expect(statSync(at('pipe')).isFIFO()).toBe(true);
});

const small = mountSmall(1);
afterAll(() => small?.remove());

(small ? it : it.skip)('a full disk: one line says so, and nothing is left', async () => {
  const on = small?.directory ?? '';
  await project.serving(async (url) => {
    for (let id = 1; id <= 20; id += 1) await ask(url, 'POST /api/books', { title: 'x'.repeat(100_000) });
  });
  for (const command of ['export', 'backup'] as const) {
    const { code, out, err } = await project.run(command, join(on, 'out'));
    expect([command, code, out, err]).toEqual([
      command,
      1,
      '',
      expect.stringMatching(/^[^\n]*(ENOSPC|is full)[^\n]*$/),
    ]);
    expect(readdirSync(on)).toEqual([]);
  }
});

describe('restore', () => {
  const FOREIGN = {
    'trigger "t" of "books"': 'create trigger t after insert on books begin delete from books; end',
    'view "v"': 'create view v as select * from books',
    'table "mine"': 'create table mine (a)',
    'index "i" of "books"': 'create index i on books (title)',
    'virtual table "f"': 'create virtual table f using fts5(a)',
  };

  it.each(Object.entries(FOREIGN))('%s is refused by its name, and restored with --force', async (name, sql) => {
    await project.run('backup', at('copy.db'));
    const file = new Database(at('copy.db'));
    file.exec(sql);
    file.close();
    const { code, err } = await project.run('restore', at('copy.db'));
    expect([code, err]).toEqual([1, expect.stringContaining(`holds what this engine did not make: ${name}`)]);
    expect(readdirSync(dirname(database()))).toEqual([basename(database())]);
    expect(await project.run('restore', at('copy.db'), '--force')).toMatchObject({ code: 0 });
    expect(await project.run('backup', at('again.db'))).toMatchObject({ code: 0, err: expect.stringContaining(name) });
  });

  it('refuses a stored definition that does more than create', async () => {
    await project.run('backup', at('copy.db'));
    const file = new Database(at('copy.db'));
    file.exec(
      `update _records_model set applied = replace(applied, '"create":"create table', '"create":"attach ''${at('made.db')}'' as x; create table x.t (a); create table')`,
    );
    file.close();
    project.write({ 'book.yaml': BOOK.replace(' } }', ' }, more: { type: string, unique: true } }') });
    const { code, err } = await project.run('restore', at('copy.db'), '--force');
    expect([code, err]).toEqual([0, '']);
    expect(await project.run('plan')).toMatchObject({ code: 2, err: '' });
    expect(readdirSync(directory)).toEqual(['copy.db']);
  });
});

describe('a terminal', () => {
  it.each([
    ['\u001B[2J', '\\u001b[2J'],
    ['\u009B31m', '\\u009b31m'],
    ['a\rb', 'a\\u000db'],
    ['\u202Etxt.exe', '\\u202etxt.exe'],
    ['\u2066\u2069\u061C\u200F', '\\u2066\\u2069\\u061c\\u200f'],
    ['\u0007\u0000\u007F\b', '\\u0007\\u0000\\u007f\\u0008'],
    ['\ttab\nline é 漢 😀', '\ttab\nline é 漢 😀'],
  ])('%j is shown as %s', (text, shown) => expect(printable(text)).toBe(shown));

  it('names in a database cannot move its cursor', async () => {
    const file = new Database(database());
    file.exec('create index "\u001B[2J\u202E" on books (title)');
    file.close();
    const { out } = await project.run('plan', '--sql');
    expect(out).toContain('index \\u001b[2J\\u202e');
    // oxlint-disable-next-line no-control-regex
    expect(out).not.toMatch(/[\u001B\u202E]/);
  });
});

test('a file that changes at each look is reported at the third', async () => {
  let looks = 0;
  const reported = new Promise<number>((resolve) => {
    const look = async (): Promise<string> => String((looks += 1));
    const stop = followSettled('', { look, every: 1, changed: () => void stop().then(() => resolve(looks)) });
  });
  expect(await reported).toBe(3);
});
