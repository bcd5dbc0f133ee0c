/** Searches on SQLite end: when their time is over, when their client has gone, and when the service ends. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Caller, NO_CLIENT } from '../../engine/edge/caller.ts';
import { createDatabase } from '../../engine/storage/database.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { openSqlite } from '../../engine/storage/sqlite/driver.ts';
import { moduleOf, openBuild } from '../support/compiled.ts';
import { leaving, settled, until } from '../support/leaving.ts';

const HOURS = {
  sql: 'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n where i < 0',
};
const ONE = { sql: 'select 1' };

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
}

function processes(): readonly Process[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.flatMap((name) => {
    const [, title, state = '', parent] = /\((.*)\) (\S) (\d+)/.exec(readIfThere(`/proc/${name}/stat`)) ?? [];
    // The kernel keeps fifteen characters of a title.
    return title?.startsWith('records reader'.slice(0, 15)) && state !== 'Z'
      ? [{ pid: Number(name), parent: Number(parent), state }]
      : [];
  });
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const readersOf = (parent: number): readonly number[] =>
  processes().flatMap((one) => (one.parent === parent ? [one.pid] : []));

/** What another test file of this worker may have left behind. */
const earlier = new Set(readersOf(process.pid));
const children = (): readonly number[] => readersOf(process.pid).filter((pid) => !earlier.has(pid));

async function killOne(): Promise<void> {
  await until(() => children().length > 0);
  for (const pid of children().slice(0, 1)) process.kill(pid, 'SIGKILL');
}

let directory: string;
let driver: Driver;
const open = (statementTimeout: number): Driver =>
  createDatabase(openSqlite(join(directory, 'records.db'), { statementTimeout }));
const hours = (caller: Caller): Promise<unknown> =>
  Promise.resolve(driver.scan((reader) => reader.value(HOURS, []), caller));
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'readers-'));
});
afterEach(async () => {
  await driver.close();
  await until(() => children().length === 0);
});

describe('a search', () => {
  it('that takes longer than the deadline is ended: 503', async () => {
    driver = open(200);
    await expect(hours(NO_CLIENT)).rejects.toMatchObject({ code: 'statement-timeout', status: 503 });
    await until(() => children().length === 0);
    // The next one has a deadline, too: on a busy machine it may need another try.
    await until(
      async () => (await settled(Promise.resolve(driver.scan((reader) => reader.value(ONE, []), NO_CLIENT)))) === 1,
    );
  });

  it('ends when its client leaves, while it runs and while it waits', async () => {
    driver = open(600_000);
    const client = leaving();
    const searches = Array.from({ length: 20 }, () => settled(hours(client)));
    await until(() => children().length > 1);
    client.leave();
    for (const search of searches) expect(await search).toMatchObject({ name: 'CallerGone' });
    await until(() => children().length === 0);
    await expect(hours(client)).rejects.toMatchObject({ name: 'CallerGone' });
    expect(await driver.scan((reader) => reader.value(ONE, []), NO_CLIENT)).toBe(1);
  });

  it('that finds no place in the queue is refused: 503; one of another client gets a place, and its turn', async () => {
    driver = open(600_000);
    const greedy = leaving('greedy');
    const searches = Array.from({ length: 300 }, () => settled(hours(greedy)));
    const outcomes: unknown[] = [];
    for (const search of searches) void search.then((outcome) => outcomes.push(outcome));
    await until(() => outcomes.length > 100);
    expect(outcomes[0]).toMatchObject({ code: 'storage-busy', status: 503 });
    const other = driver.scan((reader) => reader.value(ONE, []), leaving('other'));
    // One of the greedy client's searches ends, and it is not another one of that client that comes next.
    await killOne();
    expect(await other).toBe(1);
    greedy.leave();
    await Promise.all(searches);
  });

  it('whose process ends is told so, and the next one finds another process', async () => {
    driver = open(600_000);
    const search = settled(hours(NO_CLIENT));
    await killOne();
    expect(await search).toMatchObject({ code: 'storage-busy' });
    expect(await driver.scan((reader) => reader.value(ONE, []), NO_CLIENT)).toBe(1);
  });

  it('whose process ends leaves a line in the log, and so does a write that another program locks out', async () => {
    const lines: unknown[] = [];
    const warn = (...line: unknown[]): void => void lines.push(line);
    const file = join(directory, 'records.db');
    driver = createDatabase(openSqlite(file, { statementTimeout: 600_000 }), {
      log: { debug: warn, info: warn, warn, error: warn },
    });
    const search = settled(hours(NO_CLIENT));
    await killOne();
    await search;
    const cause = 'a reader process ended: SIGKILL';
    const searched = [{ database: file, cause }, 'a search process ended before its search'];
    expect(lines).toEqual([searched]);
    const other = new Database(file);
    other.exec('begin immediate');
    await expect(driver.write((writer) => writer.value(ONE, []))).rejects.toMatchObject({ code: 'storage-busy' });
    other.close();
    const locked = { database: file, cause: 'database is locked' };
    expect(lines).toEqual([searched, [locked, 'another transaction keeps rows or tables locked']]);
    await driver.write((writer) => writer.value(ONE, []));
  });

  it('ends when the database is closed', async () => {
    driver = open(600_000);
    const searches = Array.from({ length: 20 }, () => settled(hours(NO_CLIENT)));
    await until(() => children().length > 1);
    await driver.close();
    for (const search of searches) expect(await search).toMatchObject({ code: 'storage-busy' });
    await until(() => children().length === 0);
  });
});

describe('a list', () => {
  it('that its reader leaves leaves no process busy', async () => {
    driver = open(600_000);
    const client = leaving();
    const snapshot = await driver.snapshot(client, true);
    const next = settled(snapshot.texts(HOURS, [])[Symbol.asyncIterator]().next());
    await until(() => children().length === 1);
    client.leave();
    expect(await next).toMatchObject({ name: 'CallerGone' });
    await snapshot.close();
    await until(() => children().length === 0);
  });
});

it('a service that is killed leaves no process behind, whatever runs', async () => {
  driver = open(1000);
  const program = `
    const { openSqlite } = require(${JSON.stringify(moduleOf('openSqlite', openBuild()))});
    const driver = openSqlite(${JSON.stringify(join(directory, 'other.db'))});
    const client = { signal: new AbortController().signal, origin: '' };
    for (const _ of [1, 2]) void driver.scan((reader) => reader.value(${JSON.stringify(HOURS)}, []), client).catch(() => undefined);
    setInterval(() => undefined, 1000);
  `;
  const service = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
  const running = (): readonly Process[] =>
    processes().filter(({ parent, state }) => parent === service.pid && state === 'R');
  await until(() => running().length === 2);
  const readers = new Set(running().map(({ pid }) => pid));
  service.kill('SIGKILL');
  await until(() => !processes().some(({ pid }) => readers.has(pid)));
});
