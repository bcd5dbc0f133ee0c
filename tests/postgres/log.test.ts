/** Other users of a PostgreSQL database beside a log of changes. */
import { randomBytes } from 'node:crypto';
import { ask } from '../support/ask.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { connectTo, POSTGRES_URL, runSql } from '../support/databases.ts';
import { runCommand, useProjects } from '../support/project.ts';
import { LOG, rowsOf } from '../log/fold.ts';

const onPostgres = POSTGRES_URL === '' ? test.skip : test;
const newProject = useProjects();

const BOOK = 'type: Book\nfields: { title: { type: string } }\n';

onPostgres('they write without a right to the log; a plan names the rights that its triggers need', async () => {
  const project = await newProject({ 'book.yaml': `${BOOK}history: true\n` });
  const { database } = project;
  await project.serving((url) => ask(url, 'POST /api/books', { title: 'One' }));
  const client = await connectTo(database.url);
  const [{ schema = '' } = {}] = (await client.query<{ schema: string }>('select current_schema() as schema')).rows;
  const role = `limited_${randomBytes(6).toString('hex')}`;
  await client.query(
    `create role ${role} login; grant usage on schema ${schema} to ${role}; grant all on all tables in schema ${schema} to ${role}; revoke all on _records_log from ${role}`,
  );
  try {
    const url = new URL(database.url);
    url.username = role;
    const other = await connectTo(url.href);
    await expect(other.query('select * from _records_log')).rejects.toThrow('permission denied');
    // Names of others do not lead the triggers astray.
    await other.query('create temp table _records_log (source text)');
    await other.query(`update ${schema}.books set title = 'Two'`);
    await other.end();
    expect(await rowsOf(database, LOG)).toMatchObject([
      { operation: 'create', new: '{"title":"One"}' },
      { operation: 'update', old: '{"title":"One"}', new: '{"title":"Two"}' },
    ]);
    project.write({ 'shelf.yaml': 'type: Shelf\n' });
    await project.starts();
    await client.query(`grant select on all tables in schema ${schema} to ${role}`);
    project.write({ 'shelf.yaml': 'type: Shelf\nhistory: true\n' });
    const { out } = await runCommand('plan', [], { ...project.environment, DATABASE_URL: url.href });
    expect(out).toContain(`x Keep a history of Shelf
    another database user owns table shelves, and only its owner may change it: apply this as that user
    this database user may not create tables in schema ${schema}: grant it, or apply this as another user
`);
  } finally {
    await client.query(`drop owned by ${role}; drop role ${role}`);
    await client.end();
  }
});

onPostgres('a start makes the triggers anew that name a schema which has another name now', async () => {
  const project = await newProject({ 'book.yaml': `${BOOK}history: true\n` });
  const { database } = project;
  await project.serving((url) => ask(url, 'POST /api/books', { title: 'One' }));
  const [{ schema = '' } = {}] = await rowsOf(database, 'select current_schema() as schema');
  const renamed = `${String(schema)}_renamed`;
  await runSql(database, `alter schema ${String(schema)} rename to ${renamed}`);
  const environment = { ...project.environment, DATABASE_URL: database.url.replace(String(schema), renamed) };
  const here = { ...database, url: environment.DATABASE_URL };
  try {
    expect((await runCommand('plan', [], environment)).out).toContain('  Make the triggers anew that record Book\n');
    const { url, close } = await serve(readSettings(environment));
    expect((await ask(url, 'PATCH /api/books/1', { title: 'Two' })).status).toBe(200);
    await close();
    expect(await rowsOf(here, LOG)).toMatchObject([{ operation: 'create' }, { operation: 'update' }]);
    expect((await runCommand('plan', [], environment)).code).toBe(0);
  } finally {
    await runSql(here, `alter schema ${renamed} rename to ${String(schema)}`);
  }
});

onPostgres('a start makes the triggers anew that somebody has disabled', async () => {
  const project = await newProject({ 'book.yaml': `${BOOK}history: true\n` });
  const { database } = project;
  await project.starts();
  await runSql(database, 'alter table books disable trigger user');
  expect((await project.run('plan')).out).toContain('  Make the triggers anew that record Book\n');
  await project.serving((url) => ask(url, 'POST /api/books', { title: 'One' }));
  expect(await rowsOf(database, LOG)).toHaveLength(1);
});
