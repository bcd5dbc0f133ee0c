/**
 * Who follows the changes gets each of them once, and those of a record in order, whatever transactions are open: three
 * instances, programs with SQL whose transactions pause before they commit, and some that never do.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Serving } from '../../engine/server/serve.ts';
import { createFeed } from '../../engine/storage/log/feed.ts';
import type { Log } from '../../engine/log.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { ask } from '../support/ask.ts';
import { startCluster } from '../support/cluster.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { openStream } from '../support/events.ts';
import { administer, onServer, pause, startInstance } from '../support/postgres.ts';

const COUNTERS = 5;
const WRITES = 40;
const INSTANCES = [1, 2, 3];
const PROGRAMS = [1, 2, 3, 4];

interface Change {
  readonly cursor: string;
  readonly identifier: number;
  readonly old?: { readonly count: number };
  readonly new: { readonly count: number };
}

const some = (most: number): number => 1 + Math.floor(Math.random() * most);

/** Counts up, and waits before it commits; every third transaction is rolled back. */
async function program(url: string): Promise<void> {
  const client = await connectTo(url);
  for (let times = 0; times < WRITES; times += 1) {
    await client.query('begin');
    await client.query('update counters set count = count + 1 where id = $1', [some(COUNTERS)]);
    await pause(some(100));
    await client.query(some(3) === 1 ? 'rollback' : 'commit');
  }
  await client.end();
}

async function requests(url: string): Promise<void> {
  for (let times = 0; times < WRITES; times += 1) {
    const { body } = await ask(url, `GET /api/counters/${some(COUNTERS)}`);
    const { id, count } = body as { readonly id: number; readonly count: number };
    expect((await ask(url, `PATCH /api/counters/${id}`, { count: count + 100 })).status).toBe(200);
    await pause(some(20));
  }
}

/** Pages, until it finds this cursor. */
async function follow(url: string, isEnd: (cursor: string) => boolean): Promise<readonly Change[]> {
  const all: Change[] = [];
  for (let after = ''; ;) {
    const { status, body } = await ask(url, `GET /api/$changes?values=true&limit=7${after}`);
    expect(status).toBe(200);
    const { changes, next } = body as { readonly changes: readonly Change[]; readonly next: string };
    all.push(...changes);
    after = `&after=${next}`;
    if (all.some(({ cursor }) => isEnd(cursor))) return all;
    await pause(10);
  }
}

/** Reads on from the greatest number that it has seen. */
async function planted(url: string, isOver: () => boolean): Promise<readonly number[]> {
  const client = await connectTo(url);
  const all: number[] = [];
  while (!isOver()) {
    const { rows } = await client.query<{ position: string }>(
      'select position from _records_log where position > $1 order by position',
      [all.at(-1) ?? 0],
    );
    all.push(...rows.map(({ position }) => Number(position)));
    await pause(5);
  }
  await client.end();
  return all;
}

const positionOf = (cursor: string): number => Number(cursor.split('-')[1]);

onServer('followers of the changes', () => {
  let database: TestDatabase;
  let serving: readonly Serving[] = [];
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  writeFileSync(
    join(directory, 'counter.yaml'),
    'type: Counter\nhistory: true\nfields: { count: { type: integer, default: 0 } }\n',
  );

  beforeAll(async () => {
    database = await createDatabase('postgres');
    serving = await Promise.all(INSTANCES.map(() => startInstance(database.url, { schemaDirectory: directory })));
  });
  afterAll(async () => {
    await Promise.all(serving.map((one) => one.close()));
    await database.remove();
  });

  it('get every entry once, and each record in order', async () => {
    const urls = serving.map(({ url }) => url);
    const [first = ''] = urls;
    for (let id = 1; id <= COUNTERS; id += 1) await ask(first, 'POST /api/counters', {});
    let last: number | undefined;
    const isEnd = (cursor: string): boolean => positionOf(cursor) === last;
    const streams = await Promise.all(urls.map((url) => openStream(url, '/api/$changes?values=true')));
    const pages = urls.map((url) => follow(url, isEnd));
    const bySequence = planted(database.url, () => last !== undefined);
    await Promise.all([...PROGRAMS.map(() => program(database.url)), ...urls.map(requests)]);
    await ask(first, 'POST /api/counters', {});
    const client = await connectTo(database.url);
    const { rows } = await client.query<{ position: string }>('select position from _records_log order by position');
    await client.end();
    const positions = rows.map(({ position }) => Number(position));
    last = positions.at(-1);
    const heard = (await Promise.all(streams.map((stream) => stream.data(positions.length)))) as unknown as Change[][];
    for (const all of [...(await Promise.all(pages)), ...heard]) {
      expect(all.map(({ cursor }) => positionOf(cursor))).toEqual(positions);
      const counts = new Map<number, number>();
      for (const { identifier, old, new: now } of all) {
        expect(old?.count).toBe(counts.get(identifier));
        counts.set(identifier, now.count);
      }
    }
    expect((await bySequence).length).toBeLessThan(positions.length);
    for (const stream of streams) stream.close();
  });

  it('wait for a transaction of others, whose process the log names, and go on after it', async () => {
    const [{ url = '' } = {}] = serving;
    const { next } = (await ask(url, 'GET /api/$changes?after=now')).body as { readonly next: string };
    const changes = async () =>
      ((await ask(url, `GET /api/$changes?after=${next}`)).body as { changes: unknown[] }).changes;
    const warnings: object[] = [];
    const log = { warn: (...given: readonly object[]) => void warnings.push(...given) } as unknown as Log;
    const driver = await databaseAt(database.url).open();
    const feed = createFeed(driver, log, 500);
    await administer(
      database.url,
      "set application_name = 'others'; begin; update counters set count = 0 where id = 1",
      async () => {
        await ask(url, 'POST /api/counters', {});
        expect(await changes()).toEqual([]);
        const place = await feed.placeOf('now');
        const reader = { sources: ['counters'], entryOf: () => undefined };
        for await (const _ of feed.follow(
          place,
          () => reader,
          () => warnings.length > 0,
        ));
        expect(warnings).toEqual([{ process: expect.stringMatching(/^\d+ others$/) }, expect.any(String)]);
      },
    );
    await driver.close();
    expect(await changes()).toMatchObject([{ operation: 'create' }]);
  });

  it('keep their stream while the server is away', async () => {
    const cluster = await startCluster();
    const instance = await startInstance(cluster.url, { schemaDirectory: directory, logLevel: 'silent' });
    const stream = await openStream(instance.url);
    const write = async (): Promise<boolean> => (await ask(instance.url, 'POST /api/counters', {})).status === 201;
    expect(await write()).toBe(true);
    await stream.data(1);
    await cluster.stop('immediate');
    await pause(1500);
    await cluster.again();
    while (!(await write())) await pause(100);
    expect(await stream.data(2)).toMatchObject([{ operation: 'create' }, { operation: 'create' }]);
    stream.close();
    await instance.close();
    await cluster.remove();
  });
});
