/** A start that must not change tables: it serves them as they are, or says what to run. */
import { existsSync } from 'node:fs';
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { databaseKind, fileOf } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { type Project, useProjects } from '../support/project.ts';
import { contents } from '../migration/books.ts';

const newProject = useProjects();
const compiled = useCompiled();

const BOOK = 'type: Book\nfields:\n  title: { type: string, maxLength: 100 }\n';
const WIDER = BOOK.replace('100', '200');
const LONGER = `${BOOK}  isbn: { type: string }\n`;
const SHELF = 'type: Shelf\nfields: { name: { type: string } }\nseed: [{ id: 1, name: First }]\n';

const start = ({ environment }: Project): Promise<Serving> =>
  serve({ ...readSettings({ ...environment, MIGRATE: 'off', LOG_LEVEL: 'silent' }) });

async function serving<T>(project: Project, work: (url: string) => Promise<T>): Promise<T> {
  const { url, close } = await start(project);
  try {
    return await work(url);
  } finally {
    await close();
  }
}

async function made(files: Readonly<Record<string, string>>): Promise<Project> {
  const project = await newProject(files);
  await project.serving(async (url) => {
    expect((await ask(url, 'POST /api/books', { title: 'A' })).status).toBe(201);
  });
  return project;
}

describe('with MIGRATE=off', () => {
  it('serves descriptors that the database has', async () => {
    const project = await made({ 'book.yaml': BOOK });
    await serving(project, async (url) => {
      expect((await ask(url, 'GET /api/books/1')).body).toEqual({ id: 1, title: 'A' });
    });
  });

  it('others are read where the tables suit, and written where they are no narrower; seeds wait', async () => {
    const project = await made({ 'book.yaml': BOOK, 'shelf.yaml': SHELF.replace(/seed.*\n/, '') });
    const before = await contents(project);
    project.write({ 'book.yaml': WIDER, 'shelf.yaml': `${SHELF}indexes: [[name]]\n` });
    await serving(project, async (url) => {
      expect(await contents(project)).toBe(before);
      const { text } = await exchange(url, 'GET /health/ready');
      expect(text).toContain('The database has model 1, this instance serves model 0');
      expect((await ask(url, 'POST /api/books', { title: 'x' })).status).toBe(503);
      expect((await ask(url, 'GET /api/books')).body).toEqual([{ id: 1, title: 'A' }]);
      expect((await ask(url, 'GET /api/shelves')).body).toEqual([]);
    });
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    await serving(project, async (url) => {
      expect((await ask(url, 'POST /api/books', { title: 'x'.repeat(101) })).status).toBe(201);
      expect((await ask(url, 'GET /api/shelves')).body).toEqual([{ id: 1, name: 'First' }]);
    });
  });

  it.each([
    ['a field', { 'book.yaml': LONGER }, 'books: it has no column "isbn"'],
    ['a type', { 'shelf.yaml': SHELF }, 'shelves: there is no such table'],
  ])('%s that the tables do not have is told, and nothing is changed', async (_, files, says) => {
    const project = await made({ 'book.yaml': BOOK });
    const before = await contents(project);
    project.write(files);
    const refused = await start(project).catch((error: unknown) => String(error));
    expect(refused).toContain(says);
    expect(refused).toContain('"records apply" makes them. Nothing was changed.');
    expect(await contents(project)).toBe(before);
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    await serving(project, async (url) => expect((await ask(url, 'GET /api/books/1')).status).toBe(200));
  });

  it('an empty database stays empty', async () => {
    const project = await newProject({ 'book.yaml': BOOK });
    await expect(start(project)).rejects.toThrow('"records apply"');
    if (databaseKind === 'sqlite') expect(existsSync(fileOf(project.database))).toBe(false);
    else expect(await contents(project).catch(String)).not.toContain('books');
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    await serving(project, async (url) => expect((await ask(url, 'GET /api/books')).body).toEqual([]));
  });
});

it('npm start -- --no-migrate does the same', async () => {
  const project = await made({ 'book.yaml': BOOK });
  const served = compiled.run('server.js', ['--no-migrate'], project.environment);
  expect((await ask(await urlOf(served), 'GET /api/books/1')).status).toBe(200);
  served.child.kill('SIGTERM');
  await served.ended;
  project.write({ 'book.yaml': LONGER });
  const refused = compiled.run('engine/cli.js', ['start', '--no-migrate'], project.environment);
  expect([await refused.ended, refused.err()]).toEqual([1, expect.stringContaining('it has no column "isbn"')]);
});

it('npm start takes no other option', async () => {
  const refused = compiled.run('server.js', ['--migrate-not'], {});
  expect([await refused.ended, refused.err()]).toEqual([1, expect.stringContaining('records start [--no-migrate]')]);
});
