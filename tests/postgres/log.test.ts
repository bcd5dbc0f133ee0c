/** Other users of a PostgreSQL database beside a log of changes. */
import { randomBytes } from 'node:crypto';
import { ask } from '../support/ask.ts';
import { serve } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { connectTo, POSTGRES_URL, runSql, type TestDatabase } from '../support/databases.ts';
import { runCommand, useProjects } from '../support/project.ts';
import { LOG, rowsOf } from '../log/fold.ts';

const onPostgres = POSTGRES_URL === '' ? test.skip : test;
const newProject = useProjects();

const schemaOf = async (database: TestDatabase): Promise<string> =>
  String((await rowsOf(database, 'select current_schema() as schema'))[0]?.['schema']);

const inSchema = ({ url }: TestDatabase, schema: string): string => {
  const other = new URL(url);
  other.searchParams.set('options', `-c search_path=${schema.replaceAll(' ', '\\ ')}`);
  return other.href;
};

const BOOK = 'type: Book\nfields: { title: { type: string } }\n';

onPostgres('they write without a right to the log; a plan names the rights that its triggers need', async () => {
  const project = await newProject({ 'book.yaml': `${BOOK}history: true\n` });
  const { database } = project;
  await project.serving((url) => ask(url, 'POST /api/books', { title: 'One' }));
  const client = await connectTo(database.url);
  const schema = await schemaOf(database);
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
  const schema = await schemaOf(database);
  const renamed = `"${schema}'s ""other"""`;
  await runSql(database, `alter schema ${schema} rename to ${renamed}`);
  const environment = { ...project.environment, DATABASE_URL: inSchema(database, renamed) };
  const here = { ...database, url: environment.DATABASE_URL };
  try {
    expect((await runCommand('plan', [], environment)).out).toContain('  Make the triggers anew that record Book\n');
    const { url, close } = await serve(readSettings(environment));
    expect((await ask(url, 'PATCH /api/books/1', { title: 'Two' })).status).toBe(200);
    await close();
    expect(await rowsOf(here, LOG)).toMatchObject([{ operation: 'create' }, { operation: 'update' }]);
    expect((await runCommand('plan', [], environment)).code).toBe(0);
  } finally {
    await runSql(here, `alter schema ${renamed} rename to ${schema}`);
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

onPostgres.each([
  ['with', 'history: true\n', ['2 unlink', '2 delete', '3 delete']],
  ['without', '', []],
] as const)('what others made of links meets a deletion alike: %s a history', async (_, history, entries) => {
  const { database, serving } = await newProject({
    'book.yaml': `${BOOK}${history}relations: { tags: { kind: manyToMany, type: Tag } }\n`,
    'tag.yaml': 'type: Tag\n',
  });
  const role = `limited_${randomBytes(6).toString('hex')}`;
  const client = await connectTo(database.url);
  try {
    await serving(async (url) => {
      await ask(url, 'POST /api/tags', [{}, {}, {}]);
      for (const id of [1, 2, 3]) await ask(url, 'POST /api/books', { tags: [{ id }] });
      await runSql(
        database,
        'create table uses (book bigint, tag bigint, foreign key (book, tag) references books_tags)',
        'insert into uses values (1, 1)',
        'create table cut (tag bigint, who text)',
        // It names a table without a schema, and has the rights of whoever deletes.
        `create function cut() returns trigger language plpgsql as $$ begin
           insert into cut values (old.tag_id, current_user); return null; end $$`,
        'create trigger cut after delete on books_tags for each row execute function cut()',
        'create function keep() returns trigger language plpgsql as $$ begin return null; end $$',
        'create trigger keep before delete on books_tags for each row when (old.tag_id = 3) execute function keep()',
        `create role ${role}`,
        `grant usage on schema ${await schemaOf(database)} to ${role}`,
        `grant select, delete on books to ${role}`,
        `grant insert on cut to ${role}`,
      );
      expect((await ask(url, 'DELETE /api/books/1')).status).toBe(409);
      await client.query(`set role ${role}; delete from books where id = 2; reset role`);
      expect((await ask(url, 'DELETE /api/books/3')).status).toBe(200);
    });
    expect(await rowsOf(database, 'select * from cut')).toEqual([{ tag: '2', who: role }]);
    expect(await rowsOf(database, 'select tag_id from books_tags order by 1')).toEqual([
      { tag_id: '1' },
      { tag_id: '3' },
    ]);
    const log = history === '' ? [] : await rowsOf(database, LOG);
    expect(log.slice(6).map(({ record, operation }) => `${String(record)} ${String(operation)}`)).toEqual(entries);
  } finally {
    await client.query(`drop owned by ${role}; drop role ${role}`);
    await client.end();
  }
});
