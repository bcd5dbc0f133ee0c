/** Deleting and unlinking many long records takes several statements, so that none of them is long; and the result is the same. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { PATIENT } from '../../engine/caller.ts';
import type { JsonObject } from '../../engine/json.ts';
import { wholeBody } from '../../engine/model/bodies.ts';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { createQueryResolver, type TypeQueries } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings.ts';
import { openStorage } from '../../engine/storage/open.ts';
import type { Store } from '../../engine/storage/store.ts';
import { createDatabase, fileOf, type TestDatabase } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';

const SCHEMA = {
  shelf: `type: Shelf
path: shelves
fields: { name: { type: string } }
relations:
  books: { kind: hasMany, type: Book, inverse: shelf, owned: true }
  loans: { kind: hasMany, type: Loan, inverse: shelf }
`,
  book: `type: Book
fields: { title: { type: string, unique: true, required: true, caseless: true }, text: { type: any, required: true } }
open: true
relations: { shelf: { kind: belongsTo, type: Shelf, inverse: books } }
`,
  loan: `type: Loan
fields: { text: { type: string }, changed: { type: timestamp, generated: updatedAt } }
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: loans, onDelete: setNull }
  book: { kind: belongsTo, type: Book, onDelete: restrict }
`,
};
const LONG = 'x'.repeat(900_000);
/** Eleven of them are 9.9 MB, which take three statements. */
const MANY = 11;
const GROUPS = 3;

let directory: string;
let database: TestDatabase;
let file: Database.Database;
let model: Model;
let store: Store;
let statements: string[];
const queries = (type: RecordType): TypeQueries => createQueryResolver(model, readSettings({}))(type);
function typeOf(name: string): RecordType {
  const type = model.types.get(name);
  if (!type) throw new Error(name);
  return type;
}
const ran = (pattern: RegExp): number => statements.filter((sql) => pattern.test(sql)).length;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'long-rows-'));
  for (const [name, text] of Object.entries(SCHEMA)) writeFileSync(join(directory, `${name}.yaml`), text);
  model = loadModel(directory);
});
afterAll(() => rmSync(directory, { recursive: true }));

/** `longBytes`: what one write may free or copy. */
async function open(longBytes?: number): Promise<void> {
  const onStatement = (sql: string): void => void statements.push(sql);
  const settings = longBytes === undefined ? undefined : { ...readSettings({}), longBytes };
  ({ store } = await openStorage(model, database.url, settings, { onStatement }));
}

beforeEach(async () => {
  database = await createDatabase('sqlite');
  statements = [];
  await open();
  file = new Database(fileOf(database));
  await create('Shelf', [{ name: 'long' }, { name: 'short' }]);
  const many = Array.from({ length: MANY }, (_, index) => index);
  await create('Book', [
    ...many.map((index) => ({ title: `t${index}`, text: LONG, shelf: { id: 1 } })),
    { title: 'short', text: '1', shelf: { id: 2 } },
  ]);
  await create('Loan', [...many.map(() => ({ text: LONG, shelf: { id: 1 } })), { text: 'short', shelf: { id: 1 } }]);
  statements.length = 0;
});
afterEach(async () => {
  file.close();
  await store.close();
  await database.remove();
});

async function create(name: string, bodies: readonly JsonObject[]): Promise<void> {
  const type = typeOf(name);
  const items = bodies.map((body, index) => ({ ...wholeBody(body), pointer: `/${index}` }));
  await store.create({ type, items, mergePatch: false, author: null, view: queries(type).view(''), unread: true });
}

const lengths = (table: string): unknown[] =>
  file.prepare(`select length(text) from ${table} order by id`).pluck().all();
const remove = (identifier: number): ReturnType<Store['delete']> => {
  const view = queries(typeOf('Shelf')).view('fields=name');
  return store.delete({ view, type: view.type, identifier, author: null, caller: PATIENT });
};

const SHORTENED = /^update .* = lower\(hex\(randomblob/;
const UNLINKED = /^update `loans` set `shelf_id` = null/;
const LONG_LOANS = [...Array.from({ length: MANY }, () => LONG.length), 5];

test('what is deleted loses its long values first, and what is unlinked keeps them', async () => {
  await remove(1);
  expect([ran(SHORTENED), ran(UNLINKED)]).toEqual([GROUPS, GROUPS + 1]);
  expect(lengths('books')).toEqual([3]);
  expect(lengths('loans')).toEqual(LONG_LOANS);
  expect(file.prepare('select count(shelf_id) from loans').pluck().get()).toBe(0);
});

test('short records take no statement more', async () => {
  await remove(2);
  expect(ran(SHORTENED)).toBe(0);
});

test('what is not deleted after all stays as it was', async () => {
  await create('Loan', [{ book: { id: 3 } }]);
  await expect(remove(1)).rejects.toMatchObject({ code: 'restrict-conflict' });
  expect(ran(SHORTENED)).toBe(GROUPS);
  expect(lengths('books')).toEqual([...Array.from({ length: MANY }, () => LONG.length + 2), 3]);
});

test('a set that is left out is deleted and unlinked in the same way', async () => {
  const type = typeOf('Shelf');
  const items = [wholeBody({ books: [], loans: [] }, 1)];
  await store.update({ type, items, mergePatch: false, author: null, view: queries(type).view('fields=name') });
  expect([ran(SHORTENED), ran(UNLINKED)]).toEqual([GROUPS, GROUPS + 1]);
  expect([lengths('books'), lengths('loans')]).toEqual([[3], LONG_LOANS]);
});

test('records that a filter finds, too', async () => {
  const query = queries(typeOf('Book')).list('_cnd[title][like]=t*');
  expect(await store.deleteFound({ query, most: 100, author: null })).toMatchObject({ deleted: MANY });
  expect(ran(SHORTENED)).toBe(GROUPS);
});

describe('a write that would free or copy too many bytes', () => {
  const books = MANY * (LONG.length + 2);
  const loans = MANY * LONG.length;
  const limitedTo = async (bytes: number): Promise<void> => {
    await store.close();
    await open(bytes);
  };
  const refused = {
    code: 'too-many-rows',
    status: 422,
    message: expect.stringContaining('or let an operator remove a large tree with "records delete TYPE ID --chunked"'),
  };
  const emptied = (body: JsonObject): ReturnType<Store['update']> => {
    const type = typeOf('Shelf');
    const items = [wholeBody(body, 1)];
    return store.update({ type, items, mergePatch: false, author: null, view: queries(type).view('fields=name') });
  };

  test('is refused before it begins: what is deleted and what is unlinked count', async () => {
    await limitedTo(books + loans - 1);
    await expect(remove(1)).rejects.toMatchObject(refused);
    expect([ran(SHORTENED), ran(UNLINKED), ran(/^delete from `(shelves|books)/)]).toEqual([0, 0, 0]);
    await limitedTo(books + loans + 1000);
    await remove(1);
    expect(lengths('books')).toEqual([3]);
  });

  test('is refused with the place of a set, and all sets of a body count together', async () => {
    await limitedTo(books + loans - 1);
    await expect(emptied({ books: [], loans: [] })).rejects.toMatchObject({
      ...refused,
      errors: [{ pointer: '/books' }],
    });
    expect(lengths('books')).toHaveLength(MANY + 1);
    await emptied({ loans: [] });
    await emptied({ books: [] });
    expect(lengths('books')).toEqual([3]);
  });

  test('is refused where filters find the records', async () => {
    await limitedTo(books - 1);
    const query = queries(typeOf('Book')).list('_cnd[title][like]=t*');
    await expect(store.deleteFound({ query, most: 100, author: null })).rejects.toMatchObject(refused);
    const fewer = queries(typeOf('Book')).list('_cnd[title][like]=t1*');
    expect(await store.deleteFound({ query: fewer, most: 100, author: null })).toMatchObject({ deleted: 2 });
  });
});
