/** What the log and the metrics say of a server that fails, and that it works again once what failed does. */
import { exchangeJson, type Exchanged } from '../support/exchange.ts';
import { type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { until } from '../support/leaving.ts';
import { administer, onServer, withParameters } from '../support/postgres.ts';

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename = 'clerk'`;

onServer('the log', () => {
  let cluster: Cluster;
  let own: Running;
  let [url, shopUrl] = ['', ''];
  let linesOfLocks = 0;
  const compiled = useCompiled();
  const run = (sql: string): Promise<void> => administer(cluster.url, sql, async () => undefined, 'select 1');
  const send = (title: string, body?: unknown): Promise<Exchanged> => exchangeJson(url, title, body);
  /** What the log says from now on: level, message and cause of each line, once there are some. */
  const listening = (): ((least: number) => Promise<readonly string[]>) => {
    const from = own.err().length;
    const lines = (): readonly string[] => own.err().slice(from).split('\n').slice(0, -1);
    return async (least) => {
      // A response may arrive before a line that was written first.
      await until(() => lines().length >= least);
      return lines().map((line) => {
        const { level, msg, cause = '' } = JSON.parse(line) as { level: string; msg: string; cause?: string };
        return `${level} ${msg} ${/SQLSTATE \w+: \w+/.exec(cause)?.[0] ?? ''}`;
      });
    };
  };
  const metric = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name} (.*)$`, 'm').exec((await send('GET /metrics')).text)?.[1];

  beforeAll(async () => {
    cluster = await startCluster();
    for (const sql of ['create role clerk login', 'create database shop owner clerk']) await run(sql);
    const shop = new URL(cluster.url);
    [shop.username, shop.pathname] = ['clerk', '/shop'];
    shopUrl = shop.href;
    own = compiled.run('server.js', [], {
      PORT: '0',
      METRICS: 'on',
      DATABASE_URL: withParameters(shop.href, { pool: '2', lock_timeout: '300' }),
    });
    url = await urlOf(own);
    await send('POST /api/tax-classes', {});
  });
  afterAll(async () => {
    own?.child.kill();
    await own?.ended;
    await cluster?.remove();
  });

  it.each([
    ['takes no connections', 'alter database shop allow_connections %', 'false', 'true', '55000: database'],
    ['does not let the role in', 'alter role clerk %', 'nologin', 'login', '28000: role'],
    [
      'has another name for the database',
      'alter database %',
      'shop rename to store',
      'store rename to shop',
      '3D000: database',
    ],
  ])('has one line at each end while a server %s', async (_, sql, off, on, state) => {
    const said = listening();
    // A database that is in use cannot be renamed.
    await until(async () => {
      await run(CUT);
      return run(sql.replace('%', off)).then(
        () => true,
        () => false,
      );
    });
    await run(CUT);
    for (const title of [
      'GET /api/tax-classes/1',
      'GET /api/tax-classes',
      'POST /api/tax-classes',
      'GET /health/ready',
    ]) {
      const { status, headers } = await send(title, title.startsWith('POST') ? {} : undefined);
      expect([title, status]).toEqual([title, 503]);
      if (title.includes('api')) expect(headers['retry-after']).toBe('1');
    }
    expect(await said(1)).toEqual([`error The database cannot be reached SQLSTATE ${state}`]);
    await run(sql.replace('%', on));
    expect((await send('GET /api/tax-classes/1')).status).toBe(200);
    expect(await said(1)).toHaveLength(1);
    expect((await send('POST /api/tax-classes', {})).status).toBe(201);
    expect((await said(2)).slice(1)).toEqual(['info the database works again ']);
  });

  it('says that writes work again after a write, not after a read, a dry run, or a request that changes nothing', async () => {
    const said = listening();
    await run('alter role clerk set default_transaction_read_only = on');
    await run(CUT);
    expect((await send('PUT /api/tax-classes/1', { position: 7 })).status).toBe(503);
    expect((await send('GET /api/tax-classes')).status).toBe(200);
    expect((await send('PUT /api/tax-classes/1?dryRun=true', { position: 8 })).status).toBe(200);
    expect((await send('PUT /api/tax-classes/1', { position: 8 })).status).toBe(503);
    await run('alter role clerk reset default_transaction_read_only');
    for (const [title, status] of [
      ['GET /api/tax-classes/1', 200],
      ['DELETE /api/tax-classes/999999', 404],
    ] as const)
      expect((await send(title)).status).toBe(status);
    expect(await said(1)).toEqual([
      expect.stringMatching(/^error The database takes no writes at the moment.* SQLSTATE 25006: cannot$/),
    ]);
    expect((await send('PUT /api/tax-classes/1', { position: 9 })).status).toBe(200);
    expect((await said(2)).slice(1)).toEqual(['info the database works again ']);
  });

  it('has one line while the server has no connection left, and the metrics show it', async () => {
    const said = listening();
    const gauge = 'records_database_shortage{server="primary",of="connections"}';
    expect(await metric(gauge)).toBe('0');
    await run('alter role clerk connection limit 0');
    await run(CUT);
    for (const { status } of await Promise.all([1, 2, 3].map(() => send('GET /api/tax-classes'))))
      expect(status).toBe(503);
    expect(await said(1)).toEqual(['warn the database server takes no more connections SQLSTATE 53300: too']);
    expect(await metric(gauge)).toBe('1');
    await run('alter role clerk connection limit -1');
    expect((await send('GET /api/tax-classes')).status).toBe(200);
  });

  it.each([
    ['a row', 'select from tax_classes where id = 1 for update'],
    ['a table', 'lock table tax_classes'],
  ])('has one line while somebody else keeps %s locked, and the metrics show it', async (_, sql) => {
    const said = listening();
    await administer(shopUrl, `begin; ${sql}`, async () => {
      for (const position of [1, 2, 3]) expect((await send('PUT /api/tax-classes/1', { position })).status).toBe(503);
    });
    // One line a minute, whatever is locked.
    linesOfLocks += (await said(1 - linesOfLocks)).length;
    expect(linesOfLocks).toBe(1);
    expect(await metric('records_database_shortage{server="primary",of="locks"}')).toBe('1');
    expect((await send('PUT /api/tax-classes/1', { position: 4 })).status).toBe(200);
  });
});
