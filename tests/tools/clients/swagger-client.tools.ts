/** swagger-client, which makes its operations from the document that the service serves. */
import { setTimeout } from 'node:timers/promises';
import { nextCursor } from './next-page.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Record<string, unknown>;
}

type Call = (parameters?: object, options?: { requestBody: object }) => Promise<Answer>;

interface Client {
  readonly apis: Readonly<Record<string, Readonly<Record<string, Call>>>>;
  readonly errors: readonly unknown[];
}

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startTestServer();
  const { default: connect } = await import('swagger-client');
  // The client keeps the thread for long, and the service in the same thread then closes connections that were silent:
  // it must come to do so before the client takes such a connection.
  const userFetch: typeof fetch = async (url, options) => {
    await setTimeout(50);
    return fetch(url, options);
  };
  client = await connect({ url: `${server.url}/openapi.json`, userFetch });
});
afterAll(() => server.close());

test('finds no fault in the document', () => {
  expect(client.errors).toEqual([]);
  expect(Object.keys(client.apis)).toContain('ShippingMarkup');
});

test('creates, lists with all parameters, updates, shows a fault, deletes', async () => {
  const markups = client.apis['ShippingMarkup'] ?? {};
  const call = (name: string, ...rest: Parameters<Call>): Promise<Answer> =>
    markups[name]?.(...rest) ?? Promise.reject(new Error(`no operation ${name}`));
  const ids: unknown[] = [];
  for (const weight of ['0.5', '1.5', '2.5', '3.5']) {
    const requestBody = { min_weight: weight, zone: { zone_name: weight } };
    const { status, body } = await call('createShippingMarkup', {}, { requestBody });
    expect(status).toBe(201);
    ids.push(body['markup_id']);
  }

  const listed = await call('listShippingMarkups', {
    '_cnd[limit]': [1, 2],
    '_cnd[orderBy]': ['min_weight', 'desc', 'markup_id'],
    '_cnd[min_weight]': { gte: '1', lt: '10' },
    include: 'zone',
    fields: 'min_weight,zone.zone_name',
    Prefer: 'count=exact',
  });
  expect(listed.body).toEqual([
    { markup_id: ids[2], min_weight: '2.5', zone: { zone_id: 3, zone_name: '2.5' } },
    { markup_id: ids[1], min_weight: '1.5', zone: { zone_id: 2, zone_name: '1.5' } },
  ]);
  expect(listed.headers['x-total-count']).toBe('3');

  const page = {
    '_cnd[limit]': [0, 2],
    '_cnd[orderBy]': ['min_weight'],
    '_cnd[min_weight]': { lt: '10', null: false },
  };
  const first = await call('listShippingMarkups', page);
  const after = nextCursor(first.headers['link']);
  const second = await call('listShippingMarkups', { ...page, after, Prefer: 'count=none' });
  const shown = [first, second].flatMap(({ body }) => body as unknown as readonly { readonly markup_id: number }[]);
  expect(shown.map(({ markup_id }) => markup_id)).toEqual(ids);
  expect(second.headers['x-total-count']).toBeUndefined();

  const varied = await client.apis['Notification']?.['listNotifications']?.({ variant: 'C', '_cnd[limit]': [0, 1] });
  const [record = {}] = (varied?.body ?? []) as unknown as readonly object[];
  expect(Object.keys(record)).not.toContain('position');

  const [id] = ids;
  const updated = await call('updateShippingMarkup', { id }, { requestBody: { markup_flat: '4.90' } });
  expect(updated.body).toMatchObject({ min_weight: '0.5', markup_flat: '4.90' });
  const refused = call('updateShippingMarkup', { id }, { requestBody: { markup_flat: 'much' } });
  await expect(refused).rejects.toMatchObject({
    status: 422,
    response: {
      body: { message: expect.stringContaining('"markup_flat" must be'), errors: [{ pointer: '/markup_flat' }] },
    },
  });
  expect((await call('deleteShippingMarkup', { id })).body).toEqual(updated.body);
  await expect(call('getShippingMarkup', { id })).rejects.toMatchObject({ status: 404 });
});
