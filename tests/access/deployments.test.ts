/** The roles of docs/examples/access: what each of them gets, on each database. */
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import { createDatabase } from '../support/databases.ts';
import { as, type Identity, type Service, startService } from './service.ts';

type Title = string;

interface Expected {
  readonly status: number;
  /** The records of a list by these values, or members of the record. */
  readonly list?: readonly JsonObject[];
  readonly has?: JsonObject;
  /** Keys that the record must not have. */
  readonly lacks?: readonly string[];
  readonly total?: number;
  readonly isEmpty?: true;
}

/** `[who, request, body, expected]`, in the order in which they are sent. */
type Step = readonly [who: string | undefined, title: Title, body: JsonValue | undefined, expected: Expected];

interface Deployment {
  readonly folder: string;
  readonly records: readonly (readonly [type: string, record: JsonObject])[];
  readonly people: Readonly<Record<string, Identity>>;
  readonly steps: readonly Step[];
}

const person = (name: string, role: string, claims: JsonObject = {}): Identity => ({ name, role, claims });
const id = (value: number): JsonObject => ({ id: value });
const NEXT_YEAR = new Date().getUTCFullYear() + 1;

const shop: Deployment = {
  folder: 'shop',
  records: [
    ['Branch', { name: 'North' }],
    ['Branch', { name: 'South' }],
    ['Product', { name: 'Tea', price: '3.00', cost: '1.00' }],
    ['Product', { name: 'Cup', price: '9.00', cost: '4.00' }],
    ['Customer', { name: 'Ada', email: 'ada@example.com' }],
    ['Order', { number: 'N-1', branch: id(1), internal_note: 'slow', lines: [{ quantity: 2, product: id(1) }] }],
    ['Order', { number: 'N-2', branch: id(1), state: 'shipped', lines: [{ quantity: 1, product: id(2) }] }],
    [
      'Order',
      { number: 'S-1', branch: id(2), state: 'paid', customer: id(1), lines: [{ quantity: 5, product: id(1) }] },
    ],
  ],
  people: {
    nora: person('nora', 'branch-manager', { branch: 1 }),
    rita: person('rita', 'reader', { branch: '2' }),
    lost: person('lost', 'reader'),
    abel: person('abel', 'accountant'),
    hedi: person('hedi', 'head-office'),
  },
  steps: [
    [undefined, 'GET /api/orders', undefined, { status: 401 }],
    [
      'nora',
      'GET /api/orders?fields=number',
      undefined,
      { status: 200, list: [{ number: 'N-1' }, { number: 'N-2' }], total: 2 },
    ],
    ['nora', 'GET /api/orders/1', undefined, { status: 200, has: { number: 'N-1' }, lacks: ['internal_note'] }],
    ['nora', 'GET /api/orders/3', undefined, { status: 404 }],
    ['nora', 'GET /api/orders?_cnd[internal_note]=slow', undefined, { status: 400 }],
    ['nora', 'GET /api/branches?fields=name', undefined, { status: 200, list: [{ name: 'North' }] }],
    ['nora', 'GET /api/products/1', undefined, { status: 200, has: { price: '3.00' }, lacks: ['cost'] }],
    [
      'nora',
      'GET /api/order-lines?fields=quantity',
      undefined,
      { status: 200, list: [{ quantity: 2 }, { quantity: 1 }] },
    ],
    ['nora', 'GET /api/customers/1?include=orders', undefined, { status: 200, has: { orders: [] } }],
    ['rita', 'GET /api/orders?fields=number', undefined, { status: 200, list: [{ number: 'S-1' }] }],
    ['rita', 'GET /api/orders/$summary?measure=count', undefined, { status: 200, list: [{ measures: { count: 1 } }] }],
    ['rita', 'GET /api/branches?fields=name', undefined, { status: 200, list: [{ name: 'North' }, { name: 'South' }] }],
    ['rita', 'POST /api/orders', { number: 'S-2' }, { status: 403 }],
    ['lost', 'GET /api/orders/1', undefined, { status: 404 }],
    [
      'nora',
      'POST /api/orders',
      { number: 'N-3', lines: [{ quantity: 1, product: id(1) }] },
      { status: 201, has: { state: 'open' } },
    ],
    ['nora', 'POST /api/orders', { number: 'N-4', state: 'paid' }, { status: 403 }],
    ['nora', 'POST /api/orders', { number: 'N-4', branch: id(2) }, { status: 403 }],
    ['nora', 'POST /api/orders', { number: 'S-1' }, { status: 409 }],
    ['nora', 'PATCH /api/orders/1', { internal_note: 'x' }, { status: 403 }],
    ['rita', 'GET /api/orders?fields=internal_note', undefined, { status: 400 }],
    ['nora', 'PATCH /api/orders/1', { number: 'N-9' }, { status: 403 }],
    ['nora', 'PATCH /api/orders/1', { number: 'N-1' }, { status: 200 }],
    ['nora', 'PATCH /api/orders/2', { note: 'call first' }, { status: 403 }],
    ['nora', 'PATCH /api/orders/2', { state: 'shipped' }, { status: 200 }],
    ['nora', 'PATCH /api/orders/3', { note: 'call first' }, { status: 404 }],
    ['nora', 'PATCH /api/orders/1', { lines: [{ quantity: 3, product: id(2) }] }, { status: 200 }],
    ['nora', 'PATCH /api/orders/1', { state: 'closed' }, { status: 200, has: { state: 'closed' } }],
    ['nora', 'PATCH /api/orders/1', { state: 'open' }, { status: 403 }],
    ['nora', 'DELETE /api/orders/1', undefined, { status: 403 }],
    ['nora', 'POST /api/products', { name: 'Pot', price: '1.00' }, { status: 403 }],
    ['nora', 'POST /api/customers', { name: 'Bob' }, { status: 201 }],
    ['nora', 'PATCH /api/orders/4', { customer: id(2) }, { status: 200 }],
    [
      'abel',
      'GET /api/orders?fields=number',
      undefined,
      { status: 200, list: [{ number: 'N-1' }, { number: 'N-2' }, { number: 'S-1' }] },
    ],
    ['abel', 'GET /api/customers/1', undefined, { status: 200, has: { name: 'Ada' }, lacks: ['email', 'orders'] }],
    ['abel', 'PATCH /api/orders/3', { state: 'closed' }, { status: 403 }],
    ['abel', 'PATCH /api/orders/2', { state: 'paid' }, { status: 403 }],
    ['abel', 'PATCH /api/orders/2', { state: 'closed' }, { status: 200 }],
    ['abel', 'PATCH /api/orders/2', { state: 'shipped' }, { status: 403 }],
    ['hedi', 'GET /api/orders/1', undefined, { status: 200, has: { internal_note: 'slow' } }],
    ['hedi', 'DELETE /api/orders/1', undefined, { status: 200 }],
    ['nora', 'GET /api/$me', undefined, { status: 200, has: { name: 'nora', role: 'branch-manager' } }],
  ],
};

const practice: Deployment = {
  folder: 'practice',
  records: [
    ['Vet', { name: 'Dr. Lee', login: 'lee' }],
    ['Vet', { name: 'Dr. May', login: 'may' }],
    ['Slot', { starts: `${NEXT_YEAR}-01-02T09:00:00Z`, vet: id(1) }],
    ['Slot', { starts: `${NEXT_YEAR}-01-02T09:15:00Z`, vet: id(2) }],
    ['Slot', { starts: `${NEXT_YEAR}-01-02T09:30:00Z`, vet: id(2), closed: true }],
    ['Slot', { starts: '2020-01-02T09:00:00Z', vet: id(1) }],
    ['Slot', { starts: `${NEXT_YEAR}-01-03T09:00:00Z`, vet: id(1) }],
    ['Appointment', { name: 'Ada', phone: '1', reason: 'cough', slot: id(4), state: 'done', findings: 'a cold' }],
    ['Invoice', { number: 'R-1', amount: '20.00', appointment: id(1) }],
  ],
  people: {
    lee: person('lee', 'vet', { sub: 'lee' }),
    may: person('may', 'vet', { sub: 'may' }),
    abel: person('abel', 'accountant'),
    cash: person('cash', 'cashier'),
  },
  steps: [
    [
      undefined,
      'GET /api/slots?fields=starts',
      undefined,
      {
        status: 200,
        total: 3,
        list: [
          { starts: `${NEXT_YEAR}-01-02T09:00:00Z` },
          { starts: `${NEXT_YEAR}-01-02T09:15:00Z` },
          { starts: `${NEXT_YEAR}-01-03T09:00:00Z` },
        ],
      },
    ],
    [undefined, 'GET /api/vets/1', undefined, { status: 200, has: { name: 'Dr. Lee' }, lacks: ['login'] }],
    [undefined, 'GET /api/appointments', undefined, { status: 403 }],
    [undefined, 'GET /api/invoices', undefined, { status: 404 }],
    [undefined, 'POST /api/appointments', { name: 'Bob', phone: '2', slot: id(1) }, { status: 201, isEmpty: true }],
    [undefined, 'POST /api/appointments', { name: 'Bob', phone: '2', slot: id(3) }, { status: 422 }],
    [undefined, 'POST /api/appointments', { name: 'Bob', phone: '2', slot: id(1) }, { status: 422 }],
    [
      undefined,
      'POST /api/appointments',
      { name: 'Bob', phone: '2', slot: id(2), state: 'confirmed' },
      { status: 422 },
    ],
    [undefined, 'POST /api/appointments', { name: 'Bob', phone: '2', slot: id(2), findings: 'x' }, { status: 422 }],
    [
      undefined,
      'GET /api/slots?fields=starts',
      undefined,
      {
        status: 200,
        total: 2,
        list: [{ starts: `${NEXT_YEAR}-01-02T09:15:00Z` }, { starts: `${NEXT_YEAR}-01-03T09:00:00Z` }],
      },
    ],
    [undefined, 'DELETE /api/slots/2', undefined, { status: 403 }],
    ['lee', 'GET /api/appointments?fields=name', undefined, { status: 200, list: [{ name: 'Ada' }, { name: 'Bob' }] }],
    ['may', 'GET /api/appointments', undefined, { status: 200, list: [] }],
    ['may', 'GET /api/appointments/2', undefined, { status: 404 }],
    ['may', 'PATCH /api/appointments/2', { state: 'confirmed' }, { status: 404 }],
    ['lee', 'PATCH /api/appointments/2', { state: 'confirmed' }, { status: 200 }],
    ['lee', 'PATCH /api/appointments/2', { state: 'done', findings: 'fine' }, { status: 200 }],
    ['lee', 'PATCH /api/appointments/2', { findings: 'ill' }, { status: 403 }],
    ['lee', 'PATCH /api/slots/2', { closed: true }, { status: 403 }],
    ['may', 'PATCH /api/slots/2', { closed: true }, { status: 200 }],
    ['lee', 'GET /api/invoices', undefined, { status: 404 }],
    [
      'abel',
      'GET /api/appointments/1',
      undefined,
      { status: 200, has: { name: 'Ada' }, lacks: ['findings', 'reason', 'phone'] },
    ],
    ['abel', 'PATCH /api/invoices/1', { paid: true }, { status: 403 }],
    ['abel', 'POST /api/invoices', { number: 'R-2', amount: '30.00', appointment: id(2) }, { status: 201 }],
    ['cash', 'POST /api/invoices', { number: 'R-3', amount: '30.00', appointment: id(2) }, { status: 403 }],
    ['cash', 'PATCH /api/invoices/1', { amount: '1.00' }, { status: 403 }],
    ['cash', 'PATCH /api/invoices/1', { paid: true }, { status: 200 }],
    ['cash', 'PATCH /api/invoices/1', { paid: false }, { status: 403 }],
  ],
};

const tenants: Deployment = {
  folder: 'tenants',
  records: [
    ['Tenant', { name: 'Acme' }],
    ['Tenant', { name: 'Bell' }],
    ['Label', { word: 'urgent', tenant: id(1) }],
    ['Label', { word: 'later', tenant: id(2) }],
    ['Project', { name: 'Roof', tenant: id(1), tasks: [{ title: 'Measure', labels: [id(1)] }] }],
    ['Project', { name: 'Roof', tenant: id(2), tasks: [{ title: 'Draw', labels: [id(2)] }] }],
  ],
  people: {
    amy: person('amy', 'member', { tenant: 1 }),
    ben: person('ben', 'member', { tenant: 2 }),
    gil: person('gil', 'guest', { tenant: 2 }),
    ops: person('ops', 'operator'),
    none: person('none', 'member', { tenant: null }),
  },
  steps: [
    ['amy', 'GET /api/tenants?fields=name', undefined, { status: 200, list: [{ name: 'Acme' }] }],
    ['amy', 'GET /api/projects?fields=name', undefined, { status: 200, list: [{ name: 'Roof' }], total: 1 }],
    ['amy', 'GET /api/tasks?fields=title', undefined, { status: 200, list: [{ title: 'Measure' }] }],
    ['amy', 'GET /api/labels?fields=word', undefined, { status: 200, list: [{ word: 'urgent' }] }],
    ['amy', 'GET /api/projects/2', undefined, { status: 404 }],
    ['amy', 'GET /api/tasks?_cnd[labels][$count]=0', undefined, { status: 200, list: [] }],
    ['none', 'GET /api/projects/1', undefined, { status: 404 }],
    ['amy', 'POST /api/projects', { name: 'Door' }, { status: 201, has: { name: 'Door' } }],
    ['amy', 'POST /api/projects', { name: 'Door' }, { status: 409 }],
    ['ben', 'POST /api/projects', { name: 'Door' }, { status: 201 }],
    ['amy', 'POST /api/projects', { name: 'Wall', tenant: id(2) }, { status: 403 }],
    ['amy', 'PATCH /api/tasks/1', { labels: [id(2)] }, { status: 422 }],
    ['amy', 'PATCH /api/tasks/2', { done: true }, { status: 404 }],
    ['amy', 'PATCH /api/projects/1', { tasks: [{ title: 'Build' }] }, { status: 200 }],
    ['amy', 'PUT /api/projects?on=tenant,name', { name: 'Roof' }, { status: 200 }],
    ['amy', 'PATCH /api/tenants/1', { name: 'Acme 2' }, { status: 403 }],
    ['amy', 'DELETE /api/projects/2', undefined, { status: 404 }],
    ['amy', 'DELETE /api/labels/1', undefined, { status: 200 }],
    ['gil', 'GET /api/projects?fields=name', undefined, { status: 200, list: [{ name: 'Roof' }, { name: 'Door' }] }],
    ['gil', 'PATCH /api/projects/2', { name: 'Floor' }, { status: 403 }],
    ['ops', 'GET /api/projects', undefined, { status: 404 }],
    ['ops', 'POST /api/tenants', { name: 'Cole' }, { status: 201 }],
  ],
};

const only = (record: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, record[name] ?? null]));

function check(text: string, { list, has, lacks = [], isEmpty }: Expected): void {
  if (isEmpty) expect(text).toBe('');
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  if (list) expect((body as JsonObject[]).map((record, at) => only(record, Object.keys(list[at] ?? {})))).toEqual(list);
  if (has) expect(body).toMatchObject(has);
  for (const name of lacks) expect(body).not.toHaveProperty(name);
}

describe.each([shop, practice, tenants])('$folder', ({ folder, records, people, steps }) => {
  let service: Service;
  beforeAll(async () => {
    const database = await createDatabase();
    const files = `docs/examples/access/${folder}`;
    service = await startService(`${files}/schema`, database, `${files}/access`);
    for (const [type, record] of records) await service.engine.records(type).create(record);
  });
  afterAll(async () => {
    await service.close();
    await service.database.remove();
  });

  test.each(steps)('%s: %s %j', async (who, title, body, expected) => {
    const identity = who === undefined ? {} : as(people[who] ?? person(who, 'nobody'));
    const headers = body === undefined ? identity : { ...identity, 'content-type': 'application/json' };
    const answer = await service.send(title, headers, body === undefined ? undefined : JSON.stringify(body));
    expect([answer.status, answer.status === expected.status ? '' : answer.text]).toEqual([expected.status, '']);
    check(answer.text, expected);
    if (expected.total !== undefined) expect(answer.headers['x-total-count']).toBe(String(expected.total));
  });
});
