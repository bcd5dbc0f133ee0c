/** Stamps are of the database's clock, and never go back for a record, whatever writes it. */
import type { Driver } from '../../engine/storage/driver.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { ask, type Answer } from '../support/ask.ts';
import { connectTo, databaseKind } from '../support/databases.ts';
import { createProject } from '../support/project.ts';
import { startTestServer, useServer } from '../support/server.ts';

const FILES = {
  'order.yaml': `type: Order
fields:
  code: { type: string, unique: true }
  title: { type: string }
  created: { type: timestamp, generated: createdAt }
  v: { type: timestamp, generated: updatedAt }
relations:
  customer: { kind: belongsTo, type: Customer, inverse: orders, onDelete: setNull }
`,
  'customer.yaml': `type: Customer
fields:
  name: { type: string }
  v: { type: timestamp, generated: updatedAt }
relations:
  orders: { kind: hasMany, type: Order, inverse: customer, nested: write }
`,
};

interface Row {
  readonly id: number;
  readonly v: string;
  readonly created: string;
}

const server = useServer({ files: FILES });
let driver: Driver;
beforeAll(async () => void (driver = await databaseAt(server.database.url).open()));
afterAll(() => driver?.close());
beforeEach(async () => {
  for (const path of ['orders', 'customers'])
    await ask(server.url, `DELETE /api/${path}?_cnd[id][gte]=1`, undefined, { prefer: 'max-affected=100' });
  const { status } = await ask(server.url, 'POST /api/customers', {
    id: 1,
    orders: [{ code: 'a' }, { code: 'b' }],
  });
  expect(status).toBe(201);
});

const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);
const orders = async (): Promise<readonly Row[]> => (await send('GET /api/orders')).body as readonly Row[];

test.each<[title: string, write: (id: number) => Promise<Answer>]>([
  ['PATCH of one', (id) => send(`PATCH /api/orders/${id}`, { title: 'x' })],
  ['PUT of one, shown alone', (id) => send(`PUT /api/orders/${id}?include=`, { title: 'x' })],
  ['PATCH of an array', (id) => send('PATCH /api/orders', [{ id, title: 'x' }])],
  ['PUT by a unique value', () => send('PUT /api/orders?on=code', { code: 'a', title: 'x' })],
  ['POST by a unique value', () => send('POST /api/orders?on=code', [{ code: 'a', title: 'x' }, { code: 'new' }])],
  ['PUT of a set around it', (id) => send('PUT /api/customers/1', { orders: [{ id, title: 'x' }] })],
  ['PUT that leaves it out', () => send('PUT /api/customers/1', { orders: [] })],
  ['DELETE of what it links', () => send('DELETE /api/customers/1')],
])('a stamp ahead of the clock stays: %s', async (_, write) => {
  const [first] = await orders();
  for (const ahead of ['2999-01-01T00:00:00', '2999-01-01T00:00:00.000001']) {
    await send('POST /api/customers', { id: 1 });
    await driver.define([
      `update orders set v = '${ahead}${databaseKind === 'postgres' ? 'Z' : ''}', title = null, customer_id = 1`,
    ]);
    const { status, body } = await write(first?.id ?? 0);
    expect([status < 300, body]).toEqual([true, body]);
    const [after] = await orders();
    expect(after).toMatchObject({ id: first?.id, v: `${ahead}Z` });
    expect(after).not.toMatchObject({ title: null, customer: { id: 1 } });
  }
});

test('the clock of the service does not matter', async () => {
  const real = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(real + 1e9);
  jest.spyOn(Date.prototype, 'toISOString').mockReturnValue('2999-01-01T00:00:00.000Z');
  await send('POST /api/orders', { code: 'n' });
  await send('PATCH /api/orders', [{ id: (await orders())[0]?.id, title: 'x' }]);
  jest.restoreAllMocks();
  for (const { created, v } of await orders())
    for (const stamp of [created, v]) {
      expect(stamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,2}[1-9])?Z$/);
      expect(Math.abs(Date.parse(stamp) - real)).toBeLessThan(6e5);
    }
});

test('a new record has the same time in createdAt and updatedAt', async () => {
  for (const { created, v } of await orders()) expect(created).toBe(v);
});

const onServer = databaseKind === 'postgres' ? test : test.skip;

onServer.each([
  ['PATCH', '/api/orders/1?include=', { title: 'x' }],
  ['PATCH', '/api/orders', [{ id: 1, title: 'x' }]],
  ['PUT', '/api/customers/1', { orders: [{ id: 1, title: 'x' }] }],
] as const)('a write that waits for its record is stamped when it gets it: %s %s', async (method, path, body) => {
  const project = await createProject(FILES);
  const own = await startTestServer({ schemaDirectory: project.directory });
  const client = await connectTo(own.database.url);
  await ask(own.url, 'POST /api/customers', { id: 1, orders: [{ code: 'a' }] });
  await client.query('begin');
  await client.query('select from orders for update');
  const sent = ask(own.url, `${method} ${path}`, body);
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  while ((await client.query(waits)).rowCount === 0);
  const { rows } = await client.query<{ now: Date }>(`select date_trunc('milliseconds', clock_timestamp()) as now`);
  await client.query('commit');
  expect((await sent).status).toBe(200);
  const { body: after } = await ask(own.url, 'GET /api/orders/1');
  expect(Date.parse((after as Row).v)).toBeGreaterThanOrEqual(Number(rows[0]?.now));
  await client.end();
  await own.close();
  await project.remove();
});
