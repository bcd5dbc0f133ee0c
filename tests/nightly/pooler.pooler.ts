/** PgBouncer in transaction mode: transactions change connections, and PgBouncer fails like a server. */
import type { Serving } from '../../engine/server/serve.ts';
import { type Answer, ask } from '../support/ask.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connectTo } from '../support/databases.ts';
import { atLeast, expectKept, loadWhile } from '../support/load.ts';
import { pause, POOLER_URL, startInstance, withParameters } from '../support/postgres.ts';

if (POOLER_URL === '') it.todo('PgBouncer is needed here: npm run test:postgres starts it where it can be had');

(POOLER_URL === '' ? describe.skip : describe)('behind PgBouncer', () => {
  let cluster: Cluster;
  let instance: Serving;
  let pooled: string;
  const send = (title: string, body?: unknown): Promise<Answer> => ask(instance.url, title, body);

  beforeAll(async () => {
    cluster = await startCluster();
    pooled = await cluster.pool();
    instance = await startInstance(withParameters(pooled, { pool: '20', lock_timeout: '60000' }));
  });
  afterAll(async () => {
    await instance?.close();
    await cluster?.remove();
  });

  it('twenty connections of an instance share five of the server', async () => {
    const watch = await connectTo(cluster.url);
    const most = { connections: 0 };
    const load = await loadWhile(send, 'shared', async ({ acknowledged }) => {
      while (acknowledged.length < 200) {
        await Promise.all(Array.from({ length: 30 }, () => send('GET /api/tax-classes')));
        const { rows } = await watch.query<{ count: string }>(
          `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
        );
        most.connections = Math.max(most.connections, Number(rows[0]?.count));
      }
    });
    await watch.end();
    await expectKept(send, 'shared', load);
    expect([...load.refused]).toEqual([]);
    expect(most.connections).toBeGreaterThan(1);
    expect(most.connections).toBeLessThanOrEqual(5);
  });

  it('a long list is read from one snapshot, while its connection is nobody else’s', async () => {
    const value = 'x'.repeat(200);
    await Promise.all(
      Array.from({ length: 600 }, (_, index) => send('POST /api/tmp-vars', { name: `l${index}`, value })),
    );
    const all = '/api/tmp-vars?_cnd[name][like]=l*';
    const lists = Promise.all([1, 2, 3].map(() => send(`GET ${all}`)));
    const load = await loadWhile(send, 'meanwhile', async ({ acknowledged }) => {
      await lists;
      await atLeast(acknowledged, 20);
    });
    for (const { body } of await lists) expect(body).toHaveLength(600);
    await expectKept(send, 'meanwhile', load);
  });

  it('has no free connection: 503, and the next request is served', async () => {
    const holders = await Promise.all([1, 2, 3, 4, 5].map(() => connectTo(pooled)));
    await Promise.all(holders.map((holder) => holder.query('begin')));
    await cluster.patience(1);
    const { status, headers } = await send('GET /api/tmp-vars/1');
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    await cluster.patience(60);
    await Promise.all(holders.map((holder) => holder.end()));
    expect((await send('GET /api/tax-classes')).status).toBe(200);
  });

  it('the search path of the user says where the tables lie', async () => {
    const client = await connectTo(cluster.url);
    await client.query(
      'create role records login; create schema elsewhere authorization records; alter role records set search_path = elsewhere',
    );
    const mine = new URL(pooled);
    mine.username = 'records';
    const records = await startInstance(mine.href);
    expect((await ask(records.url, 'POST /api/tmp-vars', {})).status).toBe(201);
    const { rows } = await client.query('select count(*)::int as count from elsewhere.tmp_vars');
    expect(rows).toEqual([{ count: 1 }]);
    await records.close();
    await client.end();
  });

  it('is killed and started again under load: no acknowledged write is lost, none is doubled', async () => {
    const load = await loadWhile(send, 'pooler', async ({ acknowledged, refused }) => {
      await atLeast(acknowledged, 50);
      await cluster.unpool();
      while (!refused.has('503 1')) await pause(20);
      await cluster.pool();
      await atLeast(acknowledged, acknowledged.length + 50);
    });
    await expectKept(send, 'pooler', load);
    expect([...load.refused].filter((answer) => answer !== '504 null')).toEqual(['503 1']);
  });
});
