/** Checks of fields that a role does not know hold for it, and so do rules of others: their faults name none of these. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../engine/json/json.ts';
import { createDatabase, databaseKind, runSql } from '../support/databases.ts';
import { as, type Service, startService } from './service.ts';

const TYPE = `type: Offer
history: true
fields: { low: { type: integer }, high: { type: integer }, note: { type: string }, key: { type: string, unique: true } }
checks: [{ must: { high: { gte: { field: low } } } }]
`;
const LOAN = `type: Loan
fields: { note: { type: string } }
relations: { offer: { kind: belongsTo, type: Offer } }
`;
const ROLES: Readonly<Record<string, string>> = {
  all: `read: { Offer: true }\nwrite: { Offer: true }`,
  seller: `read: { Offer: { except: [high] } }\nwrite: { Offer: { except: [high] } }\nhistory: '*'`,
  locker: `read: { Offer: { except: [key] }, Loan: { only: [note] } }
write: { Offer: true }`,
  setter: `read: { Offer: { except: [high] } }\nwrite: { Offer: true }`,
};

let service: Service;
const [schema, access] = ['schema-', 'access-'].map((name) => mkdtempSync(join(tmpdir(), name))) as [string, string];

beforeAll(async () => {
  writeFileSync(join(schema, 'offer.yaml'), TYPE);
  writeFileSync(join(schema, 'loan.yaml'), LOAN);
  for (const [name, text] of Object.entries(ROLES))
    writeFileSync(join(access, `${name}.yaml`), `role: ${name}\n${text}`);
  service = await startService(schema, await createDatabase(), access);
  await service.engine.records('Offer').create({ low: 1, high: 5, key: 'k' });
});

afterAll(async () => {
  await service.close();
  await service.database.remove();
  for (const directory of [schema, access]) rmSync(directory, { recursive: true });
});

async function send(role: string, title: string, body?: JsonObject) {
  const headers = body ? { 'content-type': 'application/json' } : {};
  const identity = as({ name: 'x', role, claims: {} });
  const { status, text } = await service.send(title, { ...identity, ...headers }, body && JSON.stringify(body));
  return { status, body: JSON.parse(text) as JsonObject };
}

const told = '"high" must be at least "low"';
const unseen = 'The record does not meet a check of what you may not read';

test.each([
  ['all', 'PATCH /api/offers/1', '/high', told],
  ['setter', 'PATCH /api/offers/1', '/high', told],
  ['seller', 'PATCH /api/offers/1', '', unseen],
  ['seller', 'PATCH /api/offers/1?dryRun=true', '', unseen],
])('%s: %s is refused at "%s"', async (role, title, pointer, message) => {
  const { status, body } = await send(role, title, { low: 9 });
  expect([status, body]).toMatchObject([422, { message, errors: [{ pointer, code: 'check', message }] }]);
});

test('what meets the check is written', async () => {
  expect((await send('seller', 'PATCH /api/offers/1', { low: 5 })).body).toEqual({
    id: 1,
    low: 5,
    note: null,
    key: 'k',
  });
});

test('a unique value that the role does not read belongs to another record, and nobody says to which', async () => {
  const { id } = (await send('locker', 'POST /api/offers', { low: 1 })).body;
  const message = 'Another record has this value of "key" already';
  for (const title of ['POST /api/offers', `PATCH /api/offers/${Number(id)}`, 'POST /api/offers?dryRun=true']) {
    const { status, body } = await send('locker', title, { key: 'k' });
    expect([status, body['errors']]).toEqual([409, [{ pointer: '/key', code: 'unique', message }]]);
  }
  const { body } = await send('all', 'POST /api/offers', { key: 'k' });
  expect(body['message']).toBe('Offer 1 has this value of "key" already');
});

test('a link that the role does not read prevents a deletion, and nobody says of which record it is', async () => {
  await service.engine.records('Loan').create({ offer: { id: 1 } });
  for (const title of ['DELETE /api/offers/1', 'DELETE /api/offers/1?dryRun=true']) {
    const { status, body } = await send('locker', title);
    const message = 'Records of Loan refer to what would be deleted';
    expect([status, body['errors']]).toEqual([409, [{ pointer: '', code: 'restrict', message }]]);
  }
});

test('a rule of others about a hidden field', async () => {
  const [add, remove] =
    databaseKind === 'sqlite'
      ? [
          `create trigger theirs before update on offers when new.high > 4 begin select raise(abort, 'theirs'); end`,
          'drop trigger theirs',
        ]
      : [
          'alter table offers add constraint theirs check (high < 5) not valid',
          'alter table offers drop constraint theirs',
        ];
  await runSql(service.database, add);
  for (const [role, field] of [
    ['seller', ''],
    ['setter', '/high'],
  ] as const) {
    const pointer = databaseKind === 'sqlite' ? '' : field;
    const { status, body } = await send(role, 'PATCH /api/offers/1', { low: 2 });
    expect([role, status, body]).toMatchObject([role, 422, { errors: [{ pointer, code: 'refused' }] }]);
  }
  await runSql(service.database, remove);
});
