/** The store below HTTP: statements per read, snapshots, group commit, what a start refuses, seeds. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { checkSchema } from '../../engine/check.ts';
import { type Model, wholeBody } from '../../engine/model/model.ts';
import { ALL_RIGHTS } from '../../engine/model/rights.ts';
import { createQueryResolver, type TypeQueries } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { type Driver } from '../../engine/storage/driver.ts';
import { databaseAt, openStorage } from '../../engine/storage/open.ts';
import { prepare } from '../../engine/storage/migrate/apply.ts';
import { createReads } from '../../engine/storage/read/reads.ts';
import { connect, type SqliteConnection } from '../../engine/storage/sqlite/connection.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { createGroupCommit } from '../../engine/storage/sqlite/group-commit.ts';
import { unavailable } from '../../engine/storage/unavailable.ts';
import { createWrites } from '../../engine/storage/write/writes.ts';
import { StartError } from '../../engine/problem.ts';
import { createDatabase, databaseKinds, type TestDatabase } from '../support/databases.ts';

const SHELVES = `type: Shelf
fields: { name: { type: string, unique: true } }
relations:
  books: { kind: hasMany, type: Book, inverse: shelf, nested: write }
  tags: { kind: manyToMany, type: Tag, nested: write }
`;
const BOOKS = `type: Book
order: [title]
fields: { title: { type: string, default: "" } }
relations:
  shelf: { kind: belongsTo, type: Shelf, inverse: books, nested: write }
  cover: { kind: hasOne, type: Cover, owned: true }
`;
const COVERS = `type: Cover
operations: []
fields: { colour: { type: string } }
`;
const TAGS = `type: Tag
fields: { word: { type: string } }
seed: [{ id: 1, word: old }, { id: 2, word: new }]
`;

const TOGETHER = 50;

let directory: string;
let model: Model;
const file = (name = 'records.db'): string => join(directory, name);

function schema(files: Readonly<Record<string, string>>): Model {
  const folder = join(directory, `schema-${Object.keys(files).join('')}`);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.yaml`), text);
  const checked = checkSchema(folder);
  if (!checked.schema) throw new Error(checked.diagnostics.map(({ message }) => message).join('\n'));
  return checked.schema.model;
}

const queries = (name: string): TypeQueries => {
  const type = model.types.get(name);
  if (!type) throw new Error(name);
  return createQueryResolver(readSettings({}))(type, ALL_RIGHTS);
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'storage-'));
  model = schema({ shelf: SHELVES, book: BOOKS, cover: COVERS, tag: TAGS });
});
afterEach(() => rmSync(directory, { recursive: true }));

describe.each(databaseKinds)('reads of %s', (kind) => {
  let database: TestDatabase;
  let driver: Driver;

  beforeEach(async () => {
    database = await createDatabase(kind);
    driver = await databaseAt(database.url).open();
    await prepare(model, driver);
  });
  afterEach(async () => {
    await driver.close();
    await database.remove();
  });

  async function fill(shelves: number): Promise<void> {
    const writes = createWrites(driver, createReads(driver), { served: () => model });
    const { view } = queries('Shelf');
    const type = view('').type;
    const books = [1, 2, 3].map((number) => ({ title: `b${number}`, cover: { colour: 'red' } }));
    const create = (index: number): Promise<unknown> =>
      writes.create({
        type,
        items: [wholeBody({ name: `s${index}`, books, tags: [{ word: 'w' }] })],
        mergePatch: false,
        author: null,
        view: view(''),
      });
    // As many at once as do not have to wait for long.
    for (let from = 0; from < shelves; from += TOGETHER)
      await Promise.all(Array.from({ length: Math.min(TOGETHER, shelves - from) }, (_, index) => create(from + index)));
  }

  it('a stream shows the records as they were when it began', async () => {
    await fill(600);
    const { total, records } = await createReads(driver).stream(queries('Shelf').list(''), 'exact');
    await driver.write((writer) => writer.run({ sql: `update shelves set name = 'changed ' || id` }, []));
    let text = '';
    for await (const some of records) text += some.join('');
    expect(total).toBe(600);
    expect(text).not.toContain('changed');
  });
});

const INSERT = { sql: 'insert into shelves (name) values (?)' };
const COUNT = { sql: 'select count(*) from shelves' };

describe.each(databaseKinds)('writes to %s', (kind) => {
  let database: TestDatabase;
  let driver: Driver;

  beforeEach(async () => {
    database = await createDatabase(kind);
    driver = await databaseAt(database.url).open();
    await prepare(model, driver);
  });
  afterEach(async () => {
    await driver.close();
    await database.remove();
  });

  it('one that fails takes back what it did, and not what its neighbours did', async () => {
    const writes = Array.from({ length: 30 }, (_, index) =>
      driver.write(async (writer) => {
        await writer.run(INSERT, [`s${index}`]);
        if (index % 3 === 0) throw new Error(`no ${index}`);
        return index;
      }),
    );
    const settled = await Promise.allSettled(writes);
    expect(settled.map(({ status }) => status)).toEqual(
      settled.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(await driver.value(COUNT, [])).toBe(20);
  });
});

describe('group commit, which SQLite alone needs', () => {
  let driver: Driver;
  let own: SqliteConnection;
  let commits: ReturnType<typeof createGroupCommit>;
  /** A group ends after some milliseconds; for these writes, no time passes. */
  const STILL = { refresh: () => undefined, now: () => 0 };

  beforeEach(async () => {
    driver = openSqlite(file());
    await prepare(model, driver);
    own = connect(file(), false);
    commits = createGroupCommit(own, STILL);
  });
  afterEach(async () => {
    own.close();
    await driver.close();
  });

  it('writes that arrive together are one commit', async () => {
    const other = new Database(file(), { readonly: true });
    const version = (): unknown => other.pragma('data_version', { simple: true });
    const seen = new Set([version()]);
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await commits.write((group) => group.run(INSERT, [`s${index}`]));
        seen.add(version());
      }),
    );
    other.close();
    expect(seen.size).toBe(2);
  });

  it.each([
    ['ROLLBACK', 1, ['rollback']],
    ['ROLLBACK, and the one after it', 2, ['rollback']],
    ['ROLLBACK of all groups for a while', 4, ['rollback']],
    ['COMMIT, and the ROLLBACK after it', 1, ['commit', 'rollback']],
    ['BEGIN', 1, ['begin immediate']],
  ])('%s fails: later writes are done, and nothing of the failed one', async (_, times, failing) => {
    const left = new Map(failing.map((sql) => [sql, times]));
    const command: SqliteConnection['command'] = (statement) => {
      const rest = left.get(statement.sql) ?? 0;
      left.set(statement.sql, rest - 1);
      if (rest > 0) throw unavailable('broken');
      own.command(statement);
    };
    commits = createGroupCommit({ ...own, command }, STILL);
    const lost = commits.write(async (group) => {
      await group.run(INSERT, ['lost']);
      throw new Error('this one');
    });
    await expect(lost).rejects.toThrow();
    const write = (name: string): Promise<unknown> => commits.write((group) => group.run(INSERT, [name]));
    for (let refused = 0; refused < times; refused += 1) await write(`kept ${refused}`).catch(() => undefined);
    await write('kept');
    const names = (await driver.column({ sql: 'select name from shelves order by name' }, [])).map(String);
    expect([names[0], names.every((name) => name.startsWith('kept'))]).toEqual(['kept', true]);
  });

  it('nothing is answered before another connection can see it', async () => {
    const other = new Database(file(), { readonly: true });
    const count = other.prepare('select count(*) from shelves').pluck();
    const counts = await Promise.all(
      [1, 2, 3].map((index) => commits.write((group) => group.run(INSERT, [`s${index}`])).then(() => count.get())),
    );
    other.close();
    expect(counts).toEqual([3, 3, 3]);
  });

  it('waits for another process that writes, without holding up reads', async () => {
    const other = new Database(file());
    other.exec('begin immediate');
    const write = driver.write((writer) => writer.run(INSERT, ['late']));
    expect(await driver.value(COUNT, [])).toBe(0);
    // The write has met the lock.
    for (const _ of [1, 2, 3]) await nextTurn();
    other.exec('rollback');
    other.close();
    await write;
    expect(await driver.value(COUNT, [])).toBe(1);
  });
});

describe('a start', () => {
  it('tells what the file of a database holds that the engine did not make', async () => {
    const start = async (): Promise<readonly string[]> => {
      const { store, prepared } = await openStorage(model, `sqlite:${file('foreign.db')}`);
      await store.close();
      return prepared.others;
    };
    await start();
    expect(await start()).toEqual([]);
    const other = new Database(file('foreign.db'));
    other.exec(
      'create trigger t after insert on books begin delete from books; end; create view v as select * from books',
    );
    other.close();
    expect(await start()).toEqual(['trigger t of books', 'view v of books']);
  });

  const url = (): string => `sqlite:${file()}`;

  it('makes the tables once, and finds them again', async () => {
    await (await openStorage(model, url())).store.close();
    const before = new Database(file(), { readonly: true })
      .prepare('select name, sql from sqlite_schema order by name')
      .all();
    await (await openStorage(model, url())).store.close();
    expect(
      new Database(file(), { readonly: true }).prepare('select name, sql from sqlite_schema order by name').all(),
    ).toEqual(before);
    expect(before).toMatchSnapshot();
  });

  it.each([
    [
      'something else',
      (): void => void new Database(file()).exec('create table t (x); insert into t values (1)').close(),
      'of something else',
    ],
    [
      'something else with views alone',
      (): void => void new Database(file()).exec('create view v as select 1').close(),
      'of something else',
    ],
    ['no database', (): void => writeFileSync(file(), 'x'.repeat(5000)), 'cannot be read'],
  ])('leaves a file that is %s as it is', async (_, make, message) => {
    make();
    const before = readFileSync(file());
    await expect(openStorage(model, url())).rejects.toThrow(message);
    await expect(openStorage(model, url())).rejects.toBeInstanceOf(StartError);
    expect(readFileSync(file())).toEqual(before);
  });

  it.each(['', 'records.db', 'mysql:x', 'sqlite:', 'sqlite::memory:'])('refuses the database URL %j', async (bad) => {
    await expect(openStorage(model, bad)).rejects.toBeInstanceOf(StartError);
  });
});

describe.each(databaseKinds)('seeds in %s', (kind) => {
  let database: TestDatabase;
  const url = (): string => database.url;

  beforeEach(async () => void (database = await createDatabase(kind)));
  afterEach(() => database.remove());

  it('inserts a seed once: what users changed or deleted stays so', async () => {
    const tags = queries('Tag');
    const { store: first } = await openStorage(model, url());
    const view = tags.view('');
    const items = [wholeBody({ word: 'mine' }, 1)];
    await first.update({ type: view.type, items, mergePatch: false, author: null, view });
    await first.delete({ author: null, type: view.type, view, identifier: 2 });
    await first.close();
    const { store: second } = await openStorage(model, url());
    expect(await second.get(view, 1)).toBe('{"id":1,"word":"mine"}');
    expect(await second.get(view, 2)).toBeUndefined();
    await second.close();
  });

  it('names the seed record that cannot be inserted', async () => {
    const seeded = (seed: string): Model =>
      schema({ clash: `type: Clash\nfields: { w: { type: string, unique: true } }\nseed: ${seed}` });
    const { store } = await openStorage(seeded('[{ id: 1, w: a }]'), url());
    await store.close();
    await expect(openStorage(seeded('[{ id: 1, w: b }, { id: 2, w: a }]'), url())).rejects.toThrow(
      '1 record: this record has the "w" of a seed record; change one of them (1)',
    );
  });
});
