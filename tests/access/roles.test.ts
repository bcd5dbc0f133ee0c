/** What a role reads: the rest is absent everywhere. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRoles } from '../../engine/access/checks.ts';
import { createBinder } from '../../engine/access/rules.ts';
import { createToken, parseClaims, tokenLine } from '../../engine/access/tokens.ts';
import { mermaidOf } from '../../engine/describe/describe.ts';
import type { RecordType } from '../../engine/model/model.ts';
import { namedUniques, seenModel } from '../../engine/model/rights.ts';
import { checkSchema } from '../../engine/validation/check-schema.ts';
import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';

const TOKENS = { editor: createToken(), north: createToken(), nowhere: createToken() } as const;
type Who = keyof typeof TOKENS;

const lines = [
  tokenLine({ name: 'editor', role: 'editor', claims: [] }, TOKENS.editor),
  tokenLine({ name: 'north', role: 'branch-reader', claims: ['branch=1'] }, TOKENS.north),
  tokenLine({ name: 'nowhere', role: 'branch-reader', claims: [] }, TOKENS.nowhere),
];
const server = useServer({
  schemaDirectory: 'tests/fixtures/roles/schema',
  settings: { accessDirectory: 'tests/fixtures/roles/access', tokens: lines.join(';') },
});

async function ask(who: Who, title: string, body?: unknown) {
  const headers = { authorization: `Bearer ${TOKENS[who]}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await exchange(server.url, title, { headers, ...sent });
  return { ...answer, body: answer.text === '' ? undefined : JSON.parse(answer.text) };
}

const asEditor = async (title: string, body: unknown): Promise<void> => {
  const { status, text } = await ask('editor', title, body);
  if (status >= 300) throw new Error(`${title}: ${text}`);
};

beforeAll(async () => {
  await asEditor('POST /api/branches', [{ name: 'North' }, { name: 'South' }]);
  await asEditor('POST /api/customers', [
    { name: 'Ada', level: 1 },
    { name: 'Bob', level: 3 },
  ]);
  await asEditor('POST /api/tags', [{ word: 'hot' }, { word: 'black', secret: true }]);
  const order = (number: number, branch: number, customer: number) => ({
    number,
    internal_note: `secret ${number}`,
    branch: { id: branch },
    customer: { id: customer },
    lines: [{ text: `line of ${number}` }],
    tags: [{ id: 1 }, { id: 2 }],
  });
  await asEditor('POST /api/orders', [order(1, 1, 1), order(2, 1, 2), order(3, 2, 1), order(4, 2, 2)]);
});

test('a role sees its own orders, without hidden fields, links and members', async () => {
  const { status, body, headers } = await ask('north', 'GET /api/orders?_cnd[limit]=0,10');
  expect([status, headers['x-total-count']]).toEqual([200, '2']);
  expect(body).toMatchObject([
    { id: 1, number: 1, branch: { id: 1 }, customer: { id: 1 }, lines: [{ id: 1 }], tags: [{ id: 1 }] },
    { id: 2, number: 2, branch: { id: 1 }, customer: null, lines: [{ id: 2 }], tags: [{ id: 1 }] },
  ]);
  expect(JSON.stringify(body)).not.toMatch(/secret [0-9]|internal/);
});

test.each([
  ['GET /api/orders/1', 200],
  ['GET /api/orders/3', 404],
  ['GET /api/orders/99', 404],
  ['GET /api/lines/1', 200],
  ['GET /api/lines/3', 404],
  ['GET /api/branches/2', 404],
  ['GET /api/orders?_cnd[internal_note]=x', 400],
  ['GET /api/orders?fields=internal_note', 400],
  ['GET /api/orders?_cnd[orderBy]=internal_note', 400],
  ['POST /api/orders', 403],
  ['DELETE /api/orders/1', 403],
  ['GET /api/nothing', 404],
] as const)('%s is answered with %i', async (title, status) => {
  expect((await ask('north', title, title.startsWith('POST') ? {} : undefined)).status).toBe(status);
});

const without = (text: string): string => text.replaceAll(/\b(3|99)\b/g, 'N');

test('a hidden record is answered as one that never was', async () => {
  const [hidden, none] = [await ask('north', 'GET /api/orders/3'), await ask('north', 'GET /api/orders/99')];
  expect(without(hidden.text)).toBe(without(none.text));
});

test.each([
  ['_cnd[customer.name]=Bob', []],
  ['_cnd[customer][null]=true', [2]],
  ['_cnd[tags][$some][0][word]=black', []],
  ['_cnd[tags][$count]=1', [1, 2]],
  ['_cnd[branch.orders][$count]=2', [1, 2]],
  ['_cnd[orderBy]=customer.name', [2, 1]],
] as const)('orders by ?%s', async (search, numbers) => {
  const { body, text } = await ask('north', `GET /api/orders?${search}`);
  expect(Array.isArray(body) ? body.map((one: { number: number }) => one.number) : text).toEqual(numbers);
});

test('a summary counts what is visible', async () => {
  const { body } = await ask('north', 'GET /api/orders/$summary?by=customer&measure=count');
  expect(body).toEqual([
    { by: { customer: null }, measures: { count: 1 } },
    { by: { customer: expect.objectContaining({ id: 1 }) }, measures: { count: 1 } },
  ]);
});

test('a claim that is missing allows nothing', async () => {
  expect((await ask('nowhere', 'GET /api/orders')).body).toEqual([]);
  expect((await ask('nowhere', 'GET /api/branches')).body).toEqual([]);
  expect((await ask('nowhere', 'GET /api/customers')).body).toHaveLength(1);
  expect((await ask('nowhere', 'GET /api/lines')).body).toEqual([]);
});

test('$me says what the identity may do', async () => {
  expect((await ask('north', 'GET /api/$me')).body).toEqual({
    name: 'north',
    role: 'branch-reader',
    types: {
      Branch: ['list', 'get'],
      Customer: ['list', 'get'],
      Line: ['list', 'get'],
      Order: ['list', 'get'],
      Tag: ['list', 'get'],
    },
    history: [],
  });
  const asked: unknown[] = [];
  for (const search of ['?field=name', '?_cnd[name]=x', '?dryRun=true']) {
    const { status, body } = await ask('north', `GET /api/$me${search}`);
    asked.push([search, status, body.detail]);
  }
  expect(asked).toEqual([
    ['?field=name', 400, 'Unknown parameter "field"'],
    ['?_cnd[name]=x', 400, '"_cnd[name]" can only be used with lists'],
    ['?dryRun=true', 400, '"dryRun" can only be used with requests that write'],
  ]);
});

test('without credentials there is no access', async () => {
  expect((await exchange(server.url, 'GET /api/orders', {})).status).toBe(401);
});

/** The rights of a role with this text, and the model that it is for. */
function binderOf(text: string, schema = 'tests/fixtures/roles/schema') {
  const { model } = checkSchema(schema);
  if (!model) throw new Error('the schema is faulty');
  const directory = mkdtempSync(join(tmpdir(), 'access-'));
  writeFileSync(join(directory, 'r.yaml'), `role: r\n${text}`);
  const { roles } = checkRoles(directory, model);
  const role = roles?.get('r');
  if (!role) throw new Error('the role is faulty');
  return { model, bind: createBinder(role, model, () => undefined) };
}

test('the diagram of the start page has no relation that the role does not see', () => {
  const { model, bind } = binderOf(`read:
  Order: { except: [customer, tags] }
  Customer: { except: [orders] }
  Tag: { except: [orders] }
  Branch: true`);
  const diagram = mermaidOf(seenModel(model, bind({}))).split('\n');
  expect(diagram.slice(1)).toEqual([
    ...['Customer', 'Line', 'Order', 'Branch', 'Tag'].map((name) => `  "${name}"`),
    '  "Line" }o--|| "Order" : "order"',
    '  "Order" }o--|| "Branch" : "branch"',
  ]);
});

test('agents and documents are told of no unique relation that the role does not see', () => {
  const schema = mkdtempSync(join(tmpdir(), 'schema-'));
  writeFileSync(
    join(schema, 'guest.yaml'),
    'type: Guest\nrelations: { seat: { kind: hasOne, type: Seat, inverse: guest } }',
  );
  writeFileSync(
    join(schema, 'seat.yaml'),
    'type: Seat\nrelations: { guest: { kind: belongsTo, type: Guest, inverse: seat } }',
  );
  const uniques = (text: string) => {
    const { model, bind } = binderOf(text, schema);
    return namedUniques(seenModel(model, bind({})).types.get('Seat') as RecordType).map(({ name }) => name);
  };
  expect(uniques('read: { Guest: true, Seat: true }')).toEqual(['guest']);
  expect(uniques('read: { Guest: { except: [seat] }, Seat: { except: [guest] } }')).toEqual([]);
});

test('rights are kept by the values of all claims that a condition may ask for', () => {
  const conditions = String.raw`{ number: { gt: { claim: 'a"b' } }, note: { claim: [outer, 'in"ner'] } }`;
  const { bind } = binderOf(`read: { Order: { where: ${conditions} } }`);
  const valuesOf = (claims: object): unknown => {
    const where = bind(claims as never).types.get('Order')?.read?.where ?? [];
    return where.map((one) => ('value' in one ? one.value : undefined));
  };
  expect(valuesOf({ 'a"b': 1, outer: { 'in"ner': 'x' } })).toEqual([1, 'x']);
  expect(valuesOf({ 'a"b': 2, outer: { 'in"ner': 'x' } })).toEqual([2, 'x']);
  expect(valuesOf({ 'a"b': 2, outer: { 'in"ner': 'y' } })).toEqual([2, 'y']);
  expect(valuesOf({ 'a"b': 2n, outer: { 'in"ner': 'y' } })).toEqual([]);
});

test('dots in the name of a claim lead to one within it', () => {
  const texts = ['org.team=a', 'org.team=b', 'org.level=2', 'plan=x', 'plan.price=9', 'https://example.com/id=7'];
  expect(parseClaims(texts)).toMatchObject({
    'org.team': ['a', 'b'],
    org: { team: ['a', 'b'], level: '2' },
    plan: 'x',
    'https://example.com/id': '7',
  });
});
