/** axios with nested params, as its users write them. */
import axios, { isAxiosError } from 'axios';
import { nextCursor } from './next-page.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

test('creates, lists with all parameters, updates, shows a fault, deletes', async () => {
  const client = axios.create({ baseURL: `${server.url}/api` });
  const ids: number[] = [];
  for (const weight of ['0.5', '1.5', '2.5', '3.5']) {
    const { status, data } = await client.post('/shipping-markups', {
      min_weight: weight,
      zone: { zone_name: weight },
    });
    expect(status).toBe(201);
    ids.push(data.markup_id);
  }

  const { data: listed, headers } = await client.get('/shipping-markups', {
    params: {
      _cnd: {
        limit: [1, 2],
        orderBy: ['min_weight', 'desc', 'markup_id'],
        min_weight: { gte: '1', in: ['1.5', '2.5', '3.5'] },
      },
      include: 'zone',
      fields: 'min_weight,zone.zone_name',
    },
  });
  expect(listed).toEqual([
    { markup_id: ids[2], min_weight: '2.5', zone: { zone_id: 3, zone_name: '2.5' } },
    { markup_id: ids[1], min_weight: '1.5', zone: { zone_id: 2, zone_name: '1.5' } },
  ]);
  expect(headers['x-total-count']).toBe('3');

  const page = { limit: [0, 2], orderBy: ['min_weight'], min_weight: { ne: '9', like: undefined, null: false } };
  const first = await client.get('/shipping-markups', { params: { _cnd: page } });
  const after = nextCursor(first.headers['link']);
  const second = await client.get('/shipping-markups', {
    params: { _cnd: page, after },
    headers: { Prefer: 'count=none' },
  });
  const shown = [...first.data, ...second.data].map((markup: { markup_id: number }) => markup.markup_id);
  expect([shown, second.headers['x-total-count']]).toEqual([ids, undefined]);

  const { data: variant } = await client.get('/notifications', { params: { variant: 'C', _cnd: { limit: [0, 1] } } });
  expect(Object.keys(variant[0])).not.toContain('position');

  const flat = await client.get('/shipping-markups', {
    params: { '_cnd[limit]': [0, 1], '_cnd[orderBy]': ['markup_id'] },
  });
  expect(flat.data).toHaveLength(1);

  const url = `/shipping-markups/${ids[0]}`;
  const { data: updated } = await client.put(url, { markup_flat: '4.90' });
  expect(updated).toMatchObject({ min_weight: '0.5', markup_flat: '4.90' });

  const refused = await client.put(url, { markup_flat: 'much' }).catch((error: unknown) => error);
  const problem = isAxiosError(refused) ? refused.response : undefined;
  expect(problem).toMatchObject({ status: 422, data: { errors: [{ pointer: '/markup_flat' }] } });
  expect(problem?.data.message).toContain('"markup_flat" must be a decimal number');

  expect((await client.delete(url)).data).toEqual(updated);
  await expect(client.get(url)).rejects.toMatchObject({ response: { status: 404 } });
});
