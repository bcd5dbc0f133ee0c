/** Statements on PostgreSQL end at their deadline, when their client has gone, and when the service stops. */
import { readFileSync } from 'node:fs';
import { NO_CLIENT } from '../../engine/edge/caller.ts';
import type { Driver } from '../../engine/storage/driver.ts';
import { openPostgres } from '../../engine/storage/postgres/driver.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { ask } from '../support/ask.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { leaving, settled, until } from '../support/leaving.ts';
import { onServer, POOLER_URL, withParameters } from '../support/postgres.ts';

const HOURS = { sql: 'select pg_sleep(36000)::text' };
const ONE = { sql: 'select 1::text' };

const BACKEND = { sql: 'select pg_backend_pid()::text' };

const isInterrupted = (pid: number): boolean =>
  /^ShdPnd:\t[\da-f]*[2367abef]$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

let database: TestDatabase;

const urls: readonly (readonly [way: string, url: () => string])[] = [
  ['the server', () => database.url],
  ...(POOLER_URL === '' ? [] : [['PgBouncer', pooled] as const]),
];

function pooled(): string {
  const url = new URL(withParameters(POOLER_URL, { prepared: 'off' }));
  url.pathname = new URL(database.url).pathname;
  return url.href;
}

async function running(): Promise<number> {
  const client = await connectTo(database.url);
  const { rows } = await client.query<{ count: string }>(
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'",
  );
  await client.end();
  return Number(rows[0]?.count);
}

onServer('statements', () => {
  let driver: Driver;
  beforeAll(async () => void (database = await createDatabase('postgres')));
  afterAll(() => database?.remove());
  const open = (url: string, statementTimeout: number): Promise<Driver> =>
    openPostgres(withParameters(url, { pool: '4' }), { statementTimeout });

  describe.each(urls)('through %s', (_, url) => {
    afterEach(() => driver.close());

    it.each(['scan', 'read', 'write'] as const)('a %s ends with its time: 503, in the server too', async (verb) => {
      driver = await open(url(), 300);
      const work = driver[verb]((reader) => reader.value(HOURS, []), NO_CLIENT);
      await expect(work).rejects.toMatchObject({ code: 'statement-timeout', status: 503 });
      await until(async () => (await running()) === 0);
      await until(
        async () => (await settled(Promise.resolve(driver.read((reader) => reader.value(ONE, []), NO_CLIENT)))) === '1',
      );
    });

    it.each(['scan', 'read', 'write'] as const)('a %s ends with its client, in the server too', async (verb) => {
      driver = await open(url(), 600_000);
      const client = leaving();
      const works = Array.from({ length: 10 }, () =>
        settled(Promise.resolve(driver[verb]((reader) => reader.value(HOURS, []), client))),
      );
      await until(async () => (await running()) > 1);
      client.leave();
      for (const work of works) expect(await work).toMatchObject({ name: 'CallerGone' });
      await until(async () => (await running()) === 0);
      const after = Array.from({ length: 20 }, () => driver.read((reader) => reader.value(ONE, []), NO_CLIENT));
      expect(new Set(await Promise.all(after))).toEqual(new Set(['1']));
    });

    it('a list ends with its client, in the server too', async () => {
      driver = await open(url(), 600_000);
      const client = leaving();
      const snapshot = await driver.snapshot(client, true);
      const next = settled(snapshot.texts(HOURS, [])[Symbol.asyncIterator]().next());
      await until(async () => (await running()) === 1);
      client.leave();
      expect(await next).toMatchObject({ name: 'CallerGone' });
      await snapshot.close();
      await until(async () => (await running()) === 0);
    });
  });
});

onServer('a server that is frozen', () => {
  const compiled = useCompiled();
  let cluster: Cluster;
  beforeAll(async () => void (cluster = await startCluster()));
  afterAll(async () => {
    await cluster?.remove();
  });

  it('a cancellation that arrives before the statement still cancels it', async () => {
    const driver = await openPostgres(withParameters(cluster.url, { pool: '2' }), { statementTimeout: 600_000 });
    const backend = Number(await driver.scan((reader) => reader.value(BACKEND, []), NO_CLIENT, true));
    process.kill(backend, 'SIGSTOP');
    try {
      const client = leaving();
      const work = settled(Promise.resolve(driver.scan((reader) => reader.value(HOURS, []), client, true)));
      await until(() => client.isWatched);
      client.leave();
      await until(() => isInterrupted(backend));
      process.kill(backend, 'SIGCONT');
      expect(await work).toMatchObject({ name: 'CallerGone' });
    } finally {
      process.kill(backend, 'SIGCONT');
      await driver.close();
    }
  });

  it.each([
    ['new to its connection', 0],
    ['known to its connection', 2],
  ])('a statement that gets no answer is cancelled: one that is %s', async (_, times) => {
    const driver = await openPostgres(withParameters(cluster.url, { pool: '1' }), { statementTimeout: 300 });
    const backend = Number(await driver.scan((reader) => reader.value(BACKEND, []), NO_CLIENT));
    try {
      const work = driver.write(async (writer) => {
        for (let time = 0; time < times; time += 1) await writer.value(ONE, []);
        process.kill(backend, 'SIGSTOP');
        return writer.value(ONE, []);
      });
      await expect(work).rejects.toMatchObject({ status: 503 });
      await until(() => isInterrupted(backend));
    } finally {
      process.kill(backend, 'SIGCONT');
      await driver.close();
    }
  });

  it('does not keep the service from ending', async () => {
    const environment = { PORT: '0', DATABASE_URL: cluster.url };
    const service = compiled.run('server.js', [], environment);
    const url = await urlOf(service);
    cluster.freeze();
    try {
      const titles = ['GET /api/tmp-vars/1', 'GET /api/tmp-vars', 'GET /api/tmp-vars?_cnd[limit]=5&_cnd[name]=x'];
      const waiting = [
        ...titles.flatMap((title) => Array.from({ length: 15 }, () => settled(ask(url, title)))),
        ...Array.from({ length: 15 }, () => settled(ask(url, 'POST /api/tmp-vars', { name: 'x' }))),
      ];
      await new Promise((resolve) => setTimeout(resolve, 200));
      service.child.kill('SIGTERM');
      expect(await service.ended).toBe(0);
      await Promise.all(waiting);
    } finally {
      service.child.kill('SIGKILL');
      cluster.thaw();
    }
  });
});
