/** The log file of SQLite: it grows while a reader holds a snapshot, and is short again afterwards. */
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { Problem } from '../../engine/problem.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { connect, type SqliteConnection } from '../../engine/storage/sqlite/connection.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { type Copier, createLogFile, LONG_LOG } from '../../engine/storage/sqlite/log-file.ts';
import type { LogState } from '../../engine/storage/sqlite/reader-protocol.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { until } from '../support/leaving.ts';

const INSERT = { sql: 'insert into notes (text) values (?)' };
const TEXT = 'x'.repeat(64 * 1024);
/** Bytes that the tests write while a reader holds the log. */
const MUCH = 2 * LONG_LOG;

let database: TestDatabase;
let file: string;
beforeEach(async () => {
  database = await createDatabase('sqlite');
  file = database.url.replace('sqlite:', '');
  const made = new Database(file);
  made.exec(
    'pragma journal_mode = wal; create table notes (id integer primary key, text text); insert into notes (text) values (1)',
  );
  made.close();
});
afterEach(() => database.remove());

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const logSize = (): number => sizeOf(`${file}-wal`);

/** A snapshot of another process, say. Returns a function that ends it. */
function holdSnapshot(): () => void {
  const reader = new Database(file, { readonly: true });
  reader.exec('begin; select * from notes');
  return () => void reader.close();
}

describe('a service', () => {
  let driver: Driver;
  beforeEach(() => {
    driver = openSqlite(file);
  });
  afterEach(() => driver.close());

  /** On a busy machine, the process that copies the log may hold its lock for longer than a write waits. */
  const write = (): Promise<unknown> =>
    driver
      .write((writer) => writer.run(INSERT, [TEXT]))
      .catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'storage-busy') return write();
        throw error;
      });
  const writeMuch = async (): Promise<void> => {
    for (let written = 0; written < MUCH; written += TEXT.length) await write();
  };

  it('cuts the log when the reader is gone, without another write', async () => {
    const end = holdSnapshot();
    await writeMuch();
    expect(logSize()).toBeGreaterThan(MUCH);
    end();
    await until(() => logSize() === 0);
    expect(logSize()).toBe(0);
    expect(sizeOf(file)).toBeGreaterThan(MUCH);
  });

  it('does so again and again, and keeps what is written meanwhile', async () => {
    for (let round = 0; round < 2; round += 1) {
      const end = holdSnapshot();
      await writeMuch();
      end();
      while (logSize() > LONG_LOG) await write();
    }
    await until(() => logSize() < LONG_LOG);
    const written = await driver.count({ sql: 'select count(*) from notes' }, []);
    await driver.close();
    const kept = new Database(file, { readonly: true });
    expect(kept.prepare('select count(*) from notes').pluck().get()).toBe(written);
    kept.close();
  });

  it('keeps the log short by itself while nobody holds it', async () => {
    await writeMuch();
    expect(logSize()).toBeLessThan(LONG_LOG);
  });

  it('cuts a log that was left by one that was killed', async () => {
    const end = holdSnapshot();
    await writeMuch();
    await driver.close();
    driver = openSqlite(file);
    end();
    await until(() => logSize() === 0);
    expect(logSize()).toBe(0);
  });
});

describe('the connection that writes', () => {
  let writer: SqliteConnection;
  beforeEach(() => {
    writer = connect(file, false);
  });
  afterEach(() => writer.close());

  const grow = (): void => {
    for (let written = 0; written < MUCH; written += TEXT.length) writer.run(INSERT, [TEXT]);
  };
  const automatic = (): unknown => writer.value({ sql: 'pragma wal_autocheckpoint' }, []);

  /** Copies nothing before it is told to. */
  function manual(): { start(): Copier; answer(isCut: boolean): void; fail(): void; ended: number; started: number } {
    let settle: { resolve(state: LogState): void; reject(error: Error): void };
    const all = {
      started: 0,
      ended: 0,
      start: (): Copier => {
        all.started += 1;
        return {
          copy: () => {
            return new Promise((resolve, reject) => (settle = { resolve, reject }));
          },
          end: () => void (all.ended += 1),
        };
      },
      answer: (isCut: boolean) => settle.resolve({ behind: 0, isCut }),
      fail: () => settle.reject(new Error('killed')),
    };
    return all;
  }

  it('leaves a long log to the other process until it is cut', async () => {
    const copier = manual();
    const log = createLogFile(file, writer, copier.start);
    const end = holdSnapshot();
    grow();
    log.look();
    end();
    const size = sizeOf(file);
    grow();
    log.look();
    expect([copier.started, automatic(), sizeOf(file)]).toEqual([1, 0, size]);
    copier.answer(true);
    await sleep(0);
    expect([copier.ended, automatic()]).toEqual([1, 1000]);
    log.close();
  });

  it('copies by itself if the process fails', async () => {
    const copier = manual();
    const log = createLogFile(file, writer, copier.start);
    const end = holdSnapshot();
    grow();
    log.look();
    copier.fail();
    await sleep(0);
    log.look();
    expect([copier.started, copier.ended, automatic()]).toEqual([1, 1, 1000]);
    end();
    log.close();
  });

  it('is not disturbed by a process that cannot be started', () => {
    const log = createLogFile(file, writer, () => {
      throw new Error('no more processes');
    });
    const end = holdSnapshot();
    grow();
    expect(() => log.look()).not.toThrow();
    expect(automatic()).toBe(1000);
    end();
    log.close();
  });
});
