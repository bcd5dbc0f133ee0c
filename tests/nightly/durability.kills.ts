/** Acknowledged writes and their entries in the log survive kills at random moments under load, and a full disk. */
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expectFold } from '../log/fold.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { databaseKind, type DatabaseKind, type TestDatabase } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { loadModel } from '../support/model.ts';
import { until } from '../support/leaving.ts';
import { startTestServer } from '../support/server.ts';
import { mountFailing, mountSmall } from '../support/small-disk.ts';
import { type Assembly, WriteLoad } from '../support/write-load.ts';

const KILLS = Number(process.env['KILLS'] ?? 4);
const CLIENTS = 8;
const SCHEMA = 'tests/fixtures/durability';
const JSON_BODY = { 'content-type': 'application/json' };

const directory = mkdtempSync(join(tmpdir(), 'durability-'));
const compiled = useCompiled();

function faultsOf(file: string): readonly unknown[] {
  const database = new Database(file);
  try {
    return [
      ...(database.pragma('integrity_check') as { integrity_check: string }[]).filter(
        (row) => row.integrity_check !== 'ok',
      ),
      ...(database.pragma('foreign_key_check') as unknown[]),
    ];
  } finally {
    database.close();
  }
}

interface Killed {
  readonly database: Omit<TestDatabase, 'remove'>;
  /** Ends the database; the service is killed in any case. */
  readonly end: () => Promise<unknown>;
  readonly again: () => Promise<unknown>;
  readonly faults: () => readonly unknown[];
}

const places: Readonly<Record<DatabaseKind, () => Promise<Killed>>> = {
  sqlite: async () => {
    const file = join(directory, 'killed.db');
    const nothing = async (): Promise<void> => undefined;
    const database = { kind: 'sqlite', url: `sqlite:${file}` } as const;
    return { database, end: nothing, again: nothing, faults: () => faultsOf(file) };
  },
  // The server itself is killed under the writes, not only the service.
  postgres: async () => {
    const cluster = await startCluster();
    clusters.push(cluster);
    const database = { kind: 'postgres', url: cluster.url } as const;
    return { database, end: () => cluster.stop('immediate'), again: cluster.again, faults: () => [] };
  },
};

const clusters: Cluster[] = [];
afterAll(() => Promise.all(clusters.map((cluster) => cluster.remove())));

test(
  `${KILLS} kills under load lose nothing and leave nothing in part, on ${databaseKind}`,
  async () => {
    const { database, end, again, faults } = await places[databaseKind]();
    const load = new WriteLoad();
    const model = loadModel(SCHEMA);
    let entries = 0;
    for (let kill = 0; kill <= KILLS; kill += 1) {
      if (kill > 0) {
        expect({ kill, faults: faults() }).toEqual({ kill, faults: [] });
        entries = await expectFold(database, model);
      }
      const service = compiled.run('server.js', [], { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: database.url });
      const url = await urlOf(service);
      const records = JSON.parse((await exchange(url, 'GET /api/assemblies')).text) as Assembly[];
      expect({ kill, faults: load.settle(records) }).toEqual({ kill, faults: [] });
      const before = load.acknowledged;
      const done = kill < KILLS && load.run(url, CLIENTS);
      // A kill before the first answer would prove nothing.
      const enough = before + randomInt(1, 40);
      if (done !== false) await until(() => load.acknowledged >= enough);
      if (kill < KILLS) await end();
      service.child.kill('SIGKILL');
      await Promise.all([done, service.ended]);
      if (kill < KILLS) await again();
    }
    console.info(
      `${KILLS} kills, ${load.acknowledged} acknowledged writes, ${load.known.size} records, ${entries} entries`,
    );
  },
  KILLS * 60_000,
);

const small = mountSmall(8);
afterAll(() => small?.remove());

if (small === undefined) test.skip('a full disk: needs the right to mount a tmpfs', () => undefined);
else
  test('a full disk: writes are refused with 507, reads go on, and so do writes when there is space again', async () => {
    const file = join(small.directory, 'records.db');
    const databaseUrl = `sqlite:${file}`;
    const server = await startTestServer({ schemaDirectory: SCHEMA, settings: { databaseUrl } });
    const body = JSON.stringify({ stamp: 1, filling: 'x'.repeat(200_000), parts: [{ stamp: 1 }] });
    const write = () => exchange(server.url, 'POST /api/assemblies', { headers: JSON_BODY, body });
    const count = async (): Promise<unknown> =>
      (await exchange(server.url, 'GET /api/assemblies?_cnd[limit]=0&_cnd[limit]=1')).headers['x-total-count'];
    expect((await write()).status).toBe(201);
    const empty = small.fill();
    let made = 1;
    let answer = await write();
    for (; answer.status === 201 && made < 100; made += 1) answer = await write();
    expect([answer.status, JSON.parse(answer.text).type]).toEqual([507, 'urn:problem:storage-full']);
    expect(await Promise.all([count(), write().then(({ status }) => status), count()])).toEqual([
      `${made}`,
      507,
      `${made}`,
    ]);
    expect((await exchange(server.url, 'GET /api/assemblies/1')).status).toBe(200);
    empty();
    expect((await write()).status).toBe(201);
    expect(await count()).toBe(`${made + 1}`);
    await server.close();
    expect(faultsOf(file)).toEqual([]);
  });

const failing = mountFailing(32);
afterAll(() => failing?.remove());

if (failing === undefined) test.skip('a disk that fails: needs the right to mount an image', () => undefined);
else
  test('a disk that becomes read-only: writes are refused with 503, reads go on, and nothing is lost', async () => {
    const file = join(failing.directory, 'records.db');
    const start = (): Running =>
      compiled.run('server.js', [], { PORT: '0', SCHEMA_DIR: SCHEMA, DATABASE_URL: `sqlite:${file}` });
    const body = JSON.stringify({ stamp: 1, filling: 'x'.repeat(20_000), parts: [{ stamp: 1 }] });
    const service = start();
    const url = await urlOf(service);
    const write = (to = url) => exchange(to, 'POST /api/assemblies?fields=id', { headers: JSON_BODY, body });
    const told = async (): Promise<string> => {
      const { status, headers, text } = await write();
      return status === 201 ? '201' : `${status} ${headers['retry-after']} ${JSON.parse(text).detail}`;
    };
    const together = (): Promise<readonly string[]> => Promise.all(Array.from({ length: CLIENTS }, told));
    const made = [...(await together()), ...(await together())].length;
    // Not while a write waits for its fsync: ext4 may lose it then and say that it is on the disk.
    failing.fail();
    const answers = [...(await together()), ...(await together())];
    const answer = '503 1 The database takes no writes at the moment: it, or its disk, is read-only; try again';
    expect(new Set(answers)).toEqual(new Set([answer]));
    const reads = [
      '/api/assemblies/1',
      '/api/assemblies?_cnd[limit]=0&_cnd[limit]=5',
      '/api/assemblies?_cnd[filling][like]=*xy*',
      '/api/assemblies?fields=id',
      '/health/live',
    ].map(async (path) => (await exchange(url, `GET ${path}`)).status);
    expect(await Promise.all(reads)).toEqual([200, 200, 200, 200, 200]);
    service.child.kill();
    expect(await service.ended).toBe(0);
    failing.repair();
    expect(faultsOf(file)).toEqual([]);
    const again = start();
    const next = await urlOf(again);
    const kept = await exchange(next, 'GET /api/assemblies?fields=id&_cnd[limit]=0&_cnd[limit]=1');
    expect(kept.headers['x-total-count']).toBe(String(made));
    expect((await write(next)).status).toBe(201);
    again.child.kill();
    await again.ended;
  });
