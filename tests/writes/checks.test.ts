import { ask } from '../support/ask.ts';
import { askRow, faultsIn, rowsOf } from '../support/table.ts';
import { runSql } from '../support/databases.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/schemas/checks' });

const PROJECT = { id: 1, name: 'one', starts: '2030-02-01', ends: '2030-03-01', budget: '10', spent: 5 };
const PERSON = { id: 1, name: 'Ann', phone: '1', born: 1900, died: 1980 };

beforeEach(async () => {
  for (const path of ['projects', 'people']) await ask(server.url, `DELETE /api/${path}/1`);
  expect((await ask(server.url, 'POST /api/people', PERSON)).status).toBe(201);
  const tasks = [{ least: '2', most: '3' }];
  const made = await ask(server.url, 'POST /api/projects', {
    ...PROJECT,
    owner: { id: 1 },
    tasks,
    brief: { pages: 4 },
  });
  expect(made.status).toBe(201);
});

const MESSAGES: Readonly<Record<string, string>> = {
  ends: 'A project cannot end before it starts',
  budget: '"budget" must be at least "spent" if "closed" is true',
  born: '"born" must be at least 0 or not ("died" is more than 100)',
  high: '"high" must be less than 1000000 if "low" is 0 or "low" is more than 5',
  email: 'Give an email address or a phone number',
  pages: '"pages" must be at most "most_pages"',
};

test.each(
  rowsOf(`
  POST /api/projects {"name":"x","starts":"2030-02-01","ends":"2030-01-31"} => /ends check
  POST /api/projects {"name":"x","starts":"2030-02-01"} =>
  POST /api/projects {"name":"x","ends":"2030-01-31"} =>
  POST /api/projects {"name":"x","spent":3,"budget":"2","closed":true} => /budget check | /closed_at check
  POST /api/projects {"name":"x","spent":3,"budget":"2","closed":false} =>
  POST /api/projects {"name":"x","spent":2.5,"budget":"2.50","closed":true,"closed_at":"2030-01-01T00:00:00Z"} =>
  POST /api/projects {"name":"x","code":"eu-é7","hours":9} => /hours check
  POST /api/projects {"name":"x","code":"eu7","hours":9} =>
  POST /api/projects {"name":"x","code":"EU-1","hours":40} =>
  POST /api/projects {"name":"x","hours":1001} => /hours check
  POST /api/projects {"name":"x","opened_at":"2030-01-01T01:00:00+01:00","closed_at":"2030-01-01T00:00:00Z"} => /closed_at check
  POST /api/people {"name":"Bob"} => /email check
  POST /api/people [{"name":"Bob"}] => /0/email check
  POST /api/people {"name":"Bob","phone":"1"} =>
  # Groups. A comparison with null holds, whatever group it is in.
  POST /api/people {"name":"Bob","phone":"1","born":-1,"died":101} => /born check
  POST /api/people {"name":"Bob","phone":"1","born":-1,"died":100} =>
  POST /api/people {"name":"Bob","phone":"1","born":0,"died":101} =>
  POST /api/people {"name":"Bob","phone":"1","born":-1} =>
  POST /api/people {"name":"Bob","phone":"1","died":101} =>
  PUT /api/people/1 {"born":-1} => /born check
  PUT /api/levels/1 {"high":1000000} =>
  PUT /api/levels/1 {"high":1000000,"low":6} => /high check
  PUT /api/levels/1 {"high":1000000,"low":0} => /high check
  # The other side is stored.
  PUT /api/projects/1 {"ends":"2030-01-31"} => /ends check
  PATCH /api/projects/1 {"starts":"2030-03-02"} => /ends check
  PUT /api/projects/1 {"starts":"2030-03-02","ends":"2030-03-02"} =>
  PATCH /api/projects/1 {"ends":null} =>
  PUT /api/people/1 {"phone":null} => /email check
  # A variant does not show what is compared all the same.
  PUT /api/projects/1?variant=plain {"starts":"2030-03-02"} => /ends check
  # All faults are told at once, and none of a value that is refused itself.
  PUT /api/projects/1 {"nmae":1,"ends":"2030-01-01","hours":"8"} => /nmae unknown-key | /ends check | /hours type
  PUT /api/projects/1 {"starts":"never","ends":"2030-01-01"} => /starts format
  # Related records, new ones and stored ones.
  PUT /api/projects/1 {"brief":{"pages":6}} => /brief/pages check
  PUT /api/projects/1 {"tasks":[{"least":"11"},{"least":"3","most":"3.00"},{"most":"0.5"}]} => /tasks/0/most check | /tasks/2/most check
  PUT /api/projects/1 {"owner":{"id":1,"died":1899}} => /owner/died check
  PUT /api/people/1 {"projects":[{"id":1,"starts":"2031-01-01"}]} => /projects/0/ends check
  PUT /api/people/1 {"projects":[{"id":1,"name":"two"}]} =>
  # One record in two places: as it will be.
  PUT /api/projects/1 {"ends":"2029-01-01","owner":{"id":1,"projects":[{"id":1,"starts":"2029-01-01"}]}} =>
  PUT /api/projects/1 {"name":"one","owner":{"id":1,"projects":[{"id":1,"starts":"2031-01-01"}]}} => /owner/projects/0/ends check
`),
)('%s => %s', async (row, faults) => {
  const answer = await askRow(server.url, row);
  expect([answer.status, faultsIn(answer)]).toEqual([faults === '' ? expect.any(Number) : 422, faults]);
  expect(answer.status < 300).toBe(faults === '');
  const { errors = [] } = answer.body as { errors?: { pointer: string; code: string; message: string }[] };
  for (const { pointer, code, message } of errors)
    if (code === 'check') expect(message).toBe(MESSAGES[pointer.split('/').at(-1) ?? ''] ?? message);
});

test('a record that broke a check before is read, sent back, and changed where the check does not look', async () => {
  await runSql(server.database, `update projects set ends = '2000-01-01' where id = 1`);
  const old = (await ask(server.url, 'GET /api/projects/1')).body as object;
  expect(old).toMatchObject({ starts: '2030-02-01', ends: '2000-01-01' });
  const statuses = [];
  for (const body of [old, { ...old, name: 'two' }, { spent: 6 }, { ends: '2001-01-01' }, { starts: '1999-01-01' }])
    statuses.push((await ask(server.url, 'PUT /api/projects/1', body)).status);
  expect(statuses).toEqual([200, 200, 200, 422, 200]);
});

test('a check holds after concurrent writes to both of its fields', async () => {
  for (let round = 0; round < 20; round += 1) {
    await ask(server.url, 'PUT /api/projects/1', { starts: '2030-02-01', ends: '2030-03-01' });
    const answers = await Promise.all([
      ask(server.url, 'PUT /api/projects/1', { starts: '2030-02-20' }),
      ask(server.url, 'PUT /api/projects/1', { ends: '2030-02-10' }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
    const { starts, ends } = (await ask(server.url, 'GET /api/projects/1')).body as { starts: string; ends: string };
    expect(starts <= ends).toBe(true);
  }
});
