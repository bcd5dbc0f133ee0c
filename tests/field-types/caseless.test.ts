/** Fields that ignore case: equality, order, and responses that keep the case. */
import { ask } from '../support/ask.ts';
import { askRow, faultsIn, rowsOf } from '../support/table.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/schemas/caseless' });

const MEMBERS = [
  { id: 1, name: 'Zoë', email: 'Zoe@Example.com', nick: 'Straße', code: 'x' },
  { id: 2, name: 'anna', email: 'ÉMILE@x.org', nick: 'ΐ', code: 'X' },
  { id: 3, name: 'ANNA', email: 'anna@x.org', nick: 'Same', code: 'anna' },
  { id: 4, name: null, email: 'no@x.org', nick: 'I_d*%', code: null },
  { id: 5, name: 'Bob', email: 'bob@x.org', code: 'é' },
];

beforeEach(async () => {
  for (const { id } of await list('')) await ask(server.url, `DELETE /api/members/${id}`);
  for (const body of MEMBERS) expect((await ask(server.url, 'POST /api/members', body)).status).toBe(201);
});

async function list(query: string): Promise<readonly { id: number; [name: string]: unknown }[]> {
  const { status, body } = await ask(server.url, `GET /api/members?${query}`);
  expect({ status, body }).toEqual({ status: 200, body: expect.any(Array) });
  return body as readonly { id: number }[];
}

const found = async (query: string): Promise<readonly number[]> => (await list(query)).map(({ id }) => id);

test.each<[query: string, ids: readonly number[]]>([
  ['_cnd[email]=émile@X.ORG', [2]],
  ['_cnd[email]=e%CC%81mile@X.ORG', [2]],
  ['_cnd[nick]=STRASSE', [1]],
  ['_cnd[nick]=%CE%99%CC%88%CC%81', [2]],
  ['_cnd[nick]=ärger', [5]],
  ['_cnd[nick]=a%CC%88RGER', [5]],
  ['_cnd[code]=X', [2]],
  ['_cnd[name][ne]=Anna', [4, 5, 1]],
  ['_cnd[name][in]=ANNA&_cnd[name][in]=bOB', [2, 3, 5]],
  ['_cnd[nick][like]=*RASSE', [1]],
  ['_cnd[nick][like]=STRA%C3%9F*', [1]],
  ['_cnd[nick][like]=%CE%90*', [2]],
  ['_cnd[nick][like]=i_D*', [4]],
  ['_cnd[nick][like]=Äß*', []],
  ['_cnd[nick][like]=*a%CC%88RGE*', [5]],
  ['_cnd[email][like]=*zoe@example.co*M', [1]],
  ['_cnd[email][like]=*ÉMILE@x.or*g*', [2]],
  ['_cnd[orderBy]=email', [3, 5, 4, 1, 2]],
  ['_cnd[orderBy][0]=name&_cnd[orderBy][1]=desc', [1, 5, 3, 2, 4]],
  ['_cnd[orderBy]=code', [4, 2, 3, 1, 5]],
])('GET /api/members?%s', async (query, ids) => {
  const given = decodeURI(query);
  expect(await found(encodeURI(given).replaceAll('[', '%5B').replaceAll(']', '%5D').replaceAll('ß', '%C3%9F'))).toEqual(
    ids,
  );
});

test.each<[query: string, groups: readonly unknown[]]>([
  [
    'by=name&measure=count,max(nick)',
    [
      { by: { name: null }, measures: { count: 1, 'max(nick)': 'I_d*%' } },
      { by: { name: 'ANNA' }, measures: { count: 2, 'max(nick)': 'ΐ' } },
      { by: { name: 'Bob' }, measures: { count: 1, 'max(nick)': 'Ärger' } },
      { by: { name: 'Zoë' }, measures: { count: 1, 'max(nick)': 'Straße' } },
    ],
  ],
  ['measure=min(name),max(name)', [{ by: {}, measures: { 'min(name)': 'ANNA', 'max(name)': 'Zoë' } }]],
  [
    'by=code&measure=min(name)&_cnd[orderBy][0]=min(name)&_cnd[orderBy][1]=desc&_cnd[name][null]=false',
    [
      { by: { code: 'x' }, measures: { 'min(name)': 'Zoë' } },
      { by: { code: 'é' }, measures: { 'min(name)': 'Bob' } },
      { by: { code: 'anna' }, measures: { 'min(name)': 'ANNA' } },
      { by: { code: 'X' }, measures: { 'min(name)': 'anna' } },
    ],
  ],
])('GET /api/members/$summary?%s', async (query, groups) => {
  const { status, body } = await ask(server.url, `GET /api/members/$summary?${query}`);
  expect([status, body]).toEqual([200, groups]);
});

test.each(
  rowsOf(`
    POST /api/members {"email":"zoe@EXAMPLE.com"} => /email unique => Member 1 has this value of "email"
    POST /api/members {"email":"e\u0301mile@x.org"} => /email unique => Member 2 has this value of "email"
    PUT /api/members/3 {"email":"ZOE@example.com"} => /email unique => Member 1 has this value of "email"
    POST /api/teams {"title":"A","members":[{"email":"new@x.org"},{"email":"BOB@x.org"}]} => /members/1/email unique => Member 5 has
    POST /api/teams {"title":"A","badges":[{"word":"Best"},{"word":"BEST"}]} => /badges/1/word unique => "/badges/0/word" in the same body
  `),
)('%s: 409 %s', async (row, fault, message) => {
  const answer = await askRow(server.url, row);
  expect([answer.status, faultsIn(answer)]).toEqual([409, fault]);
  expect(answer.body).toMatchObject({ type: 'urn:problem:unique-conflict', detail: expect.stringContaining(message) });
});

test('PATCH of a value in another case writes it', async () => {
  const answer = await ask(server.url, 'PATCH /api/members/3', { email: 'Anna@X.org' });
  expect(answer).toMatchObject({ status: 200, body: { email: 'Anna@X.org' } });
});
