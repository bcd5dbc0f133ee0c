/** Formats under a role: two databases that differ only in hidden records and fields give the same bytes in each format. */
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../support/databases.ts';
import { type Answer, as, type Service, startService } from './service.ts';

const CLERK_ROLE = `role: clerk
include: [branch-reader]
write:
  Order: { except: [internal_note, author] }
  Customer: { where: { level: { lte: 2 } } }
`;
const ROOT = as({ name: 'root', role: 'editor', claims: {} });
const CLERK = as({ name: 'clerk', role: 'clerk', claims: { branch: 1 } });
const CSV = 'text/csv; charset=utf-8';
const NDJSON = 'application/x-ndjson';

let services: readonly [plain: Service, hidden: Service];
const access = mkdtempSync(join(tmpdir(), 'access-'));
cpSync('tests/fixtures/roles/access', access, { recursive: true });
writeFileSync(join(access, 'clerk.yaml'), CLERK_ROLE);

/** Identifiers are given, so that both have the same ones. */
const SEEN: readonly (readonly [path: string, records: readonly object[]])[] = [
  ['branches', [{ id: 1, name: 'North' }]],
  [
    'customers',
    [
      { id: 1, name: 'Ada', level: 1 },
      { id: 2, name: 'Öz;"x"', level: 2 },
    ],
  ],
  ['tags', [{ id: 1, word: 'hot', secret: false }]],
  [
    'orders',
    [1, 3].map((id) => ({
      id,
      number: id,
      note: `n${id}`,
      internal_note: '',
      branch: { id: 1 },
      customer: { id: 1 },
      tags: [{ id: 1 }],
      lines: [{ text: `line ${id}` }],
    })),
  ],
];
const HIDDEN: typeof SEEN = [
  ['branches', [{ id: 2, name: 'South' }]],
  ['customers', [{ id: 3, name: 'Hid', level: 3 }]],
  ['tags', [{ id: 2, word: 'black', secret: true }]],
  [
    'orders',
    [2, 4].map((id) => ({
      id,
      number: id,
      note: 'n1',
      internal_note: 'secret',
      branch: { id: 2 },
      customer: { id: 1 },
      tags: [{ id: 1 }, { id: 2 }],
      lines: [{ text: 'line 1' }],
    })),
  ],
];

async function fill({ send }: Service, isWhole: boolean): Promise<void> {
  const sent = async (title: string, body: unknown): Promise<void> => {
    const answer = await send(title, { ...ROOT, 'content-type': 'application/json' }, JSON.stringify(body));
    if (answer.status >= 300) throw new Error(`${title}: ${answer.text}`);
  };
  for (const [path, records] of SEEN) await sent(`POST /api/${path}`, records);
  if (!isWhole) return;
  for (const [path, records] of HIDDEN) await sent(`POST /api/${path}`, records);
  for (const id of [1, 3])
    await sent(`PATCH /api/orders/${id}`, { internal_note: 'secret', tags: [{ id: 1 }, { id: 2 }] });
}

beforeAll(async () => {
  const started = async (isWhole: boolean): Promise<Service> => {
    const service = await startService('tests/fixtures/roles/schema', await createDatabase(), access);
    await fill(service, isWhole);
    return service;
  };
  services = [await started(false), await started(true)];
});
afterAll(async () => {
  for (const service of services) await service.close();
});

async function both(title: string, headers: Readonly<Record<string, string>> = {}, body?: string): Promise<Answer> {
  const answers: Answer[] = [];
  for (const { send } of services) answers.push(await send(title, { ...CLERK, ...headers }, body));
  const [plain, hidden] = answers.map(({ status, headers: { date: _date, 'x-request-id': _id, ...others }, text }) => ({
    status,
    headers: others,
    text: text.replaceAll(/"(?:requestId|instance)":"[^"]*"/g, ''),
  }));
  expect(hidden).toEqual(plain);
  return answers[0] as Answer;
}

test.each([
  ['GET /api/orders', CSV],
  ['GET /api/orders?include=lines,tags,customer&_cnd[orderBy]=number,desc', NDJSON],
  ['GET /api/customers', CSV],
  ['GET /api/customers?include=orders', NDJSON],
  ['GET /api/tags?_cnd[limit]=1', CSV],
  ['GET /api/lines', CSV],
  ['GET /json-server/orders?_page=1&_limit=1', '*/*'],
  ['GET /json-server/orders?note=n1', '*/*'],
  ['GET /json-server/orders?q=n1', '*/*'],
  ['GET /json-server/customers?_embed=orders&_sort=name&_order=DESC', '*/*'],
  ['GET /json-server/orders/1?_embed=lines&_expand=customer', '*/*'],
  ['GET /json-server/orders/2', '*/*'],
  ['GET /json-server/customers/3', '*/*'],
  ['GET /simple-rest/orders?range=[0,0]', '*/*'],
  ['GET /simple-rest/orders?filter={"customer_id":1}&sort=["id","DESC"]', '*/*'],
  ['GET /simple-rest/tags?filter={"id":[1,2]}', '*/*'],
  ['GET /api/orders/$summary?by=customer&measure=count', '*/*'],
  ['GET /api/orders?internal_note=x', '*/*'],
  ['GET /json-server/orders?internal_note=secret', '*/*'],
  ['GET /api/orders?fields=internal_note', '*/*'],
])('%s as %s', async (title, accept) => {
  const { text } = await both(title.replaceAll('"', '%22'), { accept });
  expect(text).not.toMatch(/secret(?!":|,|\])|South|Hid\b|black/);
});

test('the OpenAPI document has what is visible', async () => {
  const { status, text } = await both('GET /openapi.json');
  expect([status, text]).toEqual([200, expect.stringContaining('"Order"')]);
  expect(text).not.toContain('internal_note');
});

test.each([
  ['GET /api/orders', CSV, 2],
  ['GET /json-server/orders', '*/*', 2],
  ['GET /simple-rest/customers?range=[0,9]', '*/*', 2],
])('%s as %s shows what is visible', async (title, accept, count) => {
  const { status, text } = await both(title, { accept });
  const rows = accept === CSV ? text.trim().split('\r\n').length - 1 : (JSON.parse(text) as unknown[]).length;
  expect([status, rows]).toEqual([200, count]);
  expect(text).not.toContain('internal_note');
});

test.each([
  ['a hidden field, as an unknown column', 'POST /api/orders', CSV, 'number,internal_note\r\n9,x\r\n', 422],
  ['a hidden link, as one that is not there', 'POST /api/orders', CSV, 'number,customer.id\r\n9,3\r\n', 422],
  ['a hidden field, as an unknown key', 'POST /api/orders', NDJSON, '{"number":9,"internal_note":"x"}\n', 422],
  ['a hidden part of a set', 'POST /api/orders', NDJSON, '{"number":9,"tags":[{"id":2}]}\n', 422],
  ['a hidden record', 'PUT /json-server/orders/2', 'application/json', '{"note":"x"}', 404],
  ['a hidden field in a dialect', 'PUT /json-server/orders/1', 'application/json', '{"internal_note":"x"}', 422],
  ['a hidden link in a dialect', 'PUT /simple-rest/orders/1', 'application/json', '{"customer_id":3}', 422],
  ['a hidden record to delete', 'DELETE /simple-rest/orders/4', 'application/json', '', 404],
  ['what it may not write', 'POST /api/tags', CSV, 'word\r\nx\r\n', 403],
  ['what it may not have afterwards', 'POST /api/customers', CSV, 'name,level\r\nx,3\r\n', 403],
])('refuses %s: %s as %s', async (_, title, type, body, status) => {
  const answer = await both(title, { 'content-type': type }, body === '' ? undefined : body);
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
});

test.each([
  ['PUT /json-server/orders/1', 'application/json', '{"id":1,"number":1,"note":"put","customer_id":2}', 200],
  ['POST /json-server/customers', 'application/json', '{"name":"new","level":2,"id":20}', 201],
  ['POST /api/customers?on=id', CSV, 'id,name,level\r\n20,again,1\r\n', 200],
  ['POST /api/orders', NDJSON, '{"id":30,"number":30,"tags":[{"id":1}]}\n', 201],
  ['DELETE /simple-rest/orders/30', 'application/json', '', 200],
])('%s as %s is answered alike', async (title, type, body, status) => {
  const answer = await both(title, { 'content-type': type }, body === '' ? undefined : body);
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
});

test('writing what is visible leaves what is hidden', async () => {
  const [, hidden] = services;
  const { text } = await hidden.send('GET /api/orders/1?include=tags', ROOT);
  expect(JSON.parse(text)).toMatchObject({ internal_note: 'secret', note: 'put', tags: [{ id: 1 }, { id: 2 }] });
});
