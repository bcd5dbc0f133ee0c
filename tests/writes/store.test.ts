/** The store below HTTP: snapshots, group commit, what a start refuses. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Model, RecordType } from '../../engine/model/model.ts';
import { ALL_RIGHTS } from '../../engine/model/rights.ts';
import { createQueryResolver } from '../../engine/query/resolve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import type { Driver, Writer } from '../../engine/storage/driver.ts';
import { databaseAt, openStorage } from '../../engine/storage/open.ts';
import { prepare } from '../../engine/storage/migrate/apply.ts';
import { createReads } from '../../engine/storage/read/reads.ts';
import { connect, type SqliteConnection } from '../../engine/storage/sqlite/connection.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { GroupCommit } from '../../engine/storage/sqlite/group-commit.ts';
import { unavailable } from '../../engine/storage/unavailable.ts';
import { StartError } from '../../engine/problem.ts';
import { createDatabase } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';

const SHELVES = `type: Shelf
fields: { name: { type: string, unique: true } }
relations: { books: { kind: hasMany, type: Book, inverse: shelf, nested: write } }
`;
const BOOKS = `type: Book
fields: { title: { type: string } }
relations: { shelf: { kind: belongsTo, type: Shelf, inverse: books } }
`;

let directory: string;
let model: Model;
const file = (name = 'records.db'): string => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'storage-'));
  writeFileSync(file('shelf.yaml'), SHELVES);
  writeFileSync(file('book.yaml'), BOOKS);
  model = loadModel(directory);
});

test('a stream shows the records as they were when it began', async () => {
  const database = await createDatabase();
  const driver = await databaseAt(database.url).open();
  await prepare(model, driver);
  await driver.define([
    `insert into shelves (name) with recursive n (i) as (select 1 union all select i + 1 from n where i < 600) select 's' || i from n`,
    `insert into books (title, shelf_id) select 'b', id from shelves`,
  ]);
  const shelf = model.types.get('Shelf') as RecordType;
  const list = createQueryResolver(readSettings({}))(shelf, ALL_RIGHTS).list('');
  const { total, records } = await createReads(driver).stream(list, 'exact');
  for (const change of [`update shelves set name = 'changed ' || id`, `update books set title = 'changed'`])
    await driver.write((writer) => writer.run({ sql: change }, []));
  let text = '';
  for await (const some of records) text += some.join('');
  expect([total, text.match(/"title":"b"/g)?.length]).toEqual([600, 600]);
  expect(text).not.toContain('changed');
  await driver.close();
  await database.remove();
});

const INSERT = { sql: 'insert into shelves (name) values (?)' };
const COUNT = { sql: 'select count(*) from shelves' };

describe('group commit, which SQLite alone needs', () => {
  let driver: Driver;
  let own: SqliteConnection;
  let commits: GroupCommit;
  const refresh = (): void => undefined;
  const inPlace = (): void => undefined;
  const place = { requirePlace: inPlace, checkPlace: inPlace };

  beforeEach(async () => {
    // A group ends after some milliseconds: for these writes, no time passes.
    jest.spyOn(performance, 'now').mockReturnValue(0);
    driver = openSqlite(file());
    await prepare(model, driver);
    own = connect(file(), false);
    commits = new GroupCommit(own, refresh, place);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
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
    commits = new GroupCommit({ ...own, command }, refresh, place);
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

  const moved = (): never => {
    throw unavailable('moved');
  };

  it.each([
    ['done', 'before', { requirePlace: moved, checkPlace: moved }, { code: 'storage-busy', status: 503 }],
    ['acknowledged', 'during', { requirePlace: inPlace, checkPlace: moved }, { code: 'outcome-unknown', status: 504 }],
  ])('a write is not %s if its file was moved %s the commit', async (_, when, lost, problem) => {
    commits = new GroupCommit(own, refresh, lost);
    const write = commits.write((group) => group.run(INSERT, ['lost']));
    await expect(write).rejects.toMatchObject(problem);
    expect(await driver.value(COUNT, [])).toBe(when === 'before' ? 0 : 1);
  });

  it('a write that fails undoes its own work, and no other', async () => {
    const failing = async (group: Writer): Promise<void> => {
      await group.run(INSERT, ['lost']);
      throw new Error('this one');
    };
    const good = (name: string) => commits.write((group) => group.run(INSERT, [name]));
    const ended = await Promise.allSettled([good('first'), commits.write(failing), good('last')]);
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await driver.column({ sql: 'select name from shelves order by id' }, [])).toEqual(['first', 'last']);
  });

  it('answers only once another connection can see the write', async () => {
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
});
