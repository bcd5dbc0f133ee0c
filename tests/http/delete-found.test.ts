import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { exchange, exchangeJson, type Exchanged } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

type Headers = Readonly<Record<string, string>>;

let server: TestServer;
const send = (title: string, body?: unknown, headers: Headers = {}): Promise<Exchanged> =>
  exchangeJson(server.url, title, body, headers);
const upTo = (most: number | string): Headers => ({ prefer: `max-affected=${most}` });
const codeOf = ({ text }: Exchanged): string => String(JSON.parse(text).type).replace('urn:problem:', '');
const listed = async (path: string): Promise<readonly { readonly id: number }[]> =>
  JSON.parse((await send(`GET /api/${path}`)).text);
const idsOf = async (path: string): Promise<readonly number[]> => (await listed(path)).map(({ id }) => id);

describe('records with others around them', () => {
  beforeAll(async () => {
    server = await startTestServer({
      schemaDirectory: 'tests/fixtures/sets',
      settings: { writeRows: 40 },
    });
  });
  afterAll(() => server.close());

  /** Category 1 takes two memos, two tags, two scrolls and three lines along: with itself, ten rows. */
  beforeEach(async () => {
    for (const path of ['posts', 'memos', 'tags', 'categories'])
      for (const id of await idsOf(path)) await send(`DELETE /api/${path}/${id}`);
    const made = [
      await send('POST /api/categories', {
        id: 1,
        name: 'full',
        tags: [{ word: 'a' }, { word: 'b' }],
        memos: [{ text: 'm' }, { text: 'n' }],
        archive: [
          { text: 's', lines: [{ text: '1' }, { text: '2' }] },
          { text: 't', lines: [{ text: '3' }] },
        ],
      }),
      await send('POST /api/categories', { id: 2, name: 'referred', posts: [{ title: 'p' }] }),
      await send('POST /api/categories', { id: 3, name: 'plain' }),
      await send('POST /api/categories', { id: 4, name: 'plain' }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  });

  test.each(['DELETE /api/categories/3', 'DELETE /api/categories?_cnd[id]=3'])(
    '%s with a body is refused',
    async (title) => {
      const chunked = { ...upTo(1), 'transfer-encoding': 'chunked' };
      for (const [headers, header] of [
        [{ ...upTo(1), 'content-length': '11' }, 'Content-Length'],
        [chunked, 'Transfer-Encoding'],
      ] as const) {
        const { status, text } = await send(title, { ids: [1] }, headers);
        expect([status, JSON.parse(text).errors]).toEqual([
          400,
          [{ header, code: 'unexpected-body', message: expect.stringContaining('takes no body: leave it out') }],
        ]);
      }
      expect(await idsOf('categories')).toEqual([1, 2, 3, 4]);
    },
  );

  test.each<[title: string, headers: Headers]>([
    ['DELETE /api/categories/3', { 'content-length': '0' }],
    ['DELETE /api/categories/3', { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }],
    ['DELETE /api/categories?_cnd[id]=3', { ...upTo(1), 'content-length': '0' }],
    ['DELETE /api/categories?_cnd[id]=3', { ...upTo(1), 'transfer-encoding': 'chunked' }],
  ])('%s with %j and no bytes is done', async (title, headers) => {
    expect((await exchange(server.url, title, { headers })).status).toBe(200);
    expect(await idsOf('categories')).toEqual([1, 2, 4]);
  });

  test.each<[query: string, most: number, deleted: number, affected: number, left: readonly number[]]>([
    ['_cnd[name]=plain', 2, 2, 2, [1, 2]],
    ['_cnd[name]=plain&_cnd[id][gt]=3', 1, 1, 1, [1, 2, 3]],
    ['_cnd[name]=full', 10, 1, 10, [2, 3, 4]],
    ['_cnd[id][in]=1&_cnd[id][in]=3', 11, 2, 11, [2, 4]],
    ['_cnd[name]=nothing', 0, 0, 0, [1, 2, 3, 4]],
    ['_cnd[$any][0][id]=3&_cnd[$any][1][id]=4', 1000, 2, 2, [1, 2]],
    ['_cnd[tags][$some][0][word]=a', 10, 1, 10, [2, 3, 4]],
    ['_cnd[posts][$count]=0&_cnd[name]=plain', 5, 2, 2, [1, 2]],
  ])(
    'DELETE /api/categories?%s, at most %i, and the same request again: %i, with others %i',
    async (query, most, deleted, affected, left) => {
      const headers = { ...upTo(most), 'idempotency-key': query };
      for (let times = 1; times <= 2; times += 1) {
        const answer = await send(`DELETE /api/categories?${query}`, undefined, headers);
        expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { deleted, affected }]);
        expect(answer.headers['preference-applied']).toBe(`max-affected=${most}`);
      }
      expect(await idsOf('categories')).toEqual(left);
    },
  );

  test('refuses more rows than one write may touch', async () => {
    const tags = Array.from({ length: 50 }, (_, index) => send('POST /api/tags', { word: `t${index}` }));
    expect(new Set((await Promise.all(tags)).map(({ status }) => status))).toEqual(new Set([201]));
    const answer = await send('DELETE /api/tags?_cnd[word][like]=t*', undefined, upTo(1000));
    expect([answer.status, codeOf(answer)]).toEqual([422, 'too-many-rows']);
    expect(await idsOf('tags')).toHaveLength(52);
    const exact = await send('DELETE /api/tags?_cnd[word][like]=t1*', undefined, upTo(40));
    expect(JSON.parse(exact.text)).toEqual({ deleted: 11, affected: 11 });
  });

  test.each<[query: string, headers: Headers, place: string, code: string]>([
    ['', upTo(1), '_cnd', 'required'],
    ['?dryRun=true', upTo(1), '_cnd', 'required'],
    ['?_cnd[limit]=0&_cnd[limit]=2', upTo(1), '_cnd[limit]', 'unknown-parameter'],
    ['?_cnd[id]=3&_cnd[limit]=0&_cnd[limit]=2', upTo(1), '_cnd[limit]', 'unknown-parameter'],
    ['?_cnd[id]=3&_cnd[orderBy]=id', upTo(1), '_cnd[orderBy]', 'unknown-parameter'],
    ['?_cnd[id]=3&after=x', upTo(1), 'after', 'unknown-parameter'],
    ['?_cnd[id]=3&fields=id', upTo(1), 'fields', 'unknown-parameter'],
    ['?_cnd[nmae]=3', upTo(1), '_cnd[nmae]', 'unknown-field'],
    ['?_cnd[id]=3', {}, 'Prefer', 'required'],
    ['?_cnd[id]=3', { prefer: 'return=minimal' }, 'Prefer', 'required'],
    ['?_cnd[id]=3', upTo('many'), 'Prefer', 'invalid-value'],
    ['?_cnd[id]=3', upTo('-1'), 'Prefer', 'invalid-value'],
    ['?_cnd[id]=3', upTo('1.5'), 'Prefer', 'invalid-value'],
    ['?_cnd[id]=3', { ...upTo(1), 'if-match': '"x"' }, 'If-Match', 'not-for-several'],
    ['?_cnd[id]=3', { ...upTo(1), 'if-none-match': '*' }, 'If-None-Match', 'not-for-several'],
  ])('DELETE /api/categories%s %j is 400', async (query, headers, place, code) => {
    const answer = await send(`DELETE /api/categories${query}`, undefined, headers);
    expect(answer.status).toBe(400);
    const [fault] = JSON.parse(answer.text).errors;
    expect([fault.parameter ?? fault.header, fault.code]).toEqual([place, code]);
    expect(await idsOf('categories')).toEqual([1, 2, 3, 4]);
  });

  test.each(['PATCH /api/categories', 'PATCH /api/categories/1', 'PUT /api/categories/1', 'POST /api/categories'])(
    '%s with a filter says that changes by filter do not exist',
    async (request) => {
      for (const parameter of ['_cnd[id]', '_cnd[name][like]', 'filter']) {
        const answer = await send(`${request}?${parameter}=3`, { name: 'x' });
        const { errors } = JSON.parse(answer.text);
        expect([answer.status, errors[0].parameter, errors[0].code]).toEqual([400, parameter, 'unknown-parameter']);
        expect(errors[0].message).toContain('changes by filter do not exist: send PATCH with an array of records');
      }
      expect(JSON.parse((await send(`${request}?dryrun=true`, { name: 'x' })).text).message).toContain('"dryRun"');
    },
  );

  test.each([
    ['categories?_cnd[archive][$some][text][like]=*s*', {}],
    ['categories?_cnd[tags][$none][word]=z&_cnd[name]=full', {}],
    ['scrolls?_cnd[text][like]=*s*', {}],
    ['scrolls?_cnd[text][like]=*s*', { 'idempotency-key': 'scrolls' }],
  ])('DELETE /api/%s while others write', async (path, headers) => {
    // So that the search takes longer than a write.
    for (let count = 0; count < 4; count += 1)
      await send('POST /api/scrolls', { text: 'x'.repeat(500_000), category: { id: 4 } });
    const others = Array.from({ length: 100 }, (_, count) => count);
    const writing = async (): Promise<void> => {
      while (others.pop() !== undefined) expect((await send('POST /api/posts', { title: 'another' })).status).toBe(201);
    };
    const written = Promise.all([writing(), writing(), writing()]);
    const { status, text } = await send(`DELETE /api/${path}`, undefined, { ...upTo(10), ...headers });
    others.length = 0;
    await written;
    expect([status, JSON.parse(text).deleted]).toEqual([200, 1]);
  });
});

describe('records that refer to each other', () => {
  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested' });
    const owner = (id: number, friend?: number): Promise<Exchanged> =>
      send('POST /api/owners', { id, rank: id, ...(friend === undefined ? {} : { friend: { id: friend } }) });
    const made = [await owner(1), await owner(2, 1), await owner(3, 2), await owner(4, 3)];
    made.push(await send('PUT /api/owners/1', { friend: { id: 2 } }));
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 200]);
  });
  afterAll(() => server.close());

  test('are deleted together, unless a remaining record refers to one of them', async () => {
    const some = await send('DELETE /api/owners?_cnd[id][lte]=2', undefined, upTo(9));
    expect([some.status, JSON.parse(some.text).detail]).toEqual([409, 'Owner 3 refers to Owner 2']);
    const more = await send('DELETE /api/owners?_cnd[id][lte]=3', undefined, upTo(9));
    expect([more.status, JSON.parse(more.text).detail]).toEqual([409, 'Owner 4 refers to Owner 3']);
    const all = await send('DELETE /api/owners?_cnd[id][lte]=4', undefined, upTo(9));
    expect([all.status, JSON.parse(all.text)]).toEqual([200, { deleted: 4, affected: 4 }]);
  });
});

describe('with preconditions: required', () => {
  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/schemas/preconditions-required' });
  });
  afterAll(() => server.close());

  test('405', async () => {
    const { paths } = JSON.parse((await send('GET /openapi.json')).text);
    const path = Object.keys(paths).find((one) => one.startsWith('/api/') && !one.includes('{')) ?? '';
    const answer = await send(`DELETE ${path}?_cnd[id]=1`, undefined, upTo(1));
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET, HEAD, POST, PATCH, OPTIONS']);
    expect(JSON.parse(answer.text).detail).toContain(': no filter can name the tag of each record, which ');
    expect(Object.keys(paths[path])).not.toContain('delete');
  });
});

describe('tokens', () => {
  const [root, reader, writer] = [createToken(), createToken(), createToken()];
  const bearer = (token: string, headers: Headers = {}): Headers => ({ ...headers, authorization: `Bearer ${token}` });
  beforeAll(async () => {
    const tokens = [
      tokenLine({ name: 'root', read: 'all', write: 'all' }, root),
      tokenLine({ name: 'reader', read: 'all', write: new Set() }, reader),
      tokenLine({ name: 'writer', read: new Set(), write: new Set(['Purchase']) }, writer),
    ].join(';');
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/access', settings: { tokens } });
    const body = { code: 'A', customer: { id: 1 }, stickers: [{ word: 's' }, { word: 't' }] };
    expect((await send('POST /api/purchases', body, bearer(root))).status).toBe(201);
  });
  afterAll(() => server.close());

  test('of a reader: 403', async () => {
    const answer = await send('DELETE /api/purchases?_cnd[code]=A', undefined, bearer(reader, upTo(9)));
    expect([answer.status, codeOf(answer)]).toEqual([403, 'forbidden']);
  });

  test('filters see only what the token may read', async () => {
    const answer = await send('DELETE /api/purchases?_cnd[customer.name]=Ada', undefined, bearer(writer, upTo(9)));
    expect(answer.status).toBe(400);
  });
});
