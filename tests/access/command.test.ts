/** `records access`: what roles allow, and why a request is answered as it is. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSql } from '../support/databases.ts';
import { createProject, type Project, runCommand } from '../support/project.ts';

let project: Project;
let environment: Readonly<Record<string, string>>;
beforeAll(async () => {
  project = await createProject({}, 'tests/fixtures/roles/schema');
  environment = { ...project.environment, ACCESS_DIR: 'tests/fixtures/roles/access', LOG_LEVEL: 'error' };
  const { code } = await runCommand('apply', [], environment);
  expect(code).toBe(0);
});
afterAll(() => project.remove());

const FILE = 'tests/fixtures/roles/access/branch.yaml';
const run = async (...args: readonly string[]) => runCommand('access', args, environment);

test('prints each rule with its place', async () => {
  const { out } = await run('branch-reader', 'Order');
  expect(out.trim().split('\n')).toEqual([
    `branch-reader (${FILE}:1)`,
    `  scope { branch: { claim: branch } } (${FILE}:3)`,
    `  Order read: yes, where { branch: { claim: branch } }, except [ internal_note ] (${FILE}:6)`,
    '  Order create: no',
    '  Order update: no',
    '  Order delete: no',
  ]);
  expect((await run('branch-reader', 'Line')).out).toContain('Line read: with its owner, through Order.lines');
  expect((await run()).out).toContain('editor (');
});

test.each([
  ['is not there', 'acess', /cannot be read: ENOENT: .*acess/],
  ['is empty', 'unmounted', /has no files: .*unmounted/],
])('a folder of roles that %s is refused by every command, since nobody would be kept out', async (_, name, reason) => {
  mkdirSync(join(project.directory, 'unmounted'), { recursive: true });
  const named = { ...environment, ACCESS_DIR: join(project.directory, name) };
  for (const [word, ...more] of [['access'], ['check'], ['start'], ['mcp'], ['access', 'editor', 'Order']] as const) {
    const { code, err } = await runCommand(word, more, named);
    expect([code, err]).toEqual([1, expect.stringMatching(/^The folder of the roles \(ACCESS_DIR\) /)]);
    expect(err).toMatch(reason);
  }
});

test('prints no right that nobody can use', async () => {
  const access = join(project.directory, 'unusable');
  mkdirSync(access);
  writeFileSync(join(access, 'a.yaml'), 'role: a\nread: { Tag: true }\ncreate: { Order: true }');
  const printed = async (type: string) =>
    (await runCommand('access', ['a', type], { ...environment, ACCESS_DIR: access })).out;
  expect(await printed('Order')).toContain(
    'create: no, since a new record must link one of a type that may not be read',
  );
  expect((await printed('Line')).trim().split('\n').slice(1)).toEqual([
    '  Line read: no',
    '  Line create: with its owner, through Order.lines',
    '  Line update: with its owner, through Order.lines',
    '  Line delete: with its owner, through Order.lines',
  ]);
});

test.each([
  [['branch-raeder'], 'There is no role "branch-raeder"; did you mean "branch-reader"?'],
  [['branch-reader', 'Ordr'], 'There is no record type "Ordr"; did you mean "Order"?'],
  [['explain', 'GET', '/api/orders'], '--role says whose request it is'],
  [['explain', '--role', 'editor', '--claim', 'x', 'GET', '/api/orders'], '"x" is not a claim'],
])('%j', async (args, message) => {
  const { code, err } = await run(...args);
  expect([code, err]).toEqual([1, expect.stringContaining(message)]);
});

test('explains a request', async () => {
  const asked = ['explain', '--role', 'branch-reader', 'GET', '/api/branches/7'];
  expect((await run(...asked, '--claim', 'branch=1')).out.trim().split('\n')).toEqual([
    '404 GET /api/branches/7',
    '  There is no Branch 7',
    `  read: yes, where { id: { claim: branch } } (${FILE}:7)`,
    '    not met: { id: { claim: branch } }',
  ]);
  expect((await run(...asked)).out).toContain('the claim branch is missing');
  // Claims that other types ask for say nothing about this one.
  expect((await run('explain', '--role', 'branch-reader', 'GET', '/api/tags/7')).out).not.toContain('claim branch');
  const invalid = await run('explain', '--role', 'branch-reader', 'GET', '/api/branches/x', '--claim', 'branch=1');
  expect(invalid.out).toMatch(/^400 GET .*\n {2}"x" is not an identifier/);
  expect((await run('explain', '--role', 'branch-reader', 'POST', '/api/orders')).out).toMatch(
    /^403 .*\n.*\n {2}create: no/,
  );
});

test('explains whether a record may be changed at all, without a body', async () => {
  const access = join(project.directory, 'closer');
  mkdirSync(access);
  const text = "role: closer\nread: { '*': true }\nupdate: { Branch: { where: { name: North } } }";
  writeFileSync(join(access, 'closer.yaml'), text);
  const names = [`(71, 'North')`, `(72, 'South')`].join();
  await runSql(project.database, `insert into branches (id, name) values ${names}`);
  const explained = async (id: number) =>
    (
      await runCommand('access', ['explain', '--role', 'closer', 'PATCH', `/api/branches/${id}`], {
        ...environment,
        ACCESS_DIR: access,
      })
    ).out;
  expect(await explained(71)).toMatch(/^200 PATCH/);
  expect(await explained(72)).toMatch(/^403 PATCH .*\n.*\n.*\n {4}not met: \{ name: North \}/);
});

test('explains whether a part may be changed, which its owner decides, without its tag', async () => {
  const { environment: own, ...folders } = await createProject({
    'folder.yaml': `type: Folder
fields: { state: { type: string }, level: { type: integer } }
relations: { sheets: { kind: hasMany, type: Sheet, owned: true } }`,
    'sheet.yaml': 'type: Sheet\npreconditions: required\nfields: { text: { type: string } }',
  });
  const access = join(project.directory, 'owner');
  mkdirSync(access);
  const text = `role: owner
read: { Folder: { where: { level: 1 } } }
update: { Folder: { where: { state: { claim: state } } } }`;
  writeFileSync(join(access, 'owner.yaml'), text);
  expect((await runCommand('apply', [], own)).code).toBe(0);
  await runSql(folders.database, `insert into folders (id, state, level) values (1, 'a', 1), (2, 'b', 1), (3, 'a', 2)`);
  await runSql(folders.database, `insert into sheets (id, folder_sheets_id) values (1, 1), (2, 2), (3, 3)`);
  const explained = async (path: string, ...claims: readonly string[]) => {
    const asked = ['explain', '--role', 'owner', ...claims, ...path.split(' ')];
    return (await runCommand('access', asked, { ...own, ACCESS_DIR: access })).out.trim();
  };
  const state = ['--claim', 'state=a'];
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    expect(await explained(`${method} /api/sheets/1`, ...state)).toMatch(/^200 .*\n.*\n.* through Folder.sheets$/);
    expect(await explained(`${method} /api/sheets/2`, ...state)).toMatch(
      /^403 (.*\n)+ {4}not met: \{ state: .* of Folder$/,
    );
    expect(await explained(`${method} /api/sheets/3`, ...state)).toMatch(
      /^404 (.*\n)+ {4}not met: \{ level: 1 \} of Folder\n/,
    );
    expect(await explained(`${method} /api/sheets/1`)).toMatch(/^403 (.*\n)+ {4}not met: the claim state is missing/);
  }
  await folders.remove();
});

test('explains each place of a body that is refused', async () => {
  const access = join(project.directory, 'access');
  mkdirSync(access);
  writeFileSync(
    join(access, 'noter.yaml'),
    'role: noter\nread: { Order: true, Branch: true }\ncreate: { Order: { only: [number, branch] } }',
  );
  writeFileSync(join(access, 'body.json'), '{ "number": 1, "state": "paid", "branch": { "id": 1 } }');
  const asked = ['explain', '--role', 'noter', 'POST', '/api/orders', '--body', join(access, 'body.json')];
  const { out } = await runCommand('access', asked, { ...environment, ACCESS_DIR: access });
  expect(out.trim().split('\n')).toEqual([
    '403 POST /api/orders',
    '  /state: You may not write this value of "state" of Order; leave it out',
    expect.stringMatching(/^ {2}create: yes, only \[ number, branch \] \(.*noter\.yaml:3\)$/),
  ]);
});

test('explains the conditions that nested records do not meet', async () => {
  const access = join(project.directory, 'linker');
  mkdirSync(access);
  await runSql(project.database, `insert into customers (id, name, level) values (7, 'Ada', 3), (9, 'Bob', 1)`);
  await runSql(project.database, `insert into branches (id, name) values (1, 'North')`);
  await runSql(project.database, `insert into tags (id, word, secret) values (8, 'x', true)`);
  writeFileSync(
    join(access, 'linker.yaml'),
    `role: linker
read: { Order: true, Branch: true, Customer: { where: { level: { lte: 2 } } }, Tag: { where: { secret: false } } }
create: { Order: true }
`,
  );
  const bodies = [7, 9].map((id) => ({ branch: { id: 1 }, customer: { id }, tags: [{ id: 8 }], number: id }));
  writeFileSync(join(access, 'linked.json'), JSON.stringify(bodies));
  const asked = ['explain', '--role', 'linker', 'POST', '/api/orders', '--body', join(access, 'linked.json')];
  const { out } = await runCommand('access', asked, { ...environment, ACCESS_DIR: access });
  expect(out.trim().split('\n')).toEqual([
    '422 POST /api/orders',
    '  /0/customer/id: There is no Customer 7',
    '  /0/tags/0/id: There is no Tag 8',
    '  /1/tags/0/id: There is no Tag 8',
    expect.stringMatching(/^ {2}create: yes/),
    expect.stringMatching(
      /^ {2}\/0\/customer, read of Customer: yes, where \{ level: \{ lte: 2 \} \} \(.*linker\.yaml:2\)$/,
    ),
    '    not met: { level: { lte: 2 } }',
    expect.stringMatching(/^ {2}\/0\/tags\/0, read of Tag: yes, where/),
    '    not met: { secret: false }',
    expect.stringMatching(/^ {2}\/1\/tags\/0, read of Tag: yes, where/),
    '    not met: { secret: false }',
  ]);
});

test('explains the conditions that records of an array do not meet', async () => {
  const access = join(project.directory, 'northern');
  mkdirSync(access);
  writeFileSync(
    join(access, 'northern.yaml'),
    "role: northern\nread: { '*': true }\nupdate: { Branch: { where: { name: North } } }",
  );
  await runSql(project.database, `insert into branches (id, name) values (81, 'North'), (82, 'South')`);
  writeFileSync(join(access, 'many.json'), '[{ "id": 81, "name": "A" }, { "id": 82, "name": "B" }]');
  const asked = ['explain', '--role', 'northern', 'PATCH', '/api/branches', '--body', join(access, 'many.json')];
  const { out } = await runCommand('access', asked, { ...environment, ACCESS_DIR: access });
  expect(out.trim().split('\n')).toEqual([
    '403 PATCH /api/branches',
    '  /0: You may not write a record of Branch like this',
    '  /1: You may not change Branch 82',
    expect.stringMatching(/^ {2}read: yes/),
    expect.stringMatching(/^ {2}update: yes, where/),
    expect.stringMatching(/^ {2}\/1, update of Branch: yes, where \{ name: North \} \(.*northern\.yaml:3\)$/),
    '    not met: { name: North }',
  ]);
});

test('explains both rules of an upsert', async () => {
  const access = join(project.directory, 'upserter');
  mkdirSync(access);
  writeFileSync(join(access, 'upserter.yaml'), "role: upserter\nread: { '*': true }\nupdate: { Order: true }");
  const explained = async (...asked: readonly string[]) =>
    (
      await runCommand('access', ['explain', '--role', 'upserter', ...asked], { ...environment, ACCESS_DIR: access })
    ).out.trim();
  for (const method of ['PUT', 'POST'])
    expect(await explained(method, '/api/orders?on=number')).toMatch(
      new RegExp(`^403 ${method} .*\\n.*\\n {2}read: yes.*\\n {2}create: no\\n {2}update: yes`),
    );
});

test('explains which claim an entry misses, wherever it asks for it', async () => {
  const access = join(project.directory, 'setter');
  mkdirSync(access);
  writeFileSync(
    join(access, 'setter.yaml'),
    "role: setter\nread: { '*': true }\nupdate: { Branch: { set: { name: { claim: [org, name] } } } }",
  );
  await runSql(project.database, `insert into branches (id, name) values (91, 'North')`);
  const explained = async (...claims: readonly string[]) =>
    (
      await runCommand('access', ['explain', '--role', 'setter', ...claims, 'PATCH', '/api/branches/91'], {
        ...environment,
        ACCESS_DIR: access,
      })
    ).out;
  expect(await explained()).toMatch(/^403 PATCH .*\n.*\n.*\n {4}not met: the claim org\.name is missing/);
  expect(await explained('--claim', 'org.name=North')).toMatch(/^200 PATCH/);
});

test('prints a token with a role, and refuses one that does not exist', async () => {
  const { out } = await runCommand(
    'token',
    ['anna', '--role', 'branch-reader', '--claim', 'branch=north'],
    environment,
  );
  expect(out).toMatch(/ {2}anna role=branch-reader claim:branch=north sha256=[0-9a-f]{64}/);
  const { err } = await runCommand('token', ['anna', '--role', 'brnch-reader'], environment);
  expect(err).toContain('There is no role "brnch-reader"; did you mean "branch-reader"?');
});

test('an option that takes one value is refused when it is given twice', async () => {
  const token = (...words: readonly string[]) => runCommand('token', ['anna', ...words], environment);
  expect((await token('--write', 'Tag', '--write=Line')).err).toMatch(/^--write is given twice\nrecords token/);
  expect((await token('--json', '--json')).code).toBe(0);
});

test('check reports faults of roles', async () => {
  const faulty = { ...environment, ACCESS_DIR: 'tests/fixtures/access' };
  const { code, out } = await runCommand('check', [], faulty);
  expect([code, out]).toEqual([1, expect.stringContaining('tests/fixtures/access/')]);
  expect((await runCommand('check', [], environment)).code).toBe(0);
});
