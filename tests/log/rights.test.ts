/** Who may read the log, and what of it. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { runSql } from '../support/databases.ts';
import { createProject, type Project, runCommand } from '../support/project.ts';

const FILES = {
  'order.yaml': `type: Order
history: true
fields: { branch: { type: string }, note: { type: string }, total: { type: decimal } }
relations:
  lines: { kind: hasMany, type: Line, owned: true, nested: write }
  customer: { kind: belongsTo, type: Customer, onDelete: setNull }
  tags: { kind: manyToMany, type: Tag }
`,
  'line.yaml': 'type: Line\nfields: { count: { type: integer }, cost: { type: decimal } }\n',
  'customer.yaml': 'type: Customer\nhistory: true\nfields: { name: { type: string } }\n',
  'tag.yaml': 'type: Tag\nfields: { word: { type: string } }\n',
};

const ROLES = {
  auditor: `read: { '*': true }\nhistory: '*'`,
  reader: `read: { '*': true }`,
  clerk: `read: { Order: { except: [note, tags] }, Line: { except: [cost] } }\nhistory: [Order]`,
  branch: `read: { Order: { where: { branch: { claim: branch } } }, Customer: { where: { name: A } } }\nhistory: [Order]`,
  linked: `read: { Order: true, Tag: { where: { word: x } }, Customer: true }\nhistory: [Order]`,
  included: 'include: [clerk]',
  north: `read: { Order: { where: { branch: north } } }\ncreate: { Order: { where: { branch: north }, only: [branch] } }\nhistory: [Order]`,
  careful: `read: { Order: true }\ncreate: { Order: { where: { branch: north } } }\nhistory: [Order]`,
};

type Name = keyof typeof ROLES | 'all' | 'write' | 'orders' | 'blind';

const tokens = Object.fromEntries(
  [...Object.keys(ROLES), 'all', 'write', 'orders', 'blind'].map((name) => [name, createToken()]),
) as Readonly<Record<Name, string>>;

const NO_TYPES = new Set<string>();
const TOKENS = [
  ...Object.keys(ROLES).map((name) => {
    const claims = name === 'branch' ? ['branch=north'] : [];
    return tokenLine({ name, role: name, claims }, tokens[name as Name]);
  }),
  tokenLine({ name: 'all', read: NO_TYPES, write: 'all', history: 'all' }, tokens.all),
  tokenLine({ name: 'write', read: NO_TYPES, write: 'all' }, tokens.write),
  tokenLine(
    { name: 'orders', read: parseTypes('Order'), write: NO_TYPES, history: parseTypes('Order') },
    tokens.orders,
  ),
  tokenLine({ name: 'blind', read: parseTypes('Tag'), write: NO_TYPES, history: parseTypes('Order') }, tokens.blind),
].join('\n');

let project: Project;
let environment: Readonly<Record<string, string>>;
let server: Awaited<ReturnType<typeof serve>>;

const as = async (name: Name, title: string, body?: unknown) =>
  ask(server.url, title, body, { authorization: `Bearer ${tokens[name]}` });

beforeAll(async () => {
  project = await createProject(FILES);
  const access = mkdtempSync(join(tmpdir(), 'access-'));
  for (const [name, text] of Object.entries(ROLES))
    writeFileSync(join(access, `${name}.yaml`), `role: ${name}\n${text}\n`);
  environment = { ...project.environment, ACCESS_DIR: access };
  server = await serve({ ...readSettings({ ...environment, TOKENS }), shutdownTimeout: 1000 });
  const requests = [
    ['POST /api/tags', { word: 'x' }],
    ['POST /api/customers', { name: 'A' }],
    [
      'POST /api/orders',
      { branch: 'north', note: 'n', customer: { id: 1 }, tags: [{ id: 1 }], lines: [{ count: 1, cost: '2' }] },
    ],
    ['POST /api/orders', { branch: 'south', total: '1' }],
    ['PATCH /api/orders/1', { note: 'm' }],
    ['PATCH /api/lines/1', { cost: '3' }],
    ['PATCH /api/orders/1', { total: '5', note: 'o' }],
    ['DELETE /api/orders/2'],
  ] as const;
  for (const [title, body] of requests)
    expect([title, (await as('all', title, body)).status]).toEqual([title, expect.any(Number)]);
});
afterAll(async () => {
  await server.close();
  await project.remove();
});

interface Entry {
  readonly type: string;
  readonly operation: string;
  readonly by: string;
  readonly old?: object;
  readonly new?: object;
}

const shown = ({ type, operation, old: was, new: is }: Entry): string =>
  [type, operation, ...[was, is].flatMap((one) => (one ? JSON.stringify(one) : []))].join(' ');

const historyFor = async (name: Name, id = 1): Promise<readonly string[]> => {
  const { status, body } = await as(name, `GET /api/orders/${id}/$history`);
  expect(status).toBe(200);
  return (body as readonly Entry[]).map(shown);
};

const UPDATE = 'Order update {"note":"m","total":null} {"note":"o","total":"5"}';

test('those with every right see all, and who did it', async () => {
  const all = [
    UPDATE,
    'Line update {"cost":"2"} {"cost":"3"}',
    'Order update {"note":"n"} {"note":"m"}',
    'Order link',
    'Line create {"count":1,"cost":"2"}',
    'Order create {"branch":"north","note":"n","customer":{"id":1}}',
  ];
  expect((await historyFor('all')).toSorted()).toEqual(all.toSorted());
  expect((await historyFor('auditor')).toSorted()).toEqual(all.toSorted());
  const { body } = await as('all', 'GET /api/orders/1/$history');
  expect((body as readonly Entry[]).map(({ by }) => by)).toEqual(Array(6).fill('all'));
});

test.each([
  // Neither notes nor costs nor tags, and no customers: they are of a type that it does not read.
  [
    'clerk',
    ['Order update {"total":null} {"total":"5"}', 'Line create {"count":1}', 'Order create {"branch":"north"}'],
  ],
  [
    'included',
    ['Order update {"total":null} {"total":"5"}', 'Line create {"count":1}', 'Order create {"branch":"north"}'],
  ],
  [
    'orders',
    [
      UPDATE,
      'Line update {"cost":"2"} {"cost":"3"}',
      'Order update {"note":"n"} {"note":"m"}',
      'Line create {"count":1,"cost":"2"}',
      'Order create {"branch":"north","note":"n"}',
    ],
  ],
  // Links to types that it reads under a condition are left out.
  [
    'branch',
    [
      UPDATE,
      'Line update {"cost":"2"} {"cost":"3"}',
      'Order update {"note":"n"} {"note":"m"}',
      'Line create {"count":1,"cost":"2"}',
      'Order create {"branch":"north","note":"n"}',
    ],
  ],
  [
    'linked',
    [
      UPDATE,
      'Line update {"cost":"2"} {"cost":"3"}',
      'Order update {"note":"n"} {"note":"m"}',
      'Line create {"count":1,"cost":"2"}',
      'Order create {"branch":"north","note":"n","customer":{"id":1}}',
    ],
  ],
] as const)('%s sees less', async (name, expected) => {
  expect((await historyFor(name)).toSorted()).toEqual(expected.toSorted());
});

test.each(['all', 'clerk'] as const)('%s gets full pages, whatever is left out of them', async (name) => {
  const pages: unknown[] = [];
  for (let next: string | undefined = '/api/orders/1/$history?limit=2'; next !== undefined;) {
    const { body, headers } = await as(name, `GET ${next}`);
    pages.push((body as readonly Entry[]).map(shown));
    next = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  }
  const all = await historyFor(name);
  expect(pages).toEqual(Array.from({ length: Math.ceil(all.length / 2) }, (_, at) => all.slice(2 * at, 2 * at + 2)));
});

test('$deleted has what the client may read', async () => {
  const recordFor = async (name: Name): Promise<unknown> => {
    const { status, body } = await as(name, 'GET /api/orders/$deleted');
    expect(status).toBe(200);
    return (body as readonly { readonly record: unknown }[]).map(({ record }) => record);
  };
  expect(await recordFor('all')).toEqual([{ branch: 'south', total: '1' }]);
  expect(await recordFor('clerk')).toEqual([{ branch: 'south', total: '1' }]);
});

test.each([
  ['reader', 'GET /api/orders/1/$history', 403, 'since the history of Order may not be read'],
  ['reader', 'GET /api/orders/$deleted', 403, 'since the history of Order may not be read'],
  ['write', 'GET /api/orders/1/$history', 403, 'since the history of Order may not be read'],
  ['orders', 'GET /api/customers/1/$history', 404, 'There is nothing at'],
  ['blind', 'GET /api/orders/1/$history', 404, 'There is nothing at'],
  ['linked', 'GET /api/customers/1/$history', 403, 'since the history of Customer may not be read'],
  ['branch', 'GET /api/orders/$deleted', 403, 'since not all records of Order may be read'],
  // Deleted, and of another branch: as if it had never been there.
  ['branch', 'GET /api/orders/2/$history', 404, 'There is no Order 2'],
  ['all', 'GET /api/tags/1/$history', 404, 'There is nothing at'],
] as const)('%s: %s is %i', async (name, title, status, text) => {
  const answer = await as(name, title);
  expect([answer.status, (answer.body as { readonly detail: string }).detail]).toEqual([
    status,
    expect.stringContaining(text),
  ]);
});

test('what a client may do says whether it may read the history', async () => {
  const historyOf = async (name: Name): Promise<unknown> =>
    ((await as(name, 'GET /api/$me')).body as { readonly history: unknown }).history;
  expect(await historyOf('all')).toEqual(['Customer', 'Line', 'Order']);
  expect(await historyOf('clerk')).toEqual(['Line', 'Order']);
  expect(await historyOf('write')).toEqual([]);
  expect(await historyOf('blind')).toEqual([]);
  const recorded = async (name: Name): Promise<unknown> => {
    const { types } = (await as(name, 'GET /studio/model.json')).body as {
      types: { type: string; history: boolean }[];
    };
    return types.flatMap(({ type, history }) => (history ? type : []));
  };
  expect(await recorded('all')).toEqual(['Customer', 'Line', 'Order']);
  expect(await recorded('reader')).toEqual([]);
  const paths = async (name: Name): Promise<readonly string[]> =>
    Object.keys(((await as(name, 'GET /openapi.json')).body as { readonly paths: object }).paths);
  expect(await paths('all')).toContain('/api/orders/{id}/$history');
  expect((await paths('reader')).filter((path) => /history|deleted|restore/.test(path))).toEqual([]);
});

describe('$restore', () => {
  const orderOf = async (branch: string): Promise<number> => {
    const { body } = await as('all', 'POST /api/orders', { branch, note: 'n', lines: [{ count: 1 }] });
    const { id } = body as { readonly id: number };
    expect((await as('all', `DELETE /api/orders/${id}`)).status).toBe(200);
    return id;
  };

  test.each([
    ['all', 'south', 200],
    // Neither the history nor the right to create.
    ['reader', 'south', 403],
    ['write', 'south', 403],
    ['auditor', 'south', 403],
    ['clerk', 'south', 403],
    // "only" does not apply.
    ['north', 'north', 200],
    // The result could not be read: as if there had been nothing.
    ['north', 'south', 404],
    ['careful', 'north', 200],
    ['careful', 'south', 403],
  ] as const)('%s of an order of the %s: %i', async (name, branch, status) => {
    const id = await orderOf(branch);
    const before = (await as('all', 'GET /api/$changes?after=now')).body as { readonly next: string };
    const answer = await as(name, `POST /api/orders/${id}/$restore`);
    expect(answer.status).toBe(status);
    const { changes } = (await as('all', `GET /api/$changes?after=${before.next}`)).body as {
      readonly changes: readonly { readonly by: string }[];
    };
    expect(changes.map(({ by }) => by)).toEqual(status === 200 ? [name, name] : []);
    const { status: there, body } = await as('all', `GET /api/orders/${id}`);
    expect(there).toBe(status === 200 ? 200 : 404);
    if (status === 200) expect(body).toMatchObject({ id, branch, note: 'n', lines: [{ count: 1 }] });
  });
});

test('commands', async () => {
  const access = await runCommand('access', ['clerk', 'Line'], environment);
  expect(access.out).toContain('\n  Line history: yes');
  expect((await runCommand('access', ['reader', 'Order'], environment)).out).toContain('\n  Order history: no');
  const explained = await runCommand(
    'access',
    ['explain', '--role', 'reader', 'GET', '/api/orders/1/$history'],
    environment,
  );
  expect(explained.out).toMatch(/^403 .*\n.*the history of Order may not be read.*\n {2}read: yes.*\n {2}history: no/);
  const token = await runCommand('token', ['x', '--history', 'Order,Customer'], environment);
  expect(token.out).toMatch(/\n  x read=\* history=Order,Customer sha256=/);
  const wrong = await runCommand('token', ['x', '--history', 'Ordr'], environment);
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('did you mean "Order"?')]);
});

describe('$changes', () => {
  const changesFor = async (name: Name, search = ''): Promise<readonly string[] | number> => {
    const { status, body } = await as(name, `GET /api/$changes?values=true&type=Order,Line${search}`);
    if (status !== 200) return status;
    const { changes } = body as { readonly changes: readonly (Entry & { readonly identifier: number })[] };
    return changes.filter(({ identifier }) => identifier <= 2).map(shown);
  };

  test('without hidden fields, and updates that changed nothing else', async () => {
    const all = await changesFor('clerk');
    expect(Array.isArray(all) && all.slice(0, 5)).toEqual([
      'Order create {"branch":"north"}',
      'Line create {"count":1}',
      'Order create {"branch":"south","total":"1"}',
      'Order update {"total":null} {"total":"5"}',
      'Order delete {"branch":"south","total":"1"}',
    ]);
    expect(await changesFor('all')).toContain('Line update {"cost":"2"} {"cost":"3"}');
    expect(await changesFor('all')).toContain(UPDATE);
  });

  test('of types that are read without a condition, and whose history is granted', async () => {
    for (const name of ['reader', 'write', 'blind', 'branch', 'north'] as const)
      expect([name, await changesFor(name)]).toEqual([name, 403]);
    for (const [name, status] of [
      ['reader', 403],
      ['write', 403],
      ['blind', 403],
      ['branch', 200],
    ] as const)
      expect([name, (await as(name, 'GET /api/$changes')).status]).toEqual([name, status]);
    expect((await as('branch', 'GET /api/$changes')).body).toMatchObject({ changes: [] });
    expect((await as('orders', 'GET /api/$changes?type=Customer')).status).toBe(400);
    expect((await as('auditor', 'GET /api/$changes?type=Customer')).status).toBe(200);
  });
});

test('entries that the client does not see are passed over while others are served', async () => {
  const entry = `'lines', '1', 'orders/1', 'update', 0, -1, '{"cost":"1"}', '{"cost":"2"}'`;
  const counted = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 50000)';
  const columns = 'source, record, owner, operation, at, tx, "old", "new"';
  await runSql(project.database, `insert into _records_log (${columns}) ${counted} select ${entry} from n`);
  const history = historyFor('clerk');
  const first = await Promise.race([history, as('clerk', 'GET /api/orders/1').then(({ status }) => status)]);
  expect(first).toBe(200);
  expect(await history).toHaveLength(3);
});
