/** Instances with other descriptors than those that the database has: none of their changes is missed. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { type Project, useProjects } from '../support/project.ts';
import { LOG, rowsOf } from './fold.ts';

const newProject = useProjects();

const RECORDED = `type: Product
history: true
fields:
  name: { type: string, required: true }
  size: { type: integer }
  color: { type: string }
`;
const PLAIN = RECORDED.replace('history: true\n', '');
const FILES = { 'product.yaml': RECORDED };

interface Entry {
  readonly by: string | null;
  readonly request: string | null;
  readonly identifier: number;
  readonly operation: string;
  readonly old?: object;
  readonly new?: object;
}

/** An instance that stays, with its own descriptors. */
async function instance({ environment }: Project, text: string) {
  const directory = mkdtempSync(join(tmpdir(), 'version-'));
  writeFileSync(join(directory, 'product.yaml'), text);
  const server = await serve({
    ...readSettings({ ...environment, SCHEMA_DIR: directory, LOG_LEVEL: 'error' }),
    shutdownTimeout: 1000,
  });
  const done = async (title: string, body?: unknown) => {
    const { status, body: answer } = await ask(server.url, title, body);
    expect([title, status < 300 ? 'done' : answer]).toEqual([title, 'done']);
    return answer;
  };
  const changes = async () =>
    ((await done('GET /api/$changes?values=true')) as { readonly changes: readonly Entry[] }).changes;
  return { ...server, done, changes };
}

const shown = ({ identifier, operation, old: was, new: is }: Entry): string =>
  [identifier, operation, ...[was, is].flatMap((one) => (one ? JSON.stringify(one) : []))].join(' ');

test('an instance without the word, beside one with it', async () => {
  const project = await newProject(FILES);
  const older = await instance(project, PLAIN);
  await older.done('POST /api/products', { name: 'A' });
  const newer = await instance(project, RECORDED);
  const writes: Promise<unknown>[] = [];
  for (let round = 0; round < 20; round += 1)
    for (const { done } of [older, newer]) writes.push(done('POST /api/products', { name: `${round}` }));
  await Promise.all(writes);
  await older.done('PATCH /api/products/1', { name: 'B' });
  await older.done('DELETE /api/products/1');
  const entries = await newer.changes();
  expect(entries).toHaveLength(42);
  expect(entries.filter(({ request }) => request === null)).toHaveLength(22);
  expect(entries.filter(({ by }) => by !== null)).toEqual([]);
  expect(entries.slice(-2).map(shown)).toEqual(['1 update {"name":"A"} {"name":"B"}', '1 delete {"name":"B"}']);
  expect(new Set(entries.map(({ identifier }) => identifier)).size).toBe(41);
  expect((await ask(older.url, 'GET /api/$changes')).status).toBe(404);
  await Promise.all([older.close(), newer.close()]);
});

test('renamed and dropped fields, and a rebuilt table: entries have the names of today, and those of both instances', async () => {
  const project = await newProject(FILES);
  const older = await instance(project, RECORDED);
  await older.done('POST /api/products', { name: 'A', size: 1, color: 'red' });
  const renamed = RECORDED.replace('name: {', 'title: { renamedFrom: name,');
  const newer = await instance(project, renamed);
  await older.done('PATCH /api/products/1', { name: 'B' });
  await newer.done('PATCH /api/products/1', { title: 'C' });
  const others = ['1 update {"title":"A"} {"title":"B"}', '1 update {"title":"B"} {"title":"C"}'];
  expect((await newer.changes()).map(shown)).toEqual(['1 create {"title":"A","size":1,"color":"red"}', ...others]);
  expect((await older.changes()).map(shown).at(-1)).toBe('1 update {"name":"B"} {"name":"C"}');
  const rebuilt = await instance(project, renamed.replace('type: integer', 'type: decimal, precision: 9, scale: 1'));
  expect((await ask(older.url, 'PATCH /api/products/1', { name: 'D' })).status).toBe(503);
  await rebuilt.done('PATCH /api/products/1', { size: '1.5' });
  expect((await rebuilt.changes()).map(shown)).toEqual([
    '1 create {"title":"A","size":"1","color":"red"}',
    ...others,
    '1 update {"size":"1"} {"size":"1.5"}',
  ]);
  project.write({ 'product.yaml': renamed.replace(/ {2}size.*\n/, '').replace('color', 'tint') });
  const allowed = ['drop-field:Product.size', 'not-renamed:Product.color', 'drop-field:Product.color'];
  expect(await project.run('apply', ...allowed.flatMap((id) => ['--allow', id]))).toMatchObject({ code: 0 });
  await project.serving(async (url) => {
    expect((await ask(url, 'PATCH /api/products/1', { tint: 'red' })).status).toBe(200);
    const { changes } = (await ask(url, 'GET /api/$changes?values=true')).body as {
      readonly changes: readonly Entry[];
    };
    expect(changes.map(shown)).toEqual(['1 create {"title":"A"}', ...others, '1 update {"tint":null} {"tint":"red"}']);
  });
  await rebuilt.close();
  await Promise.all([older.close(), newer.close()]);
});

test('descriptors that come back with the word keep no history, until it begins again', async () => {
  const project = await newProject(FILES);
  await project.starts();
  await project.starts({ 'product.yaml': PLAIN });
  project.write(FILES);
  const { code, out } = await project.run('plan');
  expect([code, out.split('\n').slice(1)]).toEqual([
    0,
    ['It does without these steps, which "records apply --back" makes:', '  Keep a history of Product', ''],
  ]);
  expect(out).not.toContain('Nothing to do');
  await project.serving(async (url) => {
    expect((await ask(url, 'POST /api/products', { name: 'A' })).status).toBe(201);
    for (const title of ['GET /api/$changes', 'GET /api/products/1/$history', 'POST /api/products/1/$restore'])
      expect([title, (await ask(url, title)).status]).toEqual([title, 404]);
  });
  expect(await project.run('apply', '--back')).toMatchObject({ code: 0 });
  await project.serving(async (url) => {
    expect((await ask(url, 'DELETE /api/products/1')).status).toBe(200);
    expect((await ask(url, 'POST /api/products/1/$restore')).status).toBe(200);
  });
  expect(await rowsOf(project.database, LOG)).toHaveLength(2);
});

test('links to records whose identifiers were of another kind are left out, and not restored', async () => {
  const note =
    'type: Note\nhistory: true\nfields: { text: { type: string } }\nrelations: { author: { kind: belongsTo, type: Author } }\n';
  const project = await newProject({
    'note.yaml': note,
    'author.yaml': 'type: Author\nidentifier: { type: string }\n',
  });
  await project.serving(async (url) => {
    for (const [title, body] of [
      ['POST /api/authors', { id: 'ann' }],
      ['POST /api/notes', { text: 'A', author: { id: 'ann' } }],
      ['DELETE /api/notes/1', undefined],
      ['DELETE /api/authors/ann', undefined],
    ] as const)
      expect([title, (await ask(url, title, body)).status]).toEqual([title, body ? 201 : 200]);
  });
  project.write({ 'author.yaml': 'type: Author\n' });
  await project.serving(async (url) => {
    expect((await ask(url, 'GET /api/notes/$deleted')).body).toMatchObject([{ record: { text: 'A' } }]);
    expect(JSON.stringify((await ask(url, 'GET /api/notes/1/$history')).body)).not.toContain('ann');
    const { status, body } = await ask(url, 'POST /api/notes/1/$restore');
    expect([status, body]).toEqual([200, { id: 1, text: 'A', author: null }]);
  });
});

test('a new record does not have the parts of one that had its identifier in another table', async () => {
  const thing = (identifier: string) => ({
    'thing.yaml': `type: Thing\nhistory: true\nidentifier: ${identifier}\nrelations: { parts: { kind: hasMany, type: Part, owned: true } }\n`,
  });
  const project = await newProject({ ...thing('{ type: string }'), 'part.yaml': 'type: Part\n' });
  await project.serving(async (url) => {
    expect((await ask(url, 'POST /api/things', { id: '1', parts: [{}] })).status).toBe(201);
    expect((await ask(url, 'DELETE /api/things/1')).status).toBe(200);
  });
  project.write(thing('{}'));
  await project.serving(async (url) => {
    expect((await ask(url, 'POST /api/things', {})).body).toMatchObject({ id: 1 });
    expect((await ask(url, 'GET /api/things/1/$history')).body).toMatchObject([{ type: 'Thing', operation: 'create' }]);
    expect((await ask(url, 'GET /api/parts/$deleted')).body).toMatchObject([{ identifier: 1 }]);
  });
});
