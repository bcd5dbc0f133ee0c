/** Entries say who made a change, in which request, and which changes were one write. */
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { createEngine, Problem } from '../../engine/index.ts';
import { useTool } from '../mcp/agent.ts';
import { ask } from '../support/ask.ts';
import { createDatabase, runSql, type TestDatabase } from '../support/databases.ts';
import { useServer } from '../support/server.ts';
import { LOG, type Row, rowsOf } from './fold.ts';

const token = createToken();
const FILES = {
  'book.yaml': `type: Book
history: true
fields:
  code: { type: string, unique: true, required: true }
  title: { type: string }
relations:
  author: { kind: belongsTo, type: Author, inverse: books, onDelete: setNull, nested: write }
  pages: { kind: hasMany, type: Page, owned: true }
  tags: { kind: manyToMany, type: Tag, nested: write }
`,
  'author.yaml':
    'type: Author\nfields: { name: { type: string } }\nrelations: { books: { kind: hasMany, type: Book, inverse: author, nested: write } }\n',
  'page.yaml': 'type: Page\nfields: { text: { type: string } }\n',
  'tag.yaml': 'type: Tag\nfields: { word: { type: string } }\n',
  'note.yaml': 'type: Note\nfields: { text: { type: string } }\n',
};
const lines = tokenLine({ name: 'ann', read: 'all', write: 'all' }, token);
const server = useServer({ files: FILES, settings: { tokens: lines } });

let seen = 0;
beforeAll(() => void (seen = 0));

/** The entries since this was last called. */
async function fresh(database: TestDatabase = server.database): Promise<readonly Row[]> {
  const rows = await rowsOf(database, LOG);
  const found = rows.filter(({ position }) => Number(position) > seen);
  seen = Number(rows.at(-1)?.['position'] ?? 0);
  return found;
}

const writersOf = (rows: readonly Row[]): readonly unknown[] => [
  ...new Set(rows.map(({ actor, request, tx }) => JSON.stringify([actor, request, Number(tx) > 0]))),
];
const written = (actor: string | null, request: string | null, isOurs = true) =>
  JSON.stringify([actor, request, isOurs]);
const writes = (rows: readonly Row[]): number => new Set(rows.map(({ tx }) => String(tx))).size;

const send = (title: string, body?: unknown, id = title.replaceAll(/[^\w/]/g, '.')) =>
  ask(server.url, title, body, { authorization: `Bearer ${token}`, 'x-request-id': id, prefer: 'max-affected=100' });

const PAGES = { pages: [{ text: 'x' }, { text: 'y' }] };

/** In this order, each with the operations that it leaves in the log. */
const REQUESTS: readonly (readonly [title: string, body: unknown, entries: string])[] = [
  ['POST /api/books', { code: 'a' }, 'create'],
  ['POST /api/books', { code: 'b', title: 'B', ...PAGES, tags: [{ word: 'x' }] }, 'create create create link'],
  ['POST /api/books', { code: 'b2', tags: [{ id: 1 }] }, 'create link'],
  ['POST /api/books', [{ code: 'c' }, { code: 'd', ...PAGES }], 'create create create create'],
  ['PATCH /api/books/1', { title: 'A' }, 'update'],
  ['PUT /api/books/1', { title: 'AA', author: { name: 'Nora' }, tags: [{ id: 1 }] }, 'link update'],
  [
    'PATCH /api/books',
    [
      { id: 1, title: 'A2' },
      { id: 2, title: 'B2' },
    ],
    'update update',
  ],
  ['PUT /api/books?on=code', { code: 'e', title: 'E' }, 'create'],
  ['PUT /api/books?on=code', { code: 'e', title: 'E2' }, 'update'],
  ['POST /api/authors', { name: 'Ann', books: [{ code: 'f' }] }, 'create'],
  ['PATCH /api/tags/1', { word: 'z' }, ''],
  ['POST /api/notes', { text: 'none' }, ''],
  ['DELETE /api/tags/1', undefined, 'unlink unlink unlink'],
  ['DELETE /api/authors/1', undefined, 'update'],
  ['DELETE /api/books?_cnd[code][in]=c&_cnd[code][in]=d', undefined, 'delete delete delete delete'],
  ['DELETE /api/books/3', undefined, 'delete'],
  ['DELETE /api/books/2', undefined, 'delete delete delete'],
  ['POST /json-server/books', { code: 'g' }, 'create'],
  ['PATCH /json-server/books/1', { title: 'A3' }, 'update'],
  ['PUT /simple-rest/books/1', { id: 1, code: 'a', title: 'A4' }, 'update'],
];

test('each request is one write, by its identity, with its X-Request-Id', async () => {
  const known = new Set<string>();
  for (const [title, body, operations] of REQUESTS) {
    const { status, headers, body: answer } = await send(title, body);
    expect([title, status, status < 300 || answer]).toEqual([title, status, true]);
    const entries = await fresh();
    expect([
      title,
      entries
        .map(({ operation }) => operation)
        .toSorted()
        .join(' '),
    ]).toEqual([title, operations]);
    if (operations === '') continue;
    expect(writersOf(entries)).toEqual([written('ann', headers.get('x-request-id'))]);
    expect(writes(entries)).toBe(1);
    expect(new Set(entries.map(({ at }) => String(at))).size).toBe(1);
    known.add(String(entries[0]?.['tx']));
  }
  expect(known.size).toBe(REQUESTS.filter(([, , operations]) => operations !== '').length);
});

test('requests that share a transaction are writes of their own, and none has what another one says', async () => {
  const codes = Array.from({ length: 30 }, (_, at) => `many-${at}`);
  const answers = await Promise.all(
    codes.flatMap((code, at) => [
      send('POST /api/books', { code, ...(at % 3 === 0 ? PAGES : {}) }, code),
      // Refused, or without entries.
      at % 2 === 0 ? send('POST /api/books', { code: 'a' }, 'refused') : send('POST /api/notes', {}, 'none'),
      send('PATCH /api/books/1', { title: code }, `title ${code}`.replace(' ', '-')),
    ]),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201, 409]));
  const entries = await fresh();
  const byRequest = Map.groupBy(entries, ({ request }) => String(request));
  expect([...byRequest.keys()].filter((one) => one.startsWith('many-')).toSorted()).toEqual(codes.toSorted());
  for (const [request, own] of byRequest) {
    expect(writes(own)).toBe(1);
    expect(own).toHaveLength(request.startsWith('many-') && Number(request.slice(5)) % 3 === 0 ? 3 : 1);
  }
  expect(writes(entries)).toBe(byRequest.size);
  expect(writersOf(entries).every((one) => String(one).startsWith('["ann",'))).toBe(true);
});

test('SQL of other programs is by nobody, beside and between requests', async () => {
  const sql = (text: string) => runSql(server.database, `update books set title = '${text}' where id = 1`);
  const requests = Array.from({ length: 5 }, (_, at) => send('PATCH /api/books/1', { title: `r${at}` }, `r${at}`));
  await Promise.all([...requests, sql('s1'), sql('s2')]);
  await sql('s3');
  const byValue = (await fresh()).map(({ new: values, actor, request, tx }) => {
    const { title } = JSON.parse(String(values)) as { readonly title: string };
    return [title, actor, request, Number(tx) > 0];
  });
  expect(byValue).toHaveLength(8);
  for (const [title, ...writer] of byValue)
    expect(writer).toEqual(String(title).startsWith('s') ? [null, null, false] : ['ann', title, true]);
});

test('each statement of other programs is a write, with what it cascades to; on PostgreSQL each transaction', async () => {
  const ids: unknown[] = [];
  for (const code of ['cascade-1', 'cascade-2']) {
    const { body } = await send('POST /api/books', { code, ...PAGES }, code);
    ids.push((body as { readonly id: number }).id);
  }
  await fresh();
  const updates = Array.from({ length: 20 }, (_, at) => `update books set title = 'statement ${at}' where id = 1`);
  await runSql(server.database, [...updates, `delete from books where id in (${ids.join()})`].join(';'));
  const entries = await fresh();
  expect(entries).toHaveLength(26);
  expect(writes(entries)).toBe(server.database.kind === 'sqlite' ? 21 : 1);
  expect(writes(entries.slice(-6))).toBe(1);
});

test('an agent writes in its own name', async () => {
  const { isError } = await useTool(
    server.url,
    'create_record',
    { type: 'Book', record: { code: 'agent', ...PAGES } },
    { token, headers: { 'x-request-id': 'agent-1' } },
  );
  expect(isError).toBe(false);
  const entries = await fresh();
  expect(entries).toHaveLength(3);
  expect(writersOf(entries)).toEqual([written('ann', 'agent-1')]);
});

test('in process: by nobody, or by whom the host names; each call is a write', async () => {
  const database = await createDatabase();
  const schemaDirectory = mkdtempSync(join(tmpdir(), 'schema-'));
  const accessDirectory = mkdtempSync(join(tmpdir(), 'access-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(schemaDirectory, name), text);
  writeFileSync(
    join(accessDirectory, 'editor.yaml'),
    "role: editor\nscope: none\nread: { '*': true }\nwrite: { '*': true }\n",
  );
  const identify = () => ({ name: 'host', role: 'editor' });
  const settings = {
    schemaDirectory,
    accessDirectory,
    databaseUrl: database.url,
    identify,
    logLevel: 'silent',
  } as const;
  const engine = await createEngine(settings);
  const http = createServer(engine.handler).listen(0, '127.0.0.1');
  await once(http, 'listening');
  seen = 0;
  try {
    const books = engine.records<{ readonly id: number }>('Book');
    await Promise.all([books.create({ code: 'a', ...PAGES }), books.create({ code: 'b' })]);
    await expect(books.create({ code: 'a' })).rejects.toThrow(Problem);
    const entries = await fresh(database);
    expect(entries).toHaveLength(4);
    expect([writersOf(entries), writes(entries)]).toEqual([[written(null, null)], 2]);
    await engine.as({ name: 'eve', role: 'editor' }).records('Book').create({ code: 'c' });
    expect(writersOf(await fresh(database))).toEqual([written('eve', null)]);
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const { status, headers } = await ask(url, 'POST /api/books', { code: 'd' });
    expect(status).toBe(201);
    expect(writersOf(await fresh(database))).toEqual([written('host', headers.get('x-request-id'))]);
  } finally {
    http.close();
    await engine.close();
    await database.remove();
  }
});
