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
};

const server = useServer({ files: FILES });

beforeAll(async () => {
  const owners = [
    { customer_no: 'K-1', email: 'a@b.c', name: 'Ann', city: 'Bern' },
    { customer_no: 'K-2', name: 'Ann', city: 'Rome' },
  ];
  expect(await ask(server.url, 'POST /api/owners', owners)).toMatchObject({ status: 201 });
});

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

test('CSV has columns for them', async () => {
  const send = async (text: string) => {
    const response = await fetch(`${server.url}/api/pets?include=owner`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/csv', Accept: 'application/json' },
      body: text,
    });
    return { status: response.status, body: await response.json() };
  };
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
});
