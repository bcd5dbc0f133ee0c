/** Links that name their records by unique values. */
import { ask } from '../support/ask.ts';
import { useServer } from '../support/server.ts';

const FILES = {
  'owner.yaml': `type: Owner
unique: [[name, city]]
fields:
  customer_no: { type: string, unique: true }
  email: { type: string, unique: true, caseless: true }
  name: { type: string }
  city: { type: string }
  secret: { type: string }
`,
  'pet.yaml': `type: Pet
fields: { name: { type: string } }
relations:
  owner: { kind: belongsTo, type: Owner, fields: [customer_no, email, name, city] }
  sitters: { kind: manyToMany, type: Owner }
  kennel: { kind: belongsTo, type: Kennel }
  toys: { kind: hasMany, type: Toy, inverse: pet, owned: true }
`,
  'toy.yaml': `type: Toy
fields: { name: { type: string } }
relations:
  pet: { kind: belongsTo, type: Pet, inverse: toys }
  giver: { kind: belongsTo, type: Owner }
`,
  'kennel.yaml': `type: Kennel
identifier: { name: code, type: string }
fields:
  name: { type: string, unique: true }
  places: { type: integer }
`,
  'region.yaml': `type: Region
identifier: { name: id, type: uuid }
fields:
  code: { type: string, unique: true }
  name: { type: string }
`,
  'stall.yaml': `type: Stall
unique: [[region, since, fee]]
fields:
  since: { type: date, required: true }
  fee: { type: decimal, precision: 6, scale: 2, required: true }
  note: { type: string }
relations:
  region: { kind: belongsTo, type: Region, required: true }
`,
  'visit.yaml': `type: Visit
fields: { name: { type: string } }
relations:
  stall: { kind: belongsTo, type: Stall }
`,
};

const server = useServer({ files: FILES });
const NORTH = '01890a5d-ac96-774b-bcce-b302099a8057';

beforeAll(async () => {
  const owners = [
    { customer_no: 'K-1', email: 'a@b.c', name: 'Ann', city: 'Bern' },
    { customer_no: 'K-2', name: 'Ann', city: 'Rome' },
  ];
  expect(await ask(server.url, 'POST /api/owners', owners)).toMatchObject({ status: 201 });
  const regions = [
    { id: NORTH, code: 'N', name: 'North' },
    { id: NORTH.replace('01', '02'), code: 'S' },
  ];
  expect(await ask(server.url, 'POST /api/regions', regions)).toMatchObject({ status: 201 });
  const stall = { since: '2030-01-01', fee: '1.5', region: { code: 'N' } };
  expect(await ask(server.url, 'POST /api/stalls', stall)).toMatchObject({ status: 201, body: { id: 1 } });
});

const ANY = { message: expect.any(String) };
const SHOWN = '?include=owner,sitters,toys.giver';

test.each<[body: object, shown: object]>([
  [{ owner: { customer_no: 'K-2' } }, { owner: { id: 2, customer_no: 'K-2' } }],
  [{ owner: { email: 'A@B.C' } }, { owner: { id: 1 } }],
  [{ owner: { name: 'Ann', city: 'Rome' } }, { owner: { id: 2 } }],
  [{ owner: { customer_no: 'K-1', name: 'Ann' } }, { owner: { id: 1 } }],
  [{ owner: { id: 1, customer_no: 'K-1' } }, { owner: { id: 1 } }],
  [{ sitters: [{ customer_no: 'K-2' }, { id: 1 }] }, { sitters: [{ id: 1 }, { id: 2 }] }],
  [{ toys: [{ name: 'ball', giver: { customer_no: 'K-1' } }] }, { toys: [{ giver: { id: 1 } }] }],
])('%j links', async (body, shown) => {
  expect(await ask(server.url, `POST /api/pets${SHOWN}`, body)).toMatchObject({ status: 201, body: shown });
  const many = await ask(server.url, `POST /api/pets${SHOWN}`, [body, { name: 'other' }]);
  expect(many).toMatchObject({ status: 201, body: [shown, { name: 'other' }] });
  const { body: made } = await ask(server.url, 'POST /api/pets', { name: 'x' });
  const { id } = made as { readonly id: number };
  expect(await ask(server.url, `PATCH /api/pets/${id}${SHOWN}`, body)).toMatchObject({ status: 200, body: shown });
  expect(await ask(server.url, `PUT /api/pets/${id}${SHOWN}&dryRun=true`, body)).toMatchObject({
    status: 200,
    body: { answer: { body: shown } },
  });
});

test.each<[body: object, status: number, pointer: string, code: string]>([
  [{ owner: { customer_no: 'K-3' } }, 422, '/owner/customer_no', 'not-found'],
  [{ sitters: [{ id: 1 }, { customer_no: 'K-3' }] }, 422, '/sitters/1/customer_no', 'not-found'],
  [{ owner: { name: 'Ann' } }, 422, '/owner/id', 'required'],
  [{ owner: { customer_no: null } }, 422, '/owner/id', 'required'],
  [{ owner: { customer_no: 1 } }, 422, '/owner/customer_no', 'type'],
  [{ owner: {} }, 422, '/owner/id', 'required'],
  [{ owner: { customer_no: 'K-1', city: 'Rome' } }, 409, '/owner/city', 'link-only'],
  [{ owner: { customer_no: 'K-1', name: 'Ann', city: 'Rome' } }, 409, '/owner/city', 'link-only'],
  [{ sitters: [{ id: 1 }, { customer_no: 'K-1' }] }, 422, '/sitters/1', 'duplicate'],
  [{ kennel: { name: 'North', places: 'two' } }, 422, '/kennel/places', 'type'],
  [{ kennel: { name: 'North', stalls: 2 } }, 422, '/kennel/stalls', 'unknown-key'],
  [{ kennel: { places: 2 } }, 422, '/kennel/code', 'required'],
])('%j is refused', async (body, status, pointer, code) => {
  const answer = await ask(server.url, 'POST /api/pets', body);
  expect(answer).toMatchObject({ status, body: { errors: [{ pointer, code }] } });
});

const STALL = { since: '2030-01-01', fee: '1.50' };

test.each([{ id: NORTH }, { id: NORTH.toUpperCase() }, { code: 'N' }, { id: NORTH, code: 'N' }])(
  'a group with a link, to %j, names a record',
  async (region) => {
    const stall = { ...STALL, region };
    const linked = { stall: { id: 1, fee: '1.5' } };
    expect(await ask(server.url, 'POST /api/visits', { stall })).toMatchObject({ status: 201, body: linked });
    expect(await ask(server.url, 'POST /api/visits', [{ stall }])).toMatchObject({ status: 201, body: [linked] });
  },
);

test.each<[stall: object, status: number, pointer: string, code: string]>([
  [{ ...STALL, region: { code: 'S' } }, 422, '/stall/region', 'not-found'],
  [{ ...STALL, region: { id: NORTH.replace('01', '03') } }, 422, '/stall/region', 'not-found'],
  [{ ...STALL, region: { id: NORTH, name: 'South' } }, 409, '/stall/region/name', 'link-only'],
  [{ ...STALL, region: { code: 'N', name: 'South' } }, 409, '/stall/region/name', 'link-only'],
  [{ ...STALL, region: { code: 'N' }, note: 'x' }, 409, '/stall/note', 'link-only'],
  [{ ...STALL, region: NORTH }, 422, '/stall/region', 'type'],
  [{ ...STALL, region: null }, 422, '/stall/region', 'null'],
  [STALL, 422, '/stall/id', 'required'],
])('%j names none', async (stall, status, pointer, code) => {
  const answer = await ask(server.url, 'POST /api/visits', { stall });
  expect(answer).toMatchObject({ status, body: { errors: expect.arrayContaining([{ ...ANY, pointer, code }]) } });
});

describe('an upsert on a group with a link', () => {
  const on = '/api/stalls?on=region,since,fee';

  test('finds the record', async () => {
    const answer = await ask(server.url, `PUT ${on}`, { ...STALL, region: { code: 'N' }, note: 'a' });
    expect(answer).toMatchObject({ status: 200, body: { id: 1, note: 'a', region: { id: NORTH } } });
    const items = [
      { ...STALL, region: { code: 'S' }, note: 'b' },
      { ...STALL, region: { code: 'N' }, note: 'c' },
    ];
    const body = [{ note: 'b' }, { id: 1, note: 'c' }];
    expect(await ask(server.url, `POST ${on}&dryRun=true`, items)).toMatchObject({ body: { answer: { body } } });
    expect(await ask(server.url, `POST ${on}`, items)).toMatchObject({ status: 200, body });
  });

  test.each<[region: unknown, pointer: string, code: string]>([
    [{ code: 'X' }, '/region/code', 'not-found'],
    [{ code: 5 }, '/region/code', 'type'],
    [{ code: 'N', name: 5 }, '/region/name', 'type'],
    [{ name: 'North' }, '/region', 'required'],
  ])('refuses %j', async (region, pointer, code) => {
    const body = { ...STALL, region };
    const errors = expect.arrayContaining([{ ...ANY, pointer, code }]);
    expect(await ask(server.url, `PUT ${on}`, body)).toMatchObject({ status: 422, body: { errors } });
  });

  test('refuses one record under two names', async () => {
    const items = [{ code: 'N' }, { id: NORTH }].map((region) => ({ ...STALL, region }));
    const errors = [{ pointer: '/1/region', code: 'duplicate' }];
    expect(await ask(server.url, `POST ${on}`, items)).toMatchObject({ status: 422, body: { errors } });
  });
});

const sendCsv = async (path: string, text: string) => {
  const headers = { 'Content-Type': 'text/csv', Accept: 'application/json' };
  const response = await fetch(`${server.url}/api/${path}`, { method: 'POST', headers, body: text });
  return { status: response.status, body: await response.json() };
};

test('CSV has columns for them', async () => {
  const send = (text: string) => sendCsv('pets?include=owner', text);
  expect(await send('name,owner.customer_no\na,K-1\nb,\nc,K-2\n')).toMatchObject({
    status: 201,
    body: [{ owner: { id: 1 } }, { owner: null }, { owner: { id: 2 } }],
  });
  expect(await send('name,owner.name,owner.city\na,Ann,Rome\n')).toMatchObject({
    status: 201,
    body: [{ owner: { id: 2 } }],
  });
  expect(await send('name,owner.customer_no\na,K-1\nb,K-9\n')).toMatchObject({
    status: 422,
    body: { errors: [{ line: 3, pointer: '/1/owner.customer_no', code: 'not-found' }] },
  });
  const { body } = await send('name,owner.id\na,1\n');
  expect(body).toMatchObject({ errors: [{ message: 'Line 1: Unknown column "owner.id"; did you mean "owner"?' }] });
});

test.each<[text: string, owner: object | null]>([
  ['owner.customer_no,owner\nK-2,2\n', { id: 2 }],
  ['owner.customer_no,owner\nK-2,\n', { id: 2 }],
  ['owner.customer_no,owner\n,2\n', { id: 2 }],
  ['name,owner.customer_no,owner\nx,,\n', null],
])('%j links the owner that its columns name', async (text, owner) => {
  expect(await sendCsv('pets?include=owner', text)).toMatchObject({ status: 201, body: [{ owner }] });
});

test.each<[text: string, status: number, pointer: string]>([
  ['owner.customer_no,owner\nK-2,1\n', 409, '/0/owner.customer_no'],
  ['owner,owner.customer_no\n1,K-2\n', 409, '/0/owner.customer_no'],
  ['owner,owner.customer_no\nx,K-2\n', 422, '/0/owner'],
  ['owner.customer_no,owner\nK-2,x\n', 422, '/0/owner'],
])('%j contradicts itself', async (text, status, pointer) => {
  expect(await sendCsv('pets', text)).toMatchObject({ status, body: { errors: [{ line: 2, pointer }] } });
});

test('CSV has columns for the links of a group', async () => {
  const head = 'stall.region,stall.since,stall.fee';
  const answer = await sendCsv('visits', `${head}\n${NORTH},2030-01-01,1.5\n`);
  expect(answer).toMatchObject({ status: 201, body: [{ stall: { id: 1 } }] });
  const message = expect.stringContaining('"stall.region" must be the id of a record of Region: a UUID');
  const errors = [{ line: 2, pointer: '/0/stall.region', message }];
  expect(await sendCsv('visits', `${head}\nx,2030-01-01,1.5\n`)).toMatchObject({ status: 422, body: { errors } });
});
