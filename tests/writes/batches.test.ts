import { ask, type Answer } from '../support/ask.ts';
import { askRow, faultsIn, rowsOf } from '../support/table.ts';
import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const nested = useServer({ schemaDirectory: 'tests/fixtures/nested', settings: { batchLimit: 50 } });
const plain = useServer({ schemaDirectory: 'tests/fixtures/http' });

/** `422 /0/rank minimum | /1 type`. */
const toldBy = (answer: Answer): string => `${answer.status} ${faultsIn(answer)}`;

let ranks = 0;
const rank = (): number => (ranks += 1);

async function owners(count: number): Promise<readonly { id: number; name: string; rank: number }[]> {
  const bodies = Array.from({ length: count }, (_, index) => ({ name: `o${index}`, rank: rank() }));
  const { status, body } = await ask(nested.url, 'POST /api/owners?include=', bodies);
  expect(status).toBe(201);
  return body as never;
}

beforeAll(() => owners(2));

const count = async (path: string): Promise<string | null> =>
  (await ask(nested.url, `GET ${path}?_cnd[limit]=0`)).headers.get('x-total-count');

describe('POST of an array', () => {
  test('of no records makes none', async () => {
    expect(await ask(nested.url, 'POST /api/owners', [])).toMatchObject({ status: 201, body: [] });
    expect(await ask(nested.url, 'PATCH /api/owners', [])).toMatchObject({ status: 200, body: [] });
  });

  test('accepts the maximum number of records', () => owners(50));

  test.each(
    rowsOf(String.raw`
      [{"rank":0},7,null,[[{"data":{"a":1}}]],{"nmae":"x","data":"\u0000"}] => 422 /0/rank minimum | /1 type | /2 type | /3 type | /4/nmae unknown-key | /4/data nul-character | /4/rank required
      [{"rank":1},{"rank":2,"name":"\u0000"}] => 422 /1/name nul-character
      [{"rank":1,"@etag":"\"x\""}] => 422 /0/@etag reserved-key
      [{"rank":991,"friend":{"id":1,"name":"x"}},{"rank":992,"friend":{"id":1,"name":"y"}}] => 422 /1/friend/name contradiction
      [{"rank":991},{"rank":993,"code":"c"},{"rank":992,"code":"c"}] => 409 /2/code unique
      [{"rank":1},{"rank":991},{"rank":2},{"rank":991}] => 409 /0/rank unique | /2/rank unique | /3/rank unique
      [${'{},'.repeat(50)}{}] => 413  batch-too-large
    `),
  )('%s: %s, and nothing is written', async (items, told) => {
    const before = await count('/api/owners');
    expect(toldBy(await askRow(nested.url, `POST /api/owners ${items}`))).toEqual(told);
    expect(await count('/api/owners')).toBe(before);
  });

  test('is carried out once under a key', async () => {
    const text = JSON.stringify([{ rank: rank() }, { rank: rank() }]);
    const send = (body: string) =>
      exchange(nested.url, 'POST /api/owners', {
        headers: { 'content-type': 'application/json', 'idempotency-key': 'batch-1' },
        body,
      });
    const [first, again, other] = [await send(text), await send(text), await send('[]')];
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect(other.status).toBe(422);
  });
});

describe('PATCH of an array', () => {
  test.each(
    rowsOf(String.raw`
      {"id":$a,"name":"x"} => 422  type
      [{"id":$a},{"name":"x"},{"id":null},{"id":"x"}] => 422 /1/id required | /2/id required | /3/id type
      [{"id":$a,"rank":0},{"id":$b,"name":1}] => 422 /0/rank minimum | /1/name type
      [{"id":$a},{"id":999998},{"id":999999}] => 404 /1/id not-found | /2/id not-found
      [{"id":$a,"@etag":"\"x\""},{"id":$b}] => 412 /0/@etag precondition-failed
      [{"id":$b,"rank":1},{"id":$a,"rank":2}] => 409 /0/rank unique | /1/rank unique
    `),
  )('%s: %s, and nothing is changed', async (items, told) => {
    const [a, b] = await owners(2);
    const before = (await ask(nested.url, 'GET /api/owners')).body;
    const body = items.replaceAll('$a', String(a?.id)).replaceAll('$b', String(b?.id));
    expect(toldBy(await askRow(nested.url, `PATCH /api/owners ${body}`))).toEqual(told);
    expect((await ask(nested.url, 'GET /api/owners')).body).toEqual(before);
  });
});

describe('headers of a batch', () => {
  const PATCH_BATCH = { 'content-type': 'application/merge-patch+json' };
  test.each<[title: string, headers: Record<string, string>, body: string, status: number, fault: string | undefined]>([
    ['POST /api/gadgets', { 'if-match': '"x"' }, '[{}]', 400, 'If-Match'],
    ['POST /api/gadgets', { 'if-match': '*' }, '[{}]', 400, 'If-Match'],
    ['PATCH /api/gadgets', { 'if-match': '"x"' }, '[]', 400, 'If-Match'],
    ['PATCH /api/gadgets', { 'if-none-match': '*' }, '[]', 400, 'If-None-Match'],
    ['PATCH /api/gadgets', PATCH_BATCH, '[]', 415, 'Content-Type'],
    ['PATCH /api/gadgets', {}, '', 400, ''],
    ['PATCH /api/gadgets', {}, '[{"id":1,"id":1}]', 400, '/0/id'],
    ['PATCH /api/fixed', {}, '[]', 405, undefined],
    ['PUT /api/gadgets', {}, '[]', 405, undefined],
  ])('%s with %j and %s: %d', async (title, headers, body, status, fault) => {
    const answer = await exchange(plain.url, title, {
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const { errors } = JSON.parse(answer.text) as { errors?: readonly Record<string, string>[] };
    const [first] = errors ?? [];
    expect([answer.status, first?.['header'] ?? first?.['pointer']]).toEqual([status, fault]);
  });
});

describe('where preconditions', () => {
  test('are required, each item needs a tag', async () => {
    const { body } = await ask(plain.url, 'POST /api/locked', [{ name: 'a' }, { name: 'b' }]);
    const [a, b] = body as readonly { id: number }[];
    const tag = (await ask(plain.url, `GET /api/locked/${a?.id}`)).headers.get('etag');
    const items = [
      { id: a?.id, '@etag': tag, name: 'x' },
      { id: b?.id, name: 'y' },
    ];
    expect(toldBy(await ask(plain.url, 'PATCH /api/locked', items))).toEqual('428 /1/@etag required');
    expect((await ask(plain.url, 'PATCH /api/locked', items.slice(0, 1))).status).toBe(200);
  });

  test.each<[request: string, body: unknown]>([
    ['PUT', { name: 'b' }],
    ['PATCH', { name: 'b' }],
    ['DELETE', undefined],
    ['GET', undefined],
  ])('are off, If-Match is ignored: %s of one', async (method, body) => {
    const made = await ask(plain.url, 'POST /api/loose', { name: 'a' }, { 'if-match': '"x"' });
    expect(made.status).toBe(201);
    const path = `/api/loose/${(made.body as { id: number }).id}`;
    for (const tag of ['"x"', 'x', 'W/"x"', '*'])
      expect((await ask(plain.url, `${method} ${path}`, body, { 'if-match': tag })).status).toBe(
        method === 'DELETE' && tag !== '"x"' ? 404 : 200,
      );
  });

  test('are off, the tags of items are ignored, and If-Match of arrays and deletions by filters', async () => {
    const headers = { 'if-match': '"x"', prefer: 'max-affected=9' };
    const { status, body } = await ask(plain.url, 'POST /api/loose', [{ name: 'a' }], headers);
    const [a] = body as readonly { id: number }[];
    const items = [{ id: a?.id, '@etag': '"x"' }];
    expect([status, (await ask(plain.url, 'PATCH /api/loose', items, headers)).status]).toEqual([201, 200]);
    expect((await ask(plain.url, `DELETE /api/loose?_cnd[id]=${a?.id}`, undefined, headers)).status).toBe(200);
  });

  test.each(['gadgets', 'locked'])('take "@etag": "*" for any tag of a record that is there: %s', async (path) => {
    const { body } = await ask(plain.url, `POST /api/${path}`, [{ name: 'a' }]);
    const [a] = body as readonly { id: number }[];
    const items = [{ id: a?.id, '@etag': '*', name: 'b' }];
    expect(await ask(plain.url, `PATCH /api/${path}`, items)).toMatchObject({ status: 200, body: [{ name: 'b' }] });
    const gone = [{ id: 99_999_999, '@etag': '*', name: 'b' }];
    expect((await ask(plain.url, `PATCH /api/${path}`, gone)).status).toBe(404);
  });
});
