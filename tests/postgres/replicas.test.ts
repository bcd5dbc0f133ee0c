import type { Serving } from '../../engine/server/serve.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connectTo } from '../support/databases.ts';
import { exchangeJson, type Exchanged } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { administer, onServer, startInstance, withParameters } from '../support/postgres.ts';

const WHOLE = 'GET /api/tmp-vars';
const PAGE = `${WHOLE}?_cnd[limit]=0&_cnd[limit]=100`;

onServer('a primary with two replicas', () => {
  let primary: Cluster;
  let replicas: readonly Cluster[] = [];
  let instance: Serving;
  const send = (title: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Exchanged> =>
    exchangeJson(instance.url, title, body, headers);
  const on = async (cluster: Cluster, sql: string): Promise<void> =>
    administer(cluster.url, sql, async () => undefined, 'select 1');
  const pause = (word: 'pause' | 'resume') => async (cluster: Cluster) => on(cluster, `select pg_wal_replay_${word}()`);
  const lengthOf = ({ text }: Exchanged): number => (JSON.parse(text) as unknown[]).length;
  /** Whether a read without a position is answered by a replica, which has fewer records while its replay is paused. */
  const isStale = async (): Promise<boolean> => lengthOf(await send(PAGE)) < count;
  const hasReceived = async (cluster: Cluster, position: string): Promise<boolean> => {
    const client = await connectTo(cluster.url);
    const { rows } = await client.query(`select pg_last_wal_receive_lsn() >= $1 as so`, [position]);
    await client.end();
    return rows[0]?.so === true;
  };
  const hasAll = async ({ url }: Cluster): Promise<boolean> => {
    const client = await connectTo(url);
    const { rows } = await client.query<{ found: number }>('select count(*)::int as found from tmp_vars');
    await client.end();
    return rows[0]?.found === count;
  };
  let count = 0;
  const create = async (): Promise<string> => {
    const { status, headers } = await send('POST /api/tmp-vars', {});
    expect(status).toBe(201);
    count += 1;
    return String(headers['x-position']);
  };

  /** On a busy machine, a replica may take so long to answer that it counts as lost for a moment. */
  const patiently = async (title: string, headers: Readonly<Record<string, string>> = {}): Promise<Exchanged> => {
    let answer = await send(title, undefined, headers);
    await until(async () => answer.status !== 503 || (answer = await send(title, undefined, headers)).status !== 503);
    return answer;
  };

  beforeAll(async () => {
    primary = await startCluster();
    await (await startInstance(primary.url)).close();
    replicas = await Promise.all([primary.standby(), primary.standby()]);
    const hosts = replicas.map(({ url }) => new URL(url).host).join();
    instance = await startInstance(primary.url, {
      readUrl: primary.url.replace(new URL(primary.url).host, hosts),
      metrics: true,
    });
  });
  beforeEach(async () => {
    await Promise.all(replicas.map(pause('pause')));
    await create();
    await until(isStale);
    await Promise.all(replicas.map(pause('resume')));
    for (const replica of replicas) await until(() => hasAll(replica));
  });
  afterAll(async () => {
    await instance?.close();
    for (const cluster of replicas) await cluster.remove();
    await primary?.remove();
  });

  it('a write has its position, a read has none', async () => {
    expect(await create()).toMatch(/^1-[0-9A-F]+\/[0-9A-F]+$/);
    const { headers } = await send(PAGE);
    expect(headers['x-position']).toBeUndefined();
  });

  it('a client that sends X-Position back sees its own writes on every server', async () => {
    await Promise.all(replicas.map(pause('pause')));
    const position = { 'x-position': await create() };
    for (let round = 0; round < 10; round += 1)
      for (const title of [PAGE, WHOLE]) expect(lengthOf(await send(title, undefined, position))).toBe(count);
    await until(isStale);
    await Promise.all(replicas.map(pause('resume')));
  });

  it('reads from the replica that has reached the position', async () => {
    const [first, second] = replicas as [Cluster, Cluster];
    await pause('pause')(second);
    const position = { 'x-position': await create() };
    await until(() => hasAll(first));
    await pause('pause')(first);
    await create();
    const seen = new Set<number>();
    await until(async () => {
      seen.add(lengthOf(await send(PAGE, undefined, position)));
      return seen.has(count - 1);
    });
    expect(Math.min(...seen)).toBe(count - 1);
    await Promise.all(replicas.map(pause('resume')));
  });

  it.each(['frozen', 'stopped'] as const)('a replica that is %s is left out, and comes back', async (how) => {
    const [first, second] = replicas as [Cluster, Cluster];
    const asked = async (): Promise<void> => {
      const reads = Array.from({ length: 20 }, () => send(PAGE));
      for (const { status, text } of await Promise.all(reads))
        expect([status, JSON.parse(text).length]).toEqual([200, count]);
    };
    if (how === 'frozen') first.freeze();
    else await first.stop('immediate');
    for (let round = 0; round < 10; round += 1) await asked();
    await pause('pause')(second);
    await create();
    await until(isStale);
    await pause('resume')(second);
    if (how === 'frozen') first.thaw();
    else await first.again();
    await until(async () => lengthOf(await send(PAGE)) === count);
    await pause('pause')(first);
    await create();
    await until(isStale);
    await pause('resume')(first);
  });

  it('with a frozen primary, replicas answer reads whose position they have reached', async () => {
    const position = { 'x-position': await create() };
    for (const replica of replicas) await until(() => hasAll(replica));
    primary.freeze();
    try {
      for (const headers of [{}, position])
        for (const title of [PAGE, `${WHOLE}/${count}`]) expect((await patiently(title, headers)).status).toBe(200);
    } finally {
      primary.thaw();
    }
    await create();
  });

  it('with a stopped primary, reads go on, and a client sees its write once a replica has it', async () => {
    const [first, second] = replicas as [Cluster, Cluster];
    await Promise.all(replicas.map(pause('pause')));
    const position = { 'x-position': await create() };
    await until(() => hasReceived(first, position['x-position'].replace(/^.*-/, '')));
    await primary.stop('immediate');
    await pause('resume')(first);
    const own = Promise.all([PAGE, `${WHOLE}/${count}`].map((title) => patiently(title, position)));
    await until(isStale);
    const [page, record] = await own;
    expect([page?.status, record?.status, page && lengthOf(page)]).toEqual([200, 200, count]);
    await pause('resume')(second);
    await primary.again();
    await until(async () => (await send('POST /api/tmp-vars', {})).status === 201);
    count += 1;
  });

  it('with both replicas lost, the primary answers', async () => {
    for (const cluster of replicas) cluster.freeze();
    for (const title of [PAGE, WHOLE, 'GET /api/tmp-vars/1']) expect((await send(title)).status).toBe(200);
    await create();
    for (const cluster of replicas) cluster.thaw();
  });

  it('the metrics show how far each replica lags behind', async () => {
    const lagOf = async (number: number): Promise<number> => {
      const { text } = await send('GET /metrics');
      return Number(
        new RegExp(`^records_replica_lag_seconds\\{server="replica-${number}"\\} (.*)$`, 'm').exec(text)?.[1],
      );
    };
    const lags = (): Promise<readonly number[]> => Promise.all([1, 2].map(lagOf));
    await until(async () => Math.max(...(await lags())) === 0);
    await pause('pause')((replicas as [Cluster])[0]);
    await create();
    await until(async () => (await lagOf(1)) > 0);
    await until(async () => (await lagOf(2)) === 0);
    await pause('resume')((replicas as [Cluster])[0]);
    await until(async () => Math.max(...(await lags())) === 0);
  });

  it('an address for reads that leads to another database or schema is refused at the start', async () => {
    await on(primary, 'create database other');
    await on(primary, 'create schema apart');
    const other = new URL((replicas as [Cluster])[0].url);
    other.pathname = '/other';
    const foreign = await startCluster();
    const apart = withParameters(primary.url, { options: '-c search_path=apart' });
    for (const readUrl of [other.href.replace(/:\d+\//, `:${new URL(primary.url).port}/`), foreign.url, apart]) {
      const started = startInstance(primary.url, { readUrl });
      await expect(started).rejects.toThrow(/^READ_URL leads to another database than DATABASE_URL: /);
    }
    await foreign.remove();
  });
});
