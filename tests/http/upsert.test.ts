import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange, exchangeJson, type Exchanged } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

type Headers = Readonly<Record<string, string>>;

let server: TestServer;
const send = (title: string, body?: unknown, headers: Headers = {}, url = server.url): Promise<Exchanged> =>
  exchangeJson(url, title, body, headers);
const bodyOf = ({ text }: Exchanged) => JSON.parse(text);
const placesOf = (answer: Exchanged): string =>
  bodyOf(answer)
    .errors.map(({ pointer, parameter, header, code }: Headers) => `${pointer ?? parameter ?? header} ${code}`)
    .join(' | ');

describe('one service', () => {
  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested' });
  });
  afterAll(() => server.close());

  beforeEach(async () => {
    for (const path of ['things', 'owners'])
      for (const { id } of bodyOf(await send(`GET /api/${path}?fields=id`))) await send(`DELETE /api/${path}/${id}`);
    expect((await send('POST /api/owners', { id: 1, code: 'A', rank: 1, name: 'Ann' })).status).toBe(201);
    expect((await send('POST /api/things', { id: 1, name: 't', price: '1.00', owner: { id: 1 } })).status).toBe(201);
  });

  test('by the identifier: those that are there are changed, the others created', async () => {
    const body = [
      { id: 1, name: 'Anna' },
      { id: 77, code: 'B', rank: 2, name: 'Bea' },
      { id: null, code: 'C', rank: 3, name: 'Cleo' },
      { code: 'D', rank: 4, name: 'Dora' },
    ];
    const answer = await send('POST /api/owners?on=id&fields=name,code', body);
    expect([answer.status, bodyOf(answer)]).toEqual([
      200,
      [
        { id: 1, name: 'Anna', code: 'A' },
        { id: 77, name: 'Bea', code: 'B' },
        { id: expect.any(Number), name: 'Cleo', code: 'C' },
        { id: expect.any(Number), name: 'Dora', code: 'D' },
      ],
    ]);
    const table = { 'Content-Type': 'text/csv' };
    const rows = await exchange(server.url, 'POST /api/owners?on=id&fields=name', {
      headers: table,
      body: 'id,code,rank,name\r\n77,B,2,Berta\r\n78,E,5,Eva\r\n',
    });
    expect([rows.status, rows.text]).toEqual([200, '[{"id":77,"name":"Berta"},{"id":78,"name":"Eva"}]']);
    const twice = await send('POST /api/owners?on=id', [
      { id: 77, name: 'x' },
      { id: 77, name: 'y' },
    ]);
    expect([twice.status, placesOf(twice)]).toEqual([422, '/1/id duplicate']);
    const wrong = await send('POST /api/owners?on=id', [{ id: 'x', code: 'F', rank: 6, name: 'Fay' }]);
    expect([wrong.status, placesOf(wrong)]).toEqual([422, '/0/id type']);
    const put = await send('PUT /api/owners?on=id', { id: 77, name: 'z' });
    expect([put.status, placesOf(put)]).toEqual([400, 'on not-unique']);
    expect(put.text).toContain('POST with on=id creates or changes records by their identifiers');
  });

  test('of many, each is found by its own values, wherever in the array it stands', async () => {
    const NUMBER = 150;
    const all = (name: string) =>
      Array.from({ length: NUMBER }, (_, index) => ({
        code: `c${index}`,
        rank: 100 + index,
        name: `${name} ${index}`,
      }));
    const present = all('old').filter((_, index) => index % 3 !== 1);
    const made = await send('POST /api/owners', present);
    expect(made.status).toBe(201);
    const answer = await send('POST /api/owners?on=code&fields=name', all('new'));
    expect([answer.status, bodyOf(answer).map(({ name }: Headers) => name)]).toEqual([
      200,
      all('new').map(({ name }) => name),
    ]);
    const owners: Headers[] = bodyOf(await send('GET /api/owners?fields=code,rank,name'));
    expect(owners).toHaveLength(NUMBER + 1);
    const numbers = new Set(bodyOf(answer).map(({ id }: { readonly id: number }) => id));
    for (const { id } of bodyOf(made)) expect(numbers.has(id)).toBe(true);

    // By two members, one of them a link; a new owner has no things yet, and null is never found.
    const things = Array.from({ length: 70 }, (_, index) => ({ name: `n${index}`, owner: { id: 1 } }));
    expect((await send('POST /api/things', things.slice(0, 65))).status).toBe(201);
    const both = things.map((thing) => ({ ...thing, price: '5.00' }));
    const again = await send('POST /api/things?on=name,owner&fields=price,name', both);
    expect(again.status).toBe(200);
    const found: Headers[] = bodyOf(await send('GET /api/things?fields=price,name'));
    expect(found).toHaveLength(71);
    expect(found.filter(({ price }) => price === '5.00')).toHaveLength(70);
  });

  test.each<[title: string, body: unknown, status: number, places: string]>([
    ['PUT /api/owners?on=code', { name: 'x', rank: 5 }, 422, '/code required'],
    ['PUT /api/owners?on=code', { code: '\0', rank: 0 }, 422, '/code nul-character | /rank minimum'],
    ['PUT /api/owners?on=code', { code: 7 }, 422, '/code type | /rank required'],
    ['PUT /api/owners?on=code', { code: 'N' }, 422, '/rank required'],
    ['PUT /api/owners?on=code', { code: 'A', id: 2 }, 422, '/id read-only'],
    ['PUT /api/things?on=owner,name', { name: 't', owner: null }, 422, '/owner required'],
    [
      'POST /api/owners?on=code',
      ['A', 'N', 'A', 'N'].map((code) => ({ code, rank: 1 })),
      422,
      '/2/code duplicate | /3/code duplicate',
    ],
    [
      'POST /api/owners?on=code',
      [{ code: 'A', rank: 'x' }, { rank: 0 }, { code: 'N', id: 'y', rnk: 1 }],
      422,
      '/0/rank type | /1/rank minimum | /1/code required | /2/id type | /2/rnk unknown-key',
    ],
    ['PUT /api/owners', { code: 'A' }, 400, 'on required'],
    ['PUT /api/owners?on=name', { code: 'A' }, 400, 'on not-unique'],
    ['PUT /api/owners?on=code&on=code', { code: 'A' }, 400, 'on repeated'],
  ])('%s %j is %i', async (title, body, status, places) => {
    const answer = await send(title, body);
    expect([answer.status, placesOf(answer)]).toEqual([status, places]);
  });

  test('If-Match and If-None-Match are about the record that is found', async () => {
    const url = 'PUT /api/owners?on=code';
    const tag = String((await send('GET /api/owners/1')).headers['etag']);
    const put = (code: string, rank: number, headers: Headers) => send(url, { code, rank }, headers);
    expect((await put('A', 1, { 'if-none-match': '*' })).status).toBe(412);
    expect((await put('N', 5, { 'if-none-match': '*' })).status).toBe(201);
    expect((await put('A', 1, { 'if-match': '"other"' })).status).toBe(412);
    expect((await put('A', 1, { 'if-match': tag })).status).toBe(200);
    expect((await put('A', 1, { 'if-match': '*' })).status).toBe(200);
    expect((await put('M', 6, { 'if-match': '*' })).status).toBe(412);
    expect((await put('M', 6, { 'if-match': tag })).status).toBe(412);
  });

  test('under an Idempotency-Key once', async () => {
    const headers = { 'idempotency-key': 'k1' };
    const body = { code: 'K', rank: 5 };
    const first = await send('PUT /api/owners?on=code', body, headers);
    const again = await send('PUT /api/owners?on=code', body, headers);
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect((await send('PUT /api/owners?on=code', { ...body, rank: 6 }, headers)).status).toBe(422);
    expect((await send('PUT /api/owners?on=code', body, { prefer: 'return=minimal' })).status).toBe(204);
  });
});

describe('fifty writers at several services', () => {
  let database: TestDatabase;
  const servers: TestServer[] = [];
  beforeAll(async () => {
    database = await createDatabase();
    for (let count = 0; count < 3; count += 1)
      servers.push(await startTestServer({ schemaDirectory: 'tests/fixtures/nested', database }));
    [server] = servers as [TestServer];
  });
  afterAll(async () => {
    for (const one of servers.toReversed()) await one.close().catch(() => undefined);
  });
  const urlOf = (index: number): string => servers[index % servers.length]?.url ?? '';

  test('create one record for each key, and no request fails', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const sent = Array.from({ length: 50 }, (_, index) => {
      const key = index % keys.length;
      return send('PUT /api/owners?on=code', { code: keys[key], rank: key + 1, name: `w${index}` }, {}, urlOf(index));
    });
    const answers = await Promise.all(sent);
    expect(answers.filter(({ status }) => status !== 200 && status !== 201).map(({ text }) => text)).toEqual([]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(keys.length);
    expect(bodyOf(await send('GET /api/owners?fields=code'))).toHaveLength(keys.length);
  });
});

describe('rights and preconditions', () => {
  const [reader, writer] = [createToken(), createToken()];
  beforeAll(async () => {
    const tokens = [
      tokenLine({ name: 'reader', read: 'all', write: new Set() }, reader),
      tokenLine({ name: 'writer', read: new Set(), write: new Set(['Purchase', 'Invoice']) }, writer),
    ].join(';');
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/access', settings: { tokens } });
  });
  afterAll(() => server.close());

  test('a token needs both rights, and names only what it may read', async () => {
    const put = (title: string, token: string, body: object) =>
      send(`PUT ${title}`, body, { authorization: `Bearer ${token}` });
    expect((await put('/api/purchases?on=code', reader, { code: 'A' })).status).toBe(403);
    expect((await put('/api/purchases?on=code', writer, { code: 'A' })).status).toBe(201);
    expect((await put('/api/purchases?on=code', writer, { code: 'A' })).status).toBe(200);
    // It may not create invoices, which require a customer that it may not read.
    expect([403, 405]).toContain((await put('/api/invoices?on=number,payer', writer, { number: 1 })).status);
  });
});
