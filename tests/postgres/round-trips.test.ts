/** How often a write waits for PostgreSQL: what does not depend on an answer is sent without waiting for it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Serving } from '../../engine/server/serve.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { onServer, startInstance, withParameters } from '../support/postgres.ts';
import { createProject, type Project } from '../support/project.ts';

/** Milliseconds in which a client that waits for nothing sends the rest. */
const QUIET = 40;

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
    let timer: NodeJS.Timeout | undefined;
    const handOn = (): void => {
      trips.set(client, (trips.get(client) ?? 0) + 1);
      upstream.write(Buffer.concat(sent));
      sent = [];
    };
    client.on('data', (bytes) => {
      sent.push(bytes);
      clearTimeout(timer);
      timer = setTimeout(handOn, QUIET);
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
  'line.yaml': 'type: Line\nfields: { text: { type: string }, code: { type: string, unique: true } }\n',
};

onServer('a write waits for the server', () => {
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
});
