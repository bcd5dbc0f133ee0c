/** The log says that the database works again once all that failed does: reads by a read, writes by a write. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_CLIENT } from '../../engine/edge/caller.ts';
import { createDatabase, type Database } from '../../engine/storage/database.ts';
import type { Reader, Writer } from '../../engine/storage/driver.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { unavailable } from '../../engine/storage/unavailable.ts';

const fail = (): never => {
  throw unavailable('readOnly');
};
const FAILS = 'The database takes no writes at the moment: it, or its disk, is read-only';
const WORKS = 'the database works again';

const readOne = (reader: Reader): unknown => reader.value({ sql: 'select 1' }, []);
const addOne = (writer: Writer): unknown => writer.run({ sql: 'insert into numbers values (1)' }, []);

type Step = (database: Database, work?: (writer: Writer) => unknown) => unknown;
const read: Step = (database, work = readOne) => database.read(work as (reader: Reader) => unknown, NO_CLIENT);
const search: Step = (database) => database.scan(readOne, NO_CLIENT);
const write: Step = (database, work = addOne) => database.write(work);
const dryRun: Step = (database, work = readOne) => database.preview(work as (reader: Reader) => unknown, NO_CLIENT);
const probe: Step = (database) => database.ping();

let database: Database;
const lines: unknown[] = [];
beforeEach(async () => {
  const tell = (...[, message]: unknown[]): void => void lines.push(message);
  database = createDatabase(openSqlite(join(mkdtempSync(join(tmpdir(), 'outages-')), 'records.db')), {
    log: { debug: tell, info: tell, warn: tell, error: tell },
  });
  await database.define(['create table numbers (number integer)']);
  lines.length = 0;
});
afterEach(() => database.close());

test.each<[string, readonly Step[], readonly Step[], Step]>([
  ['a write', [write], [read, search, dryRun, probe, (own) => write(own, readOne)], write],
  ['a read', [read], [write], read],
  ['a dry run', [dryRun], [write], dryRun],
  ['a write and a read', [write, read, write], [write], read],
  ['a read and a write', [read, write], [read, search, dryRun], write],
])('after the failure of %s', async (_, failing, others, last) => {
  for (const step of failing) await expect(step(database, fail)).rejects.toThrow(FAILS);
  expect(lines).toEqual([FAILS]);
  for (const step of others) await step(database);
  expect(lines).toEqual([FAILS]);
  await last(database);
  expect(lines).toEqual([FAILS, WORKS]);
});
