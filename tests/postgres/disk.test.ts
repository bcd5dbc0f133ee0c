import { execFileSync } from 'node:child_process';
import type { Serving } from '../../engine/server/serve.ts';
import { type Answer, ask } from '../support/ask.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connectTo, POSTGRES_URL } from '../support/databases.ts';
import { atLeast, expectKept, loadWhile, type Send } from '../support/load.ts';
import { pause, startInstance } from '../support/postgres.ts';
import { mountSmall, type SmallDisk } from '../support/small-disk.ts';

const disk = POSTGRES_URL === '' ? undefined : mountSmall(160);
if (disk === undefined)
  it.todo('a PostgreSQL server, and the right to mount a tmpfs, are needed here: npm run test:postgres, as root');

const PADDING = 'x'.repeat(2000);
const sendTo =
  ({ url }: Serving): Send =>
  (title, body) =>
    ask(url, title, body);

(disk === undefined ? describe.skip : describe)('a full disk', () => {
  let cluster: Cluster | undefined;
  let instance: Serving | undefined;
  afterAll(async () => {
    await instance?.close();
    await cluster?.remove();
    disk?.remove();
  });

  const within = ({ directory }: SmallDisk): string => directory;

  it('below the tables alone: 507 for writes, answers for reads, all is well when there is space again', async () => {
    if (disk === undefined) return;
    cluster = await startCluster();
    instance = await startInstance(await databaseOn(within(disk), cluster));
    const send = sendTo(instance);
    const load = await loadWhile(
      send,
      'tables',
      async ({ acknowledged, refused }) => {
        await atLeast(acknowledged, 20);
        const empty = disk.fill();
        while (refused.size === 0) await pause(20);
        await expectReads(send);
        empty();
        await atLeast(acknowledged, acknowledged.length + 20);
      },
      PADDING,
    );
    expect([...load.refused]).toEqual(['507 null']);
    await expectKept(send, 'tables', load);
    await instance.close();
    await cluster.remove();
  });

  it('below its log as well: the server ends itself, 503, and all is well when it runs again', async () => {
    if (disk === undefined) return;
    const server = await startCluster(within(disk));
    cluster = server;
    instance = await startInstance(server.url);
    const send = sendTo(instance);
    const load = await loadWhile(
      send,
      'server',
      async ({ acknowledged, refused }) => {
        await atLeast(acknowledged, 20);
        const empty = disk.fill();
        await fillLog(server);
        while (!refused.has('503 1')) await pause(20);
        empty();
        const goal = acknowledged.length + 20;
        while (acknowledged.length < goal) {
          await server.again().catch(() => undefined);
          await pause(100);
        }
      },
      PADDING,
    );
    const known = new Set(['507 null', '503 1', '504 null']);
    expect([...load.refused].filter((answer) => !known.has(answer))).toEqual([]);
    await expectKept(send, 'server', load);
  });
});

/** Asks for one part of the log after the other, until the server cannot make one. */
async function fillLog({ url }: Cluster): Promise<void> {
  const client = await connectTo(url);
  try {
    for (let part = 0; part < 100; part += 1)
      await client.query(`select pg_create_restore_point('full'); select pg_switch_wal()`);
  } catch {
    return;
  } finally {
    await client.end().catch(() => undefined);
  }
  throw new Error('the log of the server found space');
}

async function expectReads(send: Send): Promise<void> {
  const answers: readonly Answer[] = [
    await send('GET /api/tmp-vars?_cnd[limit]=0&_cnd[limit]=3'),
    await send('GET /api/tmp-vars/1'),
    await send('GET /api/tmp-vars?fields=id'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
}

/** A database whose tables lie there, while the log of the server lies elsewhere. */
async function databaseOn(directory: string, { url }: Cluster): Promise<string> {
  execFileSync('chown', ['postgres', directory]);
  const client = await connectTo(url);
  await client.query(`create tablespace small location '${directory}'`);
  await client.query('create database small tablespace small');
  await client.end();
  return url.replace(/\/postgres$/, '/small');
}
