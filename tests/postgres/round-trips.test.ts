/** How often a request waits for PostgreSQL: what does not depend on an answer is sent without waiting for it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Serving } from '../../engine/server/serve.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { onServer, startInstance, withParameters } from '../support/postgres.ts';
import { createProject, type Project } from '../support/project.ts';

/** Turns of the event loop, which the client is in too, in which one that waits for nothing sends the rest. */
const QUIET_TURNS = 1000;

/** An identifier that the test gives. */
let given = 1_000_000;

interface Counting {
  readonly url: string;
  /** Of the connection that has waited most often since it was last asked. */
  take(): number;
  close(): void;
}

/** A wire that hands on what was sent when nothing more comes: each time, the client waits for an answer. */
async function countTrips(url: string): Promise<Counting> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const trips = new Map<Socket, number>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    sockets.push(client, upstream);
    let sent: Buffer[] = [];
    let turns = 0;
    const handOn = (): void => {
      turns -= 1;
      if (turns > 0) return void setImmediate(handOn);
      trips.set(client, (trips.get(client) ?? 0) + 1);
      upstream.write(Buffer.concat(sent));
      sent = [];
    };
    client.on('data', (bytes) => {
      sent.push(bytes);
      if (turns === 0) setImmediate(handOn);
      turns = QUIET_TURNS;
    });
    upstream.on('data', (bytes) => client.write(bytes));
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: own.href,
    take: () => {
      const most = Math.max(0, ...trips.values());
      trips.clear();
      return most;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const FILES = {
  'order.yaml':
    'type: Order\nfields: { title: { type: string } }\nrelations: { lines: { kind: hasMany, type: Line, owned: true } }\n',
  'part.yaml':
    'type: Part\nfields: { name: { type: string } }\nrelations: { within: { kind: belongsTo, type: Part, nested: write } }\n',
  'line.yaml': 'type: Line\nfields: { text: { type: string }, code: { type: string, unique: true } }\n',
};

onServer('a request waits for the server', () => {
  let project: Project;
  let database: TestDatabase;
  let wire: Counting;
  let instance: Serving;

  beforeAll(async () => {
    project = await createProject(FILES, undefined, 'sqlite');
    database = await createDatabase('postgres');
    wire = await countTrips(withParameters(database.url, { pool: '2' }));
    instance = await startInstance(wire.url, { schemaDirectory: project.directory });
  });
  afterAll(async () => {
    await instance?.close();
    wire?.close();
    await database?.remove();
    await project?.remove();
  });

  async function tripsOf(title: string, body: object, headers: Readonly<Record<string, string>> = {}) {
    wire.take();
    const answer: Exchanged = await exchange(instance.url, title, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: answer.status, record: JSON.parse(answer.text), trips: wire.take() };
  }

  it('once for a record', async () => {
    expect(await tripsOf('POST /api/orders', { title: 'a' })).toMatchObject({ status: 201, trips: 1 });
  });

  it('once for a long page that has been read before: it is not measured again', async () => {
    const title = 'x'.repeat(600_000);
    const identifiers: number[] = [];
    for (const _ of [1, 2, 3]) identifiers.push((await tripsOf('POST /api/orders?fields=', { title })).record.id);
    const page = async () => {
      wire.take();
      const path = `GET /api/orders?fields=title&_cnd[id][gte]=${identifiers[0]}&_cnd[limit]=0&_cnd[limit]=2`;
      const { status, text, headers } = await exchange(instance.url, path);
      return { status, length: JSON.parse(text).length, total: headers['x-total-count'], trips: wire.take() };
    };
    expect(await page()).toMatchObject({ status: 200, length: 2, total: '3' });
    expect(await page()).toEqual({ status: 200, length: 2, total: '3', trips: 1 });
  });

  it('five times for one with an Idempotency-Key: the claim, the record, its text, the kept answer, the commit', async () => {
    const key = { 'idempotency-key': '"one"' };
    expect(await tripsOf('POST /api/orders', { title: 'b' }, key)).toMatchObject({ status: 201, trips: 5 });
    expect(await tripsOf('POST /api/orders', { title: 'b' }, key)).toMatchObject({ status: 201, trips: 4 });
  });

  it('as often for many changed records as for one', async () => {
    const texts = (n: number, text: string) =>
      Array.from({ length: n }, (_, index) => ({ text, code: `${n}-${index}` }));
    const trips: number[] = [];
    for (const n of [1, 5]) {
      const { record } = await tripsOf('POST /api/orders', { title: 'c', lines: texts(n, 'old') });
      const lines = record.lines.map((line: object) => ({ ...line, text: 'new' }));
      const changed = await tripsOf(`PUT /api/orders/${record.id}`, { lines });
      expect([changed.status, changed.record.lines]).toEqual([200, lines]);
      trips.push(changed.trips);
    }
    expect(trips).toEqual([6, 6]);
  });

  it.each([
    ['new records', '', false],
    ['new records with identifiers of their own', '', true],
    ['a dry run of them', '&dryRun=true', false],
    ['a dry run of those with identifiers', '&dryRun=true', true],
  ])('as often for 40 as for two: %s', async (_, query, areGiven) => {
    const trips: number[] = [];
    for (const n of [2, 40]) {
      const items = Array.from({ length: n }, () => ({ ...(areGiven ? { id: (given += 1) } : {}), title: 'd' }));
      const made = await tripsOf(`POST /api/orders?include=${query}`, items);
      expect(made.status).toBe(201);
      trips.push(made.trips);
    }
    expect(trips[1]).toBe(trips[0]);
  });

  it('for a dry run as in earnest, if one item gives the identifier that another would get', async () => {
    const { record } = await tripsOf('POST /api/orders', { title: 'e' });
    const first = record.id + 1;
    for (const query of ['&dryRun=true', '']) {
      const items = [{ id: first + 3 }, { id: first + 1 }, {}, {}];
      const { status, record: answer } = await tripsOf(`POST /api/orders?fields=${query}`, items);
      expect(status).toBe(201);
      const made = query === '' ? answer : answer.answer.body;
      const [one, other, ...others] = made.map(({ id }: { id: number }) => id);
      expect([one, other]).toEqual([first + 3, first + 1]);
      expect(new Set(others).size).toBe(2);
      for (const id of others) expect([first + 1, first + 3]).not.toContain(id);
    }
  });

  it('for a dry run of records that wait for each other: none gets the identifier of another', async () => {
    const body = { within: { within: { name: 'a' } } };
    const { status, record } = await tripsOf('POST /api/parts?include=within.within&dryRun=true', body);
    expect(status).toBe(201);
    const { id, within } = record.answer.body;
    expect(new Set([id, within.id, within.within.id]).size).toBe(3);
  });
});
