/** Generated fields and `default: now`: which writes fill them in, with what, and what bodies can say of them. */
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { isObject, type JsonObject } from '../../engine/json/json.ts';
import { useServer } from '../support/server.ts';

const NAMES = ['ann', 'bob'] as const;
type Name = (typeof NAMES)[number];
const tokens: Readonly<Record<Name, string>> = { ann: createToken(), bob: createToken() };
const lineOf = (name: Name): string => tokenLine({ name, read: 'all', write: 'all' }, tokens[name]);

/** Goes on by a minute whenever it is asked, so that each request has a time of its own. */
const START = Date.UTC(2030, 0, 1);
const MINUTE = 60_000;
let asked = 0;
const clock = (): Date => new Date(START + (asked += 1) * MINUTE);
const timeOf = (number: number): string => new Date(START + number * MINUTE).toISOString().replace('.000Z', 'Z');

const schemaDirectory = 'tests/fixtures/schemas/stamps';
const server = useServer({ schemaDirectory, settings: { tokens: NAMES.map(lineOf).join(';'), clock } });
beforeEach(() => void (asked = 0));

interface Sent {
  readonly status: number;
  readonly body: JsonObject;
  readonly tag: string | null;
}

async function send(request: string, body?: unknown, name: Name = 'ann', headers = {}): Promise<Sent> {
  const [method = 'GET', path = '/'] = request.split(' ', 2);
  const answer = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${tokens[name]}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const parsed: unknown = JSON.parse(await answer.text());
  return {
    status: answer.status,
    body: isObject(parsed as never) ? (parsed as JsonObject) : {},
    tag: answer.headers.get('etag'),
  };
}

const made = async (path: string, body: unknown, name?: Name): Promise<JsonObject> => {
  const answer = await send(`POST /api/${path}`, body, name);
  expect(answer.body).not.toHaveProperty('errors');
  expect(answer.status).toBe(201);
  return answer.body;
};

const stampsOf = ({ created_at, updated_at, created_by, updated_by }: JsonObject) => [
  created_at,
  created_by,
  updated_at,
  updated_by,
];

describe('a create', () => {
  test('has the time and the name of the token', async () => {
    const body = await made('orders', { title: 'a' });
    expect(stampsOf(body)).toEqual([timeOf(1), 'ann', timeOf(1), 'ann']);
    expect(body).toMatchObject({ placed_on: '2030-01-01', due_at: timeOf(1) });
    expect(asked).toBe(1);
  });

  test('what it says of generated fields is not written; defaults are', async () => {
    const body = await made('orders', {
      title: 'a',
      created_at: '1999-01-01T00:00:00+01:00',
      updated_at: null,
      created_by: 'somebody',
      updated_by: '',
      placed_on: '2001-02-03',
      due_at: null,
    });
    expect(stampsOf(body)).toEqual([timeOf(1), 'ann', timeOf(1), 'ann']);
    expect(body).toMatchObject({ placed_on: '2001-02-03', due_at: null });
  });

  test.each([
    [{ created_at: 'yesterday' }, '/created_at'],
    [{ created_by: 1 }, '/created_by'],
    [{ lines: [{ changed: '2030-01-01' }] }, '/lines/0/changed'],
  ])('with what is not a value of a generated field, %j, is 422', async (more, pointer) => {
    const { status, body } = await send('POST /api/orders', { title: 'a', ...more });
    expect([status, body]).toEqual([422, expect.objectContaining({ errors: [expect.objectContaining({ pointer })] })]);
  });
});

describe('an update', () => {
  test.each(['PUT', 'PATCH'])('%s stamps what it changes', async (method) => {
    const { id } = await made('orders', { title: 'a', total: '1.50' });
    for (const [body, stamped] of [
      [{ title: 'b' }, 2],
      [{ title: 'b', total: '1.50' }, 2],
      [{}, 2],
      [{ created_at: timeOf(9), updated_by: 'x' }, 2],
      [{ total: '1.5' }, 3],
      [{ extra: { a: 1 } }, 4],
      [{ extra: { a: 1 } }, 4],
    ] as const) {
      asked = Math.max(asked, stamped - 1);
      const answer = await send(`${method} /api/orders/${String(id)}`, body, 'bob');
      expect(stampsOf(answer.body)).toEqual([timeOf(1), 'ann', timeOf(stamped), 'bob']);
      asked = stamped;
    }
  });
});

test('a batch has one time, and stamps what it changes', async () => {
  const [first, second] = [await made('orders', { title: 'a' }), await made('orders', { title: 'b' })];
  const items = [
    { id: first['id'] ?? null, title: 'c', created_by: 'x' },
    { id: second['id'] ?? null, title: 'b' },
  ];
  const answer = await fetch(`${server.url}/api/orders`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${tokens.bob}`, 'content-type': 'application/json' },
    body: JSON.stringify(items),
  });
  const bodies = (await answer.json()) as readonly JsonObject[];
  expect(bodies.map(stampsOf)).toEqual([
    [timeOf(1), 'ann', timeOf(3), 'bob'],
    [timeOf(2), 'ann', timeOf(2), 'ann'],
  ]);
});

describe('a deletion', () => {
  test('stamps what it unlinks', async () => {
    const customer = await made('customers', { name: 'Hal' });
    const order = await made('orders', { title: 'a', customer: { id: customer['id'] ?? null } });
    await send(`DELETE /api/customers/${String(customer['id'])}`, undefined, 'bob');
    const { body } = await send(`GET /api/orders/${String(order['id'])}`);
    expect(body).toMatchObject({ customer: null, updated_at: timeOf(3), updated_by: 'bob', created_at: timeOf(2) });
  });
});
