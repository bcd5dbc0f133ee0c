/** What `$restore` brings back, what it refuses, and for whom. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { type Answer, ask } from '../support/ask.ts';
import { databaseKind, fileOf, runSql } from '../support/databases.ts';
import { onSqlite } from '../support/only.ts';
import { createProject, type Project, useProjects } from '../support/project.ts';
import { LOG, type Row, rowsOf } from './fold.ts';

const FILES = {
  'book.yaml': `type: Book
history: true
open: true
fields:
  code: { type: string, unique: true }
  price: { type: decimal, precision: 8, scale: 2 }
  data: { type: any }
  secret: { type: string, sensitive: true }
  branch: { type: string }
  updated_at: { type: timestamp, generated: updatedAt }
relations:
  author: { kind: belongsTo, type: Author, inverse: books, onDelete: setNull }
  publisher: { kind: belongsTo, type: Publisher, required: true, onDelete: cascade }
  pages: { kind: hasMany, type: Page, inverse: book, owned: true }
  cover: { kind: belongsTo, type: Page, onDelete: setNull }
  tags: { kind: manyToMany, type: Tag, inverse: books }
`,
  'page.yaml':
    'type: Page\nfields: { text: { type: string } }\nrelations:\n  book: { kind: belongsTo, type: Book, inverse: pages }\n  notes: { kind: hasMany, type: Note, owned: true }\n',
  'note.yaml': 'type: Note\nidentifier: { type: string }\nfields: { text: { type: string } }\n',
  'author.yaml':
    'type: Author\nhistory: true\nfields: { name: { type: string } }\nrelations: { books: { kind: hasMany, type: Book, inverse: author } }\n',
  'publisher.yaml': 'type: Publisher\nfields: { name: { type: string } }\n',
  'tag.yaml':
    'type: Tag\nhistory: true\nfields: { word: { type: string } }\nrelations: { books: { kind: manyToMany, type: Book, inverse: tags } }\n',
  'folder.yaml':
    'type: Folder\nhistory: true\nrelations: { parent: { kind: belongsTo, type: Folder, inverse: folders, acyclic: true, onDelete: setNull }, folders: { kind: hasMany, type: Folder, inverse: parent } }\n',
  'key.yaml': 'type: Key\nhistory: true\nfields: { word: { type: string, required: true, sensitive: true } }\n',
};

const ROLES = {
  editor: `read: { '*': true }\nwrite: { '*': true }\nhistory: '*'`,
  writer: `read: { '*': true }\nwrite: { '*': true }`,
  reader: `read: { '*': true }\nhistory: '*'`,
  branch: `read: { '*': true, Book: { where: { branch: { claim: branch } } } }\nwrite: { Book: { where: { branch: { claim: branch } }, only: [code, publisher] } }\nhistory: '*'`,
  blind: `read: { Book: { only: [code] } }\ncreate: { Book: { set: { publisher: 1 } } }\nhistory: '*'`,
  partly: `read: { '*': true, Page: { where: { text: two } }, Publisher: { where: { name: Q } } }\nwrite: { '*': true }\nhistory: '*'`,
  scribe: `read: { Author: true }\nwrite: { Author: true }\nhistory: '*'`,
  north: `read: { '*': true }\nwrite: { Book: { where: { branch: north } } }\nhistory: '*'`,
};

type Name = keyof typeof ROLES;
const NAMES = Object.keys(ROLES) as readonly Name[];
const tokens = Object.fromEntries(NAMES.map((name) => [name, createToken()])) as Readonly<Record<Name, string>>;
const TOKENS = NAMES.map((name) =>
  tokenLine({ name, role: name, claims: name === 'branch' ? ['branch=south'] : [] }, tokens[name]),
).join('\n');

const newProject = useProjects();
let project: Project;
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  project = await createProject(FILES);
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  for (const [name, text] of Object.entries(ROLES))
    writeFileSync(join(access, `${name}.yaml`), `role: ${name}\nscope: none\n${text}\n`);
  server = await serve({
    ...readSettings({ ...project.environment, ACCESS_DIR: access, TOKENS }),
    shutdownTimeout: 1000,
  });
});
afterAll(async () => {
  await server.close();
  await project.remove();
});

const as = (name: Name, title: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  ask(server.url, title, body, { authorization: `Bearer ${tokens[name]}`, prefer: 'max-affected=100', ...headers });
const send = (title: string, body?: unknown) => as('editor', title, body);

async function done(title: string, body?: unknown): Promise<Record<string, unknown> & { readonly id: number }> {
  const { status, body: answer } = await send(title, body);
  expect([title, status < 300 || answer]).toEqual([title, true]);
  return answer as Record<string, unknown> & { readonly id: number };
}

const ALL = 'include=author,publisher,pages.notes,cover,tags.books';
const read = async (path: string): Promise<unknown> => (await send(`GET ${path}?${ALL}`)).body;

let number = 0;

/** A book with everything, new for each test. */
async function newBook(more: object = {}) {
  number += 1;
  const author = await done('POST /api/authors', { name: 'Nora' });
  const publisher = await done('POST /api/publishers', { name: 'P' });
  const tag = await done('POST /api/tags', { word: 'x' });
  const pages = [{ text: 'one', notes: [{ id: `n/${number}`, text: 'n' }] }, { text: 'two' }];
  const [code, links] = [`c${number}`, { author: { id: author.id }, publisher: { id: publisher.id } }];
  const given = { code, price: '1.50', data: { a: [1.0] }, free: 'x', branch: 'north', pages, ...links };
  const book = await done('POST /api/books', { ...given, tags: [{ id: tag.id }], ...more });
  return { path: `/api/books/${book.id}`, id: book.id, author, publisher, tag, code };
}

/** Other programs have to ask for them in SQLite. */
const FOREIGN_KEYS = databaseKind === 'sqlite' ? ['pragma foreign_keys = on'] : [];

const wordsOf = ({ body }: Answer): unknown => (body as { readonly type: string }).type.replace('urn:problem:', '');

async function log(): Promise<readonly Row[]> {
  return rowsOf(project.database, LOG);
}

/** Expects a refusal that leaves everything as it was. */
async function refused(title: string, status: number, code: string, name: Name = 'editor'): Promise<Answer> {
  const before = await log();
  const books = (await send('GET /api/books')).body;
  const answer = await as(name, title);
  expect([title, answer.status, wordsOf(answer)]).toEqual([title, status, code]);
  expect(await log()).toEqual(before);
  expect((await send('GET /api/books')).body).toEqual(books);
  return answer;
}

describe('brings back', () => {
  test('a record with its parts and links, again and again, with entries of its own', async () => {
    const { path, id } = await newBook();
    const before = await read(path);
    for (let round = 0; round < 2; round += 1) {
      await done(`DELETE ${path}`);
      const entries = (await log()).length;
      const { status, body, headers } = await as('editor', `POST ${path}/$restore?${ALL}`);
      expect([status, body]).toEqual([200, before]);
      expect(await read(path)).toEqual(before);
      const own = (await log()).slice(entries);
      expect(own.map(({ operation }) => operation).toSorted()).toEqual(
        ['create', 'create', 'create', 'create', 'link', 'link'].toSorted(),
      );
      expect(new Set(own.map(({ tx }) => String(tx))).size).toBe(1);
      expect(new Set(own.map(({ actor, request }) => `${actor} ${request}`))).toEqual(
        new Set([`editor ${headers.get('x-request-id')}`]),
      );
    }
    expect((await done('POST /api/books', { publisher: { id: 1 } })).id).toBeGreaterThan(id);
  });

  test('a link from the record to one of its parts', async () => {
    const { path } = await newBook();
    const [page] = (await done(`GET ${path}`))['pages'] as { readonly id: number }[];
    await done(`PATCH ${path}`, { cover: { id: page?.id } });
    const before = await read(path);
    await done(`DELETE ${path}`);
    const dry = await as('editor', `POST ${path}/$restore?dryRun=true&include=cover`);
    expect((dry.body as { answer: { body: { cover: unknown } } }).answer.body.cover).toMatchObject({ id: page?.id });
    expect((await send(`POST ${path}/$restore`)).status).toBe(200);
    expect(await read(path)).toEqual(before);
  });

  test('links to it that nobody has set since', async () => {
    const books = [await newBook(), await newBook(), await newBook()];
    const [one, two, three] = books.map(({ path }) => path);
    const path = `/api/authors/${books[0]?.author.id}`;
    for (const other of [two, three]) await done(`PATCH ${other}`, { author: { id: books[0]?.author.id } });
    await done(`DELETE ${path}`);
    await done(`PATCH ${two}`, { author: { id: books[1]?.author.id } });
    await done(`PATCH ${two}`, { author: null });
    await done(`PATCH ${three}`, { price: '9' });
    await done(`POST ${path}/$restore`);
    const authors = await Promise.all([one, two, three].map(async (book) => (await done(`GET ${book}`))['author']));
    expect(authors.map((author) => author && (author as { id: number }).id)).toEqual([
      books[0]?.author.id,
      null,
      books[0]?.author.id,
    ]);
  });

  test('no links to what is gone, nor values that were not recorded', async () => {
    const { path, author, tag } = await newBook({ secret: 's' });
    await done(`DELETE ${path}`);
    await done(`DELETE /api/authors/${author.id}`);
    await done(`DELETE /api/tags/${tag.id}`);
    expect(await done(`POST ${path}/$restore`)).toMatchObject({ author: null, tags: [], secret: null, price: '1.50' });
  });

  test('what is asked for, of several that a filter deleted', async () => {
    const [one, two] = [await newBook(), await newBook()];
    await done(`DELETE /api/books?_cnd[id][in]=${one.id},${two.id}`);
    const { status, body } = await send(`POST ${two.path}/$restore?fields=code,pages.text&include=pages`);
    expect([status, body]).toMatchObject([
      200,
      { id: two.id, code: two.code, pages: [{ text: 'one' }, { text: 'two' }] },
    ]);
    expect(body).not.toHaveProperty('price');
    expect((await send(`GET ${one.path}`)).status).toBe(404);
  });

  test('once for a key, and nothing in a dry run', async () => {
    const { path } = await newBook();
    await done(`DELETE ${path}`);
    const before = await log();
    const { body } = await send(`POST ${path}/$restore?dryRun=true`);
    expect(body).toMatchObject({ dryRun: true, answer: { status: 200 } });
    expect(await log()).toEqual(before);
    for (let round = 0; round < 2; round += 1) {
      const { status, body: record } = await as('editor', `POST ${path}/$restore`, undefined, {
        'idempotency-key': `key-${path}`,
      });
      expect([status, record]).toMatchObject([200, { price: '1.50' }]);
    }
  });

  test('what SQL deleted, with its cascade', async () => {
    const { path, id, author } = await newBook();
    const before = await read(path);
    await runSql(project.database, ...FOREIGN_KEYS, `delete from books where id = ${id}`);
    await done(`POST ${path}/$restore`);
    expect(await read(path)).toEqual(before);
    await runSql(project.database, ...FOREIGN_KEYS, `delete from authors where id = ${author.id}`);
    await done(`POST /api/authors/${author.id}/$restore`);
    expect((await done(`GET ${path}`))['author']).toMatchObject({ id: author.id });
  });
});

test('what SQL deleted is brought back where records link others that it took', async () => {
  const { database, serving } = await newProject({
    'book.yaml': `type: Book
history: true
relations:
  cover: { kind: belongsTo, type: Page, onDelete: cascade }
  pages: { kind: hasMany, type: Page, owned: true, inverse: book }
  entries: { kind: hasMany, type: Entry, owned: true, inverse: book }
`,
    'page.yaml': `type: Page
relations:
  book: { kind: belongsTo, type: Book, inverse: pages }
  next: { kind: belongsTo, type: Page, onDelete: cascade }
  lines: { kind: hasMany, type: Line, owned: true }
`,
    'entry.yaml':
      'type: Entry\nrelations: { book: { kind: belongsTo, type: Book, inverse: entries }, page: { kind: belongsTo, type: Page, required: true } }\n',
    'line.yaml': 'type: Line\nrelations: { entry: { kind: belongsTo, type: Entry, onDelete: cascade } }\n',
  });
  await serving(async (url) => {
    await runSql(
      database,
      ...FOREIGN_KEYS,
      'insert into books (id) values (1)',
      'insert into pages (id, book_id) values (1, 1), (2, 1), (3, 1)',
      'insert into entries (id, book_id, page_id) values (1, 1, 2), (2, 1, 3), (3, 1, 1)',
      'insert into lines (id, page_lines_id, entry_id) values (1, 1, 3), (2, 1, 2), (3, 2, 1)',
      'update pages set next_id = 1 + id % 3',
      'update books set cover_id = 2',
    );
    const all = 'include=cover,pages.next,pages.lines.entry,entries.page';
    const { body } = await ask(url, `GET /api/books/1?${all}`);
    await runSql(database, ...FOREIGN_KEYS, 'delete from books where id = 1');
    const dry = await ask(url, `POST /api/books/1/$restore?dryRun=true&${all}`);
    expect(dry.body).toMatchObject({ answer: { status: 200, body } });
    expect(await ask(url, `POST /api/books/1/$restore?${all}`)).toMatchObject({ status: 200, body });
    expect(await ask(url, `GET /api/books/1?${all}`)).toMatchObject({ body });
  });
});

test('a part that would be below itself by way of another one is refused', async () => {
  const { serving } = await newProject({
    'shelf.yaml':
      'type: Shelf\nhistory: true\nrelations: { folders: { kind: hasMany, type: Folder, inverse: shelf, owned: true } }\n',
    'folder.yaml': `type: Folder
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: folders }
  parent: { kind: belongsTo, type: Folder, acyclic: true, onDelete: setNull }
`,
  });
  await serving(async (url) => {
    await ask(url, 'POST /api/shelves', [{}, {}]);
    const folders = [1, 1, 2, 2].map((shelf, at) => ({ id: at + 1, shelf: { id: shelf } }));
    await ask(url, 'POST /api/folders', folders);
    const move = (id: number, parent: number) => ask(url, `PATCH /api/folders/${id}`, { parent: { id: parent } });
    for (const [id, parent] of [
      [1, 2],
      [2, 4],
      [3, 1],
    ] as const)
      expect((await move(id, parent)).status).toBe(200);
    await ask(url, 'DELETE /api/shelves/1');
    expect((await move(4, 3)).status).toBe(200);
    const { status, body } = await ask(url, 'POST /api/shelves/1/$restore');
    expect([status, body]).toMatchObject([
      422,
      { detail: expect.stringContaining('would be below itself') as unknown },
    ]);
    expect((await move(4, 4)).status).toBe(422);
    await ask(url, 'PATCH /api/folders/4', { parent: null });
    expect((await ask(url, 'POST /api/shelves/1/$restore')).status).toBe(200);
  });
});

onSqlite('what other programs have made no JSON, as a string, and the values beside it', async () => {
  const { path } = await newBook();
  const id = path.split('/').at(-1);
  await runSql(project.database, `update books set data = '{not json', _open = '[1' where id = ${id}`);
  const { body } = await send(`GET ${path}/$history?limit=1`);
  expect(body).toMatchObject([{ old: { data: { a: [1.0] }, free: 'x' }, new: { data: '{not json', free: null } }]);
  await runSql(project.database, `delete from books where id = ${id}`);
  await done(`POST ${path}/$restore`);
  expect(await read(path)).toMatchObject({ price: '1.50', data: '{not json', branch: 'north' });
});

describe('is refused', () => {
  test('where there is no such deletion, or the record is there', async () => {
    const { path } = await newBook();
    await refused('POST /api/books/987654/$restore', 404, 'record-not-found');
    await refused(`POST ${path}/$restore`, 409, 'identifier-conflict');
    await refused(`POST ${path}/$restore`, 404, 'record-not-found', 'branch');
    const { path: seen } = await newBook({ branch: 'south' });
    await refused(`POST ${seen}/$restore`, 409, 'identifier-conflict', 'branch');
    await done(`DELETE ${path}`);
    await done(`POST ${path}/$restore`);
    await refused(`POST ${path}/$restore`, 409, 'identifier-conflict');
    await refused('POST /api/books/x/$restore', 400, 'invalid-identifier');
    await refused(`POST ${path}/$restore?filds=code`, 400, 'invalid-query');
    await refused('POST /api/publishers/1/$restore', 404, 'path-not-found');
    await refused(`PUT ${path}/$restore`, 405, 'method-not-allowed');
  });

  test('with the tag that the record had, as it has none now', async () => {
    const { path } = await newBook();
    const { headers } = await send(`GET ${path}`);
    await done(`DELETE ${path}`);
    const restored = `POST ${path}/$restore`;
    const wrong = await as('editor', restored, undefined, { 'if-match': headers.get('etag') ?? '' });
    expect([wrong.status, wordsOf(wrong)]).toEqual([412, 'precondition-failed']);
    expect((await send(`GET ${path}`)).status).toBe(404);
    await done(restored);
  });

  test.each(['n/there', 'n; there'])('where one of its parts, %s, is there', async (note) => {
    const { path } = await newBook({ pages: [{ notes: [{ id: note }] }] });
    await done(`DELETE ${path}`);
    const other = await newBook({ pages: [{ notes: [{ id: note }] }] });
    const { body } = await refused(`POST ${path}/$restore`, 409, 'identifier-conflict');
    const pointer = expect.stringMatching(/^\/pages\/\d+\/notes\/n(~1|; )there\/id$/) as unknown;
    expect(body).toMatchObject({
      errors: [{ pointer, code: 'taken', message: `Note ${note} already exists; delete it first` }],
    });
    await done(`DELETE ${other.path}`);
    await done(`POST ${path}/$restore`);
  });

  test('where a unique value is taken', async () => {
    const { path, code, publisher } = await newBook();
    await done(`DELETE ${path}`);
    const other = await done('POST /api/books', { code, publisher: { id: publisher.id } });
    const title = `POST ${path}/$restore`;
    const { body } = await refused(title, 409, 'unique-conflict');
    expect(body).toMatchObject({
      errors: [
        {
          pointer: '/code',
          message: `Book ${other.id} has this value of "code" already; change or delete that record first`,
        },
      ],
    });
    await refused(`${title}?dryRun=true`, 409, 'unique-conflict');
    await done(`DELETE /api/books/${other.id}`);
    await done(title);
  });

  test('where a record that it must link is gone, or a value that it must have was not recorded', async () => {
    const { path, id, publisher } = await newBook();
    await done(`DELETE ${path}`);
    await done(`DELETE /api/publishers/${publisher.id}`);
    const { body } = await refused(`POST ${path}/$restore`, 422, 'invalid-reference');
    const message = `"publisher" of Book ${id} links Publisher ${publisher.id}, which is gone; bring that back first`;
    expect(body).toMatchObject({ errors: [{ pointer: '/publisher', message }] });
    const key = await done('POST /api/keys', { word: 'w' });
    await done(`DELETE /api/keys/${key.id}`);
    const { body: unknown } = await refused(`POST /api/keys/${key.id}/$restore`, 422, 'invalid-reference');
    expect(unknown).toMatchObject({
      errors: [{ message: expect.stringMatching(/^"word" of Key \d+ is required, .*; create a new record instead$/) }],
    });
  });

  test('where it does not meet a check of today', async () => {
    const free = 'type: Span\nhistory: true\nfields: { low: { type: integer }, high: { type: integer } }\n';
    const own = await createProject({ 'span.yaml': free });
    await own.serving(async (url) => {
      for (const body of [
        { low: 5, high: 1 },
        { low: 1, high: 5 },
      ])
        await ask(url, 'POST /api/spans', body);
      for (const id of [1, 2]) await ask(url, `DELETE /api/spans/${id}`);
    });
    const message = 'low goes first';
    own.write({ 'span.yaml': `${free}checks: [{ must: { low: { lte: { field: high } } }, message: ${message} }]\n` });
    await own.serving(async (url) => {
      for (const query of ['', '?dryRun=true']) {
        const { status, body } = await ask(url, `POST /api/spans/1/$restore${query}`);
        expect([status, body]).toMatchObject([422, { message, errors: [{ pointer: '/low', code: 'check', message }] }]);
      }
      expect((await ask(url, 'POST /api/spans/2/$restore')).body).toEqual({ id: 2, low: 1, high: 5 });
    });
    await own.remove();
  });

  test('where it would be below itself', async () => {
    const top = await done('POST /api/folders', {});
    const middle = await done('POST /api/folders', { parent: { id: top.id } });
    const low = await done('POST /api/folders', { parent: { id: middle.id } });
    await done(`DELETE /api/folders/${middle.id}`);
    await done(`PATCH /api/folders/${top.id}`, { parent: { id: low.id } });
    const { body } = await refused(`POST /api/folders/${middle.id}/$restore`, 422, 'invalid-reference');
    const message = expect.stringMatching(
      /^Folder \d+ would be below itself; move a record that is above it first$/,
    ) as unknown;
    expect(body).toMatchObject({ errors: expect.arrayContaining([expect.objectContaining({ message })]) });
    await done(`PATCH /api/folders/${top.id}`, { parent: null });
    await done(`POST /api/folders/${middle.id}/$restore`);
    expect(await done(`GET /api/folders/${low.id}`)).toMatchObject({ parent: { id: middle.id } });
  });

  test('by what the role may not read, which has no name then', async () => {
    const { path, code, publisher } = await newBook();
    const note = code.replace('c', 'n/');
    await done(`DELETE ${path}`);
    const other = await newBook({ pages: [{ notes: [{ id: note }] }] });
    const taken = await refused(`POST ${path}/$restore`, 409, 'identifier-conflict', 'blind');
    const message = 'Something that you may not read stands in the way';
    expect(taken.body).toMatchObject({ message, errors: [{ pointer: '', code: 'taken', message }] });
    await done(`DELETE ${other.path}`);
    await done(`DELETE /api/publishers/${publisher.id}`);
    const gone = await refused(`POST ${path}/$restore`, 422, 'invalid-reference', 'blind');
    expect(JSON.stringify(gone.body)).not.toMatch(/publisher|note|page/i);
    expect(gone.body).toMatchObject({ errors: [{ pointer: '', code: 'required' }] });
  });

  const HIDDEN = 'Something that you may not read stands in the way';

  test('by parts and links that the role may not read, or only some of them, which have no identifier then', async () => {
    const { path, code, publisher } = await newBook();
    await done(`DELETE ${path}`);
    const other = await newBook({ pages: [{ notes: [{ id: code.replace('c', 'n/') }] }] });
    const { body: taken } = await refused(`POST ${path}/$restore`, 409, 'identifier-conflict', 'partly');
    expect(taken).toMatchObject({ message: HIDDEN, errors: [{ pointer: '', code: 'taken', message: HIDDEN }] });
    await done(`DELETE ${other.path}`);
    await done(`DELETE /api/publishers/${publisher.id}`);
    const { body: gone } = await refused(`POST ${path}/$restore`, 422, 'invalid-reference', 'partly');
    expect(gone).toMatchObject({ message: HIDDEN, errors: [{ pointer: '', code: 'required', message: HIDDEN }] });
  });

  test('by rules of others, which are told of what the role may read', async () => {
    const { path, publisher } = await newBook();
    const [, page] = (await done(`GET ${path}`))['pages'] as { readonly id: number }[];
    await done(`DELETE ${path}`);
    const remove = await ruleOn('pages', `text = 'two'`);
    try {
      const { body } = await refused(`POST ${path}/$restore`, 422, 'refused-by-database');
      expect(body).toMatchObject({
        message: 'Not these',
        errors: [{ pointer: `/pages/${page?.id}`, code: 'refused' }],
      });
      for (const name of ['blind', 'partly'] as const) {
        const { body: hidden } = await refused(`POST ${path}/$restore`, 422, 'refused-by-database', name);
        expect(hidden).toMatchObject({ message: HIDDEN, errors: [{ pointer: '', code: 'refused', message: HIDDEN }] });
      }
    } finally {
      await remove();
    }
    const removeLinks = await ruleOn('books_tags', 'book_id > 0');
    try {
      const { body } = await refused(`POST ${path}/$restore`, 422, 'refused-by-database');
      expect(body).toMatchObject({ message: 'Not these', errors: [{ pointer: '', code: 'refused' }] });
      const { body: hidden } = await refused(`POST ${path}/$restore`, 422, 'refused-by-database', 'blind');
      expect(hidden).toMatchObject({ message: HIDDEN });
    } finally {
      await removeLinks();
    }
    const removeOther = await ruleOn('books', `branch = 'north'`);
    try {
      const { body } = await refused(`POST ${path}/$restore`, 422, 'refused-by-database', 'north');
      expect(body).toMatchObject({ message: 'Not these', errors: [{ pointer: '' }] });
      await refused(`POST ${path}/$restore`, 404, 'record-not-found', 'branch');
      await refused(`POST ${path}/$restore?dryRun=true`, 404, 'record-not-found', 'branch');
    } finally {
      await removeOther();
    }
    expect(await done(`POST ${path}/$restore`)).toMatchObject({ publisher: { id: publisher.id } });
  });

  test('by a rule of others about links from records that the role may not read', async () => {
    const { path, author } = await newBook();
    await done(`DELETE /api/authors/${author.id}`);
    const remove = await ruleOn('books', 'author_id > 0', 'update');
    try {
      const title = `POST /api/authors/${author.id}/$restore`;
      expect((await refused(title, 422, 'refused-by-database')).body).toMatchObject({ message: 'Not these' });
      const { body } = await refused(title, 422, 'refused-by-database', 'scribe');
      expect(body).toMatchObject({ message: HIDDEN, errors: [{ pointer: '', code: 'refused', message: HIDDEN }] });
    } finally {
      await remove();
    }
    expect((await as('scribe', `POST /api/authors/${author.id}/$restore`)).status).toBe(200);
    expect(await done(`GET ${path}`)).toMatchObject({ author: { id: author.id } });
  });

  /** A trigger that refuses some rows. Returns how to remove it. */
  async function ruleOn(table: string, condition: string, event = 'insert'): Promise<() => Promise<unknown>> {
    const when = `when (new.${condition})`;
    if (databaseKind === 'sqlite') {
      const raise = `begin select raise(abort, 'Not these'); end`;
      await runSql(project.database, `create trigger theirs before ${event} on ${table} ${when} ${raise}`);
      return () => runSql(project.database, 'drop trigger theirs');
    }
    await runSql(
      project.database,
      `create function theirs() returns trigger language plpgsql as $$ begin raise exception 'Not these'; end $$`,
      `create trigger theirs before ${event} on ${table} for each row ${when} execute function theirs()`,
    );
    return () => runSql(project.database, `drop trigger theirs on ${table}`, 'drop function theirs()');
  }

  test('what was erased', async () => {
    const { path, id } = await newBook();
    await done(`DELETE ${path}`);
    expect(await project.run('erase', 'Book', String(id))).toMatchObject({ code: 0 });
    await refused(`POST ${path}/$restore`, 404, 'record-not-found');
  });
});

test('roles need the history and the right to create, and must be able to read the result', async () => {
  const [north, south] = [await newBook(), await newBook({ branch: 'south' })];
  for (const { path } of [north, south]) await done(`DELETE ${path}`);
  for (const name of ['writer', 'reader'] as const)
    await refused(`POST ${north.path}/$restore`, 403, 'forbidden', name);
  await refused(`POST ${south.path}/$restore`, 403, 'forbidden', 'north');
  for (const query of ['', '?dryRun=true'])
    await refused(`POST ${north.path}/$restore${query}`, 404, 'record-not-found', 'branch');
  for (const [name, path] of [
    ['branch', south.path],
    ['north', north.path],
  ] as const) {
    expect((await as(name, `POST ${path}/$restore?dryRun=true`)).status).toBe(200);
    const { status, body } = await as(name, `POST ${path}/$restore`);
    expect([status, body]).toMatchObject([200, { price: '1.50', data: { a: [1] } }]);
  }
});

test('a part is brought back by who may update its owner', async () => {
  for (const [branch, status] of [
    ['south', 403],
    ['north', 200],
  ] as const) {
    const { path } = await newBook({ branch });
    const { body } = await send(`GET ${path}?include=pages`);
    const [page] = (body as { readonly pages: readonly { readonly id: number }[] }).pages;
    await done(`DELETE /api/pages/${page?.id}`);
    expect((await as('north', `POST /api/pages/${page?.id}/$restore`)).status).toBe(status);
  }
});

onSqlite('links that were cut are found among the entries of the deletion, however many others there are', async () => {
  const { database, serving } = await newProject({
    'author.yaml': 'type: Author\nhistory: true\nfields: { name: { type: string } }\n',
    'note.yaml':
      'type: Note\nhistory: true\nrelations: { author: { kind: belongsTo, type: Author, onDelete: setNull } }\n',
  });
  await serving(async (url) => {
    await ask(url, 'POST /api/authors', { name: 'Nora' });
    await ask(url, 'POST /api/notes', { author: { id: 1 } });
    const prepare = jest.spyOn(Database.prototype, 'prepare');
    for (const remove of [() => ask(url, 'DELETE /api/authors/1'), () => runSql(database, 'delete from authors')]) {
      await remove();
      await ask(url, 'PATCH /api/notes/1', {});
      expect((await ask(url, 'POST /api/authors/1/$restore')).status).toBe(200);
      expect((await ask(url, 'GET /api/notes/1')).body).toEqual({ id: 1, author: { id: 1, name: 'Nora' } });
    }
    const asked = prepare.mock.calls.map(([sql]) => sql).filter((sql) => /operation = 'update' and/.test(sql));
    prepare.mockRestore();
    expect(asked).toHaveLength(1);
    const file = new Database(fileOf(database));
    const plan = file.prepare<unknown[], { readonly detail: string }>(`explain query plan ${asked.join()}`);
    const steps = plan.all(1, 1, 9, 'notes', '').map(({ detail }) => detail);
    file.close();
    expect(steps).toEqual([expect.stringContaining('INTEGER PRIMARY KEY (rowid>? AND rowid<?)')]);
  });
});

// They come last: other tests read the whole log.
test.each([
  ['took', 'books', 'pages (book_id)'],
  ['unlinked', 'authors', 'books (publisher_id, author_id)'],
])('refused where the deletion %s more records than one write may touch', async (_, deleted, columns) => {
  const { id, author, publisher } = await newBook();
  const counted = 'with recursive n (i) as (select 1 union all select i + 1 from n where i <= 10000)';
  const [lost, given] = deleted === 'books' ? [id, [id]] : [author.id, [publisher.id, author.id]];
  await runSql(
    project.database,
    ...FOREIGN_KEYS,
    `insert into ${columns} ${counted} select ${given.join(', ')} from n`,
    `delete from ${deleted} where id = ${lost}`,
  );
  const { status, body } = await send(`POST /api/${deleted}/${lost}/$restore`);
  const message = 'The deletion took or unlinked more than 10000 records, which is more than one step can bring back';
  expect([status, body]).toMatchObject([422, { errors: [{ pointer: '', code: 'too-many-rows', message }] }]);
  expect((await send(`GET /api/${deleted}/${lost}`)).status).toBe(404);
  await runSql(project.database, `delete from books where publisher_id = ${publisher.id}`);
});
