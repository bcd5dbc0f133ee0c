/** openapi-fetch as its users write it: types from the document, no serializer of their own. */
import createClient from 'openapi-fetch';
import { nextCursor } from './next-page.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

interface Markup {
  markup_id: number;
  min_weight?: string;
  markup_flat?: string;
  zone?: { zone_id: number; zone_name?: string | null } | null;
}

interface Problem {
  status: number;
  message: string;
  errors?: { pointer?: string; message: string }[];
}

type Json<T> = { content: { 'application/json': T } };
type Fails = { content: { 'application/problem+json': Problem } };
type Body = { content: { 'application/json': Partial<Omit<Markup, 'zone'>> & { zone?: object | null } } };

/** The part of the document that this test uses, as a generator writes it. */
interface Paths {
  '/api/shipping-markups': {
    get: {
      parameters: {
        query?: {
          '_cnd[limit]'?: number[];
          '_cnd[orderBy]'?: string[];
          '_cnd[min_weight]'?: { gte?: string; lt?: string; null?: boolean };
          include?: string;
          fields?: string;
          after?: string;
        };
        header?: { Prefer?: string };
      };
      responses: { 200: Json<Markup[]>; 400: Fails };
    };
    post: { requestBody: Body; responses: { 201: Json<Markup>; 422: Fails } };
  };
  '/api/notifications': {
    get: {
      parameters: { query?: { variant?: 'A' | 'B' | 'C'; '_cnd[limit]'?: number[] } };
      responses: { 200: Json<object[]> };
    };
  };
  '/api/shipping-markups/{id}': {
    get: { parameters: { path: { id: number } }; responses: { 200: Json<Markup>; 404: Fails } };
    put: { parameters: { path: { id: number } }; requestBody: Body; responses: { 200: Json<Markup>; 422: Fails } };
    delete: { parameters: { path: { id: number } }; responses: { 200: Json<Markup>; 404: Fails } };
  };
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const LIST = '/api/shipping-markups';
const ITEM = '/api/shipping-markups/{id}';

test('creates, lists with all parameters, updates, shows a fault, deletes', async () => {
  const client = createClient<Paths>({ baseUrl: server.url });
  const ids: number[] = [];
  for (const weight of ['0.5', '1.5', '2.5', '3.5']) {
    const body = { min_weight: weight, zone: { zone_name: `Zone ${weight}` } };
    const { data, response } = await client.POST(LIST, { body });
    expect(response.status).toBe(201);
    ids.push(data?.markup_id ?? 0);
  }

  const query = {
    '_cnd[limit]': [1, 2],
    '_cnd[orderBy]': ['min_weight', 'desc', 'markup_id'],
    '_cnd[min_weight]': { gte: '1', lt: '10' },
    include: 'zone',
    fields: 'min_weight,zone.zone_name',
  };
  const { data: listed, response: list } = await client.GET(LIST, { params: { query } });
  expect(listed?.map(({ min_weight, zone }) => [min_weight, zone?.zone_name])).toEqual([
    ['2.5', 'Zone 2.5'],
    ['1.5', 'Zone 1.5'],
  ]);
  expect(list.headers.get('X-Total-Count')).toBe('3');

  const page = {
    '_cnd[limit]': [0, 2],
    '_cnd[orderBy]': ['min_weight'],
    '_cnd[min_weight]': { lt: '10', null: false },
  };
  const first = await client.GET(LIST, { params: { query: page } });
  const after = nextCursor(first.response.headers.get('Link'));
  const second = await client.GET(LIST, {
    params: { query: { ...page, after }, header: { Prefer: 'count=none' } },
  });
  expect([...(first.data ?? []), ...(second.data ?? [])].map(({ markup_id }) => markup_id)).toEqual(ids);
  expect(second.response.headers.get('X-Total-Count')).toBeNull();

  const { data: varied } = await client.GET('/api/notifications', {
    params: { query: { variant: 'C', '_cnd[limit]': [0, 1] } },
  });
  expect(Object.keys(varied?.[0] ?? {})).not.toContain('position');

  const path = { id: ids[0] ?? 0 };
  const updated = await client.PUT(ITEM, { params: { path }, body: { markup_flat: '4.90' } });
  expect(updated.data).toMatchObject({ min_weight: '0.5', markup_flat: '4.90' });

  const refused = await client.PUT(ITEM, { params: { path }, body: { markup_flat: 'much' } });
  expect(refused.error).toMatchObject({ status: 422, errors: [{ pointer: '/markup_flat' }] });
  expect(refused.error?.message).toContain('"markup_flat" must be a decimal number');

  const deleted = await client.DELETE(ITEM, { params: { path } });
  expect(deleted.data?.markup_id).toBe(path.id);
  expect((await client.GET(ITEM, { params: { path } })).response.status).toBe(404);
});
