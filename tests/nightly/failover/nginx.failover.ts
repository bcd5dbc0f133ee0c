/** Instances that are replaced one after the other behind nginx, with the lines of the guide. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { type Running, urlOf, useCompiled } from '../../support/compiled.ts';
import { exchange, exchangeJson } from '../../support/exchange.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/leaving.ts';

const isInstalled = spawnSync('which', ['nginx']).status === 0;
const [, LINES = ''] = /```nginx\n([\s\S]*?)```/.exec(readFileSync('docs/guides/postgresql.md', 'utf8')) ?? [];
const FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

(isInstalled ? describe : describe.skip)('nginx (skipped where .ci/install nginx was not run)', () => {
  const compiled = useCompiled();
  const directory = mkdtempSync(join(tmpdir(), 'nginx-'));
  const instances: Running[] = [];
  let ports: readonly number[];
  let cluster: Cluster;
  let proxy: ChildProcess;
  let url: string;

  const start = async (index: number): Promise<void> => {
    const environment = { PORT: String(ports[index]), DATABASE_URL: cluster.url, DRAIN_DELAY: '1' };
    const instance = compiled.run('server.js', [], environment);
    instances[index] = instance;
    await urlOf(instance);
  };

  beforeAll(async () => {
    cluster = await startCluster();
    ports = [await freePort(), await freePort(), await freePort()];
    for (const index of ports.keys()) await start(index);
    const port = await freePort();
    const lines = ports
      .reduce((text, one, index) => text.replace(`10.0.0.${index + 1}:3000`, `127.0.0.1:${one}`), LINES)
      .replace('listen 80', `listen 127.0.0.1:${port}`);
    const file = join(directory, 'nginx.conf');
    writeFileSync(
      file,
      `${process.getuid?.() === 0 ? 'user root;' : ''}
      daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr crit;
      events {}
      http {
        access_log off;
        ${FOLDERS.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
        ${lines}
      }`,
    );
    proxy = spawn('nginx', ['-c', file], { stdio: 'ignore' });
    url = `http://127.0.0.1:${port}`;
    await until(() =>
      exchange(url, 'GET /health/ready').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });
  afterAll(async () => {
    proxy?.kill();
    for (const { child, ended } of instances) {
      child.kill('SIGTERM');
      await ended;
    }
    await cluster?.remove();
  });

  test('each instance is replaced twice: no read fails, and a write that is sent again is done once', async () => {
    const statuses = new Map<string, number>();
    const done = new AbortController();
    const count = (answer: string): void => void statuses.set(answer, (statuses.get(answer) ?? 0) + 1);
    const write = async (key: string): Promise<number> => {
      const { status } = await exchangeJson(url, 'POST /api/tmp-vars', {}, { 'idempotency-key': key });
      // nginx does not repeat a POST that an instance has closed the connection to.
      return status === 502 ? write(key) : status;
    };
    const client = async (_: unknown, number: number): Promise<void> => {
      for (let turn = 0; !done.signal.aborted; turn += 1) {
        count(`write ${await write(`${number}-${turn}`)}`);
        count(`read ${(await exchange(url, 'GET /api/tmp-vars/1')).status}`);
      }
    };
    const clients = Array.from({ length: 8 }, client);
    for (const index of [0, 1, 2, 0, 1, 2]) {
      instances[index]?.child.kill('SIGTERM');
      await instances[index]?.ended;
      await start(index);
      await pause(200);
    }
    done.abort();
    await Promise.all(clients);
    expect([...statuses.keys()].toSorted()).toEqual(['read 200', 'write 201']);
    const { headers } = await exchange(url, 'GET /api/tmp-vars?_cnd[limit]=0,1');
    expect(Number(headers['x-total-count'])).toBe(statuses.get('write 201'));
  });

  test('pages of the longest query that nginx takes link each other', async () => {
    for (const name of ['1', '2', '3']) await exchangeJson(url, 'POST /api/tmp-vars', { name });
    // Letters that cannot be compressed; nginx takes 8 KB for the line of a request.
    const noise = createHash('shake256', { outputLength: 5900 }).update('noise').digest('base64url');
    const first = `GET /api/tmp-vars?_cnd[value][ne]=${noise}&_cnd[orderBy]=name&_cnd[limit]=0,1`;
    expect(first.length).toBeGreaterThan(7900);
    const statuses: number[] = [];
    for (let title: string | undefined = first; title !== undefined && statuses.length < 3;) {
      const { status, headers } = await exchange(url, title);
      statuses.push(status);
      const [, next] = /<([^>]*)>; rel="next"/.exec(String(headers['link'])) ?? [];
      title = next && `GET ${next}`;
    }
    expect(statuses).toEqual([200, 200, 200]);
  });
});
