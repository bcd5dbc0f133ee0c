/** A service behind HAProxy goes on after a failover: no acknowledged write is lost, and writes are soon taken again. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../support/free-port.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { type Running, urlOf, useCompiled } from '../../support/compiled.ts';
import { connectTo } from '../../support/databases.ts';
import { exchange } from '../../support/exchange.ts';
import { until } from '../../support/leaving.ts';

const isInstalled = spawnSync('which', ['haproxy']).status === 0;

/** The standby is asked only while the primary does not answer. */
const configuration = (port: number, primary: string, standby: string): string => `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
frontend database
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
  option pgsql-check user postgres
  default-server check inter 500 fall 2 rise 2 on-marked-down shutdown-sessions
  server primary ${primary}
  server standby ${standby} backup
`;

(isInstalled ? describe : describe.skip)('HAProxy (skipped where .ci/install haproxy was not run)', () => {
  const compiled = useCompiled();
  const directory = mkdtempSync(join(tmpdir(), 'failover-'));
  let primary: Cluster;
  let standby: Cluster;
  let proxy: ChildProcess;
  let service: Running;
  let url: string;

  beforeEach(async () => {
    primary = await startCluster();
    standby = await primary.standby();
    const client = await connectTo(primary.url);
    await client.query(`alter system set synchronous_standby_names = '*'`);
    await client.query('select pg_reload_conf()');
    await client.end();
    const port = await freePort();
    const file = join(directory, `haproxy-${port}.cfg`);
    writeFileSync(file, configuration(port, new URL(primary.url).host, new URL(standby.url).host));
    proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
    const database = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await until(() =>
      connectTo(database).then(
        (opened) => opened.end().then(() => true),
        () => false,
      ),
    );
    const environment = { PORT: '0', DATABASE_URL: database, STATEMENT_TIMEOUT: '5' };
    service = compiled.run('server.js', [], environment);
    url = await urlOf(service);
  });
  afterEach(async () => {
    service.child.kill('SIGKILL');
    await service.ended;
    proxy.kill();
    await standby.remove();
    await primary.remove();
  });

  test.each([
    ['is killed', () => primary.stop('immediate')],
    ['is frozen', async () => primary.freeze()],
  ] as const)('the primary %s, and the standby is promoted', async (_, lose) => {
    const acknowledged: string[] = [];
    const refused = new Set<number>();
    const state = { isOver: false };
    const writing = (async () => {
      for (let count = 0; !state.isOver; count += 1) {
        const body = JSON.stringify({ value: `v${count}` });
        const headers = { 'content-type': 'application/json' };
        const { status } = await exchange(url, 'POST /api/tmp-vars', { headers, body, patience: 60_000 });
        if (status === 201) acknowledged.push(`v${count}`);
        else refused.add(status);
        await pause(20);
      }
    })();
    const more = (count: number): Promise<void> => {
      const enough = acknowledged.length + count;
      return until(() => acknowledged.length > enough);
    };
    await more(20);
    await lose();
    await standby.promote();
    await more(50);
    state.isOver = true;
    await writing;
    const { text } = await exchange(url, 'GET /api/tmp-vars?fields=value', {});
    const stored = (JSON.parse(text) as { value: string }[]).map(({ value }) => value);
    expect(acknowledged.filter((value) => !stored.includes(value))).toEqual([]);
    expect(new Set(stored).size).toBe(stored.length);
    expect([...refused].filter((status) => status !== 503 && status !== 504)).toEqual([]);
  });
});
