/** Tables that another process changes under a running service: it goes on, or says 503, and nothing acknowledged is lost. */
import { ask } from '../support/ask.ts';
import { exchange } from '../support/exchange.ts';
import { databaseKind } from '../support/databases.ts';
import { createProject, type Files, type Project } from '../support/project.ts';
import { until } from '../support/leaving.ts';

const BOOK = `type: Book
fields:
  title: { type: string }
  pages: { type: integer }
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: books }
`;
const SHELF = 'type: Shelf\nfields: { name: { type: string } }\nrelations: { books: { kind: hasMany, type: Book } }\n';
const NOTE = 'type: Note\nfields: { text: { type: string } }\n';
const BEFORE: Files = { 'book.yaml': BOOK, 'shelf.yaml': SHELF, 'note.yaml': NOTE };

/** Whatever the plan asks for is allowed. */
async function change(project: Project, files: Files): Promise<void> {
  project.write(files);
  const { out } = await project.run('plan');
  const allowed = [...out.matchAll(/--allow (\S+)/g)].flatMap(([, id = '']) => ['--allow', id]);
  const applied = await project.run('apply', ...allowed);
  expect([applied.code, applied.code === 0 ? '' : applied.err]).toEqual([0, '']);
}

/** Requests, each with its status before any change. */
const REQUESTS = {
  'GET /api/books/1': undefined,
  'GET /api/books': undefined,
  'GET /api/books?_cnd[limit]=0&_cnd[limit]=5': undefined,
  'GET /api/shelves/1?include=books': undefined,
  'GET /api/shelves?_cnd[books][$some][0][title]=a': undefined,
  'GET /api/shelves?_cnd[books][$count]=2&include=': undefined,
  'GET /api/books/$summary?by=shelf.name': undefined,
  'GET /api/notes/1': undefined,
  'PATCH /api/books/1': { title: 'changed' },
  'POST /api/books': { title: 'new', pages: 1 },
  'POST /api/notes': { text: 'new' },
  'DELETE /api/books/2': undefined,
} as const;
type Title = keyof typeof REQUESTS;
const titles = Object.keys(REQUESTS) as Title[];
const OK: Readonly<Record<string, number>> = { POST: 201 };
const usual = (title: Title): number => OK[title.split(' ', 1)[0] ?? ''] ?? 200;
const ofBooks = titles.filter((title) => title.includes('books'));

const changes: readonly (readonly [what: string, files: Files, refused: readonly Title[], ready: boolean])[] = [
  ['a field is added', { 'book.yaml': BOOK.replace('relations:', '  isbn: { type: string }\nrelations:') }, [], true],
  [
    'a type that refers to it is added',
    {
      'copy.yaml': 'type: Copy\nrelations: { book: { kind: belongsTo, type: Book, onDelete: cascade } }\n',
    },
    [],
    true,
  ],
  ['a field is described', { 'book.yaml': BOOK.replace('pages: { ', 'pages: { description: x, ') }, [], true],
  ['a field is removed', { 'book.yaml': BOOK.replace('  pages: { type: integer }\n', '') }, ofBooks, false],
  [
    'a field is of another type',
    { 'book.yaml': BOOK.replace('pages: { type: integer', 'pages: { type: string') },
    ofBooks,
    false,
  ],
  ['a table is renamed', { 'book.yaml': `${BOOK}table: tomes\n` }, [], true],
];

describe.each(changes)('%s', (_, files, refused, ready) => {
  let project: Project;
  beforeEach(async () => {
    project = await createProject(BEFORE);
  });
  afterEach(() => project.remove());

  test('and the running service answers, or says 503 where it cannot; the next one serves all', async () => {
    await project.serving(async (url) => {
      await ask(url, 'POST /api/shelves', { name: 'one' });
      for (const title of ['a', 'b']) await ask(url, 'POST /api/books', { title, pages: 7, shelf: { id: 1 } });
      await ask(url, 'POST /api/notes', { text: 'n' });
      // Rows in books stand in the way of a field that has to be given.
      if (refused.length === 1) for (const id of [1, 2]) await ask(url, `DELETE /api/books/${id}`);
      await change(project, files);
      // PostgreSQL tells reads within a second, and writes at once.
      await until(async () => (await exchange(url, 'GET /health/ready')).status === (ready ? 200 : 503));
      for (const title of titles) {
        if (refused.length === 1 && /books\/\d/.test(title)) continue;
        const { status, headers, body } = await ask(url, title, REQUESTS[title]);
        expect([title, status, body]).toEqual([title, refused.includes(title) ? 503 : usual(title), body]);
        if (status === 503)
          expect([headers.get('retry-after'), body]).toEqual([
            '5',
            expect.objectContaining({ type: 'urn:problem:storage-busy' }),
          ]);
      }
    });
    await project.serving(async (url) => {
      expect((await exchange(url, 'GET /health/ready')).status).toBe(200);
      for (const path of ['shelves', 'notes']) expect((await ask(url, `GET /api/${path}`)).status).toBe(200);
    });
  });
});

const FOLLOWED: readonly (readonly [what: string, files: Files])[] = [
  [
    'fields, relations and a table are renamed',
    {
      'book.yaml': BOOK.replace('pages: { type: integer }', 'sheets: { type: integer, renamedFrom: pages }')
        .replace('type: Book', 'type: Book\ntable: tomes')
        .replace('shelf: {', 'board: { renamedFrom: shelf,'),
    },
  ],
  ['a field may be longer', { 'shelf.yaml': SHELF.replace('name: {', 'name: { maxLength: 400,') }],
  ['a field is new', { 'book.yaml': BOOK.replace('pages', 'year: { type: integer, default: 0 }\n  pages') }],
];

test.each(FOLLOWED)('%s, and no request is refused, not even those that find it out', async (_, files) => {
  const project = await createProject({ ...BEFORE, 'shelf.yaml': SHELF.replace('name: {', 'name: { maxLength: 300,') });
  await project.serving(async (url) => {
    await ask(url, 'POST /api/shelves', { name: 'one' });
    for (let left = 3; left > 0; left -= 1) await ask(url, 'POST /api/books', { pages: 7, shelf: { id: 1 } });
    await ask(url, 'POST /api/notes', { text: 'n' });
    project.write(files);
    const { code, err } = await project.run('apply');
    expect([code, code === 0 ? '' : err]).toEqual([0, '']);
    const asked = titles.map(async (title) => [title, (await ask(url, title, REQUESTS[title])).status] as const);
    expect(await Promise.all(asked)).toEqual(titles.map((title) => [title, usual(title)]));
    const untitled = await ask(url, 'POST /api/books', { pages: 8 });
    expect([untitled.status, untitled.body]).toEqual([201, expect.objectContaining({ pages: 8 })]);
  });
  await project.remove();
});

test('a change that is taken back is served again', async () => {
  const project = await createProject(BEFORE);
  await project.serving(async (url) => {
    await ask(url, 'POST /api/books', { title: 'a', pages: 7 });
    await change(project, { 'book.yaml': BOOK.replace('  pages: { type: integer }\n', '') });
    expect((await ask(url, 'PATCH /api/books/1', { pages: 8 })).status).toBe(503);
    await change(project, { 'book.yaml': BOOK.replace('pages: {', 'pages: { index: true,') });
    expect((await exchange(url, 'GET /health/ready')).status).toBe(200);
    expect((await ask(url, 'PATCH /api/books/1', { pages: 8 })).status).toBe(200);
  });
  await project.remove();
});

describe('a type is removed', () => {
  // Its table has the name of a column of another type.
  const ITEM = 'type: Item\nfields: { name: { type: string }, notes: { type: string } }\n';
  let project: Project;
  beforeEach(async () => {
    project = await createProject({ 'item.yaml': ITEM, 'note.yaml': NOTE });
  });
  afterEach(() => project.remove());

  test('and the running service refuses requests for this type alone', async () => {
    await project.serving(async (url) => {
      await ask(url, 'POST /api/items', { name: 'a', notes: 'b' });
      await ask(url, 'POST /api/notes', { text: 'n' });
      await change(project, { 'note.yaml': null });
      await until(async () => (await exchange(url, 'GET /health/ready')).status === 503);
      for (const [title, body, status] of [
        ['GET /api/items/1', undefined, 200],
        ['GET /api/items', undefined, 200],
        ['GET /api/items?_cnd[notes]=b&_cnd[orderBy]=notes', undefined, 200],
        ['POST /api/items', { notes: 'c' }, 201],
        ['POST /api/items', [{ notes: 'd' }, { notes: 'e' }], 201],
        ['PATCH /api/items/1', { notes: 'f' }, 200],
        ['DELETE /api/items/2', undefined, 200],
        ['GET /api/notes/1', undefined, 503],
        ['GET /api/notes', undefined, 503],
        ['GET /api/notes?_cnd[text]=n', undefined, 503],
        ['POST /api/notes', { text: 'm' }, 503],
        ['DELETE /api/notes/1', undefined, 503],
      ] as const)
        expect([title, (await ask(url, title, body)).status]).toEqual([title, status]);
    });
  });
});

// PostgreSQL tells reads within a second.
(databaseKind === 'sqlite' ? test : test.skip)('the first request after a change knows it', async () => {
  const project = await createProject(BEFORE);
  await project.serving(async (url) => {
    await ask(url, 'POST /api/notes', { text: 'n' });
    await change(project, { 'note.yaml': NOTE.replace('string', 'any') });
    const answers = await Promise.all([1, 2, 3].map(() => ask(url, 'GET /api/notes/1')));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
  });
  await project.remove();
});
