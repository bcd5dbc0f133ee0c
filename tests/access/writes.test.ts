/** What a role writes: each rule of the manual by a request, beside what is stored afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import { createDatabase, runSql } from '../support/databases.ts';
import { type Answer, as, type Service, startService } from './service.ts';

const ROLES: Readonly<Record<string, string>> = {
  branch: `
    scope: { branch: { claim: branch } }
    unscoped: [Branch, Customer, Tag]
    read:
      Order: { except: [internal_note] }
      Branch: { where: { id: { claim: branch } } }
      Customer: { where: { level: { lte: 2 } } }
      Tag: { where: { secret: false } }
    create: { Order: { set: { state: open } }, Customer: true }
    update: { Order: { where: { state: { in: [open, paid] } }, to: {}, except: [number] }, Customer: { only: [name] } }
    delete: { Order: { where: { state: open } } }`,
  partial: `
    read: { Order: { except: [internal_note, tags] }, Line: { only: [text, order] }, Customer: true, Branch: true, Tag: true }
    update:
      Order: { where: { state: open }, only: [note, internal_note, lines, customer], set: { placed: '2030-01-01T00:00:00Z' } }
      Line: { only: [text], where: { amount: { lt: 5 } } }
    delete: { Line: { where: { amount: { lt: 5 } } } }`,
  blind: `
    create: { Order: { only: [number, branch], set: { note: given } } }
    read: { Branch: true }`,
  booker: `
    create: { Order: { only: [number, branch, lines] } }
    read: { Branch: true }`,
  hider: `
    read: { Order: { where: { state: open } }, Branch: true }
    update: { Order: { to: {} } }
    create: { Order: { where: { state: { ne: closed } } } }`,
  hidden: `
    scope: { branch: { claim: branch } }
    unscoped: [Customer, Tag, Branch]
    read: { Order: { except: [branch] } }
    create: { Order: true }
    update: { Order: { where: { state: open } } }`,
  noter: `
    read: { Order: true, Branch: true, Customer: { where: { level: { lte: 2 } } } }
    update: { Order: { only: [note] } }`,
  tagger: `
    read: { '*': true }
    update: { Tag: { where: { secret: false } }, Order: { only: [note] } }`,
  linker: `
    read: { '*': true }
    update: { Customer: true, Order: { where: { state: open } } }`,
  remover: `
    read: { Order: true, Branch: { where: { name: North } } }
    delete: { Branch: true, Order: { where: { state: open } } }`,
  counted: `
    read: { '*': true }
    create: { Line: true }
    update: { Order: { where: { lines: { $count: { lte: 2 } } } }, Line: true }
    delete: { Line: true }`,
  stocked: `
    read: { '*': true }
    create: { Order: { where: { lines: { $count: { gte: 1 } } } }, Line: { where: { order.state: open } } }
    update: { Order: { where: { state: open, lines: { $count: { lte: 2 } } } } }`,
};

let service: Service;
let directory: string;
let ids: Readonly<Record<string, number>> = {};
let round = 0;

const records = (type: string) => service.engine.records<JsonObject & { readonly id: number }>(type);

async function make(type: string, record: JsonObject): Promise<number> {
  return (await records(type).create(record)).id;
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'roles-'));
  const hasScope = (text: string): boolean => text.includes('scope:');
  for (const [name, text] of Object.entries(ROLES))
    writeFileSync(
      join(directory, `${name}.yaml`),
      `role: ${name}\n${hasScope(text) ? '' : 'scope: none'}${text.replaceAll('\n    ', '\n')}\n`,
    );
  service = await startService('tests/fixtures/roles/schema', await createDatabase(), directory);
});

afterAll(async () => {
  await service.close();
  await service.database.remove();
  rmSync(directory, { recursive: true });
});

beforeEach(async () => {
  round += 10;
  const [north, south] = [await make('Branch', { name: 'North' }), await make('Branch', { name: 'South' })];
  const [ada, bob] = [await make('Customer', { name: 'Ada' }), await make('Customer', { name: 'Bob', level: 3 })];
  const [hot, black] = [await make('Tag', { word: 'hot' }), await make('Tag', { word: 'black', secret: true })];
  const order = async (number: number, branch: number, more: JsonObject): Promise<number> =>
    make('Order', { number: round + number, branch: { id: branch }, internal_note: 'secret', ...more });
  const mine = await order(1, north, {
    customer: { id: ada },
    lines: [{ text: 'a' }, { text: 'b', amount: 7 }],
    tags: [{ id: hot }, { id: black }],
  });
  const closed = await order(2, north, { state: 'closed', customer: { id: bob } });
  const theirs = await order(3, south, { customer: { id: ada }, lines: [{ text: 'c' }] });
  const paid = await order(4, north, { state: 'paid', customer: { id: bob } });
  const { records: lines } = await records('Line').list({ where: { order: { in: [mine, theirs] } } });
  const [a = 0, b = 0, c = 0] = lines.map(({ id }) => id);
  ids = {
    north,
    south,
    ada,
    bob,
    hot,
    black,
    mine,
    closed,
    theirs,
    paid,
    a,
    b,
    c,
    none: 999_999,
    new: round + 5,
    taken: round + 3,
    ended: round + 2,
    own: round + 1,
  };
});

const ordersNow = async (): Promise<readonly JsonObject[]> =>
  (await records('Order').list({ where: { number: { gte: round } } })).records;

/** Replaces `$name` by the identifier of this round. */
const filled = (text: string): string =>
  text.replaceAll(/"?\$(\w+)"?/g, (_, name: string) => String(ids[name] ?? `$${name}`));

async function send(
  role: string,
  title: string,
  body?: JsonValue,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const identity = as({ name: 'me', role, claims: { branch: ids['north'] ?? 0 } });
  const most = title.startsWith('DELETE') ? { prefer: 'max-affected=50' } : {};
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const text = body === undefined ? undefined : filled(JSON.stringify(body));
  return service.send(filled(title), { ...identity, ...json, ...most, ...headers }, text);
}

const $ = (name: string): JsonObject => ({ id: `$${name}` });

/** `[what, role, request, body, status, pointers or what is stored in the order "mine"]` */
type Case = readonly [string, string, string, JsonValue | undefined, number, (readonly string[] | JsonObject)?];

const CASES: readonly Case[] = [
  ['a created record must meet where, by what the role sets', 'branch', 'POST /api/orders', { number: '$new' }, 201],
  ['another value than that of set', 'branch', 'POST /api/orders', { number: '$new', state: 'paid' }, 403, ['/state']],
  ['the value of set', 'branch', 'POST /api/orders', { number: '$new', state: 'open', branch: $('north') }, 201],
  ['another scope', 'branch', 'POST /api/orders', { number: '$new', branch: $('south') }, 403, ['/branch']],
  ['an update must meet where before', 'branch', 'PATCH /api/orders/$closed', { note: 'x' }, 403, ['']],
  ['and to afterwards', 'branch', 'PATCH /api/orders/$mine', { state: 'closed' }, 200, { state: 'closed' }],
  ['and where afterwards, without to', 'partial', 'PATCH /api/lines/$a', { text: 'x' }, 405],
  ['scope holds for to', 'branch', 'PATCH /api/orders/$mine', { branch: $('south') }, 422, ['/branch/id']],
  ['a record that is not changed is not checked', 'branch', 'PATCH /api/orders/$closed', { state: 'closed' }, 200],
  ['hidden records are 404', 'branch', 'PATCH /api/orders/$theirs', { note: 'x' }, 404],
  ['404 comes before 403', 'branch', 'PATCH /api/orders/$theirs', { number: 1 }, 404],
  ['a field that may not be sent', 'branch', 'PATCH /api/orders/$mine', { number: '$new' }, 403, ['/number']],
  ['but equals what is stored', 'branch', 'PATCH /api/orders/$mine', { number: '$own', note: 'y' }, 200, { note: 'y' }],
  ['all pointers at once', 'partial', 'PATCH /api/orders/$closed', { number: 5, note: 'x' }, 403, ['', '/number']],
  ['an unknown field', 'hidden', 'PATCH /api/orders/$mine', { branch: $('north') }, 422, ['/branch']],
  [
    'a write-only value counts as a change',
    'partial',
    'PATCH /api/orders/$closed',
    { internal_note: 'secret' },
    403,
    [''],
  ],
  [
    'a write-only value is written',
    'partial',
    'PATCH /api/orders/$mine',
    { internal_note: 'n' },
    200,
    { internal_note: 'n' },
  ],
  ['set on update', 'partial', 'PATCH /api/orders/$mine', { note: 'n' }, 200, { placed: '2030-01-01T00:00:00Z' }],
  ['set only with a change', 'partial', 'PATCH /api/orders/$mine', { note: null }, 200, { placed: null }],
  ['a result that may not be read', 'hider', 'PATCH /api/orders/$mine', { state: 'paid' }, 204, { state: 'paid' }],
  ['an update that hides needs to', 'linker', 'PATCH /api/orders/$mine', { state: 'paid' }, 403, ['']],
  [
    'records before and after the write at once',
    'linker',
    'PATCH /api/orders',
    [
      { id: '$closed', note: 'x' },
      { id: '$mine', state: 'paid' },
    ],
    403,
    ['/0', '/1'],
  ],
  ['a given link must be readable', 'branch', 'PATCH /api/orders/$mine', { customer: $('bob') }, 422, ['/customer/id']],
  ['or is as none', 'branch', 'PATCH /api/orders/$mine', { customer: $('none') }, 422, ['/customer/id']],
  ['a guess at a hidden link', 'branch', 'PATCH /api/orders/$closed', { customer: $('bob') }, 403, ['']],
  ['which is not the one', 'branch', 'PATCH /api/orders/$closed', { customer: $('none') }, 403, ['']],
  ['null for a hidden link', 'branch', 'PATCH /api/orders/$paid', { customer: null, note: 'x' }, 200],
  ['null for a visible link', 'branch', 'PATCH /api/orders/$mine', { customer: null }, 200, { customer: null }],
  [
    'hidden members of a set stay',
    'branch',
    'PATCH /api/orders/$mine',
    { tags: [] },
    200,
    { tags: [{ id: '$black' }] },
  ],
  ['a hidden member cannot be given', 'branch', 'PATCH /api/orders/$mine', { tags: [$('black')] }, 422, ['/tags/0/id']],
  [
    'a pair is an update of the record with the set',
    'tagger',
    'PATCH /api/tags/$hot',
    { orders: [$('closed')] },
    200,
    { tags: [{ id: '$black' }] },
  ],
  ['and not of the other', 'tagger', 'PATCH /api/orders/$mine', { tags: [] }, 403, ['/tags']],
  ['and must meet where', 'tagger', 'PATCH /api/tags/$black', { orders: [] }, 403, ['']],
  [
    'a link through a set is an update of its holder',
    'linker',
    'PATCH /api/customers/$ada',
    { orders: [$('closed'), $('mine'), $('theirs')] },
    403,
    ['/orders/0'],
  ],
  ['also where it ends', 'linker', 'PATCH /api/customers/$bob', { orders: [] }, 403, ['/orders']],
  [
    'and is allowed if the holder may be updated',
    'linker',
    'PATCH /api/customers/$bob',
    { orders: [$('closed'), $('paid'), $('mine')] },
    200,
    { customer: { id: '$bob' } },
  ],
  ['the set as it is shown', 'tagger', 'PATCH /api/tags/$hot', { word: 'hot', orders: [$('mine')] }, 200],
  [
    'parts follow the owner',
    'branch',
    'PATCH /api/orders/$mine',
    { lines: [{ id: '$a', text: 'z' }, { text: 'n' }] },
    200,
  ],
  ['who may not be updated', 'branch', 'PATCH /api/orders/$closed', { lines: [{ text: 'n' }] }, 403, ['/lines/0']],
  [
    'also beside a change that ends it',
    'branch',
    'PATCH /api/orders/$mine',
    { state: 'closed', lines: [{ text: 'n' }] },
    200,
    { state: 'closed' },
  ],
  ['and the relation', 'tagger', 'PATCH /api/orders/$mine', { lines: [] }, 403, ['/lines']],
  [
    'a named part has its own entries',
    'partial',
    'PATCH /api/orders/$mine',
    { lines: [{ id: '$a', text: 'z' }, $('b')] },
    200,
  ],
  [
    'a removal from a set is a deletion of the part',
    'partial',
    'PATCH /api/orders/$mine',
    { lines: [$('a')] },
    403,
    ['/lines'],
  ],
  ['which its entry allows', 'partial', 'PATCH /api/orders/$mine', { lines: [$('b')] }, 200],
  ['and no entry creates it', 'counted', 'PATCH /api/orders/$mine', { lines: [$('a'), $('b'), { text: 'n' }] }, 200],
  [
    'afterwards is the end of the transaction',
    'counted',
    'PATCH /api/orders/$mine',
    { note: 'n', lines: [$('a'), $('b'), { text: 'n' }] },
    403,
    [''],
  ],
  [
    'an array with a hidden record',
    'branch',
    'PATCH /api/orders',
    [
      { id: '$mine', note: 'x' },
      { id: '$theirs', note: 'x' },
    ],
    404,
    ['/1/id'],
  ],
  [
    'an array with a forbidden record',
    'branch',
    'PATCH /api/orders',
    [
      { id: '$mine', note: 'x' },
      { id: '$closed', note: 'x' },
    ],
    403,
    ['/1'],
  ],
  ['a record that may not be deleted', 'branch', 'DELETE /api/orders/$paid', undefined, 403, ['']],
  ['a hidden one', 'branch', 'DELETE /api/orders/$theirs', undefined, 404],
  ['one that may', 'branch', 'DELETE /api/orders/$mine', undefined, 200],
  [
    'a deletion by filter that finds one which may not be deleted',
    'branch',
    'DELETE /api/orders?_cnd[number][lte]=$new',
    undefined,
    403,
  ],
  [
    'a deletion by filter looks at readable records',
    'branch',
    'DELETE /api/orders?_cnd[number][in]=$own,$taken',
    undefined,
    200,
  ],
  [
    'an upsert of a hidden record',
    'branch',
    'PUT /api/orders?on=number',
    { number: '$taken', note: 'x' },
    409,
    ['/number'],
  ],
  [
    'an upsert of one that may not be updated',
    'branch',
    'PUT /api/orders?on=number',
    { number: '$ended', note: 'x' },
    409,
    ['/number'],
  ],
  ['an upsert that changes nothing', 'branch', 'PUT /api/orders?on=number', { number: '$ended' }, 200],
  ['an upsert that makes a record', 'branch', 'PUT /api/orders?on=number', { number: '$new' }, 201],
  ['an upsert without a right to update', 'blind', 'POST /api/orders?on=id', [{ number: '$new' }], 403],
  ['a unique value of a hidden record', 'branch', 'POST /api/orders', { number: '$taken' }, 409, ['/number']],
  ['a created record that may not be read', 'blind', 'POST /api/orders', { number: '$new', branch: $('south') }, 201],
  [
    'a value that is set and hidden',
    'blind',
    'POST /api/orders',
    { number: '$new', branch: $('south'), note: 'given' },
    422,
    ['/note'],
  ],
  ['a required value without set', 'blind', 'POST /api/orders', { number: '$new' }, 422, ['/branch']],
  [
    'a created record must meet where',
    'hider',
    'POST /api/orders',
    { number: '$new', branch: $('north'), state: 'closed' },
    403,
    [''],
  ],
  [
    'a created record that leaves the sight',
    'hider',
    'POST /api/orders',
    { number: '$new', branch: $('north'), state: 'paid' },
    201,
  ],
];

test.each(CASES.map((one) => [one[0], one] as const))('%s', async (_, [, role, title, body, status, more]) => {
  const before = await ordersNow();
  const dry = await send(role, `${title}${title.includes('?') ? '&' : '?'}dryRun=true`, body);
  expect([
    dry.status === 200 && status < 300 ? status : dry.status,
    dry.status >= 300 && dry.status !== status ? dry.text : '',
  ]).toEqual([status, '']);
  expect(await ordersNow()).toEqual(before);
  const answer = await send(role, title, body);
  expect([answer.status, answer.text]).toEqual([status, expect.anything()]);
  if (Array.isArray(more)) {
    const { errors = [] } = JSON.parse(answer.text) as { errors?: readonly { readonly pointer: string }[] };
    expect(errors.map(({ pointer }) => pointer)).toEqual(more);
  } else if (more) {
    const stored = await records('Order').get(ids['mine'] ?? 0);
    expect(stored).toMatchObject(JSON.parse(filled(JSON.stringify(more))) as JsonObject);
  }
  if (status >= 300) expect(await ordersNow()).toEqual(before);
});

test.each(Object.keys(ROLES))('%s puts back what it gets', async (role) => {
  for (const name of ['mine', 'closed', 'paid']) {
    const before = await records('Order').get(ids[name] ?? 0);
    const { status, text } = await send(role, `GET /api/orders/$${name}`);
    if (status !== 200) continue;
    const answer = await send(role, `PUT /api/orders/$${name}`, JSON.parse(text) as JsonValue);
    expect([name, answer.status === 200 || answer.status === 403, answer.text]).toEqual([
      name,
      true,
      expect.anything(),
    ]);
    if (answer.status === 403) expect(answer.text).toContain('You may not PUT');
    expect(await records('Order').get(ids[name] ?? 0)).toEqual(before);
  }
});

test('a hidden record and none are answered alike', async () => {
  for (const [method, body] of [
    ['PATCH', { note: 'x' }],
    ['PUT', { number: 7 }],
    ['DELETE', undefined],
  ] as const) {
    const [hidden, none] = [
      await send('branch', `${method} /api/orders/$theirs`, body),
      await send('branch', `${method} /api/orders/$none`, body),
    ];
    expect(hidden.text.replaceAll(String(ids['theirs']), 'N')).toBe(none.text.replaceAll(String(ids['none']), 'N'));
    expect([hidden.status, none.status]).toEqual([404, 404]);
  }
});

test.each([
  ['branch', 'orders/$mine', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ['branch', 'orders/$paid', 'GET, HEAD, PUT, PATCH, OPTIONS'],
  ['branch', 'orders/$closed', 'GET, HEAD, OPTIONS'],
  ['branch', 'customers/$ada', 'GET, HEAD, PUT, PATCH, OPTIONS'],
  ['remover', 'orders/$mine', 'GET, HEAD, DELETE, OPTIONS'],
  ['remover', 'branches/$north', 'GET, HEAD, DELETE, OPTIONS'],
  ['counted', 'orders/$mine', 'GET, HEAD, PUT, PATCH, OPTIONS'],
  ['linker', 'orders/$closed', 'GET, HEAD, OPTIONS'],
  ['hider', 'orders/$mine', 'GET, HEAD, PUT, PATCH, OPTIONS'],
])('OPTIONS tells %s what it may do with %s: %s', async (role, path, allow) => {
  const { status, headers, text } = await send(role, `OPTIONS /api/${path}`);
  expect([status, headers['allow'], text]).toEqual([204, allow, '']);
  expect(headers['accept-patch'] !== undefined).toBe(allow.includes('PATCH'));
  const deletion = await send(role, `DELETE /api/${path}?dryRun=true`);
  expect(deletion.status === 403).toBe(!allow.includes('DELETE'));
});

test('OPTIONS answers a hidden record as none, and what is no identifier as GET does', async () => {
  const options = (path: string) => send('branch', `OPTIONS /api/orders/${path}`);
  const [hidden, none, faulty] = [await options('$theirs'), await options('$none'), await options('x')];
  expect(hidden.text.replaceAll(String(ids['theirs']), 'N')).toBe(none.text.replaceAll(String(ids['none']), 'N'));
  expect([hidden.status, none.status, faulty.status]).toEqual([404, 404, 400]);
  expect((await send('hider', 'OPTIONS /api/orders/$closed')).status).toBe(404);
  const collection = await send('branch', 'OPTIONS /api/orders');
  expect(collection.headers['allow']).toBe('GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
});

test('a record without a right to read it has no body, tag and address', async () => {
  const created = await send('blind', 'POST /api/orders', { number: '$new', branch: $('south') });
  expect([created.status, created.text, created.headers['location'], created.headers['etag']]).toEqual([
    201,
    '',
    undefined,
    undefined,
  ]);
  const updated = await send('hider', 'PATCH /api/orders/$mine', { state: 'paid' });
  expect([updated.status, updated.text, updated.headers['etag']]).toEqual([204, '', undefined]);
});

test.each([
  ['return=representation', undefined],
  ['return=minimal', 'return=minimal'],
])('Prefer: %s of a record that may not be read is applied: %s (RFC 7240, 3)', async (prefer, applied) => {
  const { status, headers } = await send('hider', 'PATCH /api/orders/$mine', { state: 'paid' }, { prefer });
  expect([status, headers['preference-applied']]).toEqual([204, applied]);
});

test('403 comes before 412', async () => {
  const stale = { 'if-match': '"old"' };
  expect((await send('branch', 'PATCH /api/orders/$closed', { note: 'x' }, stale)).status).toBe(403);
  expect((await send('branch', 'PATCH /api/orders/$theirs', { note: 'x' }, stale)).status).toBe(404);
  expect((await send('branch', 'PATCH /api/orders/$mine', { note: 'x' }, stale)).status).toBe(412);
  expect((await send('branch', 'DELETE /api/orders/$paid', undefined, stale)).status).toBe(403);
  // These break conditions that only the end of the write can tell.
  expect((await send('linker', 'PATCH /api/orders/$mine', { state: 'paid' }, stale)).status).toBe(403);
  expect((await send('linker', 'PATCH /api/orders/$mine?dryRun=true', { state: 'paid' }, stale)).status).toBe(403);
  expect((await send('linker', 'PATCH /api/orders/$mine', { note: 'x' }, stale)).status).toBe(412);
  const order = { number: '$new', branch: $('north') };
  expect((await send('hider', 'POST /api/orders', { ...order, state: 'closed' }, stale)).status).toBe(403);
  expect((await send('hider', 'POST /api/orders', order, stale)).status).toBe(412);
});

test('403 comes before 412, also if only the end of the write can tell', async () => {
  const [stale, none] = [{ 'if-match': '"old"' }, { 'if-none-match': '*' }];
  const [two, three] = [
    [$('a'), $('b')],
    [$('a'), $('b'), { text: 'n' }],
  ];
  for (const dry of ['', '?dryRun=true']) {
    const patch = `PATCH /api/orders/$mine${dry}`;
    expect((await send('counted', patch, { note: 'n', lines: three }, stale)).status).toBe(403);
    expect((await send('counted', patch, { note: 'n', lines: two }, stale)).status).toBe(412);
  }
  const order = { number: '$new', branch: $('north') };
  expect((await send('stocked', 'POST /api/orders', order, stale)).status).toBe(403);
  const lines = [{ text: 'n' }];
  expect((await send('stocked', 'POST /api/orders', { ...order, lines }, stale)).status).toBe(412);
  expect((await send('stocked', 'POST /api/orders', { ...order, lines, state: 'paid' }, stale)).status).toBe(403);
  expect(
    (await send('counted', 'PATCH /api/orders', [{ id: '$mine', note: 'n', lines: three, '@etag': '"old"' }])).status,
  ).toBe(403);
  const upsert = 'PUT /api/orders?on=number';
  expect((await send('stocked', upsert, { number: '$own', note: 'n', lines: three }, none)).status).toBe(403);
  expect((await send('stocked', upsert, { number: '$own', note: 'n', lines: two }, none)).status).toBe(412);
});

test('403 by values comes before what the links of a body refer to, and before conflicts', async () => {
  const paid = { state: 'paid' };
  expect((await send('stocked', 'PATCH /api/orders/$mine', { ...paid, customer: $('none') })).status).toBe(403);
  expect((await send('stocked', 'PATCH /api/orders/$mine', { customer: $('none') })).status).toBe(422);
  const renamed = { id: '$north', name: 'other' };
  expect((await send('stocked', 'PATCH /api/orders/$mine', { ...paid, branch: renamed })).status).toBe(403);
  expect((await send('stocked', 'PATCH /api/orders/$mine', { branch: renamed })).status).toBe(409);
});

test('a write that is refused for its tag does not move the identifiers', async () => {
  const order = { number: '$new', branch: $('north'), lines: [{ text: 'n' }] };
  const stale = { 'if-match': '"old"' };
  expect((await send('stocked', 'POST /api/orders', { ...order, id: 1_000_000_000 }, stale)).status).toBe(412);
  const { headers } = await send('stocked', 'POST /api/orders', order);
  expect(Number(String(headers['location']).split('/').pop())).toBeLessThan(1_000_000_000);
});

test('of writes at once, each finds what the one before has left', async () => {
  const close = (_: unknown, index: number): Promise<Answer> =>
    send('branch', 'PATCH /api/orders/$mine', { state: 'closed', note: `closed by ${index}` });
  const statuses = (await Promise.all(Array.from({ length: 8 }, close))).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 403)]);
});

test('conflicts do not name records of a type that is read under a condition', async () => {
  const { text } = await send('branch', 'POST /api/orders', { number: '$own' });
  expect(text).not.toMatch(new RegExp(`"records"|Order ${ids['mine']}\\b`));
  const refused = await send('remover', 'DELETE /api/branches/$north');
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(`Order ${ids['mine']}`)]);
});

test('effects leave out hidden records and fields', async () => {
  const { text } = await send('branch', 'DELETE /api/orders/$mine?dryRun=true');
  const { effects } = JSON.parse(text) as {
    effects: readonly { readonly type: string; readonly identifiers: readonly number[] }[];
  };
  expect(effects.flatMap(({ type, identifiers }) => (type === 'Tag' ? identifiers : []))).toEqual([ids['hot']]);
  const made = JSON.parse(
    (await send('blind', 'POST /api/orders?dryRun=true', { number: '$new', branch: $('south') })).text,
  ) as JsonObject;
  expect(made).toMatchObject({ answer: { status: 201, body: null }, effects: [] });
});

test('a dry run uses up no identifier, and shows the next', async () => {
  const create = (more = '') => send('branch', `POST /api/orders${more}`, { number: '$new' });
  const shown = await Promise.all([create('?dryRun=true'), create('?dryRun=true')]);
  const { headers } = await create();
  const [first, second] = shown.map(({ text }) => JSON.parse(text) as { answer: { headers: JsonObject } });
  const location = headers['location'];
  expect([first, second].map((one) => one?.answer.headers['Location'])).toEqual([location, location]);
});

test('an idempotency key belongs to the identity, and a retry is answered by the rights of today', async () => {
  const key = { 'idempotency-key': `k${round}` };
  const first = await send('hider', 'POST /api/orders', { number: '$new', branch: $('north') }, key);
  expect([first.status, first.headers['location']]).toEqual([201, expect.any(String)]);
  await records('Order').update(Number(String(first.headers['location']).split('/').pop()), { state: 'paid' });
  const again = await send('hider', 'POST /api/orders', { number: '$new', branch: $('north') }, key);
  expect([again.status, again.text, again.headers['location']]).toEqual([201, '', undefined]);
});

test('who reads no order creates one with its parts, and no other parts', async () => {
  const lines = [{ text: 'n' }];
  const { status } = await send('booker', 'POST /api/orders', { number: '$new', branch: $('north'), lines });
  expect(status).toBe(201);
  expect((await ordersNow()).at(-1)).toMatchObject({ number: ids['new'], lines });
  const others = { number: round + 6, branch: $('north'), lines: [$('a')] };
  expect((await send('booker', 'POST /api/orders', others)).status).toBe(422);
  expect((await send('blind', 'POST /api/orders', { ...others, lines })).status).toBe(422);
});

test('a set of which more is hidden than one write may touch is not written by half', async () => {
  const hidden = Array.from({ length: 10_000 }, (_, index) => 1_000_000 + index);
  const rows = (row: (id: number) => string): string => hidden.map(row).join();
  await runSql(
    service.database,
    `insert into tags (id, word, secret) values ${rows((id) => `(${id}, 'x', true)`)}`,
    `insert into orders_tags (order_id, tag_id) values ${rows((id) => `(${ids['mine']}, ${id})`)}`,
  );
  const refused = await send('branch', 'PATCH /api/orders/$mine', { tags: [] });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('with what you may not read of it')]);
  expect((await send('branch', 'PATCH /api/orders/$mine', { note: 'x' })).status).toBe(200);
});

test('cascades need no right', async () => {
  expect((await send('remover', 'DELETE /api/orders/$mine')).status).toBe(200);
  expect(
    await records('Line')
      .get(ids['a'] ?? 0)
      .catch(() => undefined),
  ).toBeUndefined();
});
