/** Starts that a server refuses, or keeps waiting: what the operator is told. */
import { readSettings } from '../../engine/settings/settings.ts';
import { serve } from '../../engine/server/serve.ts';
import { ask } from '../support/ask.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { connectTo } from '../support/databases.ts';
import { until } from '../support/leaving.ts';
import { onServer, POOLER_URL, startInstance, withParameters } from '../support/postgres.ts';

const compiled = useCompiled();

const refusal = (databaseUrl: string): Promise<string> =>
  serve({ ...readSettings({}), port: 0, databaseUrl, logLevel: 'silent' }).then(
    async (serving) => {
      await serving.close();
      return 'it started';
    },
    (error: Error) => `${error.name}: ${error.message}`,
  );

onServer('a start', () => {
  let cluster: Cluster;
  beforeAll(async () => void (cluster = await startCluster()));
  afterAll(() => cluster?.remove());

  it.each([
    ['sslmode=prefer, which insists on SSL', { sslmode: 'prefer' }, /does not support SSL.+sslmode=disable/],
    ['another database', {}, /3D000.+create the database/],
  ])('with %s', async (_, parameters, says) => {
    const url = new URL(withParameters(cluster.url, parameters));
    if (!('sslmode' in parameters)) url.pathname = '/nothing';
    expect(await refusal(url.href)).toMatch(says);
  });

  it('without a password that the server asks for', async () => {
    const client = await connectTo(cluster.url);
    await client.query(`create role guarded login password 'secret'`);
    const { rows } = await client.query<{ hba_file: string }>('show hba_file');
    await client.query(
      `copy (select 'host all guarded 127.0.0.1/32 scram-sha-256' union all select 'host all all 127.0.0.1/32 trust') to program 'cat > ${rows[0]?.hba_file}'`,
    );
    await client.query('select pg_reload_conf()');
    await client.end();
    const url = new URL(cluster.url);
    url.username = 'guarded';
    expect(await refusal(url.href)).toMatch(/the URL has no password/);
    url.password = 'wrong';
    expect(await refusal(url.href)).toMatch(/28P01.+check user and password/);
  });

  it('that may not create tables', async () => {
    const client = await connectTo(cluster.url);
    await client.query('create role reader login');
    await client.end();
    const url = new URL(cluster.url);
    url.username = 'reader';
    expect(await refusal(url.href)).toMatch(/42501.+GRANT USAGE, CREATE ON SCHEMA/);
  });

  (POOLER_URL === '' ? it.skip : it)('behind PgBouncer in transaction mode, each time', async () => {
    const url = await cluster.pool();
    const direct = withParameters(url, { prepared: 'on' });
    for (let time = 0; time < 5; time += 1) expect(await refusal(direct)).toMatch(/in transaction mode.+prepared=off/);
    expect(await refusal(url)).toBe('it started');
    await cluster.unpool();
  });

  it('waits for a server that is not there yet, and says so; a command does not', async () => {
    await cluster.stop('fast');
    const environment = { PORT: '0', DATABASE_URL: cluster.url };
    const plan = compiled.run('engine/cli.js', ['plan'], environment);
    expect([await plan.ended, plan.err()]).toEqual([1, expect.stringContaining('cannot be reached')]);
    const service = compiled.run('server.js', [], environment);
    await until(() => service.err().split('the start waits for the database').length > 2);
    await cluster.again();
    await urlOf(service);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const pauses = [...service.err().matchAll(/"milliseconds":(\d+),"msg":"the start waits/g)].map(([, text]) =>
      Number(text),
    );
    expect(pauses.slice(0, 2)).toEqual([250, 500]);
  });

  it('over a role with few connections: requests wait for one of them', async () => {
    const client = await connectTo(cluster.url);
    await client.query('create role few superuser login');
    const url = new URL(withParameters(cluster.url, { pool: '8', lock_timeout: '60000' }));
    url.username = 'few';
    await client.query('alter role few nosuperuser connection limit 2');
    await client.query('grant all on schema public to few');
    await client.query('create database few owner few');
    url.pathname = '/few';
    const instance = await startInstance(url.href);
    const titles = Array.from({ length: 40 }, (_, at) =>
      at % 2 === 0 ? 'POST /api/tmp-vars' : 'GET /api/tmp-vars?_cnd[limit]=0&_cnd[limit]=5',
    );
    const answers = await Promise.all(
      titles.map((title) => ask(instance.url, title, title.startsWith('P') ? {} : undefined)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
    await instance.close();
    await client.end();
  });
});
