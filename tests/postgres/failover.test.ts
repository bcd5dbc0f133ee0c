/** Several servers in one URL: connections lead to the one that target_session_attrs asks for, and follow it. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Serving } from '../../engine/server/serve.ts';
import { StartError } from '../../engine/start-error.ts';
import { type Answer, ask } from '../support/ask.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connectTo } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { atLeast, expectKept, loadWhile } from '../support/load.ts';
import { administer, onServer, startInstance, withParameters } from '../support/postgres.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const hostOf = ({ url }: Cluster): string => new URL(url).host;

async function numberIn({ url }: Cluster, sql: string): Promise<number> {
  const client = await connectTo(url);
  const { rows } = await client.query<[unknown]>({ text: sql, rowMode: 'array' });
  await client.end();
  return Number(rows[0]?.[0]);
}

/** Bytes of the log. */
const placeIn = (cluster: Cluster, place: string): Promise<number> => numberIn(cluster, `select ${place} - '0/0'`);

onServer('a primary and a standby', () => {
  let primary: Cluster;
  let standby: Cluster;
  let instance: Serving | undefined;
  const url = (attributes: string, ...clusters: readonly Cluster[]): string =>
    withParameters(primary.url, { target_session_attrs: attributes }).replace(
      hostOf(primary),
      clusters.map(hostOf).join(),
    );
  /** Nothing but the loss of a server ends a statement. */
  const start = async (databaseUrl: string): Promise<Serving> =>
    (instance = await startInstance(databaseUrl, { statementTimeout: 3_600_000 }));
  const send = (title: string, body?: unknown): Promise<Answer> => ask(instance?.url ?? '', title, body);

  beforeEach(async () => {
    primary = await startCluster();
    standby = await primary.standby();
    // What is acknowledged has reached both.
    await administer(
      primary.url,
      `alter system set synchronous_standby_names = '*'`,
      () => administer(primary.url, 'select pg_reload_conf()', async () => undefined, 'select 1'),
      'select 1',
    );
  });
  const followers: Cluster[] = [];
  afterEach(async () => {
    primary.thaw();
    await instance?.close();
    for (const follower of followers.splice(0)) await follower.remove();
    await standby?.remove();
    await primary?.remove();
  });

  it('lead to the primary, in whatever order they are named', async () => {
    for (const clusters of [
      [standby, primary],
      [primary, standby],
    ]) {
      const { close } = await start(url('read-write', ...clusters));
      expect((await send('POST /api/tax-classes', {})).status).toBe(201);
      await close();
    }
    instance = undefined;
  });

  it('of which none will do: the start says what each of them is', async () => {
    await standby.stop('fast');
    const started = startInstance(url('standby', primary, standby));
    await expect(started).rejects.toBeInstanceOf(StartError);
    await expect(started).rejects.toThrow(
      `none of the servers is standby (target_session_attrs): ${hostOf(primary)} is the primary, ${hostOf(standby)} does not answer`,
    );
  });

  it.each(['frozen', 'stopped'] as const)(
    'of which the primary is %s and the standby promoted: writes go on there, and none is lost',
    async (how) => {
      await start(url('read-write', primary, standby));
      const load = await loadWhile(send, how, async ({ acknowledged }) => {
        await atLeast(acknowledged, 50);
        if (how === 'frozen') primary.freeze();
        else await primary.stop('immediate');
        await standby.promote();
        await atLeast(acknowledged, acknowledged.length + 50);
      });
      await expectKept(send, how, load);
      expect([...load.refused].filter((answer) => answer !== '504 null' && answer !== '503 1')).toEqual([]);
      // The old primary comes back, and nobody writes to it.
      if (how === 'frozen') primary.thaw();
      else await primary.again();
      expect((await send('POST /api/tax-classes', { position: 4711 })).status).toBe(201);
      expect((await send('GET /api/tax-classes?_cnd[position]=4711')).body).toHaveLength(1);
    },
  );

  it.each(['primary', 'standby'])(
    'a %s of a log that has been replaced answers no read of a newer write',
    async (which) => {
      await (await start(primary.url)).close();
      const follower = which === 'standby' ? await primary.standby() : undefined;
      followers.push(...(follower ? [follower] : []));
      await standby.promote();
      // Its log is longer than that of the new primary, which did not get this.
      const write = `select pg_logical_emit_message(false, 'old', repeat('x', 1000000))`;
      await administer(primary.url, write, async () => undefined, 'select 1');
      const end = await placeIn(primary, 'pg_current_wal_flush_lsn()');
      if (follower) await until(async () => (await placeIn(follower, 'pg_last_wal_replay_lsn()')) >= end);
      instance = await startInstance(url('read-write', standby), { readUrl: (follower ?? primary).url });
      await until(async () => (await send('GET /api/tax-classes')).status === 200);
      const { status, headers } = await exchange(instance.url, 'POST /api/tax-classes', {
        headers: JSON_BODY,
        body: '{}',
      });
      expect(status).toBe(201);
      const position = { 'x-position': String(headers['x-position']) };
      for (let round = 0; round < 10; round += 1) {
        const { text } = await exchange(instance.url, 'GET /api/tax-classes', { headers: position });
        expect(JSON.parse(text)).toHaveLength(1);
      }
      // Without the position, it is asked: it is a server that reads are meant for.
      const isOld = async (): Promise<boolean> => JSON.stringify((await send('GET /api/tax-classes')).body) === '[]';
      await until(isOld);
    },
  );

  it('a standby that has followed a new primary answers reads of its writes when that one is lost, too', async () => {
    await (await start(primary.url)).close();
    const follower = await standby.standby();
    followers.push(follower);
    await primary.stop('immediate');
    await standby.promote();
    instance = await startInstance(url('read-write', standby), { readUrl: follower.url });
    const { status, headers } = await exchange(instance.url, 'POST /api/tax-classes', {
      headers: JSON_BODY,
      body: '{}',
    });
    expect(status).toBe(201);
    const read = { headers: { 'x-position': String(headers['x-position']) } };
    const answer = async (): Promise<number> =>
      (await exchange(instance?.url ?? '', 'GET /api/tax-classes/1', read)).status;
    const readHere = `select count(*) from pg_stat_wal_receiver where received_tli = 2`;
    await until(async () => (await answer()) === 200 && (await numberIn(follower, readHere)) === 1);
    const end = await placeIn(standby, 'pg_current_wal_insert_lsn()');
    await until(async () => (await placeIn(follower, 'pg_last_wal_replay_lsn()')) >= end);
    await standby.stop('immediate');
    // Its log receiver has ended, and with it what told the timeline.
    await until(async () => (await numberIn(follower, 'select count(*) from pg_stat_wal_receiver')) === 0);
    await until(async () => (await answer()) === 200);
    expect(await numberIn(follower, 'select timeline_id from pg_control_checkpoint()')).toBe(1);
  });

  it('that both serve reads: a lost one is not noticed', async () => {
    await (await start(primary.url)).close();
    await start(url('prefer-standby', primary, standby).replace('prefer-standby', 'any'));
    expect((await send('GET /api/tax-classes/1')).status).toBe(404);
    primary.freeze();
    await until(async () => (await send('GET /api/tax-classes/1')).status === 404);
  });
});
