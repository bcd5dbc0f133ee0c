/** Two services whose records differ only in what a role may not read answer it with the same status, headers and bytes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import { createDatabase } from '../support/databases.ts';
import { type Answer, as, type Service, startService } from './service.ts';

const TYPES: Readonly<Record<string, string>> = {
  tenant: 'type: Tenant\nidentifier: { name: key, type: string, maxLength: 10 }\nfields: { plan: { type: string } }',
  person: `type: Person
identifier: { name: id, type: uuid }
history: true
fields: { name: { type: string }, pay: { type: integer } }
relations:
  tenant: { kind: belongsTo, type: Tenant, required: true }
  friend: { kind: belongsTo, type: Person, onDelete: setNull }
  documents: { kind: manyToMany, type: Document, inverse: readers }
unique: [[tenant, name]]`,
  document: `type: Document
fields:
  unit: { type: string, required: true }
  title: { type: string, required: true, caseless: true }
  state: { type: string, default: open }
  price: { type: decimal, precision: 6, scale: 2 }
relations:
  readers: { kind: manyToMany, type: Person, inverse: documents }
  based_on: { kind: belongsTo, type: Document, onDelete: setNull }
  pages: { kind: hasMany, type: Page, inverse: document, owned: true }
unique: [[unit, title]]`,
  note: `type: Note
fields: { text: { type: string } }
relations:
  about: { kind: belongsTo, type: Person, onDelete: setNull }
  person: { kind: belongsTo, type: Person, onDelete: cascade }
  people: { kind: manyToMany, type: Person }`,
  offer: `type: Offer
fields:
  name: { type: string, unique: true }
  state: { type: string }
  price: { type: integer }
  least: { type: integer }
relations: { terms: { kind: hasMany, type: Term, inverse: offer, owned: true } }
checks: [{ must: { price: { gte: { field: least } } } }]`,
  term: `type: Term
fields: { days: { type: integer }, most: { type: integer } }
relations: { offer: { kind: belongsTo, type: Offer, inverse: terms, required: true } }
checks: [{ must: { days: { lte: { field: most } } } }]`,
  page: `type: Page
fields: { number: { type: integer, required: true }, text: { type: string } }
relations: { document: { kind: belongsTo, type: Document, inverse: pages, required: true } }
unique: [[document, number]]`,
};

const ROLES: Readonly<Record<string, string>> = {
  // Conditions that only the record as written can meet.
  writer: `read: { Document: { where: { unit: { claim: unit } } }, Person: { where: { tenant: { claim: tenant } }, except: [pay] }, Tenant: { only: [] } }
write:
  Document: { where: { unit: { claim: unit } } }
  Person: { where: { tenant.plan: { claim: plan } }, except: [pay] }
history: [Person]`,
  // Fields that the role may write and not read.
  payer: `read: { Document: { where: { unit: { claim: unit } } }, Person: { where: { tenant: { claim: tenant } }, except: [pay, friend] }, Note: { only: [text] } }
write: { Document: { where: { unit: { claim: unit } } }, Person: { where: { tenant: { claim: tenant } } } }`,
  // Records whose links it does not see.
  keeper: `read: { Person: { only: [name, tenant] }, Tenant: { where: { plan: free } } }
write: { Person: { only: [name, tenant] } }`,
  // Fields that only checks compare.
  seller: `read: { Offer: { except: [least] }, Term: { except: [most] } }
create: { Offer: { except: [least] } }
update: { Offer: { where: { state: open }, except: [least] } }`,
  // Values that the client does not choose.
  setter: `read: { Document: { where: { unit: { claim: unit } } } }
create: { Document: { set: { unit: { claim: unit } } } }
update: { Document: { where: { unit: { claim: unit } } } }`,
};

const uuid = (number: number): string => `00000000-0000-4000-8000-00000000000${number}`;
const CLAIMS = { unit: 'a', tenant: 'A', plan: 'free' };

let directory: string;
/** The second has the hidden records, too. */
const services: Service[] = [];

async function fill({ engine }: Service, hasHidden: boolean): Promise<void> {
  const make = (type: string, ...all: readonly JsonObject[]) =>
    Promise.all(all.map((record) => engine.records(type).create(record)));
  await make('Tenant', { key: 'A', plan: 'free' }, { key: 'B', plan: 'paid' }, { key: 'C', plan: 'paid' });
  const [A, B, C] = [{ key: 'A' }, { key: 'B' }, { key: 'C' }];
  await make('Person', { id: uuid(7), name: 'Max', tenant: hasHidden ? B : C });
  await make('Person', { id: uuid(5), name: 'Ann', tenant: A }, { id: uuid(6), name: 'Bob', tenant: A });
  if (hasHidden) {
    await make('Person', { id: uuid(1), name: 'Eve', pay: 9, tenant: B }, { id: uuid(2), name: 'Joe', tenant: B });
    await make('Document', { id: 1, unit: 'b', title: 'Plan', price: '9.99', readers: [{ id: uuid(1) }] });
    await make('Page', { id: 1, number: 1, document: { id: 1 } });
  }
  const bob = { id: uuid(6) };
  await make('Note', { id: 1, text: 'n', ...(hasHidden ? { about: bob, people: [bob] } : {}) });
  await make('Note', { id: 2, text: 'm', ...(hasHidden ? { person: bob } : {}) });
  const based = hasHidden ? { based_on: { id: 1 } } : {};
  await make('Offer', { id: 1, name: 'sold', state: 'closed', price: 90, least: hasHidden ? 50 : 5 });
  await make('Offer', { id: 2, name: 'new', state: 'open', price: 90, least: 10 });
  await make('Term', { id: 1, days: 1, most: hasHidden ? 5 : 50, offer: { id: 1 } });
  await make('Document', { id: 8, unit: 'a', title: 'Plan', readers: [{ id: uuid(5) }], ...based });
  await make('Page', { id: 8, number: 1, text: 'x', document: { id: 8 } });
  if (!hasHidden) return;
  await engine.records('Person').update(uuid(5), { pay: 5, friend: { id: uuid(2) } });
  await engine.records('Document').update(8, { readers: [1, 5].map((id) => ({ id: uuid(id) })) });
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'pairs-'));
  const [schema, access] = [join(directory, 'schema'), join(directory, 'access')];
  for (const folder of [schema, access]) mkdirSync(folder);
  for (const [name, text] of Object.entries(TYPES)) writeFileSync(join(schema, `${name}.yaml`), text);
  for (const [name, text] of Object.entries(ROLES))
    writeFileSync(join(access, `${name}.yaml`), `role: ${name}\n${text}`);
  for (const hasHidden of [false, true]) {
    const service = await startService(schema, await createDatabase(), access);
    services.push(service);
    await fill(service, hasHidden);
  }
});

afterAll(async () => {
  for (const { close, database } of services) {
    await close();
    await database.remove();
  }
  rmSync(directory, { recursive: true });
});

const COMPARED = ['content-type', 'x-total-count', 'link', 'etag', 'allow', 'location', 'vary', 'content-length'];

/** Histories name the places of their entries in the log, which has those of hidden records. */
function seenOf({ status, headers, text }: Answer) {
  const placed = /"cursor":/.test(text);
  const names = placed ? ['content-type'] : COMPARED;
  const bytes = placed ? text.replaceAll(/"(cursor|at|request)":\s*"[^"]*"/g, '"$1":""') : text;
  return { status, headers: Object.fromEntries(names.map((name) => [name, headers[name]])), text: bytes };
}

async function both(role: string, title: string, body?: JsonValue, headers: Headers = {}) {
  const given = as({ name: 'me', role, claims: CLAIMS });
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const text = body === undefined ? undefined : JSON.stringify(body);
  const send = (service: Service) => service.send(title, { ...given, ...type, ...headers }, text);
  return (await Promise.all(services.map(send))).map(seenOf);
}

type Headers = Readonly<Record<string, string>>;
type Case = readonly [role: string, title: string, body: JsonValue | undefined, status: number, headers?: Headers];

const upsert = 'PUT /api/documents?on=unit,title';
const theirs = { unit: 'b', title: 'PLAN' };
const person = (tenant: string, name: string): JsonObject => ({ name, tenant: { key: tenant } });

const CASES: readonly Case[] = [
  ['writer', 'GET /api/people?include=friend,documents', undefined, 200],
  ['writer', `GET /api/people?_cnd[friend]=${uuid(2)}`, undefined, 200],
  ['writer', 'GET /api/people?_cnd[orderBy]=friend.name,desc&_cnd[limit]=0,1', undefined, 200],
  ['writer', 'GET /api/people/$summary?by=friend,friend.name', undefined, 200],
  ['writer', 'GET /api/people?_cnd[pay]=5', undefined, 400],
  ['writer', `GET /api/people/${uuid(1)}`, undefined, 404],
  ['writer', `GET /api/people/${uuid(5)}/$history`, undefined, 200],
  ['writer', `GET /api/people/${uuid(1)}/$history`, undefined, 404],
  ['writer', `POST /api/people/${uuid(1)}/$restore`, undefined, 404],
  ['writer', 'GET /api/documents?_cnd[readers][$count]=1&_cnd[based_on][null]=true', undefined, 200],
  ['writer', 'GET /api/documents/$summary?by=based_on.state&measure=count,max(price)', undefined, 200],
  ['writer', 'GET /api/pages?_cnd[document.based_on.title]=Plan', undefined, 200],
  ['writer', 'GET /json-server/documents?_embed=pages&_expand=based_on', undefined, 200],
  ['writer', 'GET /simple-rest/people?sort=["friend_id","DESC"]&range=[0,0]', undefined, 200],
  ['writer', 'GET /api/people', undefined, 200, { accept: 'text/csv' }],
  ['writer', 'GET /api/documents', undefined, 200, { accept: 'application/x-ndjson' }],
  // Of a group of unique values, what the role may not write.
  ['writer', 'POST /api/documents', theirs, 403],
  ['writer', 'POST /api/documents?dryRun=true', theirs, 403],
  ['writer', 'POST /api/documents', [{ unit: 'a', title: 'new' }, theirs], 403],
  ['writer', 'POST /api/documents', { ...theirs, pages: [{ number: 1 }] }, 403],
  ['writer', 'PATCH /api/documents/8', { unit: 'b' }, 403],
  ['writer', 'PATCH /api/documents/8?dryRun=true', { unit: 'b' }, 403],
  ['writer', 'PATCH /api/documents/8', { unit: 'b' }, 403, { 'if-match': '"old"' }],
  ['writer', 'PATCH /api/documents', [{ id: 8, unit: 'b' }], 403],
  ['writer', 'POST /api/people', person('B', 'Eve'), 403],
  ['writer', `PATCH /api/people/${uuid(6)}`, person('B', 'Eve'), 403],
  ['writer', upsert, theirs, 403],
  ['writer', upsert, theirs, 403, { 'if-match': '*' }],
  ['writer', upsert, theirs, 403, { 'if-none-match': '*' }],
  ['writer', 'POST /api/documents?on=unit,title', [theirs], 403],
  ['writer', 'PUT /api/people?on=tenant,name', person('B', 'Eve'), 403],
  ['setter', upsert, theirs, 403],
  ['setter', 'POST /api/documents', theirs, 403],
  ['setter', 'PATCH /api/documents/8', { unit: 'b' }, 403],
  // Links to what the role may not read.
  ['writer', 'PUT /api/pages?on=document,number', { number: 1, document: { id: 1 } }, 422],
  ['writer', 'PUT /api/pages?on=document,number', { number: 2, document: { id: 1 } }, 422],
  ['writer', 'POST /api/pages', { number: 1, document: { id: 1 } }, 422],
  ['writer', 'PATCH /api/documents/8', { based_on: { id: 1 } }, 422],
  ['writer', 'PATCH /api/documents/8', { readers: [{ id: uuid(1) }] }, 422],
  ['writer', `PATCH /api/people/${uuid(1)}`, { name: 'x' }, 404],
  ['writer', `DELETE /api/people/${uuid(2)}`, undefined, 404],
  ['writer', 'DELETE /api/documents?_cnd[title]=PLAN&dryRun=true', undefined, 200, { prefer: 'max-affected=4' }],
  ['writer', 'PATCH /api/documents/8', { based_on: null, readers: [{ id: uuid(5) }], state: 'done' }, 200],
  // Guesses at what is written and not read, in a record that is only linked.
  ['payer', 'PATCH /api/documents/8', { readers: [{ id: uuid(5), pay: 5 }] }, 409],
  ['payer', 'PATCH /api/documents/8', { readers: [{ id: uuid(5), friend: null }] }, 409],
  ['payer', 'PATCH /api/documents/8?dryRun=true', { readers: [{ id: uuid(5), name: 'Ann', pay: null }] }, 409],
  ['payer', `PATCH /api/people/${uuid(5)}?dryRun=true`, { pay: 5 }, 200],
  // Guesses at a link to what the role may not read.
  ['keeper', 'PUT /api/people?on=tenant,name', person('B', 'Max'), 422, { 'if-none-match': '*' }],
  ['keeper', 'PUT /api/people?on=tenant,name', person('B', 'Max'), 412, { 'if-match': '"old"' }],
  ['keeper', `PATCH /api/people/${uuid(7)}`, { tenant: { key: 'B' } }, 422],
  // Links of records that the role reads without these links.
  ['payer', `DELETE /api/people/${uuid(6)}?dryRun=true`, undefined, 200],
  ['payer', 'DELETE /api/people?_cnd[name]=Bob&dryRun=true', undefined, 200, { prefer: 'max-affected=1' }],
  // Guesses at what checks compare, of a record that the role may not change.
  ['seller', 'PATCH /api/offers/1', { price: 20 }, 403],
  ['seller', 'PATCH /api/offers/1?dryRun=true', { price: 20 }, 403],
  ['seller', 'PATCH /api/offers/1', { price: 20, terms: [{ id: 77 }] }, 403],
  ['seller', 'PATCH /api/offers/1', { price: 20, colour: 'x' }, 422],
  ['seller', 'PATCH /api/offers/1', { price: 20 }, 403, { 'if-match': '"old"' }],
  [
    'seller',
    'PATCH /api/offers',
    [
      { id: 2, price: 80 },
      { id: 1, price: 20 },
    ],
    403,
  ],
  ['seller', 'PATCH /api/offers/1', { terms: [{ id: 1, days: 20 }] }, 403],
  ['seller', 'PATCH /api/terms/1', { days: 20 }, 403],
  ['seller', 'PUT /api/offers?on=name', { name: 'sold', price: 20 }, 409],
  ['seller', 'POST /api/offers?on=name', [{ name: 'sold', price: 20 }], 409],
  ['seller', 'PUT /json-server/offers/1', { price: 20 }, 403],
  ['seller', 'PATCH /api/offers/2', { price: 9 }, 422],
  // A conflict with what the role reads, as ever.
  ['writer', 'POST /api/documents', { unit: 'a', title: 'plan' }, 409],
  ['writer', 'POST /api/people', person('A', 'Ann'), 409],
  ['writer', upsert, { unit: 'a', title: 'PLAN', state: 'sent' }, 200],
];

test.each(CASES.map((one) => [one.slice(0, 4), one] as const))(
  '%j',
  async (_, [role, title, body, status, headers]) => {
    const [plain, hidden] = await both(role, title, body, headers);
    expect([plain?.status, plain?.status === status ? '' : plain?.text]).toEqual([status, '']);
    expect(hidden).toEqual(plain);
  },
);
