/** Writes of one turn share a transaction, and nothing else: neither errors, nor locked rows, nor the loss of it. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import type { Client } from 'pg';
import { PATIENT } from '../../engine/caller.ts';
import type { Serving } from '../../engine/server/serve.ts';
import type { Statement } from '../../engine/storage/driver.ts';
import { createHosts } from '../../engine/storage/postgres/hosts.ts';
import { parseAddress } from '../../engine/storage/postgres/address.ts';
import { type Connections, createConnections } from '../../engine/storage/postgres/pool.ts';
import { shareWrites } from '../../engine/storage/postgres/shared-writes.ts';
import { writeAlone } from '../../engine/storage/postgres/transaction.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { administer, onServer, startInstance, withParameters } from '../support/postgres.ts';

onServer('statements of one turn', () => {
  let database: TestDatabase;
  let connections: Connections;
  let share: ReturnType<typeof shareWrites>;
  let client: Client;

  /** The transaction that wrote it, and what was written. */
  const KEEP: Statement = {
    sql: `insert into kept (value) select 12 / $1::int where $2::text is not null returning xmin::text, value`,
  };
  const SLEEP: Statement = {
    sql: `insert into kept (value) select $1::int from pg_sleep($1::int / 10.0) where $2::text is not null returning xmin::text, value`,
  };

  beforeAll(async () => {
    database = await createDatabase('postgres');
    const place = parseAddress(withParameters(database.url, { pool: '1' }));
    connections = createConnections(place, { statement: 2000, idle: 2000, lock: 0 }, createHosts(place));
    share = shareWrites(connections);
    client = await connectTo(database.url);
    await client.query('create table kept (value int)');
  });
  beforeEach(async () => void (await client.query('truncate kept')));
  afterAll(async () => {
    await connections.close();
    await client.end();
    await database.remove();
  });

  const write = (statement: Statement, value: number, caller = PATIENT): Promise<unknown> =>
    share(statement, [value, 'go on'], () => writeAlone(connections, statement, [value, 'go on'], caller), caller);
  const outcomes = async (statement: Statement, values: readonly number[]): Promise<readonly string[]> =>
    (await Promise.allSettled(values.map((value) => write(statement, value)))).map((settled) =>
      settled.status === 'fulfilled' ? String(settled.value) : String(settled.reason.message),
    );
  const transactions = (answers: readonly string[]): number => new Set(answers.map((one) => one.split(',')[0])).size;
  const values = (answers: readonly string[]): readonly string[] => answers.map((one) => one.split(',')[1] ?? one);
  const kept = async (): Promise<readonly number[]> =>
    (await client.query<{ value: number }>('select value from kept order by value')).rows.map(({ value }) => value);

  it('are one transaction', async () => {
    const first = await outcomes(KEEP, [1, 2, 3]);
    expect([transactions(first), values(first)]).toEqual([1, ['12', '6', '4']]);
    const second = await outcomes(KEEP, [1, 2, 3]);
    expect([transactions(second), values(second)]).toEqual([1, ['12', '6', '4']]);
    expect(await kept()).toEqual([4, 4, 6, 6, 12, 12]);
  });

  it('one that fails is the only one, and none is done twice', async () => {
    expect(values(await outcomes(KEEP, [1, 0, 3, 0, 12]))).toEqual([
      '12',
      'division by zero',
      '4',
      'division by zero',
      '1',
    ]);
    expect(await kept()).toEqual([1, 4, 12]);
  });

  it('that the server ended before they were done are done once', async () => {
    await outcomes(SLEEP, [0, 0]);
    const asked = outcomes(SLEEP, [1, 2, 3]);
    for (let isEnded = false; !isEnded;)
      isEnded = Boolean(
        (
          await client.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`,
          )
        ).rowCount,
      );
    expect(values(await asked)).toEqual(['1', '2', '3']);
    expect(await kept()).toEqual([0, 0, 1, 2, 3]);
  });

  it('of a client that has left are not begun', async () => {
    const gone = write(KEEP, 1, { ...PATIENT, isGone: true });
    const [stays] = await Promise.all([outcomes(KEEP, [2, 3]), expect(gone).rejects.toThrow('closed its connection')]);
    expect([values(stays), await kept()]).toEqual([
      ['6', '4'],
      [4, 6],
    ]);
  });
});

onServer('requests of one turn', () => {
  let database: TestDatabase;
  let instance: Serving;
  let client: Client;
  const send = (title: string, body?: unknown): Promise<Exchanged> =>
    exchange(instance.url, title, {
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const COUNT = 24;
  const numbers = Array.from({ length: COUNT }, (_, index) => index + 1);
  const transactions = async (): Promise<number> =>
    Number((await client.query('select count(distinct xmin::text) from tmp_vars')).rows[0]?.count);

  beforeAll(async () => {
    database = await createDatabase('postgres');
    instance = await startInstance(withParameters(database.url, { pool: '4' }));
    client = await connectTo(database.url);
  });
  afterAll(async () => {
    await instance?.close();
    await client?.end();
    await database?.remove();
  });

  /** Sent in one piece: they arrive in one turn. Answers the bodies. */
  async function piped(titles: readonly (readonly [title: string, body?: object])[]): Promise<readonly string[]> {
    const { hostname, port, host } = new URL(instance.url);
    const requests = titles.map(([title, body], index) => {
      const text = body ? JSON.stringify(body) : '';
      const last = index === titles.length - 1 ? 'Connection: close\r\n' : '';
      return `${title} HTTP/1.1\r\nHost: ${host}\r\n${last}Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    });
    const socket = connect(Number(port), hostname);
    socket.write(requests.join(''));
    let received = '';
    for await (const piece of socket) received += String(piece);
    return received
      .split('HTTP/1.1 20')
      .slice(1)
      .map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4));
  }

  it('create records in fewer transactions than there are, each with its own answer', async () => {
    const made = await piped(numbers.map((number) => ['POST /api/tmp-vars', { name: `n${number}` }]));
    const bodies = made.map((text) => JSON.parse(text) as { id: number; name: string });
    expect(bodies.map(({ name }) => name)).toEqual(numbers.map((number) => `n${number}`));
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(COUNT);
    expect(await transactions()).toBeLessThan(COUNT / 2);
    const [, taken] = await Promise.all([
      piped(['a', 'b', 'c'].map((name) => ['POST /api/tmp-vars', { name }])),
      send('POST /api/tmp-vars', { name: 'n1' }),
    ]);
    expect(taken.status).toBe(409);
    for (const [index, { id }] of bodies.entries())
      expect((await send(`GET /api/tmp-vars/${id}`)).text).toBe(made[index]);
  });

  it('change and delete records, and wait for a locked one alone', async () => {
    const changed = await piped(numbers.map((number) => [`PUT /api/tmp-vars/${number}`, { value: 'changed' }]));
    expect(changed).toEqual(numbers.map(() => expect.stringContaining('"changed"')));
    expect(await transactions()).toBeLessThan(COUNT / 2);
    let waiting: Promise<Exchanged> | undefined;
    await administer(database.url, 'begin; select from tmp_vars where id = 3 for update', async () => {
      waiting = send('PUT /api/tmp-vars/3', { value: 'late' });
      const others = numbers.filter((number) => number !== 3);
      const answers = await piped(others.map((number) => [`PUT /api/tmp-vars/${number}`, { value: 'early' }]));
      expect(answers).toEqual(others.map(() => expect.stringContaining('"early"')));
      const isLocked = piped([3, 4, 5].map((number) => [`PUT /api/tmp-vars/${number}`, { value: 'again' }]));
      await until(async () => (await send('GET /api/tmp-vars/5')).text.includes('again'));
      waiting = Promise.all([waiting, isLocked]).then(([first]) => first);
    });
    expect((await waiting)?.status).toBe(200);
    const deleted = await piped(numbers.map((number) => [`DELETE /api/tmp-vars/${number}`]));
    expect(deleted).toHaveLength(COUNT);
    expect((await send('GET /api/tmp-vars/1')).status).toBe(404);
  });
});
