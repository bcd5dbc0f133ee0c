import { createToken, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import { exchange, exchangeJson, type Exchanged } from '../support/exchange.ts';
import { startTestServer, useServer } from '../support/server.ts';

type Headers = Readonly<Record<string, string>>;

const server = useServer({ schemaDirectory: 'tests/fixtures/dialects' });
const send = (title: string, body?: unknown, headers: Headers = {}): Promise<Exchanged> =>
  exchangeJson(server.url, title, body, headers);

const query = (parameters: Readonly<Record<string, unknown>>): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`)
    .join('&');

interface Shown {
  readonly id: number;
}
const idsIn = ({ text }: Exchanged): readonly number[] => (JSON.parse(text) as readonly Shown[]).map(({ id }) => id);

beforeAll(async () => {
  const author = (id: number, name: string, rank: number, more: object = {}): Promise<Exchanged> =>
    send('POST /json-server/authors', { id, name, rank, ...more });
  const made = [
    await author(1, 'Ann', 10, {
      books: [
        { title: 'A', blurb: 'red' },
        { title: 'B', price: '4.90' },
      ],
    }),
    await author(2, 'Bob', 20, { alive: false, mentor: { author_id: 1 } }),
    await author(3, 'Cid, the', 20, { rank_gte: 7 }),
    await author(4, 'Dee', 40),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
});

describe('lists', () => {
  test.each<[query: string, ids: readonly number[]]>([
    ['', [1, 2, 3, 4]],
    ['?_start=1&_limit=1', [2]],
    ['?_start=2', [3, 4]],
    ['?_start=3&_end=1', []],
    ['?_page=2', []],
    ['?_sort=rank,id&_order=desc,asc', [4, 2, 3, 1]],
    ['?_sort=id&_order=DESC&_start=0&_end=2', [4, 3]],
    ['?id=1&id=3', [1, 3]],
    ['?rank=20', [2, 3]],
    ['?rank_lte=20', [1, 2, 3]],
    ['?rank:gte=20', [2, 3, 4]],
    ['?rank_ne=20', [1, 4]],
    ['?name:in=Ann,Bob', [1, 2]],
    ['?name:eq=n', []],
    ['?rank:eq_any=10,40', [1, 4]],
    ['?name_like=B', [2]],
    ['?name:contains=e', [3, 4]],
    ['?name:endsWith=n', [1]],
    ['?q=d', [3, 4]],
    ['?mentor=1', [2]],
    ['?mentor.name_like=nn', [2]],
    ['?_embed=mentor&id=2', [2]],
  ])('GET /json-server/authors%s', async (search, ids) => {
    const answer = await send(`GET /json-server/authors${search}`);
    expect([answer.status, idsIn(answer)]).toEqual([200, ids]);
    expect(Object.keys(JSON.parse(answer.text)[0] ?? { id: 1 })[0]).toBe('id');
    expect(Number(answer.headers['x-total-count'])).toBeGreaterThanOrEqual(ids.length);
  });

  test.each<[parameters: Readonly<Record<string, unknown>>, ids: readonly number[], range: string]>([
    [{}, [1, 2, 3, 4], '0-3/4'],
    [{ range: [0, 1], sort: ['id', 'ASC'], filter: {} }, [1, 2], '0-1/4'],
    [{ range: [2, 9] }, [3, 4], '2-3/4'],
    [{ range: [8, 9] }, [], '*/4'],
    [{ range: [0, -1] }, [], '*/4'],
    [{ sort: ['rank', 'DESC'] }, [4, 3, 2, 1], '0-3/4'],
    [{ sort: ['rank', 'DESC', 'id', 'ASC'] }, [4, 2, 3, 1], '0-3/4'],
    [{ sort: ['mentor.name', 'desc'], range: [0, 0] }, [2], '0-0/4'],
    [{ filter: { id: [1, 3] } }, [1, 3], '0-1/2'],
    [{ filter: { id: ['1', '3'] } }, [1, 3], '0-1/2'],
    [{ filter: { id: [] } }, [], '*/0'],
    [{ filter: { rank_ne: [] } }, [1, 2, 3, 4], '0-3/4'],
    [{ filter: { rank: 20 } }, [2, 3], '0-1/2'],
    [{ filter: { rank: 20, alive: true } }, [3], '0-0/1'],
    [{ filter: { rank_lte: 20, 'rank:gt': 10 } }, [2, 3], '0-1/2'],
    [{ filter: { rank_gte: 7 } }, [3], '0-0/1'],
    [{ filter: { rank_gte: null } }, [1, 2, 4], '0-2/3'],
    [{ filter: { name_q: 'b' } }, [2], '0-0/1'],
    [{ filter: { q: 'd' } }, [3, 4], '0-1/2'],
    [{ filter: { mentor: 1 } }, [2], '0-0/1'],
    [{ filter: { mentor: null } }, [1, 3, 4], '0-2/3'],
    [{ filter: { mentor_ne: null } }, [2], '0-0/1'],
    [{ filter: { mentor: { name: 'Ann' } } }, [2], '0-0/1'],
    [{ filter: { name: 'null' } }, [], '*/0'],
    [{ filter: { name: ['Cid, the', 'Ann'] } }, [1, 3], '0-1/2'],
    [{ embed: ['mentor'], filter: { id: 2 } }, [2], '0-0/1'],
  ])('GET /simple-rest/authors %j', async (parameters, ids, range) => {
    const answer = await send(`GET /simple-rest/authors?${query(parameters)}`);
    expect([answer.status, idsIn(answer), answer.headers['content-range']]).toEqual([200, ids, `authors ${range}`]);
  });

  const many = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);
  const idQuery = (count: number): string => `id=${many(count).join('&id=')}`;

  test.each([
    ['json-server/authors', idQuery(1000)],
    ['json-server/authors', `id_in=${many(1000).join(',')}`],
    ['simple-rest/authors', query({ filter: { id: many(1000) } })],
  ])('GET /%s by as many identifiers as a list may have records', async (path, search) => {
    const answer = await send(`GET /${path}?${search}`);
    expect([answer.status, idsIn(answer)]).toEqual([200, [1, 2, 3, 4]]);
  });

  test.each([
    ['json-server/authors', 'id', 'at most 1000 values', idQuery(1001)],
    ['json-server/authors', 'rank', 'at most 100 values', `rank=${many(101).join('&rank=')}`],
    ['json-server/books', 'author', 'at most 100 values', `author=${many(101).join('&author=')}`],
    ['api/authors', '_cnd[author_id][in]', 'at most 100 values', `_cnd[author_id][in]=${many(101).join(',')}`],
  ])('GET /%s by too many of %s', async (path, parameter, message, search) => {
    const { status, text } = await send(`GET /${path}?${search}`);
    expect([status, JSON.parse(text).errors[0]]).toEqual([
      400,
      { parameter, code: 'too-many', message: expect.stringContaining(message) },
    ]);
  });

  const refused = test.each<[path: string, parameter: string, code: string, message: string]>([
    ['json-server/authors?rnak=1', 'rnak', 'unknown-parameter', 'Unknown parameter "rnak"; did you mean "rank"?'],
    ['json-server/authors?rnak_ne=1', 'rnak_ne', 'unknown-parameter', '; did you mean "rank"?'],
    ['json-server/authors?nam:startsWith=1', 'nam:startsWith', 'unknown-parameter', '; did you mean "name"?'],
    ['json-server/authors?mentor.nam=x', 'mentor.nam', 'unknown-parameter', '; did you mean "name"?'],
    ['json-server/authors?mentro.name_ne=x', 'mentro.name_ne', 'unknown-parameter', '; did you mean "mentor"?'],
    ['json-server/authors?books.titel_like=x', 'books.titel_like', 'unknown-parameter', 'did you mean "title"?'],
    ['json-server/authors?limit=5', 'limit', 'unknown-parameter', 'did you mean "_limit"?'],
    ['json-server/cards?q=x', 'q', 'unknown-parameter', 'No field can be searched'],
    [
      'json-server/authors?rank_gtee=5',
      'rank_gtee',
      'unknown-parameter',
      '"rank" has no comparison "gtee"; did you mean "gte"?',
    ],
    ['json-server/authors?_cnd[rank]=5', '_cnd[rank]', 'unknown-parameter', 'parameters like this are for /api'],
    ['json-server/authors?author_id=1', 'author_id', 'unknown-parameter', 'Unknown parameter "author_id"'],
    ['json-server/authors?rank=x', 'rank', 'invalid-value', '"x" is not a valid value of "rank"'],
    ['json-server/authors?rank=1&rank_ne=2&rank_ne=3', 'rank_ne', 'repeated', 'given twice'],
    ['json-server/authors?rank_like=1', 'rank_like', 'unknown-operator', '"like" is not an operator of "rank"'],
    ['json-server/authors?_start=-1', '_start', 'invalid-value', 'not an integer from 0'],
    ['json-server/authors?_page=0', '_page', 'invalid-value', 'not an integer from 1'],
    ['json-server/authors?q=a&q=b', 'q', 'repeated', 'given twice'],
    ['json-server/authors?_sort=rank&_order=asc,desc', '_order', 'misplaced-direction', 'more items than "_sort"'],
    ['json-server/authors?_end=5000', '_end', 'limit-too-large', 'The largest limit of this list is 1000'],
    ['json-server/authors?_page=1&_end=3', '_end', 'mixed-forms', 'together with pages'],
    ['json-server/authors?_order=asc', '_order', 'misplaced-direction', 'needs "_sort"'],
    ['json-server/authors?_sort=rank&_order=up', '_order', 'invalid-value', '"up" is not asc or desc'],
    ['json-server/authors?_sort=rank,name&_order=UP,dsc', '_order', 'invalid-value', '"UP" is not asc or desc'],
    ['json-server/authors?_sort=rank&_order=dsc', '_order', 'invalid-value', 'did you mean "desc"?'],
    ['json-server/authors?_sort=nmae', '_sort', 'unknown-field', 'did you mean "name"?'],
    ['json-server/authors?_embed=bosk', '_embed', 'unknown-relation', 'did you mean "books"?'],
    ['json-server/authors/1?_sort=rank', '_sort', 'unknown-parameter', 'can only be used with lists'],
    ['json-server/authors?name=null', 'name', 'invalid-value', 'use _cnd[name][null]=true'],
    ['json-server/authors?%=1', '%', 'malformed', 'cannot be decoded'],
    ['json-server/books?author.books=1', 'author.books', 'to-many', '(as /api takes it)'],
    ['simple-rest/authors?rang=[0,9]', 'rang', 'unknown-parameter', 'did you mean "range"?'],
    ['simple-rest/authors?rank=5', 'rank', 'unknown-parameter', 'did you mean "filter={"rank":…}"?'],
    ['simple-rest/authors?range=0-9', 'range', 'invalid-value', 'range=[0,24]'],
    ['simple-rest/authors?filter={bad', 'filter', 'invalid-value', 'filter={"name":"x"}'],
    ['simple-rest/authors?range=[0,5000]', 'range', 'limit-too-large', 'largest limit'],
    ['simple-rest/authors?range=[0,1]&range=[0,2]', 'range', 'repeated', 'given twice'],
    ['simple-rest/authors?sort=["rank","UP"]', 'sort', 'invalid-value', '"UP" is not asc or desc'],
    ['simple-rest/authors?sort=["rank"]', 'sort', 'invalid-value', 'sort takes a field and its direction'],
    ['simple-rest/authors?filter={"rank":1,"rank":2}', 'filter', 'invalid-value', 'the key "rank" is repeated'],
    ['simple-rest/authors?filter={"mentor":{"name":"a","name":"b"}}', 'filter', 'invalid-value', 'is repeated'],
    ['simple-rest/authors?filter={"name":"\\ud800"}', 'filter', 'lone-surrogate', 'half of a surrogate pair'],
    ['simple-rest/authors?filter={"name":"\\u0000"}', 'filter', 'nul-character', 'U+0000'],
    ['simple-rest/authors?filter={"\\ud800":1}', 'filter', 'lone-surrogate', 'half of a surrogate pair'],
    ['simple-rest/authors?filter={"__proto__":1}', 'filter', 'reserved-key', 'reserved'],
    ['simple-rest/authors?filter={"rank":1e999}', 'filter', 'number-range', 'too large'],
    ['simple-rest/authors?sort=["\\ud800","ASC"]', 'sort', 'lone-surrogate', 'half of a surrogate pair'],
    ['simple-rest/authors?embed=["\\ud800"]', 'embed', 'lone-surrogate', 'half of a surrogate pair'],
    ['simple-rest/authors?filter={"rank_lt":null}', 'rank_lt', 'invalid-value', 'null'],
    ['simple-rest/authors?filter={"q":null}', 'q', 'invalid-value', 'null'],
    ['simple-rest/authors?filter={"mentor":{"nam":"x"}}', 'mentor.nam', 'unknown-parameter', 'did you mean "name"?'],
    ['simple-rest/authors?filter=[]', 'filter', 'invalid-value', 'takes a JSON object'],
    ['simple-rest/authors?filter={"rnak":1}', 'rnak', 'unknown-parameter', 'did you mean "rank"?'],
    ['simple-rest/authors?filter={"rnak":[]}', 'rnak', 'unknown-parameter', 'did you mean "rank"?'],
    ['simple-rest/authors?filter={"$and":[]}', '$and', 'unknown-parameter', 'Unknown parameter "$and"'],
    ['simple-rest/authors?filter={"mentr_id":[]}', 'mentr_id', 'unknown-parameter', 'did you mean "mentor_id"?'],
    ['json-server/authors?mentr_id=1', 'mentr_id', 'unknown-parameter', 'did you mean "mentor_id"?'],
    ['json-server/authors?_sort=mentr_id', '_sort', 'unknown-field', 'did you mean "mentor_id"?'],
    ['simple-rest/authors?filter={"mentor":{}}', 'mentor', 'invalid-value', 'compared with nothing'],
    ['simple-rest/authors?filter={"rank":[[1]]}', 'rank', 'invalid-value', 'an item that is not a value'],
    ['simple-rest/authors?embed={"a":1}', 'embed', 'invalid-value', 'names of relations'],
  ]);
  refused('GET /%s is 400', async (path, parameter, code, message) => {
    const answer = await send(`GET /${path.replaceAll('"', '%22')}`);
    const { status, errors } = JSON.parse(answer.text);
    expect([status, errors[0].parameter, errors[0].code]).toEqual([400, parameter, code]);
    expect(errors[0].message).toContain(message);
    expect(new Set(errors.map((fault: { parameter: string }) => fault.parameter))).toEqual(new Set([parameter]));
  });

  test.each<[path: string, shown: readonly string[]]>([
    ['json-server/authors/2?_embed=mentor', ['mentor']],
    ['json-server/authors/2?_embed=mentor&_embed=books', ['books', 'mentor']],
    ['simple-rest/authors/2?embed=["mentor","books"]', ['books', 'mentor']],
  ])('GET /%s shows %j', async (path, shown) => {
    const { text } = await send(`GET /${path.replaceAll('"', '%22')}`);
    const relations = Object.keys(JSON.parse(text)).filter((key) => key === 'mentor' || key === 'books');
    expect(relations).toEqual(shown);
  });

  test('json-server 0 has page links in the Link header, json-server 1 in the body', async () => {
    const old = await send('GET /json-server/authors?_page=2&_limit=1&rank_lte=20');
    const url = (page: number, name: string): string =>
      `</json-server/authors?_page=${page}&_limit=1&rank_lte=20>; rel="${name}"`;
    expect(old.headers['link']).toBe([url(1, 'first'), url(1, 'prev'), url(3, 'next'), url(3, 'last')].join(', '));
    expect([idsIn(old), old.headers['x-total-count']]).toEqual([[2], '3']);
    const { text } = await send('GET /json-server/authors?_page=2&_per_page=3');
    const { data, ...pages } = JSON.parse(text);
    expect(pages).toEqual({ first: 1, prev: 1, next: null, last: 2, pages: 2, items: 4 });
    expect(data.map(({ id }: Shown) => id)).toEqual([4]);
    expect(JSON.parse((await send('GET /json-server/authors?_per_page=3')).text).data).toHaveLength(3);
    const { text: none } = await send('GET /json-server/authors?rank=9&_per_page=3');
    expect(JSON.parse(none)).toEqual({ first: 1, prev: null, next: null, last: 1, pages: 1, items: 0, data: [] });
  });
});

describe.each(['json-server', 'simple-rest'])('records of /%s', (root) => {
  const at = (path: string): string => `/${root}/${path}`;

  test('the identifier is called id; those of related records keep their names', async () => {
    const { text, headers } = await send(`GET ${at('authors/2')}`);
    expect(Object.keys(JSON.parse(text))[0]).toBe('id');
    expect(JSON.parse(text)).toMatchObject({ id: 2, name: 'Bob', mentor_id: 1, mentor: { author_id: 1 } });
    const { author_id: id, mentor, books, ...fields } = JSON.parse((await send('GET /api/authors/2')).text);
    const link = { author_id: mentor.author_id };
    expect(JSON.parse(text)).toStrictEqual({ id, ...fields, mentor_id: mentor.author_id, mentor: link });
    expect(books).toEqual([]);
    const whole = await send(`GET ${at('authors/2')}?${root === 'json-server' ? '_embed=mentor' : 'embed="mentor"'}`);
    expect(JSON.parse(whole.text)).toStrictEqual({ ...JSON.parse(text), mentor });
    const again = await send(`GET ${at('authors/2')}`, undefined, { 'if-none-match': headers['etag'] ?? '' });
    expect(again.status).toBe(304);
    expect((await send(`HEAD ${at('authors/2')}`)).status).toBe(200);
  });

  test('hides a field named id, and unknown keys', async () => {
    const made = await send('POST /api/cards', { id: 'field', rank: 3, more: 1 });
    const { number } = JSON.parse(made.text);
    const { text, headers } = await send(`GET ${at(`cards/${number}`)}`);
    expect(JSON.parse(text)).toEqual({ id: number, rank: 3 });
    const put = await send(
      `PUT ${at(`cards/${number}`)}`,
      { id: number, rank: 4 },
      { 'if-match': headers['etag'] ?? '' },
    );
    expect([put.status, JSON.parse(put.text)]).toEqual([200, { id: number, rank: 4 }]);
    expect(JSON.parse((await send(`GET /api/cards/${number}`)).text)).toEqual({
      number,
      id: 'field',
      rank: 4,
      more: 1,
    });
    const stale = { 'if-match': '"x"' };
    expect((await send(`PUT ${at(`cards/${number}`)}`, { rank: 5 }, stale)).status).toBe(412);
    expect((await send(`PUT ${at(`cards/${number}`)}`, { rank: 5 })).status).toBe(200);
    expect((await send(`DELETE ${at(`cards/${number}`)}`)).status).toBe(200);
  });

  test.each<[title: string, body: unknown, status: number, pointer: string, message: string]>([
    ['PUT authors/1', { id: 2 }, 422, '/id', 'cannot be changed'],
    ['POST authors', { id: 'x' }, 422, '/id', '"id" must be'],
    ['POST authors', { id: 1 }, 409, '/id', '1'],
    ['POST authors', { author_id: 9 }, 422, '/author_id', 'called "id" here'],
    ['POST authors', { rnak: 9 }, 422, '/rnak', 'did you mean "rank"?'],
    ['POST authors', { mentor: { id: 1 } }, 422, '/mentor/id', '"id"'],
    ['POST authors', { mentor: { author_id: 'x' } }, 422, '/mentor/author_id', '"author_id" must be'],
    ['POST authors', [{ name: 'x' }, { id: 'x' }], 422, '/1/id', '"id" must be'],
  ])('%s %j is refused', async (title, body, status, pointer, message) => {
    const [method, path = ''] = title.split(' ');
    const answer = await send(`${method} ${at(path)}`, body);
    const { errors, instance } = JSON.parse(answer.text);
    expect([answer.status, errors[0].pointer, instance]).toEqual([status, pointer, at(path)]);
    expect(errors[0].message).toContain(message);
  });

  test.each<[title: string, status: number, code: string, message: string]>([
    ['GET author', 404, 'path-not-found', `did you mean "/${root}/authors"?`],
    ['GET ', 404, 'path-not-found', `records are at /${root}/authors`],
    ['GET authors/1/2', 404, 'path-not-found', `did you mean "/${root}/authors/{id}"?`],
    ['GET authors/$summary', 404, 'path-not-found', `did you mean "/${root}/authors/{id}"?`],
    ['GET authors/x', 400, 'invalid-identifier', '"x" is not an identifier'],
    ['GET authors/999', 404, 'record-not-found', 'There is no Author 999'],
    ['PUT authors', 405, 'method-not-allowed', 'GET, HEAD, POST, OPTIONS are'],
    ['DELETE authors', 405, 'method-not-allowed', 'GET, HEAD, POST, OPTIONS are'],
  ])('%s is %i', async (title, status, code, message) => {
    const [method, path = ''] = title.split(' ');
    const answer = await send(`${method} ${at(path)}`);
    expect([answer.status, JSON.parse(answer.text).type]).toEqual([status, `urn:problem:${code}`]);
    expect(JSON.parse(answer.text).detail).toContain(message);
  });
});

describe('settings', () => {
  const reader = createToken();
  const writer = createToken();
  const line = (name: string, read: string, write: string, token: string): string =>
    tokenLine({ name, read: parseTypes(read), write: parseTypes(write) }, token);
  const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

  test('rights of tokens, limits, origins and PUBLIC_URL hold as for /api', async () => {
    await using guarded = await startTestServer({
      schemaDirectory: 'tests/fixtures/dialects',
      settings: {
        tokens: [line('reader', 'Book', 'Note', reader), line('writer', '*', '*', writer)].join(';'),
        corsOrigins: ['https://admin.example'],
        publicUrl: 'https://shop.example/records',
        rateLimit: 100,
        urlLimit: 300,
        bodyLimit: 200,
      },
    });
    const ask = (title: string, headers: Headers = {}, body?: string): Promise<Exchanged> =>
      exchange(guarded.url, title, { headers, ...(body === undefined ? {} : { body }) });
    const json = { 'content-type': 'application/json' };
    const origin = { origin: 'https://admin.example' };
    const made = await ask('POST /json-server/authors', { ...bearer(writer), ...json }, '{"name":"x"}');
    expect([made.status, made.headers['location']]).toEqual([201, '/records/json-server/authors/1']);
    const page = await ask('GET /json-server/authors?_page=1', { ...bearer(writer), ...origin });
    expect(page.headers['link']).toContain('</records/json-server/authors?_page=1>; rel="first"');
    expect(page.headers['access-control-allow-origin']).toBe('https://admin.example');
    expect(page.headers['access-control-expose-headers']).toMatch(/X-Total-Count.*Content-Range/);
    expect(page.headers['ratelimit']).toContain('r=');
    const asked = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization,range' };
    const preflight = await ask('OPTIONS /simple-rest/authors', { ...origin, ...asked });
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([
      204,
      expect.stringMatching(/Authorization.*Range/),
    ]);
    const statuses = [
      await ask('GET /json-server/authors'),
      await ask('GET /json-server/authors', bearer('unknown')),
      await ask('GET /simple-rest/authors', bearer(reader)),
      await ask('GET /simple-rest/books', bearer(reader)),
      await ask('POST /simple-rest/books', { ...bearer(reader), ...json }, '{"title":"x"}'),
      await ask('POST /simple-rest/notes', { ...bearer(reader), ...json }, '{"text":"x"}'),
      await ask(`GET /json-server/books?title=${'x'.repeat(300)}`, bearer(writer)),
      await ask('POST /simple-rest/notes', { ...bearer(writer), ...json }, `{"text":"${'x'.repeat(300)}"}`),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([401, 401, 404, 200, 403, 201, 414, 413]);
  });

  test('DIALECTS=simple-rest turns /json-server off', async () => {
    await using one = await startTestServer({
      schemaDirectory: 'tests/fixtures/dialects',
      settings: { dialects: ['simple-rest'] },
    });
    const statusOf = async (path: string): Promise<number> => (await fetch(one.url + path)).status;
    expect([await statusOf('/simple-rest/books'), await statusOf('/json-server/books')]).toEqual([200, 404]);
    const document = await (await fetch(`${one.url}/openapi.json`)).text();
    expect([document.includes('below `/simple-rest`,'), document.includes('json-server')]).toEqual([true, false]);
  });
});
