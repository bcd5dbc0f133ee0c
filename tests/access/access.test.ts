import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, parseGrants, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import type { TypeNames } from '../../engine/model/rights.ts';
import { token as tokenCommand } from '../../engine/commands/token.ts';
import { serveReloading } from '../../engine/commands/dev.ts';
import { forHost, serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { exchange, type Exchanged } from '../support/exchange.ts';
import { startTestServer, type TestServer, useServer } from '../support/server.ts';
import { until } from '../support/leaving.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';

const SCHEMA = 'tests/fixtures/access';
const compiled = useCompiled();

/** Rights by the name of the token: types to read, types to write. */
const RIGHTS = {
  root: ['', '*'],
  reader: ['*', ''],
  purchases: ['Customer', 'Purchase'],
  sales: ['Customer,Memo,Sticker', 'Purchase'],
  crm: ['', 'Customer'],
  billing: ['', 'Invoice'],
} as const;
type Name = keyof typeof RIGHTS;

const typesOf = (text: string): TypeNames => (text === '' ? new Set() : parseTypes(text));
const names = Object.keys(RIGHTS) as Name[];
const tokens = Object.fromEntries(names.map((name) => [name, createToken()])) as Record<Name, string>;
const lineOf = (name: Name): string =>
  tokenLine({ name, read: typesOf(RIGHTS[name][0]), write: typesOf(RIGHTS[name][1]) }, tokens[name]);

const server = useServer({ schemaDirectory: SCHEMA, settings: { tokens: names.map(lineOf).join(';') } });
beforeAll(async () => {
  expect(
    (await ask('root', 'POST /api/purchases', { code: 'A', customer: { id: 1 }, baskets: [{ amount: 1 }] })).status,
  ).toBe(201);
  expect((await ask('root', 'POST /api/memos', { text: 'n', purchase: { id: 1 } })).status).toBe(201);
  expect((await ask('root', 'POST /api/invoices', { payer: { id: 1 } })).status).toBe(201);
});

function ask(name: Name | 'nobody' | 'stranger', title: string, body?: object): Promise<Exchanged> {
  const token = name === 'stranger' ? createToken() : name === 'nobody' ? undefined : tokens[name];
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  return exchange(server.url, title, { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

/** Agents get JSON-RPC errors, with the problem as their data. */
const codeOf = ({ status, text }: Exchanged): string => {
  const body: unknown = status < 400 || text === '' ? {} : JSON.parse(text);
  const { type = '', error } = body as {
    readonly type?: string;
    readonly error?: { readonly data: { readonly type: string } };
  };
  return (error?.data.type ?? type).slice('urn:problem:'.length);
};

test.each([
  ['nobody', 'GET /api/purchases', undefined, 401, 'unauthorized'],
  ['nobody', 'GET /api/nothing', undefined, 401, 'unauthorized'],
  ['nobody', 'OPTIONS /api/purchases', undefined, 401, 'unauthorized'],
  ['nobody', 'DELETE /api/purchases/1', undefined, 401, 'unauthorized'],
  ['nobody', 'POST /studio/model.json', undefined, 401, 'unauthorized'],
  ['nobody', 'POST /api/nothing', undefined, 401, 'unauthorized'],
  ['nobody', 'GET /mcp', undefined, 401, 'unauthorized'],
  ['stranger', 'GET /api/purchases', undefined, 401, 'unauthorized'],
  ['reader', 'GET /api/purchases', undefined, 200, ''],
  ['reader', 'GET /api/purchases/1', undefined, 200, ''],
  ['reader', 'POST /api/purchases', {}, 403, 'forbidden'],
  ['reader', 'PATCH /api/purchases/1', {}, 403, 'forbidden'],
  ['reader', 'DELETE /api/purchases/1', undefined, 403, 'forbidden'],
  ['reader', 'PUT /api/purchases', {}, 403, 'forbidden'],
  ['reader', 'GET /api/nothing', undefined, 404, 'path-not-found'],
  ['purchases', 'GET /api/memos', undefined, 404, 'path-not-found'],
  ['purchases', 'GET /api/customers', undefined, 200, ''],
  ['purchases', 'PUT /api/customers/1', { name: 'x' }, 403, 'forbidden'],
  ['purchases', 'GET /api/purchases?include=memos', undefined, 400, 'invalid-query'],
  ['purchases', 'GET /api/purchases?fields=memos.text', undefined, 400, 'invalid-query'],
  ['purchases', 'GET /api/customers?include=secret', undefined, 200, ''],
  ['crm', 'GET /api/customers?_cnd[secret.word]=x', undefined, 200, ''],
  ['crm', 'GET /api/customers?include=purchases', undefined, 400, 'invalid-query'],
  ['nobody', 'GET /api/purchases/$summary', undefined, 401, 'unauthorized'],
  ['reader', 'GET /api/memos/$summary?by=payer.name,purchase.customer', undefined, 200, ''],
  ['reader', 'POST /api/memos/$summary', {}, 405, 'method-not-allowed'],
  ['purchases', 'GET /api/memos/$summary', undefined, 404, 'path-not-found'],
  ['purchases', 'GET /api/purchases/$summary?by=customer', undefined, 200, ''],
  ['billing', 'GET /api/invoices/$summary?measure=sum(total)', undefined, 200, ''],
  ['billing', 'GET /api/invoices/$summary?by=payer', undefined, 400, 'invalid-query'],
  ['billing', 'GET /api/invoices/$summary?by=payer.name', undefined, 400, 'invalid-query'],
  ['billing', 'GET /api/invoices/$summary?measure=count(payer)', undefined, 400, 'invalid-query'],
  ['purchases', 'PUT /api/purchases/1', { memos: [] }, 422, 'invalid-body'],
  ['purchases', 'PUT /api/purchases/1', { baskets: [{ amount: 3 }] }, 200, ''],
  ['purchases', 'PUT /api/purchases/1', { customer: { id: 1 } }, 200, ''],
  ['purchases', 'PUT /api/purchases/1', { customer: { id: 1, name: 'changed' } }, 409, 'link-conflict'],
  ['purchases', 'PUT /api/purchases/1', { customer: { name: 'made' } }, 422, 'invalid-body'],
  ['root', 'PUT /api/purchases/1', { customer: { id: 1, name: 'Ada' } }, 200, ''],
  ['sales', 'PUT /api/purchases/1', { memos: [{ id: 1 }] }, 403, 'forbidden'],
  ['sales', 'PUT /api/purchases/1', { memos: [] }, 403, 'forbidden'],
  ['sales', 'PUT /api/purchases/1', { stickers: [{ word: 'made' }] }, 422, 'invalid-body'],
  ['crm', 'PUT /api/customers/1', { secret: { word: 'x' } }, 200, ''],
  ['billing', 'GET /api/invoices/1', undefined, 200, ''],
  ['billing', 'POST /api/invoices', { total: '1' }, 403, 'forbidden'],
  ['billing', 'PUT /api/invoices/1', { total: '2' }, 200, ''],
] as const)('%s: %s %j', async (name, title, body, status, code) => {
  const answer = await ask(name, title, body);
  expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  const challenge = answer.headers['www-authenticate'];
  if (status === 401) expect(challenge).toBe(name === 'nobody' ? 'Bearer' : 'Bearer error="invalid_token"');
});

test.each([
  [{ memo: 1 }, '/memo', 'Unknown key "memo"'],
  [{ memos: [{ id: 1 }] }, '/memos', 'Unknown key "memos"'],
  [{ customer: { id: 1, purchase: 1 } }, '/customer/purchase', 'Unknown key "purchase"; did you mean "purchases"?'],
  [
    { customer: { name: 'x' } },
    '/customer/id',
    'You may not create records of Customer here; link an existing one by its "id"',
  ],
  [
    { customer: { id: 1, name: 'x' } },
    '/customer/name',
    'Customer 1 is only linked, as you may not change it, and differs from this: leave the key out',
  ],
  [{ customer: { id: null } }, '/customer/id', '"id" must be an identifier: an integer from 1 to 2^53-1'],
] as const)('PUT of a purchase %j is a fault at %s', async (body, pointer, message) => {
  const { text } = await ask('purchases', 'PUT /api/purchases/1', body);
  expect(JSON.parse(text)).toMatchObject({ errors: [{ pointer, message }] });
});

test.each(['Basic cm9vdDpyb290', 'Digest username="root"', 'root', ''])(
  'other credentials are asked for a token as if there were none: %j',
  async (authorization) => {
    const { status, headers, text } = await exchange(server.url, 'GET /api/purchases', { headers: { authorization } });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(JSON.parse(text).detail).toBe(
      'The service takes tokens only, not other credentials: Authorization: Bearer TOKEN',
    );
  },
);

test('a preflight from another origin may ask for the Authorization header', async () => {
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
  const { status, headers: answered } = await exchange(server.url, 'OPTIONS /api/purchases', { headers });
  expect([status, answered.allow]).toEqual([204, undefined]);
});

test('a conflict does not reveal values that the token may not read', async () => {
  const make = async (number: number) =>
    JSON.parse((await ask('root', 'POST /api/invoices', { number, payer: { id: 1 } })).text);
  const [, { id }] = [await make(5), await make(6)];
  const { status, text } = await ask('billing', `PATCH /api/invoices/${id}`, { number: 5 });
  expect([status, text]).toEqual([
    409,
    expect.stringContaining('of \\"number\\" already, together with what you may not'),
  ]);
});

/** Names that must not occur in any response. */
const HIDDEN: Readonly<Record<'crm' | 'billing' | 'nobody', readonly string[]>> = {
  crm: ['Purchase', 'Memo', 'Sticker', 'Invoice', 'Basket'],
  billing: ['Purchase', 'Memo', 'Sticker', 'Customer', 'Secret', 'Basket', 'payer'],
  nobody: ['Purchase', 'Memo', 'Sticker', 'Customer', 'Secret', 'Basket', 'Invoice', 'payer'],
};

describe.each(Object.entries(HIDDEN))('%s does not learn', (name, words) => {
  test.each([
    'GET /',
    'GET /openapi.json',
    'GET /openapi.yaml',
    'GET /studio/model.json',
    'GET /api/nothing',
    'GET /api/purchas',
    'OPTIONS /api/customers',
    'GET /api/customers',
    'GET /api/customers?include=purchses',
    'GET /api/customers?_cnd[purchse]=1',
    'GET /api/invoices?_cnd[paye]=1',
    'DELETE /api/customers/1',
    'OPTIONS /api/invoices',
    'GET /api/invoices/1',
  ])('from %s', async (title) => {
    const { status, text, headers } = await ask(name as keyof typeof HIDDEN, title);
    expect(status).not.toBe(500);
    const said = JSON.stringify(headers) + text;
    expect(
      words.filter((word) =>
        new RegExp(`\\b${word}s?\\b`, title.includes('paye') ? '' : 'i').test(
          said.replaceAll(/instance[^,]*|There is nothing at [^;]*/g, ''),
        ),
      ),
    ).toEqual([]);
  });
});

test('without a token, the pages ask for one', async () => {
  const start = (await ask('nobody', 'GET /')).text;
  expect(start).toMatch(/<main data-by-token data-locked>/);
  expect(start).not.toContain('0 record types');
  for (const page of [start, (await ask('nobody', 'GET /docs')).text]) {
    expect(page).toMatch(/<form class="access" id="access"[^>]* hidden>/);
    expect(page).toContain('<script src="docs/token.js" defer></script>');
  }
  expect((await ask('nobody', 'GET /docs/token.js')).status).toBe(200);
  expect((await ask('crm', 'GET /')).text).toContain('<h3>Customer</h3>');
});

test.each(['/', '/openapi.json', '/openapi.yaml', '/docs', '/studio/model.json'])(
  'caches keep %s apart by token',
  async (path) => {
    const { headers } = await ask('crm', `GET ${path}`);
    expect(headers['vary']).toBe('Authorization, Accept-Encoding');
    const again = await exchange(server.url, `GET ${path}`, {
      headers: { authorization: `Bearer ${tokens.crm}`, 'if-none-match': String(headers.etag) },
    });
    expect([again.status, again.headers['vary']]).toEqual([304, 'Authorization, Accept-Encoding']);
  },
);

const ENTRY = lineOf('root');
const hashPart = (name: Name): string => lineOf(name).split(' ').at(-1) ?? '';

test.each([
  ['a malformed line', `${ENTRY}\nnonsense`, ['root'], ['f: line 2: expected NAME']],
  ['malformed entries in one line', `${ENTRY};x;${lineOf('crm')};y`, ['root', 'crm'], ['entry 2: ', 'entry 4: ']],
  ['no right', `x ${hashPart('crm')}`, [], ['f: line 1: expected NAME']],
  ['no name', `read=* ${hashPart('crm')}`, [], ['f: line 1: expected NAME']],
  ['half a hash', 'x read=* sha256=00', [], ['f: line 1: expected NAME']],
  ['a misspelled right', `a raed=Memo ${hashPart('crm')}`, [], ['prints it; did you mean "read"?']],
  ['a misspelled hash', `a read=Memo sha265=${hashPart('crm').slice(7)}`, [], ['prints it; did you mean "sha256"?']],
  ['a right twice', `a read=Memo read=* ${hashPart('crm')}`, [], ['f: line 1: expected NAME']],
  ['a line twice', `${ENTRY}\n${ENTRY}`, ['root'], ['f: line 2: repeats f: line 1']],
  ['a name twice', `${ENTRY}\nroot read=* ${hashPart('crm')}`, [], ['f: line 1 and f: line 2: several tokens are']],
  [
    'a hash twice',
    `${ENTRY}\nother read=* ${hashPart('root')}`,
    [],
    ['f: line 1 and f: line 2: the hashes are the same'],
  ],
  [
    'less for the same token',
    `${ENTRY}\nroot read=Memo ${hashPart('root')}`,
    [],
    ['line 2: several tokens', 'hashes are the same'],
  ],
  ['two entries behind #', `${ENTRY}\n# ${lineOf('crm')};${lineOf('sales')}`, ['root'], []],
  ['lines of Windows, and a BOM', `\uFEFF${ENTRY}\r\n${lineOf('crm')}\r\n`, ['root', 'crm'], []],
])('lines that give access: %s', (_, text, expected, faults) => {
  const parsed = parseGrants([], { name: 'f', text });
  expect(parsed.grants.map(({ name }) => name)).toEqual(expected);
  expect(parsed.faults).toEqual(faults.map((fault) => expect.stringContaining(fault)));
});

describe('a file of tokens', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tokens-'));
    file = join(folder, 'tokens');
  });

  test('is followed by a service, without a restart', async () => {
    writeFileSync(file, lineOf('reader'));
    await using own = await startTestServer({ schemaDirectory: SCHEMA, settings: { tokensFile: file } });
    const status = async (name: Name): Promise<number> =>
      (await exchange(own.url, 'GET /api/purchases', { headers: { authorization: `Bearer ${tokens[name]}` } })).status;
    expect([await status('reader'), await status('root')]).toEqual([200, 401]);
    writeFileSync(file, `${lineOf('root')}\nnonsense`);
    await until(async () => (await status('root')) === 200);
    expect([await status('reader'), await status('root')]).toEqual([401, 200]);
    // A file that cannot be read any more gives nobody access.
    rmSync(file);
    await until(async () => (await status('root')) === 401);
  });

  test('with a fault is refused at start, with its line', async () => {
    writeFileSync(file, `${lineOf('root')}\nnonsense`);
    const start = (tokensFile: string): Promise<TestServer> =>
      startTestServer({ schemaDirectory: SCHEMA, settings: { tokensFile } });
    await expect(start(file)).rejects.toThrow('tokens: line 2: expected');
    await expect(start(`${file}-missing`)).rejects.toThrow('-missing", which cannot be read: ENOENT: no such file');
  });
});

test.each(['0.0.0.0', '::', '10.0.0.1', 'example.com'])('HOST %s without tokens is refused', async (host) => {
  const settings = { ...readSettings({}), host, port: 0, schemaDirectory: SCHEMA };
  await expect(serve(settings)).rejects.toThrow(
    /^HOST is ".+", which other machines can reach, and there are no tokens/,
  );
});

test('records dev on HOST 0.0.0.0 without tokens is refused as well', async () => {
  const settings = { ...readSettings({}), host: '0.0.0.0', port: 0, schemaDirectory: SCHEMA };
  await expect(serveReloading(settings)).rejects.toThrow(/^HOST is "0.0.0.0", which other machines can reach/);
});

/** A foreign host name that resolves to this machine. */
const REBOUND = 'rebound.example:3000';

describe('a request for another host', () => {
  const status = async (url: string, host: string, title = 'GET /api/memos'): Promise<number> =>
    (await exchange(url, title, { headers: { host } })).status;

  test.each([
    ['localhost', 200],
    ['localhost:3000', 200],
    ['LocalHost.:3000', 200],
    ['records.localhost', 200],
    ['127.0.0.1:3000', 200],
    ['[::1]:3000', 200],
    ['192.168.0.7', 200],
    [REBOUND, 421],
    ['localhost.rebound.example', 421],
    ['127.0.0.1.rebound.example', 421],
    ['127.0.0.1@rebound.example', 400],
    ['xlocalhost', 421],
  ])('is refused without tokens: %s', async (host, expected) => {
    await using own = await startTestServer({ schemaDirectory: SCHEMA });
    expect(await status(own.url, host)).toBe(expected);
  });

  test('is refused at every path, and nothing is carried out', async () => {
    await using own = await startTestServer({ schemaDirectory: SCHEMA });
    for (const path of ['/', '/docs', '/openapi.json', '/metrics', '/api/memos', '/nothing'])
      expect([path, await status(own.url, REBOUND, `GET ${path}`)]).toEqual([path, 421]);
    const headers = { host: REBOUND, 'content-type': 'application/json' };
    const answer = await exchange(own.url, 'POST /api/memos', { headers, body: '{}' });
    expect(codeOf(answer)).toBe('misdirected-request');
    expect(answer.headers['x-request-id']).toMatch(/^[\w-]{8,}$/);
    expect((await exchange(own.url, 'GET /api/memos')).text).toBe('[]');
  });

  test('is taken under the names of ALLOWED_HOSTS, and with tokens under any', async () => {
    const settings = { allowedHosts: ['rebound.example'], tokens: lineOf('root') };
    const named = await startTestServer({ schemaDirectory: SCHEMA, settings });
    expect([await status(named.url, REBOUND), await status(named.url, 'other.example')]).toEqual([401, 421]);
    await named.close();
    expect(await status(server.url, REBOUND)).toBe(401);
  });
});

describe('without tokens, requests from other sites are refused', () => {
  const PAGE = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const HOST = 'localhost:3000';
  let own: TestServer;
  beforeAll(async () => {
    const settings = { corsOrigins: ['http://shop.example'], metrics: true };
    own = await startTestServer({ schemaDirectory: SCHEMA, settings });
  });
  afterAll(() => own.close());

  test.each<readonly [string, Readonly<Record<string, string>>, number]>([
    ['GET /api/memos', {}, 200],
    ['GET /api/memos', { 'sec-fetch-site': 'same-origin' }, 200],
    ['GET /api/memos', { 'sec-fetch-site': 'none', ...PAGE }, 200],
    ['GET /api/memos', { 'sec-fetch-site': 'cross-site' }, 403],
    ['GET /api/memos/$summary', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'object' }, 403],
    ['GET /api/memos', { 'sec-fetch-site': 'same-site' }, 403],
    ['GET /api/memos', { 'sec-fetch-site': 'cross-site', ...PAGE }, 403],
    ['GET /api/memos', { 'sec-fetch-site': 'cross-site', origin: 'http://shop.example' }, 200],
    ['GET /api/memos', { 'sec-fetch-site': 'cross-site', origin: 'http://other.example' }, 403],
    ['GET /api/memos', { 'sec-fetch-site': 'cross-site', referer: 'http://shop.example/' }, 403],
    ['GET /api/memos', { origin: `http://${HOST}` }, 200],
    ['GET /api/memos', { origin: `https://${HOST}` }, 200],
    ['GET /api/memos', { origin: 'http://localhost:8080' }, 403],
    ['GET /api/memos', { origin: 'http://localhost:3000.other.example' }, 403],
    ['GET /api/memos', { origin: 'http://shop.example' }, 200],
    ['GET /api/memos', { origin: 'null' }, 403],
    ['GET /api/memos', { referer: `http://${HOST}/docs` }, 200],
    ['GET /api/memos', { referer: 'http://other.example/' }, 403],
    ['GET /api/memos', { referer: 'http://other.example/', origin: `http://${HOST}` }, 200],
    ['POST /api/memos', { 'sec-fetch-site': 'cross-site' }, 403],
    ['HEAD /api/memos', { 'sec-fetch-site': 'same-site' }, 403],
    ['GET /json-server/memos', { 'sec-fetch-site': 'cross-site' }, 403],
    ['GET /simple-rest/memos', { origin: 'http://other.example' }, 403],
    ['POST /mcp', { 'sec-fetch-site': 'cross-site' }, 403],
    ['GET /health/live', { 'sec-fetch-site': 'cross-site' }, 403],
    ['GET /metrics', { 'sec-fetch-site': 'cross-site' }, 403],
    ['GET /openapi.json', { 'sec-fetch-site': 'cross-site', ...PAGE }, 403],
    ['GET /studio/model.json', { 'sec-fetch-site': 'cross-site' }, 403],
    ['GET /', { 'sec-fetch-site': 'cross-site', ...PAGE }, 200],
    ['GET /docs', { 'sec-fetch-site': 'same-site', ...PAGE }, 200],
    ['GET /docs/clients', { 'sec-fetch-site': 'cross-site', ...PAGE }, 200],
    ['GET /docsx', { 'sec-fetch-site': 'cross-site', ...PAGE }, 403],
    ['GET /', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 403],
    ['POST /docs', { 'sec-fetch-site': 'cross-site', ...PAGE }, 403],
    ['OPTIONS /api/memos', { origin: 'http://other.example', 'access-control-request-method': 'GET' }, 403],
    ['OPTIONS /api/memos', { origin: 'http://shop.example', 'access-control-request-method': 'GET' }, 204],
  ])('%s %j: %i', async (title, headers, status) => {
    const answer = await exchange(own.url, title, { headers: { host: HOST, ...headers } });
    expect(answer.status).toBe(status);
    if (status === 403 && !title.startsWith('HEAD')) expect(codeOf(answer)).toBe('origin-not-allowed');
  });

  test('with tokens, pages of other sites may send requests', async () => {
    expect((await exchange(server.url, 'GET /api/memos', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(
      401,
    );
  });

  test.each([
    'GET /api/memos',
    'GET /api/memos/7',
    'GET /json-server/memos',
    'GET /simple-rest/memos',
    'OPTIONS /api/memos',
    'GET /mcp',
    'OPTIONS /mcp',
    'GET /health/live',
    'GET /health/ready',
    'GET /metrics',
    'GET /api/nothing',
  ])('%s: no page may embed the response', async (title) => {
    const policy = "default-src 'none'; frame-ancestors 'none'";
    const { headers } = await exchange(own.url, title);
    expect([headers['cross-origin-resource-policy'], headers['content-security-policy']]).toEqual([
      'same-origin',
      policy,
    ]);
  });

  test('pages whose origin CORS_ORIGINS lists may', async () => {
    const { headers } = await exchange(own.url, 'GET /api/memos', { headers: { origin: 'http://shop.example' } });
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin');
  });

  test.each([
    [{ CORS_ORIGINS: '*' }, 'CORS_ORIGINS is "*"'],
    [{ CORS_ORIGINS: 'http://shop.example,*' }, 'CORS_ORIGINS is "*"'],
    [{ PUBLIC_URL: 'https://shop.example/records' }, 'PUBLIC_URL is "https://shop.example/records"'],
    [{ ALLOWED_HOSTS: 'shop.example' }, 'ALLOWED_HOSTS has "shop.example"'],
    [{ ALLOWED_HOSTS: 'localhost,*' }, 'ALLOWED_HOSTS has "*"'],
    [{ ALLOWED_HOSTS: '192.168.0.7' }, 'ALLOWED_HOSTS has "192.168.0.7"'],
    [{ HOST: '0.0.0.0' }, 'HOST is "0.0.0.0"'],
  ])('the service does not start with %j', (environment, message) => {
    expect(() => forHost(readSettings(environment))).toThrow(message);
    expect(() => forHost(readSettings(environment))).toThrow('TOKENS');
    expect(forHost({ ...readSettings(environment), tokens: lineOf('root') })).toMatchObject({});
  });

  test.each([
    { CORS_ORIGINS: 'https://shop.example' },
    { PUBLIC_URL: 'http://localhost:8080/records' },
    { PUBLIC_URL: 'http://[::1]:8080' },
    { ALLOWED_HOSTS: 'records.localhost,127.0.0.1' },
  ])('it starts with %j', (environment) => {
    expect(forHost(readSettings(environment))).toMatchObject({});
  });
});

test.each([
  [{}, Infinity],
  [{ PUBLIC_URL: 'http://localhost:8080' }, Infinity],
  [{ HOST: '0.0.0.0' }, 1200],
  [{ TRUSTED_PROXIES: '127.0.0.1' }, 1200],
  [{ TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://shop.example/records' }, 1200],
  [{ PUBLIC_URL: 'https://shop.example' }, 1200],
  [{ ALLOWED_HOSTS: 'shop.example' }, 1200],
  [{ TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT: 'off' }, Infinity],
  [{ RATE_LIMIT: '7' }, 7],
])('RATE_LIMIT with tokens and %j: %d', (environment, expected) => {
  expect(forHost({ ...readSettings(environment), tokens: lineOf('root') }).rateLimit).toBe(expected);
});

test('a token among thousands is found, and one that differs in its last character is not', async () => {
  const all = Array.from({ length: 5000 }, createToken);
  const lines = all.map((token, index) => tokenLine({ name: `t${index}`, read: 'all', write: new Set() }, token));
  await using own = await startTestServer({ schemaDirectory: SCHEMA, settings: { tokens: lines.join('\n') } });
  const status = async (token = ''): Promise<number> =>
    (await exchange(own.url, 'GET /api/memos', { headers: { authorization: `Bearer ${token}` } })).status;
  const [first = '', last] = [all[0], all.at(-1)];
  const other = first.slice(0, -1) + (first.endsWith('A') ? 'B' : 'A');
  expect([await status(first), await status(last), await status(other)]).toEqual([200, 200, 401]);
});

test('records token makes one that works', async () => {
  const print = jest.spyOn(console, 'log').mockImplementation();
  process.env['SCHEMA_DIR'] = SCHEMA;
  await tokenCommand.run(['made', '--write', 'Purchase', '--json']);
  await expect(tokenCommand.run(['made', '--write', 'Purchse'])).rejects.toThrow('did you mean "Purchase"');
  await expect(tokenCommand.run(['made', '--write', '*,!Purchase'])).rejects.toThrow('"*" stands alone');
  for (const name of ['a;b', 'a\nb', 'a b', '#a', ''])
    await expect(tokenCommand.run([name])).rejects.toThrow('cannot be a name');
  delete process.env['SCHEMA_DIR'];
  const { token, line } = JSON.parse(String(print.mock.calls[0]?.[0]));
  print.mockRestore();
  await using own = await startTestServer({ schemaDirectory: SCHEMA, settings: { tokens: line } });
  const headers = { authorization: `Bearer ${token}` };
  expect((await exchange(own.url, 'GET /api/purchases', { headers })).status).toBe(200);
  expect((await exchange(own.url, 'GET /api/customers', { headers })).status).toBe(404);
});

test('a record that needs what the token may not know cannot be made inside another, and nothing is said of it', async () => {
  const [all, some] = [createToken(), createToken()];
  const lines = [
    tokenLine({ name: 'all', read: new Set(), write: parseTypes('*') }, all),
    tokenLine({ name: 'some', read: new Set(), write: parseTypes('Shop') }, some),
  ];
  const shops = await startTestServer({
    schemaDirectory: 'tests/fixtures/hidden-relation',
    settings: { tokens: lines.join(';') },
  });
  const sendAs = (token: string, title: string, body: object): Promise<Exchanged> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return exchange(shops.url, title, { headers, body: JSON.stringify(body) });
  };
  const whole = { tills: [{ label: 'a', strongbox: { id: 1 } }], safe: { strongbox: { id: 1 } } };
  const made = JSON.parse((await sendAs(all, 'POST /api/shops', whole)).text);
  await sendAs(all, 'POST /api/shops', {});
  const path = `PUT /api/shops/${made.id}`;
  const till = { id: made.tills[0].id, label: 'b' };
  const answers = [
    await sendAs(some, path, { tills: [till, { label: 'c' }] }),
    await sendAs(some, path, { tills: [till, {}], name: 1 }),
    await sendAs(some, 'POST /api/shops', { tills: [{ label: 'c' }] }),
    await sendAs(some, 'POST /api/shops', { safe: {} }),
    await sendAs(some, `PUT /api/shops/${made.id + 1}`, { safe: { label: 'x' } }),
    await sendAs(some, 'POST /api/tills', { label: 'x' }),
    await sendAs(some, path, { tills: [till], safe: { label: 'x' } }),
  ];
  await shops.close();
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403, 200]);
  expect(answers.map(({ text }) => JSON.parse(text).errors?.[0]?.pointer)).toEqual([
    '/tills/1',
    '/tills/1',
    '/tills/0',
    '/safe',
    '/safe',
    undefined,
    undefined,
  ]);
  for (const { text } of answers) expect(text).not.toMatch(/strongbox/i);
  for (const { text } of answers.slice(2, 6))
    expect(text).toContain('a new record must link one of a type that may not be read');
});

test('a renamed type keeps the rights of its tokens, and types that are unknown are named at the start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'renamed-'));
  const [token, other] = [createToken(), createToken()];
  const lines = [
    tokenLine({ name: 'desk', read: parseTypes('Basket'), write: parseTypes('Order') }, token),
    tokenLine({ name: 'old', read: parseTypes('Gone,Basket,Purchas'), write: parseTypes('*') }, other),
  ];
  writeFileSync(
    join(directory, 'purchase.yaml'),
    'type: Purchase\nrenamedFrom: Order\nfields: { code: { type: string } }\n',
  );
  writeFileSync(join(directory, 'basket.yaml'), 'type: Basket\nfields: { code: { type: string } }\n');
  const own = compiled.run('server.js', [], {
    PORT: '0',
    SCHEMA_DIR: directory,
    DATABASE_URL: `sqlite:${join(directory, 'records.db')}`,
    TOKENS: lines.join(';'),
  });
  const url = await urlOf(own);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { status } = await exchange(url, 'POST /api/purchases', { headers, body: '{"code":"A"}' });
  own.child.kill('SIGTERM');
  await own.ended;
  rmSync(directory, { recursive: true });
  expect(status).toBe(201);
  const named = own
    .err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'a token names types that no descriptor has or had');
  expect(named).toEqual([
    expect.objectContaining({ level: 'warn', token: 'old', types: ['Gone', 'Purchas'], didYouMean: ['Purchase'] }),
  ]);
});
