/** Records with identifiers of three kinds, and links between them. */
import { ask } from '../support/ask.ts';
import { useServer } from '../support/server.ts';
import { createProject } from '../support/project.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/keys' });
const UUID7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const ODD = '$a/b %25 "ü€😀\\';
const LONG = '😀'.repeat(200);

const say = async (title: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  ask(server.url, title, body, headers);
const idsIn = (body: unknown): readonly string[] => (body as readonly { readonly id: string }[]).map(({ id }) => id);

interface Refused {
  readonly errors: readonly {
    readonly pointer?: string;
    readonly parameter?: string;
    readonly code: string;
    readonly message: string;
  }[];
}

beforeAll(async () => {
  expect(await say('POST /api/currencies', { code: 'USD' })).toMatchObject({ status: 201 });
  const customer = { key: ODD, customer_no: 'K-1', currency: { code: 'USD' } };
  expect(await say('POST /api/customers', customer)).toMatchObject({ status: 201 });
});

test('new records below others, with identifiers of their own', async () => {
  const [root, leaf, loop] = ['a', 'b', 'c'].map((digit) => `01890a5d-ac96-774b-bcce-b302099a80${digit}0`);
  expect(await say('POST /api/orders', { id: root })).toMatchObject({ status: 201 });
  const below = { id: leaf, parent: { id: root } };
  expect(await say('POST /api/orders', below)).toMatchObject({ status: 201, body: below });
  expect(await say('POST /api/orders', { id: loop, parent: { id: loop } })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/parent', code: 'cycle' }] },
  });
});

describe('what no identifier is', () => {
  const upper = '01890A5D-AC96-774B-BCCE-B302099A8057';
  test.each([
    ['currencies', 'code', '', 'EUR'],
    ['currencies', 'code', 'eur', 'EUR'],
    ['currencies', 'code', 'A'.repeat(21), 'EUR'],
    ['customers', 'key', '', 'sample-'],
    ['customers', 'key', 'a'.repeat(201), 'sample-'],
    ['customers', 'key', `${LONG}x`, 'sample-'],
    ['customers', 'key', 'a\u0007b', 'sample-'],
    ['customers', 'key', 'a\u0085b', 'sample-'],
    ['customers', 'key', '.', 'sample-'],
    ['customers', 'key', '..', 'sample-'],
    ['orders', 'id', '', '0000-4000'],
    ['orders', 'id', `{${upper}}`, '0000-4000'],
    ['orders', 'id', upper.replaceAll('-', ''), '0000-4000'],
    ['orders', 'id', '1', '0000-4000'],
    ['orders', 'id', `${upper}0`, '0000-4000'],
  ])('%s: %s %j', async (path, key, value, right) => {
    const segment = value === '.' || value === '..' ? value.replaceAll('.', '%2e') : encodeURIComponent(value);
    const inPath = await say(`GET /api/${path}/${segment}`);
    expect(inPath).toMatchObject({ status: 400, body: { errors: [{ parameter: 'id', code: 'invalid-identifier' }] } });
    expect((inPath.body as Refused).errors[0]?.message).toContain(right);
    const inBody = await say(`POST /api/${path}`, { [key]: value });
    expect(inBody).toMatchObject({ status: 422, body: { errors: [{ pointer: `/${key}` }] } });
    expect((inBody.body as Refused).errors[0]?.message).toContain(right);
  });

  test.each(['%ff', '%zz', '%', 'a%2', '%c0%af', '%ed%a0%80', '%f4%90%80%80', '%e2%82', '%80'])(
    'the escapes %s, which name no record spelled like them',
    async (segment) => {
      const spelled = { key: `${segment} spelled` };
      expect(await say('POST /api/customers', spelled)).toMatchObject({ status: 201 });
      const path = `/api/customers/${segment}%20spelled`;
      for (const [method, body] of [['GET'], ['PATCH', { customer_no: 'x' }], ['DELETE']] as const) {
        const answer = await say(`${method} ${path}`, body);
        expect(answer).toMatchObject({ status: 400, body: { type: 'urn:problem:invalid-identifier' } });
        expect((answer.body as Refused).errors[0]?.message).toMatch(/is not percent-encoded UTF-8; .* such as "/);
      }
      expect(await say(`POST ${path}`, {})).toMatchObject({ status: 405 });
      expect(await say(`OPTIONS ${path}`)).toMatchObject({ status: 204 });
      expect(await say(`GET /api/customers?_cnd[key]=${segment}%20spelled`)).toMatchObject({
        status: 400,
        body: { type: 'urn:problem:invalid-query' },
      });
      expect(await say(`DELETE /api/customers/${encodeURIComponent(spelled.key)}`)).toMatchObject({ status: 200 });
    },
  );

  test.each<[string, unknown, string]>([
    ['POST /api/currencies', {}, '/code'],
    ['POST /api/lines', { amount: 1, order: { id: upper } }, '/id'],
    ['POST /api/orders', { lines: [{ amount: 1 }] }, '/lines/0/id'],
    ['POST /api/orders', { customer: {} }, '/customer/key'],
    ['POST /api/orders', { customer: { key: 1 } }, '/customer/key'],
    ['POST /api/tags', { first: { id: 7 } }, '/first/id'],
    ['POST /api/currencies', [{ code: 'XAA' }, { code: 'XAA' }], '/1/code'],
  ])('%s %j', async (title, body, pointer) => {
    expect(await say(title, body)).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  });

  test.each<[string, unknown, string]>([
    ['POST /api/currencies', { code: 'USD' }, 'Currency USD already exists; choose another identifier'],
    ['POST /api/numbers', { no: 2 ** 52 + 2 }, '"no" must be an identifier: an integer from 1 to 4503599627370496'],
    ['POST /api/numbers', { no: 0 }, '"no" must be an identifier: an integer from 1 to 4503599627370496'],
    ['PATCH /api/numbers', [{ no: 0 }], '"no" must be an identifier: an integer from 1 to 2^53-1'],
  ])('%s %j is told what is possible', async (title, body, message) => {
    expect(await say(title, body)).toMatchObject({ body: { errors: [{ message }] } });
  });

  test('a PUT of the collection is told the way', async () => {
    const detail = expect.stringContaining('no unique values could name the record; POST takes on=no');
    expect(await say('PUT /api/numbers?on=no', { no: 5 })).toMatchObject({ status: 405, body: { detail } });
    expect(await say('POST /api/numbers?on=no', { no: 5 })).toMatchObject({ status: 201 });
    expect(await say('DELETE /api/numbers/5')).toMatchObject({ status: 200 });
  });

  test('another one than that of the path', async () => {
    const refused = { status: 422, body: { errors: [{ pointer: '/code', code: 'read-only' }] } };
    expect(await say('PUT /api/currencies/USD', { code: 'EUR' })).toMatchObject(refused);
    expect(await say('PATCH /api/currencies/USD', { code: 'USD', title: 'Dollar' })).toMatchObject({ status: 200 });
  });

  test('a record that is not there', async () => {
    expect(await say('GET /api/currencies/XXX')).toMatchObject({ status: 404 });
    expect(await say(`GET /api/orders/${upper}`)).toMatchObject({ status: 404 });
    expect(await say('GET /api/customers/$summary')).toMatchObject({ status: 200 });
    expect(await say('GET /api/customers/%24summary')).toMatchObject({ status: 404 });
    expect(await say('GET /api/customers/$x')).toMatchObject({
      status: 404,
      body: { type: 'urn:problem:path-not-found' },
    });
  });
});

test('every sign can be in a key, and its address is encoded', async () => {
  for (const key of [ODD, LONG, '$summary', 'null', '0', 'a,b', '[0]', "'; drop table customers; --"]) {
    if (key !== ODD) expect(await say('POST /api/customers', { key })).toMatchObject({ status: 201 });
    const path = `/api/customers/${encodeURIComponent(key)}`;
    expect(await say(`GET ${path}`)).toMatchObject({ status: 200, body: { key } });
    const found = await say(`GET /api/customers?_cnd[key]=${encodeURIComponent(key)}&fields=key`);
    expect(found).toMatchObject({ body: [{ key }] });
    if (key === ODD) continue;
    const dry = await say('POST /api/customers?dryRun=true', { key: `${key.slice(0, 100)}2` });
    expect(dry).toMatchObject({
      status: 201,
      body: { effects: [{ effect: 'created', identifiers: [`${key.slice(0, 100)}2`] }] },
    });
    expect(await say(`DELETE ${path}`)).toMatchObject({ status: 200 });
    const { status, headers } = await say('POST /api/customers', { key });
    expect([status, headers.get('location')]).toEqual([201, path]);
  }
});

test('the service makes uuids of version 7, which ascend, and takes any in either case', async () => {
  const many = await say(
    'POST /api/orders',
    Array.from({ length: 200 }, (_, at) => ({ number: String(at) })),
  );
  const ids = idsIn(many.body);
  expect(ids.every((id) => UUID7.test(id))).toBe(true);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(200);
  const id = 'ABCDEF00-1111-1111-1111-00000000000F';
  const made = await say('POST /api/orders', { id, copy_of: id });
  expect(made).toMatchObject({ status: 201, body: { id: id.toLowerCase(), copy_of: id.toLowerCase() } });
  expect(await say(`GET /api/orders/${id}`)).toMatchObject({ status: 200 });
  expect(await say(`PUT /api/orders/${id}`, { id, copy_of: id })).toMatchObject({ status: 200 });
  expect(await say(`GET /api/orders?_cnd[id][in]=${id},${ids[0] ?? ''}&_cnd[copy_of]=${id}`)).toMatchObject({
    body: [{ id: id.toLowerCase() }],
  });
  expect(
    await say(`DELETE /api/orders?_cnd[number][null]=false`, undefined, { Prefer: 'max-affected=200' }),
  ).toMatchObject({
    status: 200,
    body: { deleted: 200 },
  });
});

test('links of all kinds, nested new records with keys of the client, and dry runs', async () => {
  const line = '00000000-0000-4000-8000-0000000000A1';
  const body = {
    number: '1',
    customer: { key: ODD },
    currencies: [{ code: 'USD' }, { code: 'EUR' }],
    lines: [{ id: line, amount: 1 }],
    tags: [{ word: 'new' }],
  };
  const dry = await say('POST /api/orders?dryRun=true', body);
  expect(dry).toMatchObject({
    status: 201,
    body: {
      effects: expect.arrayContaining([
        expect.objectContaining({ effect: 'created', type: 'Line', identifiers: [line.toLowerCase()] }),
      ]),
    },
  });
  const made = await say('POST /api/orders?include=customer.currency,currencies,lines,tags', body);
  const shown = {
    ...body,
    customer: { key: ODD, currency: { code: 'USD' } },
    currencies: [{ code: 'EUR' }, { code: 'USD' }],
    lines: [{ id: line.toLowerCase(), amount: 1 }],
  };
  expect(made).toMatchObject({ status: 201, body: shown });
  const { id } = made.body as { readonly id: string };
  const path = `/api/orders/${id}`;
  const got = await say(`GET ${path}`);
  expect(await say(`PUT ${path}`, got.body)).toEqual({ ...got, headers: expect.anything() });
  expect(await say(`PATCH ${path}`, { parent: { id } })).toMatchObject({
    status: 422,
    body: { errors: [{ code: 'cycle' }] },
  });
  expect(await say('DELETE /api/currencies/USD')).toMatchObject({
    status: 409,
    body: { errors: [{ records: [{ type: 'Customer', identifier: ODD }] }] },
  });
  const emptied = await say(`PUT ${path}?dryRun=true`, { currencies: [], lines: [], tags: [] });
  expect(emptied).toMatchObject({ status: 200, body: { answer: { body: { currencies: [], lines: [], tags: [] } } } });
  const shared = await say('POST /api/lines', { id: line, amount: 2, order: { id } });
  expect(shared).toMatchObject({ status: 409, body: { type: 'urn:problem:identifier-conflict' } });
  const summary = await say(
    'GET /api/orders/$summary?by=customer.currency,customer&measure=count,min(id),max(customer)&_cnd[number]=1',
  );
  expect(summary).toMatchObject({
    body: [{ by: { customer: { key: ODD } }, measures: { count: 1, 'min(id)': id, 'max(customer)': ODD } }],
  });
  expect(await say(`DELETE ${path}`)).toMatchObject({ status: 200 });
  expect(await say(`GET /api/lines/${line}`)).toMatchObject({ status: 404 });
});

test('pages by cursor go forwards and backwards over long keys, by code point', async () => {
  const keys = ['\u{10000}', '\uffff', 'Z', 'a', 'ä'].map((sign) => sign + '€'.repeat(199));
  await say(
    'POST /api/customers',
    keys.map((key) => ({ key, name: 'paged' })),
  );
  const order = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const start = '/api/customers?_cnd[name]=paged&_cnd[orderBy]=name&_cnd[limit]=0,2&fields=key';
  const found: string[] = [];
  let link: string | undefined = start;
  let last = '';
  const linkOf = (headers: Headers, rel: string): string | undefined =>
    new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('link') ?? '')?.[1];
  while (link) {
    const { body, headers } = await say(`GET ${link}`);
    found.push(...(body as readonly { readonly key: string }[]).map(({ key }) => key));
    last = link;
    link = linkOf(headers, 'next');
  }
  expect(found).toEqual(order);
  const { headers } = await say(`GET ${last}`);
  const before = await say(`GET ${linkOf(headers, 'prev') ?? ''}`);
  expect(before.body).toEqual(order.slice(2, 4).map((key) => ({ key })));
});

test('a retry under one idempotency key finds the records by their keys', async () => {
  const once = { 'Idempotency-Key': 'keys-1' };
  const first = await say('POST /api/orders', { number: 'once' }, once);
  const again = await say('POST /api/orders', { number: 'once' }, once);
  expect(again).toMatchObject({ status: 201, body: first.body as object });
  expect(again.headers.get('location')).toBe(first.headers.get('location'));
});

test.each([
  ['currencies', { code: 'SIX' }],
  ['customers', { key: 'six/teen' }],
  ['orders', { id: '16161616-1616-4616-8616-161616161616' }],
])('sixteen writers bring one key to %s: one creates the record, the others conflict', async (path, body) => {
  const answers = await Promise.all(Array.from({ length: 16 }, () => say(`POST /api/${path}`, body)));
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([201, ...Array.from({ length: 15 }, () => 409)]);
});

test('sixteen upserts of one customer make one record', async () => {
  const all = Array.from({ length: 16 }, (_, at) =>
    say('PUT /api/customers?on=customer_no', { key: 'upserted', customer_no: 'K-16', name: String(at) }),
  );
  const statuses = (await Promise.all(all)).map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([...Array.from({ length: 15 }, () => 200), 201]);
});

const KEYS = ['array/a', 'array/b', 'array/c', 'array/d'];
/** In another order for each writer. */
const inOrderOf = (writer: number) =>
  KEYS.map((_, at) => ({ key: KEYS[(at * (writer % 2 === 0 ? 1 : 3) + writer) % KEYS.length], name: String(writer) }));
const statusesOf = async (title: string, bodyOf: (writer: number) => unknown): Promise<readonly number[]> => {
  const answers = await Promise.all(Array.from({ length: 16 }, (_, writer) => say(title, bodyOf(writer))));
  return answers.map(({ status }) => status).toSorted((one, other) => one - other);
};

test('sixteen arrays of the same keys in other orders: one creates them, or each changes them', async () => {
  expect(await statusesOf('POST /api/customers', inOrderOf)).toEqual([201, ...Array.from({ length: 15 }, () => 409)]);
  expect(await statusesOf('POST /api/customers?on=key', inOrderOf)).toEqual(Array.from({ length: 16 }, () => 200));
  const { body } = await say(`GET /api/customers?${KEYS.map((key) => `_cnd[key][in]=${key}`).join('&')}&fields=name`);
  const names = (body as { name: string }[]).map(({ name }) => name);
  expect([names.length, new Set(names).size]).toEqual([4, 1]);
});

test('sixteen orders bring a line of one key: one has it', async () => {
  const id = '17171717-1717-4717-8717-171717171717';
  const statuses = await statusesOf('POST /api/orders', (writer) => ({
    number: `line ${writer}`,
    lines: [{ id, amount: writer }],
  }));
  // Who comes later finds the line of another order; who comes at once has a conflict.
  expect([statuses[0], statuses.slice(1).filter((status) => ![409, 422].includes(status))]).toEqual([201, []]);
  const { body } = await say('GET /api/orders?_cnd[limit]=0,1000&fields=number&include=lines');
  expect((body as { number: string }[]).filter(({ number }) => number?.startsWith('line '))).toEqual([
    expect.objectContaining({ lines: [expect.objectContaining({ id })] }),
  ]);
});

test('an export is imported with the same keys', async () => {
  const project = await createProject({}, 'tests/fixtures/keys');
  const copy = await createProject({}, 'tests/fixtures/keys');
  try {
    const order = { id: '00000000-0000-0000-0000-000000000000', customer: { key: ODD }, currencies: [{ code: 'EUR' }] };
    await project.serving(async (url) => {
      await ask(url, 'POST /api/customers', { key: ODD });
      expect(await ask(url, 'POST /api/orders', order)).toMatchObject({ status: 201 });
    });
    const file = `${project.directory}/all`;
    expect(await project.run('export', file)).toMatchObject({ code: 0 });
    expect(await copy.run('import', file)).toMatchObject({ code: 0, err: '' });
    await copy.serving(async (url) => {
      const path = `/api/orders/${order.id}`;
      expect(await ask(url, `GET ${path}`)).toMatchObject({
        status: 200,
        body: { ...order, currencies: [{ code: 'EUR' }] },
      });
    });
    expect((await copy.run('delete', 'Customer', ODD, '--chunked')).err).toContain('refers to');
    expect(await copy.run('delete', 'Order', order.id, '--chunked')).toMatchObject({ code: 0 });
    expect(await copy.run('delete', 'Customer', ODD, '--chunked')).toMatchObject({ code: 0 });
    await expect(copy.run('delete', 'Order', 'x', '--chunked')).resolves.toMatchObject({ code: 1 });
  } finally {
    await project.remove();
    await copy.remove();
  }
});
