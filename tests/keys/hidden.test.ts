/** Links by unique values of records that a role may not read are answered as if they were not there. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { as, type Service, startService } from '../access/service.ts';
import { createDatabase } from '../support/databases.ts';

const FILES = {
  'schema/owner.yaml': `type: Owner
identifier: { name: id, type: uuid }
fields:
  no: { type: string, unique: true, required: true }
  level: { type: integer, default: 1 }
  passport: { type: string, unique: true }
`,
  'schema/pet.yaml': `type: Pet
identifier: { name: tag, type: string }
fields: { name: { type: string } }
relations:
  owner: { kind: belongsTo, type: Owner }
  ward: { kind: belongsTo, type: Ward }
`,
  'schema/ward.yaml': `type: Ward
identifier: { name: code, type: string }
fields:
  name: { type: string, unique: true }
  beds: { type: integer }
relations: { hospital: { kind: belongsTo, type: Hospital, required: true } }
`,
  'schema/hospital.yaml': `type: Hospital
fields: { name: { type: string } }
`,
  'schema/stall.yaml': `type: Stall
unique: [[region, place]]
fields:
  place: { type: integer }
  team: { type: string }
relations:
  region: { kind: belongsTo, type: Region }
`,
  'schema/region.yaml': `type: Region
fields:
  code: { type: string, unique: true }
  level: { type: integer }
`,
  'schema/trip.yaml': `type: Trip
fields: { name: { type: string } }
relations:
  stall: { kind: belongsTo, type: Stall }
`,
  'access/guide.yaml': `role: guide
scope: none
read: { Trip: true, Stall: true, Region: { where: { level: 1 } } }
write: { Trip: true, Stall: { where: { team: { claim: team } } } }
`,
  'access/porter.yaml': `role: porter
scope: none
read: { Trip: true, Stall: true }
write: { Trip: true }
`,
  'access/all.yaml': `role: all
scope: none
read: { '*': true }
write: { '*': true }
`,
  'access/clerk.yaml': `role: clerk
scope: none
read: { Pet: true, Ward: true, Owner: { where: { level: { lte: 2 } }, except: [passport] } }
write: { Pet: true }
`,
};

const folder = mkdtempSync(join(tmpdir(), 'hidden-'));
let service: Service;
beforeAll(async () => {
  for (const name of ['schema', 'access']) mkdirSync(join(folder, name));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  service = await startService(join(folder, 'schema'), await createDatabase(), join(folder, 'access'));
  const owners = [
    { no: 'seen', passport: 'P-1' },
    { no: 'hidden', level: 3 },
  ];
  expect((await post('all', 'owners', owners)).status).toBe(201);
  const regions = [1, 2].map((level) => ({ code: `R-${level}`, level }));
  expect((await post('all', 'regions', regions)).status).toBe(201);
  const stalls = [1, 2].map((id) => ({ place: 7, region: { id } }));
  expect((await post('all', 'stalls', stalls)).status).toBe(201);
});
afterAll(async () => {
  await service.close();
  await service.database.remove();
  rmSync(folder, { recursive: true });
});

let pets = 0;
const send = (title: string, role: string, body: string, type = 'application/json') =>
  service.send(title, { ...as({ name: role, role, claims: {} }), 'content-type': type }, body);
const post = (role: string, path: string, body: object) => send(`POST /api/${path}`, role, JSON.stringify(body));
const adopt = (role: string, owner: object) => post(role, 'pets', { tag: `pet/${(pets += 1)}`, owner });

test('a record that the role reads is linked', async () => {
  const answer = await adopt('clerk', { no: 'seen' });
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([201, { owner: { no: 'seen' } }]);
});

test('another one is answered as none would be', async () => {
  const [hidden, none] = [await adopt('clerk', { no: 'hidden' }), await adopt('clerk', { no: 'absent' })];
  expect([hidden.status, hidden.text]).toEqual([422, none.text]);
  expect(JSON.parse(none.text)).toMatchObject({ errors: [{ pointer: '/owner/no', code: 'not-found' }] });
  expect((await adopt('all', { no: 'hidden' })).status).toBe(201);
});

test('a value that the role does not see names no record', async () => {
  const [there, none] = [await adopt('clerk', { passport: 'P-1' }), await adopt('clerk', { passport: 'P-2' })];
  expect([there.status, there.text]).toEqual([422, none.text]);
  expect((await adopt('all', { passport: 'P-1' })).status).toBe(201);
});

test.each<[ward: object, pointer: string, code: string]>([
  [{ name: 'West', beds: 'two' }, '/ward/beds', 'type'],
  [{ name: 'West', doors: 2 }, '/ward/doors', 'unknown-key'],
  [{ beds: 2 }, '/ward/code', 'required'],
])('%j is refused for its own fault alone, although the role could not create it', async (ward, pointer, code) => {
  const answer = await post('clerk', 'pets', { tag: 'pet', ward });
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([422, { errors: [{ pointer, code }] }]);
});

describe('a set with a link', () => {
  const travel = (region: object) => post('guide', 'trips', { stall: { place: 7, region } });

  test('names a record for a role that cannot create one', async () => {
    for (const region of [{ id: 1 }, { code: 'R-1' }])
      expect(JSON.parse((await travel(region)).text)).toMatchObject({ stall: { id: 1 } });
  });

  test.each([
    [{ id: 2 }, { id: 3 }],
    [{ code: 'R-2' }, { code: 'R-3' }],
  ])('with the hidden record %j is answered as with the absent %j', async (hidden, absent) => {
    const [there, none] = [await travel(hidden), await travel(absent)];
    expect([there.status, there.text]).toEqual([422, none.text]);
    const find = (region: object) =>
      send('PUT /api/stalls?on=region,place', 'all', JSON.stringify({ place: 8, region }));
    expect((await find(absent)).status).toBe(422);
  });
});

test.each([
  ['clerk', 'pets', 'owner.passport', 'P-1'],
  ['porter', 'trips', 'stall.region', '1'],
  ['porter', 'trips', 'stall.place', '7'],
])('for %s, a CSV of %s has no column %s, nor suggests it', async (role, path, column, cell) => {
  const [hidden, absent, near] = await Promise.all(
    [column, `${column.slice(0, -2)}zz`, column.slice(0, -1)].map((name) =>
      send(`POST /api/${path}`, role, `${name}\n${cell}\n`, 'text/csv'),
    ),
  );
  expect(hidden?.text).toContain(`Unknown column \\"${column}\\"`);
  expect(hidden?.text.replaceAll(column, '?')).toBe(absent?.text.replaceAll(`${column.slice(0, -2)}zz`, '?'));
  expect(near?.text).not.toContain(`\\"${column}\\"`);
});
