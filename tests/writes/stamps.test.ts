/** Generated fields and `default: now`: which writes fill them in, with what, and what bodies can say of them. */
import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import type { JsonObject } from '../../engine/json/json.ts';
import { type Answer, ask } from '../support/ask.ts';
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

const send = (request: string, body?: unknown, name: Name = 'ann'): Promise<Answer> =>
  ask(server.url, request, body, { authorization: `Bearer ${tokens[name]}` });

const made = async (path: string, body: unknown): Promise<JsonObject> => {
  const answer = await send(`POST /api/${path}`, body);
  expect([answer.status, answer.body]).toEqual([201, expect.not.objectContaining({ errors: expect.anything() })]);
  return answer.body as JsonObject;
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

  test.each([
    [{ created_at: 'yesterday' }, '/created_at'],
    [{ created_by: 1 }, '/created_by'],
    [{ lines: [{ changed: '2030-01-01' }] }, '/lines/0/changed'],
  ])('with what is not a value of a generated field, %j, is 422', async (more, pointer) => {
    const { status, body } = await send('POST /api/orders', { title: 'a', ...more });
    expect([status, body]).toEqual([422, expect.objectContaining({ errors: [expect.objectContaining({ pointer })] })]);
  });
});

test('an update and a deletion stamp what they change and unlink', async () => {
  const { id } = await made('customers', { name: 'Hal' });
  const order = await made('orders', { title: 'a', customer: { id: id ?? null } });
  const path = `/api/orders/${String(order['id'])}`;
  const changed = (await send(`PATCH ${path}`, { title: 'b', created_by: 'x' }, 'bob')).body as JsonObject;
  expect(stampsOf(changed)).toEqual([timeOf(2), 'ann', timeOf(3), 'bob']);
  await send(`PUT ${path}`, { title: 'c' });
  await send(`DELETE /api/customers/${String(id)}`, undefined, 'bob');
  const left = (await send(`GET ${path}`)).body as JsonObject;
  expect([left['customer'], ...stampsOf(left)]).toEqual([null, timeOf(2), 'ann', timeOf(5), 'bob']);
});
