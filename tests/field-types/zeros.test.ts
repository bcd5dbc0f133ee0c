/** Negative zero is zero: in bodies, filters, CSV, defaults, seeds, checks and unique keys. A decimal keeps its scale. */
import { exchange, type Exchanged } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const FILES = {
  'rate.yaml': `type: Rate
fields:
  price: { type: decimal, precision: 6, scale: 2, default: "-0.0", unique: true }
  low: { type: decimal, precision: 6, scale: 2, minimum: "-0", default: "-0.00" }
  count: { type: integer, enum: [-0, 1], default: -0 }
  weight: { type: number, default: -0.0 }
  raw: { type: any }
checks:
  - must: { low: { gte: "-0.0" } }
operations: [list, get, create, update, delete]
seed:
  - { id: 1, price: "-0.00", low: "-0", count: -0, weight: -0.0 }
`,
};

const JSON_BODY = { 'content-type': 'application/json' };

const server = useServer({ files: FILES });

const send = (title: string, body?: string, headers: Readonly<Record<string, string>> = JSON_BODY) =>
  exchange(server.url, title, body === undefined ? {} : { headers, body });
const remove = (): Promise<Exchanged> =>
  exchange(server.url, 'DELETE /api/rates?_cnd[id][gte]=1', { headers: { prefer: 'max-affected=100' } });

test('a seed', async () => {
  const { text } = await send('GET /api/rates/1');
  expect(text).toBe('{"id":1,"price":"0.00","low":"0","count":0,"weight":0,"raw":null}');
});

describe('a body', () => {
  beforeEach(remove);

  test.each(['POST /api/rates', 'PUT /api/rates?on=price', 'POST /api/rates?on=price'])('%s', async (title) => {
    const record = '{"id":7,"price":"-0.00","low":"-0","count":-0,"weight":-0.0e5,"raw":[-0.00]}';
    const { status, text } = await send(title, title.startsWith('PUT') ? record : `[${record}]`);
    expect([status, text.replace(/^\[|\]$/g, '')]).toEqual([
      title.includes('on=') && !title.startsWith('PUT') ? 200 : 201,
      '{"id":7,"price":"0.00","low":"0","count":0,"weight":0,"raw":[-0.00]}',
    ]);
    expect((await send('PATCH /api/rates/7', '{"price":"-0","low":"-0.0"}')).text).toContain('"price":"0","low":"0.0"');
    expect((await send('PATCH /api/rates', '[{"id":7,"price":"-0.0"}]')).text).toContain('"price":"0.0"');
  });

  test('of defaults', async () => {
    const { text } = await send('POST /api/rates', '{"id":7}');
    expect(text).toBe('{"id":7,"price":"0.0","low":"0.00","count":0,"weight":0,"raw":null}');
  });

  test('of CSV', async () => {
    const csv = 'id,price,low,count,weight\n7,-0.00,-0,-0,-0.0\n';
    const { status, text } = await send('POST /api/rates', csv, { 'content-type': 'text/csv' });
    expect([status, text]).toEqual([201, '[{"id":7,"price":"0.00","low":"0","count":0,"weight":0,"raw":null}]']);
  });

  test('-0 and 0 are one unique value', async () => {
    await send('POST /api/rates', '{"id":7,"price":"0"}');
    expect((await send('POST /api/rates', '{"price":"-0.00"}')).status).toBe(409);
    expect((await send('POST /api/rates', '[{"price":"1"},{"price":"-0"},{"price":"0.0"}]')).status).toBe(409);
    expect((await send('POST /api/rates?on=price', '[{"price":"-0"},{"price":"0.0"}]')).status).toBe(422);
    expect((await send('POST /api/rates?on=price', '[{"price":"-0"}]')).text).toContain('"id":7');
  });
});

test.each(
  (
    'price=-0 price=-0.00 price[in]=-0.0,1 price[lte]=-0.0&_cnd[price][gte]=-0 count=-0 count=-0.0 ' +
    'count[in]=-0,1 weight=-0 weight=-0.00 weight[gte]=-0.0&_cnd[weight][lte]=-0e3'
  ).split(' '),
)('a filter: _cnd[%s', async (filter) => {
  await remove();
  await send('POST /api/rates', '{"id":7,"price":"0.0","count":0,"weight":0}');
  const query = filter.replace(/^(\w+)/, '_cnd[$1]');
  const { status, text } = await send(`GET /api/rates?fields=price&${query}`);
  expect([status, text]).toEqual([200, '[{"id":7,"price":"0.0"}]']);
});

test('a page behind a zero', async () => {
  await remove();
  await send('POST /api/rates', '[{"id":7,"price":"-0.00"},{"id":8,"price":"1"}]');
  const first = await send('GET /api/rates?fields=price&_cnd[orderBy]=price&_cnd[limit]=0&_cnd[limit]=1');
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(first.headers['link'])) ?? [];
  expect((await send(`GET ${next}`)).text).toBe('[{"id":8,"price":"1"}]');
});
