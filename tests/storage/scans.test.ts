/** Where SQLite runs what looks at many rows, what it counts again, and that reads and writes leave no trace in the log file. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkSchema } from '../../engine/check.ts';
import { createQueryResolver, type TypeQueries } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings.ts';
import type { Driver, Reader } from '../../engine/storage/driver.ts';
import { prepare } from '../../engine/storage/migrate/apply.ts';
import { compileList } from '../../engine/storage/read/lists.ts';
import { createReads, type Reads } from '../../engine/storage/read/reads.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { until } from '../support/leaving.ts';

const BOOK = `type: Book
fields:
  title: { type: string, index: true, nullable: false, default: '' }
  genre: { type: string, index: true, nullable: false, default: '' }
  pages: { type: integer, default: 0 }
`;
const NOTE = `type: Note
fields: { text: { type: string } }
`;
const LETTER = `type: Letter
fields: { text: { type: string } }
`;
const SHELF = `type: Shelf
path: shelves
fields: { name: { type: string } }
relations:
  volumes: { kind: hasMany, type: Volume, inverse: shelf }
`;
const VOLUME = `type: Volume
fields: { name: { type: string }, code: { type: string, index: true } }
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: volumes }
`;
const PICTURE = `type: Picture
fields: { rank: { type: integer }, data: { type: string } }
`;
const VOLUMES = 21_000;
const BOOKS = 21_000;
const NOTES = 3;

let directory: string;
let driver: Driver;
let reads: Reads;
let queriesOf: (name: string) => TypeQueries;
/** Where the last list was run, and what was counted. */
let ran: string[] = [];
let file: string;

/** Rows by another connection, as another process would write them. */
function outside(sql: string): void {
  const database = new Database(file);
  database.exec(sql);
  database.close();
}

const noting = (reader: Reader): Reader => ({
  ...reader,
  value: (statement, values) => {
    ran.push(statement.sql);
    return reader.value(statement, values);
  },
});

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scans-'));
  file = join(directory, 'records.db');
  writeFileSync(join(directory, 'book.yaml'), BOOK);
  writeFileSync(join(directory, 'note.yaml'), NOTE);
  writeFileSync(join(directory, 'letter.yaml'), LETTER);
  writeFileSync(join(directory, 'shelf.yaml'), SHELF);
  writeFileSync(join(directory, 'volume.yaml'), VOLUME);
  writeFileSync(join(directory, 'picture.yaml'), PICTURE);
  const { schema } = checkSchema(directory);
  if (!schema) throw new Error('the schema has faults');
  const inner = openSqlite(file);
  await prepare(schema.model, inner);
  outside(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${BOOKS})
    insert into books (title, genre, pages) select 'title ' || (i * 7919 % 100003), 'genre ' || (i % 50), i % 300 from n`);
  outside(`insert into notes (text) values ('a'), ('b'), ('c')`);
  outside(`with recursive n (i) as (select 1 union all select i + 1 from n where i < 4)
    insert into letters (text) select hex(zeroblob(200000)) from n`);
  outside(`insert into shelves (name) values ('much'), ('much'), ('much'), ('little');
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${VOLUMES})
    insert into volumes (name, code, shelf_id) select 'volume', i, case when i <= 5 then 4 else i % 3 + 1 end from n`);
  outside(`with recursive n (i) as (select 1 union all select i + 1 from n where i < 30)
    insert into pictures ("rank", data) select i, hex(zeroblob(200000)) from n`);
  // What the start has read may hold a snapshot until the end of this turn.
  await new Promise((resolve) => setImmediate(resolve));
  driver = {
    ...inner,
    read: (work, caller) => inner.read((reader) => (ran.push('here'), work(noting(reader))), caller),
    scan: (work, caller) => inner.scan((reader) => (ran.push('apart'), work(reader)), caller),
    snapshot: (caller, heavy) => (ran.push(heavy ? 'apart' : 'shared'), inner.snapshot(caller, heavy)),
  };
  reads = createReads(driver);
  const queries = createQueryResolver(schema.model, readSettings({}));
  queriesOf = (name) => {
    const type = schema.model.types.get(name);
    if (!type) throw new Error(name);
    return queries(type);
  };
});

afterAll(async () => {
  await driver.close();
  rmSync(directory, { recursive: true });
});

const LIMIT = '_cnd[limit]=0&_cnd[limit]=20';

describe('a page of 21,000 records', () => {
  it.each([
    [LIMIT, 'here'],
    [`_cnd[orderBy]=title&${LIMIT}`, 'here'],
    [`_cnd[genre]=genre 7&${LIMIT}&fields=title`, 'apart'],
    [`_cnd[orderBy]=pages&${LIMIT}`, 'apart'],
    [`_cnd[pages]=7&${LIMIT}`, 'apart'],
    [`_cnd[title][like]=*7*&${LIMIT}`, 'apart'],
    ['_cnd[limit]=20500&_cnd[limit]=20', 'apart'],
  ])('%s is read %s', async (search, where) => {
    ran = [];
    const query = queriesOf('Book').list(search);
    const page = await reads.page(query, 'exact');
    expect(ran[0]).toBe(where);
    expect(page.records).toHaveLength(20);
    expect(page.total).toBe(await counted(search));
  });

  /** In the same snapshot as everything else, but without the driver under test. */
  async function counted(search: string): Promise<number> {
    const database = new Database(file, { readonly: true });
    const filters = queriesOf('Book')
      .list(search)
      .filters.filter((filter) => filter.kind === 'value');
    const where = filters.map(({ path, operator }) => `${path.name} ${operator === 'like' ? 'like' : '='} ?`);
    const values = filters.map(({ value }) => String(value).replaceAll('*', '%'));
    const sql = `select count(*) from books ${where.length > 0 ? `where ${where.join(' and ')}` : ''}`;
    const count = database
      .prepare<string[], number>(sql)
      .pluck()
      .get(...values);
    database.close();
    return count ?? 0;
  }

  it('with a filter that an index answers is read here once it was counted', async () => {
    const query = queriesOf('Book').list(`_cnd[genre]=genre 8&${LIMIT}`);
    await reads.page(query, 'exact');
    ran = [];
    const { total } = await reads.page(query, 'exact');
    expect(ran).toEqual(['here']);
    expect(total).toBe(BOOKS / 50);
  });

  it('without a count is read here where an index answers it', async () => {
    ran = [];
    await reads.page(queriesOf('Book').list(`_cnd[genre]=genre 9&${LIMIT}`), 'none');
    expect(ran).toEqual(['here']);
  });
});

describe('a filter by text', () => {
  it.each([
    ['of three short texts', 'Note', '', 'here'],
    ['of three short texts, of a page', 'Note', `&${LIMIT}`, 'here'],
    ['of texts of 400,000 characters', 'Letter', '', 'apart'],
    ['of texts of 400,000 characters, of a page', 'Letter', `&${LIMIT}`, 'apart'],
  ])('%s is read where it holds nobody up', async (_, type, limit, where) => {
    ran = [];
    const query = queriesOf(type).list(`_cnd[text][like]=*z*${limit}`);
    if (limit === '')
      for await (const some of (await reads.stream(query, 'none')).records) expect(some).toBe(undefined);
    else await reads.page(query, 'none');
    expect(ran[0]).toBe(where);
  });
});

describe('what is bounded by neither rows nor limit', () => {
  const whereOf = async (type: string, search: string): Promise<unknown> => {
    ran = [];
    await reads.page(queriesOf(type).list(search), 'none');
    return ran.find((where) => where === 'here' || where === 'apart');
  };

  it.each([
    ['Picture', LIMIT, 'here'],
    ['Picture', `_cnd[orderBy]=rank&fields=rank&${LIMIT}`, 'apart'],
    ['Picture', `_cnd[rank]=7&fields=rank&${LIMIT}`, 'apart'],
    ['Shelf', `fields=name&${LIMIT}`, 'here'],
    ['Shelf', `fields=name,volumes.name&${LIMIT}`, 'apart'],
    ['Shelf', `_cnd[id]=4&fields=name,volumes.name&${LIMIT}`, 'here'],
    ['Shelf', `_cnd[id]=4&include=volumes.shelf&${LIMIT}`, 'apart'],
  ])('of %s: %s is read %s', async (type, search, where) => {
    expect(await whereOf(type, search)).toBe(where);
  });

  it('a record that shows more than one level of large tables is read apart', async () => {
    const wheres: unknown[] = [];
    for (const search of ['include=volumes', 'include=volumes.shelf']) {
      ran = [];
      await reads.get(queriesOf('Shelf').view(search), 4);
      wheres.push(ran.includes('apart'));
    }
    expect(wheres).toEqual([false, true]);
  });

  it.each(['asc', 'desc'])('a page behind a cursor begins there, or is read apart: %s', async (direction) => {
    const order = `_cnd[orderBy][0]=code&_cnd[orderBy][1]=${direction}&fields=code`;
    const query = queriesOf('Volume').list(`${order}&${LIMIT}`);
    const { last } = await reads.page(query, 'none');
    const plan = await planBehind(order, last ?? []);
    expect([plan, await whereBehind(order, last ?? [])]).toEqual(
      plan === 'SEARCH' ? ['SEARCH', 'here'] : ['SCAN', 'apart'],
    );
  });

  const behind = (search: string, values: readonly unknown[]): ReturnType<TypeQueries['list']> => ({
    ...queriesOf('Volume').list(`${search}&${LIMIT}`),
    cursor: { direction: 'after', values: values as never },
  });

  async function whereBehind(search: string, values: readonly unknown[]): Promise<unknown> {
    ran = [];
    await reads.page(behind(search, values), 'none');
    return ran[0];
  }

  /** Whether SQLite finds the first record, or looks for it from the beginning. */
  async function planBehind(search: string, values: readonly unknown[]): Promise<string> {
    const list = compileList(behind(search, values), driver.dialect);
    const database = new Database(file, { readonly: true });
    const steps = database
      .prepare<unknown[], { detail: string }>(`explain query plan ${list.page.sql}`)
      .all(...list.values(behind(search, values)), 20, 0);
    database.close();
    return steps.some(({ detail }) => detail.startsWith('SCAN')) ? 'SCAN' : 'SEARCH';
  }
});

describe('a whole list', () => {
  it.each([
    ['Note', NOTES, 'here'],
    ['Book', BOOKS, 'shared'],
  ])('of %s, %i records, is read %s', async (type, count, where) => {
    ran = [];
    const { total, records } = await reads.stream(queriesOf(type).list(''), 'exact');
    const found: { id: number }[] = [];
    for await (const some of records) found.push(...some.map((text) => JSON.parse(text) as { id: number }));
    expect(ran[0]).toBe(where);
    expect(total).toBe(count);
    expect(found.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  it('of few records that turned out to be long is read apart the next time', async () => {
    const places: unknown[] = [];
    for (let round = 0; round < 2; round += 1) {
      ran = [];
      const { records } = await reads.stream(queriesOf('Letter').list(''), 'none');
      let length = 0;
      for await (const some of records) length += some.join('').length;
      places.push(ran[0], length > 1_600_000);
    }
    expect(places).toEqual(['here', true, 'shared', true]);
  });

  it('is counted anew after a write', async () => {
    const totals: unknown[] = [];
    for (const sql of ["insert into books (title) values ('another')", "delete from books where title = 'another'"]) {
      outside(sql);
      const { total, records } = await reads.stream(queriesOf('Book').list(''), 'exact');
      totals.push(total);
      for await (const some of records) if (some.length > 0) break;
    }
    expect(totals).toEqual([BOOKS + 1, BOOKS]);
  });

  it('that nobody reads to its end leaves nothing behind', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { records } = await reads.stream(queriesOf('Book').list(''), 'none');
      for await (const some of records) if (some.length > 0) break;
    }
    const database = new Database(file);
    // A snapshot that is still open is in its way.
    await until(() => database.pragma('wal_checkpoint(truncate)', { simple: true }) === 0);
    database.close();
  });

  it('that fails says why', async () => {
    const snapshot = await driver.snapshot();
    await expect(snapshot.value({ sql: 'select missing' }, [])).rejects.toThrow('no such column: missing');
    await snapshot.close();
  });
});

describe('totals', () => {
  const total = async (search = LIMIT): Promise<number | undefined> =>
    (await reads.page(queriesOf('Note').list(search), 'exact')).total;
  const INSERT = { sql: 'insert into notes (text) values (?)' };

  it('are right after a write of this process, and of another', async () => {
    const before = (await total()) ?? 0;
    await driver.write((writer) => writer.run(INSERT, ['mine']));
    expect(await total()).toBe(before + 1);
    outside(`insert into notes (text) values ('theirs')`);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await total()).toBe(before + 2);
    expect(await total(`_cnd[text]=mine&${LIMIT}`)).toBe(1);
  });

  it('are seen by those who waited for the write', async () => {
    const before = (await total()) ?? 0;
    const seen = await Promise.all(
      Array.from({ length: 20 }, async () => {
        await driver.write((writer) => writer.run(INSERT, ['one of many']));
        return total();
      }),
    );
    expect(Math.min(...seen.map(Number))).toBeGreaterThan(before);
    expect(await total()).toBe(before + 20);
  });
});

it('reads in every turn do not keep the log from being used again', async () => {
  const insert = { sql: 'insert into notes (text) values (?)' };
  const text = 'x'.repeat(2000);
  for (let round = 0; round < 300; round += 1) {
    const writes = Array.from({ length: 10 }, () => driver.write((writer) => writer.run(insert, [text])));
    await reads.page(queriesOf('Note').list(LIMIT), 'exact');
    await Promise.all(writes);
    await new Promise((resolve) => setImmediate(resolve));
  }
  // 6 MB were written; SQLite begins anew after 1000 pages of 4 KiB.
  expect(statSync(`${file}-wal`).size).toBeLessThan(5_000_000);
});
