/** A server that fails: how requests are answered meanwhile; nothing is lost or doubled. */
import type { JsonObject } from '../../engine/json/json.ts';
import type { Serving } from '../../engine/server/serve.ts';
import { type Answer, ask } from '../support/ask.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { connectTo } from '../support/databases.ts';
import { type Cluster, signal, startCluster } from '../support/cluster.ts';
import { until } from '../support/leaving.ts';
import { atLeast, expectKept, loadWhile } from '../support/load.ts';
import { administer, onServer, pause, startInstance, withParameters } from '../support/postgres.ts';

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'records'`;

const LOCKED = "wait_event_type = 'Lock'";

const pidsOf = async (url: string, condition: string): Promise<readonly number[]> => {
  const client = await connectTo(url);
  const { rows } = await client.query<{ pid: number }>(`select pid from pg_stat_activity where ${condition}`);
  await client.end();
  return rows.map(({ pid }) => pid);
};

onServer('a server that fails', () => {
  let cluster: Cluster;
  let instance: Serving;
  const compiled = useCompiled();
  const send = (title: string, body?: unknown): Promise<Answer> => ask(instance.url, title, body);
  const expectBusy = ({ status, headers, body }: Answer): void => {
    expect([status, headers.get('retry-after'), (body as JsonObject)['type']]).toEqual([
      503,
      '1',
      'urn:problem:storage-busy',
    ]);
  };

  beforeAll(async () => {
    cluster = await startCluster();
    instance = await startInstance(withParameters(cluster.url, { lock_timeout: '60000', pool: '3' }));
  });
  afterAll(async () => {
    await instance?.close();
    await cluster?.remove();
  });

  it('drops every connection: clients notice nothing', async () => {
    await send('POST /api/tax-classes', {});
    await Promise.all([1, 2, 3].map(() => send('GET /api/tax-classes?_cnd[limit]=0&_cnd[limit]=5')));
    for (let round = 0; round < 5; round += 1) {
      await administer(cluster.url, CUT, async () => undefined, 'select 1');
      const answers = await Promise.all([
        send('GET /api/tax-classes'),
        send('GET /api/tax-classes/1'),
        send('POST /api/tax-classes', {}),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 201]);
    }
  });

  it('locks a row for too long: 503, and the row is unchanged', async () => {
    const { body } = await send('POST /api/tax-classes', { position: 1 });
    const path = `/api/tax-classes/${String((body as JsonObject)['id'])}`;
    const impatient = await startInstance(withParameters(cluster.url, { lock_timeout: '300' }));
    await administer(cluster.url, 'begin; lock table tax_classes in exclusive mode', async () =>
      expectBusy(await ask(impatient.url, `PUT ${path}`, { position: 2 })),
    );
    await impatient.close();
    expect((await send(`GET ${path}`)).body).toMatchObject({ position: 1 });
    expect((await send(`PUT ${path}`, { position: 3 })).status).toBe(200);
  });

  it('has no free connection: 503, and the next request is served', async () => {
    const { body } = await send('POST /api/tax-classes', {});
    const path = `/api/tax-classes/${String((body as JsonObject)['id'])}`;
    const patient = await startInstance(withParameters(cluster.url, { lock_timeout: '60000', pool: '1' }));
    let waiting: Promise<Answer> | undefined;
    await administer(cluster.url, 'begin; lock table tax_classes in exclusive mode', async () => {
      waiting = ask(patient.url, `PUT ${path}`, { position: 9 });
      await until(async () => (await pidsOf(cluster.url, LOCKED)).length === 1);
      expectBusy(await ask(patient.url, 'GET /api/tmp-vars?_cnd[limit]=0&_cnd[limit]=1'));
    });
    expect((await waiting)?.status).toBe(200);
    await patient.close();
    expect((await send('GET /api/tmp-vars/1')).status).toBe(404);
  });

  it('has a column type that another instance has changed: clients notice nothing', async () => {
    const { body } = await send('POST /api/tmp-vars', { name: 'before' });
    const path = `/api/tmp-vars/${String((body as JsonObject)['id'])}`;
    for (const type of ['varchar(300)', 'text']) {
      await Promise.all([1, 2, 3].map((round) => send(`PUT ${path}`, { name: `before ${type} ${round}` })));
      await administer(
        cluster.url,
        `alter table tmp_vars alter column name type ${type}`,
        async () => undefined,
        'select 1',
      );
      const answers = await Promise.all([1, 2, 3].map((round) => send(`PUT ${path}`, { name: `after ${round}` })));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    }
    await send(`DELETE ${path}`);
  });

  it.each([
    [
      'before a COMMIT: 503, and nothing is done',
      'shipping-markups',
      'zone.zone_name',
      { markup_id: 1000, zone: { zone_name: 'silent' } },
      503,
      0,
    ],
    ['at the only statement: 504, done once or not at all', 'tmp-vars', 'value', { value: 'silent' }, 504, 1],
  ])('falls silent %s; normal again with the next connection', async (_, path, key, record, status, most) => {
    const url = withParameters(cluster.url, { pool: '1', application_name: `silent ${status}` });
    const waiting = await startInstance(url, { statementTimeout: 300 });
    const stopped = await pidsOf(cluster.url, `application_name = 'silent ${status}'`);
    expect(stopped.length).toBeGreaterThan(0);
    for (const pid of stopped) signal(pid, 'SIGSTOP');
    expect((await ask(waiting.url, `POST /api/${path}`, record)).status).toBe(status);
    // Its time is short, too: on a busy machine it may need another try.
    await until(async () => (await ask(waiting.url, 'GET /api/tmp-vars/1')).status === 404);
    for (const pid of stopped) signal(pid, 'SIGCONT');
    const { body } = await send(`GET /api/${path}?_cnd[${key}]=silent`);
    expect((body as unknown[]).length).toBeLessThanOrEqual(most);
    await waiting.close();
  });

  it('is read-only: 503 for writes, reads are answered', async () => {
    const { database = '' } = await administer(
      cluster.url,
      'select 1',
      async () => ({ database: 'postgres' }),
      'select 1',
    );
    const setting = (value: string): string =>
      `alter database ${database} set default_transaction_read_only = ${value}`;
    await administer(cluster.url, setting('on'), async () => undefined, 'select 1');
    const readOnly = await startInstance(cluster.url);
    expectBusy(await ask(readOnly.url, 'POST /api/tax-classes', {}));
    expect((await ask(readOnly.url, 'GET /api/tax-classes')).status).toBe(200);
    await readOnly.close();
    await administer(
      cluster.url,
      `begin; set transaction read write; ${setting('off')}`,
      async () => undefined,
      'commit',
    );
  });

  it('was read-only when connections opened: the first write after that succeeds on each', async () => {
    const alter = (value: string): Promise<void> =>
      administer(
        cluster.url,
        `begin; set transaction read write; alter database postgres set default_transaction_read_only = ${value}`,
        async () => undefined,
        'commit',
      );
    await alter('on');
    await administer(cluster.url, CUT, async () => undefined, 'select 1');
    try {
      expectBusy(await send('POST /api/tax-classes', {}));
      const reads = Array.from({ length: 20 }, () => send('GET /api/tax-classes/1'));
      expect(new Set((await Promise.all(reads)).map(({ status }) => status))).toEqual(new Set([200]));
    } finally {
      await alter('off');
    }
    const writes = Array.from({ length: 10 }, () => send('POST /api/tax-classes', {}));
    expect(new Set((await Promise.all(writes)).map(({ status }) => status))).toEqual(new Set([201]));
  });

  it('drops connections under load: no acknowledged write is lost or done twice', async () => {
    const load = await loadWhile(send, 'cut', async ({ acknowledged }) => {
      for (let round = 0; round < 10; round += 1) {
        await atLeast(acknowledged, acknowledged.length + 10);
        await administer(cluster.url, CUT, async () => undefined, 'select 1');
      }
    });
    await expectKept(send, 'cut', load);
    // A write is repeated, unless it is not known how its COMMIT ended.
    expect([...load.refused].filter((answer) => answer !== '504 null')).toEqual([]);
  });

  it('shuts down (smart) while connections are open: they end, one line in the log at each end, and it comes back', async () => {
    const url = withParameters(cluster.url, { lock_timeout: '60000' });
    const own = compiled.run('server.js', [], { PORT: '0', DATABASE_URL: url });
    const urls = [await urlOf(own), instance.url];
    const statuses = (path: string): Promise<readonly number[]> =>
      Promise.all(urls.map(async (base) => (await fetch(base + path)).status));
    await Promise.all([1, 2, 3].map(() => statuses('/api/tax-classes')));
    let [waiting, stopped]: Promise<unknown>[] = [];
    await administer(cluster.url, 'begin; lock table tax_classes in exclusive mode', async () => {
      waiting = Promise.all(urls.map((base) => ask(base, 'POST /api/tax-classes', {})));
      await until(async () => (await pidsOf(cluster.url, LOCKED)).length === 2);
      stopped = cluster.stop('smart');
      await until(async () => !(await statuses('/health/ready')).includes(200));
    });
    // Even what was open until then does not mean that the server works again.
    expect(await waiting).toMatchObject([{ status: 201 }, { status: 201 }]);
    await stopped;
    expect(await statuses('/api/tax-classes/1')).toEqual([503, 503]);
    await cluster.again();
    await until(async () => !(await statuses('/health/ready')).includes(503));
    expect(own.err().match(/cannot be reached|works again/g)).toEqual(['cannot be reached', 'works again']);
    own.child.kill();
    expect(await own.ended).toBe(0);
  });

  it.each(['fast', 'immediate'] as const)(
    'is restarted (%s) under load: no acknowledged write is lost, none is doubled, and it comes back',
    async (mode) => {
      const load = await loadWhile(send, mode, async ({ acknowledged, refused }) => {
        await atLeast(acknowledged, 50);
        await cluster.stop(mode);
        while (!refused.has('503 1')) await pause(20);
        await cluster.again();
        while ((await send('GET /api/tmp-vars/1')).status === 503) await pause(20);
        await atLeast(acknowledged, acknowledged.length + 50);
      });
      await expectKept(send, mode, load);
      expect([...load.refused].filter((answer) => answer !== '504 null')).toEqual(['503 1']);
    },
  );
});
