/** How long entries are kept, and what becomes of cursors. */
import { createFeed } from '../../engine/storage/log/feed.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { ask } from '../support/ask.ts';
import { runSql } from '../support/databases.ts';
import { onSqlite } from '../support/only.ts';
import { useProjects } from '../support/project.ts';
import { LOG, rowsOf } from './fold.ts';

const newProject = useProjects();

const FILES = { 'product.yaml': 'type: Product\nhistory: true\nfields: { name: { type: string } }\n' };

interface Page {
  readonly changes: readonly { readonly identifier: number; readonly cursor: string }[];
  readonly next: string;
}

const changesAt = async (url: string, search = '') => {
  const { status, body } = await ask(url, `GET /api/$changes${search}`);
  return { status, ...(body as Page & { readonly message: string }) };
};

const identifiers = ({ changes }: Page): readonly number[] => changes.map(({ identifier }) => identifier);

test('records prune deletes the oldest entries, and their cursors are 410', async () => {
  const project = await newProject(FILES);
  const { database } = project;
  let cursors: readonly string[] = [];
  await project.serving(async (url) => {
    for (const name of ['A', 'B', 'C']) await ask(url, 'POST /api/products', { name });
    cursors = (await changesAt(url)).changes.map(({ cursor }) => cursor);
  });
  const [first = '', second = '', third = ''] = cursors;
  await runSql(database, 'update _records_log set at = 0 where position < (select max(position) from _records_log)');
  expect(await project.run('prune', '--older-than', '30')).toMatchObject({ code: 0, out: '2 entries were deleted\n' });
  await project.serving(async (url) => {
    expect(identifiers(await changesAt(url))).toEqual([3]);
    expect(await changesAt(url, `?after=${second}`)).toMatchObject({ status: 200, changes: [{ cursor: third }] });
    const { status, message } = await changesAt(url, `?after=${first}`);
    expect([status, message]).toEqual([410, expect.stringContaining('changes after it have been deleted')]);
    const { headers, body } = await ask(url, `GET /api/$changes?after=${first}`, undefined, {
      accept: 'text/event-stream',
    });
    expect([headers.get('content-type'), body]).toEqual([
      'application/problem+json',
      expect.objectContaining({ type: 'urn:problem:cursor-expired' }),
    ]);
  });
  expect(await project.run('prune', '--older-than', '0')).toMatchObject({ code: 0, out: '1 entries were deleted\n' });
  await project.serving(async (url) => {
    expect(identifiers(await changesAt(url))).toEqual([]);
    await ask(url, 'POST /api/products', { name: 'D' });
    expect(identifiers(await changesAt(url, `?after=${third}`))).toEqual([4]);
    expect((await changesAt(url, `?after=${second}`)).status).toBe(410);
  });
});

test('records prune: more entries than one transaction deletes, and bad options', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    const names = Array.from({ length: 1000 }, () => ({ name: 'A' }));
    for (let times = 0; times < 3; times += 1) expect((await ask(url, 'POST /api/products', names)).status).toBe(201);
  });
  expect((await project.run('prune')).err).toContain('--older-than must be a number of days');
  expect((await project.run('prune', '--older-than', 'x')).code).toBe(1);
  expect((await project.run('prune', '--older-than', '1')).out).toBe('0 entries were deleted\n');
  expect((await project.run('prune', '--older-than', '0')).out).toBe('3000 entries were deleted\n');
  expect(await rowsOf(project.database, LOG)).toEqual([]);
  const plain = await newProject({ 'plain.yaml': 'type: Plain\nfields: { name: { type: string } }\n' });
  await plain.starts();
  expect((await plain.run('prune', '--older-than', '1')).err).toContain('The database has no histories');
});

test('entries are deleted once at a time, however many there are', async () => {
  const project = await newProject(FILES);
  await project.serving(async (url) => {
    const names = Array.from({ length: 1000 }, () => ({ name: 'A' }));
    for (let times = 0; times < 2; times += 1) expect((await ask(url, 'POST /api/products', names)).status).toBe(201);
  });
  const driver = await databaseAt(project.database.url).open();
  const { forget } = createFeed(driver);
  expect(await Promise.all([forget(0), forget(0)])).toEqual([2000, 2000]);
  expect(await forget(0)).toBe(0);
  await driver.close();
});

onSqlite('cursors of a database that a backup has replaced are 410', async () => {
  const project = await newProject(FILES);
  const copy = `${project.directory}/copy.db`;
  await project.serving((url) => ask(url, 'POST /api/products', { name: 'A' }));
  expect(await project.run('backup', copy)).toMatchObject({ code: 0, err: '' });
  const next = await project.serving(async (url) => (await changesAt(url)).next);
  expect(await project.run('restore', copy)).toMatchObject({ code: 0, err: '' });
  await project.serving(async (url) => {
    const { status, message } = await changesAt(url, `?after=${next}`);
    expect([status, message]).toEqual([410, expect.stringContaining('the database was replaced')]);
    expect(identifiers(await changesAt(url))).toEqual([1]);
  });
});

onSqlite('a trigger that pretends to keep the log is refused in a backup', async () => {
  const project = await newProject(FILES);
  const copy = `${project.directory}/copy.db`;
  await project.starts();
  const log = 'insert into _records_log (source, record, operation, at, tx) select 1, 1, 1, 1, 1;';
  await runSql(
    project.database,
    `create trigger _records_log_products_more after insert on products begin ${log} delete from products; end`,
  );
  const err = expect.stringContaining('trigger "_records_log_products_more" of "products".') as unknown;
  expect(await project.run('backup', copy)).toMatchObject({ code: 0 });
  expect(await project.run('restore', copy)).toMatchObject({ code: 1, err });
});
