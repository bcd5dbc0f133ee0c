/** Triggers and policies of others in the database, and privileges that the service has lost. */
import type { Client } from 'pg';
import type { Serving } from '../../engine/server/serve.ts';
import { type Answer, ask } from '../support/ask.ts';
import { connectTo, createDatabase, type TestDatabase } from '../support/databases.ts';
import { rowsOf } from '../support/table.ts';
import { onServer, startInstance, withParameters } from '../support/postgres.ts';

const ROLE = 'records_with_few_rights';
const raising = (what: string): string =>
  `create function theirs() returns trigger language plpgsql as $$ begin ${what}; return new; end $$`;
const trigger = (when: string): string =>
  `create trigger theirs ${when} on things for each row execute function theirs()`;

onServer('objects of others', () => {
  let database: TestDatabase;
  let owner: Client;
  let instance: Serving;
  const send = (title: string, body?: unknown): Promise<Answer> => ask(instance.url, title, body);
  const told = ({ status, body }: Answer): readonly unknown[] => {
    const { type, detail } = body as { type?: string; detail?: string };
    return [status, type?.replace('urn:problem:', ''), detail];
  };

  beforeAll(async () => {
    database = await createDatabase('postgres');
    await (await startInstance(database.url, { schemaDirectory: 'tests/fixtures/nested' })).close();
    owner = await connectTo(database.url);
    const { rows } = await owner.query<{ schema: string }>('select current_schema() as schema');
    const schema = rows[0]?.schema ?? '';
    await owner.query(`do $$ begin create role ${ROLE} login; exception when duplicate_object then null; end $$;
      grant usage, create on schema ${schema} to ${ROLE}; grant all on all tables in schema ${schema} to ${ROLE};
      grant all on all sequences in schema ${schema} to ${ROLE}`);
    const url = new URL(database.url);
    url.username = ROLE;
    instance = await startInstance(withParameters(url.href, {}), { schemaDirectory: 'tests/fixtures/nested' });
    expect((await send('POST /api/things', { id: 1, name: 'first' })).status).toBe(201);
  });
  afterAll(async () => {
    await instance.close();
    await owner.query(`drop owned by ${ROLE}`);
    await owner.end();
    await database.remove();
  });

  type Request = readonly [title: string, body?: unknown];
  const REQUESTS = {
    CREATE: ['POST /api/things', { name: 'new' }],
    NESTED: ['POST /api/things', { name: 'new', owner: { rank: 1 } }],
    MANY: ['POST /api/things', [{ name: 'new' }, { name: 'newer' }]],
    OTHER: ['POST /api/things', { name: 'other' }],
    UPDATE: ['PATCH /api/things/1', { name: 'changed' }],
    DELETE: ['DELETE /api/things/1'],
  } as const satisfies Readonly<Record<string, Request>>;
  const { CREATE, NESTED, UPDATE } = REQUESTS;

  const RAISED = ['23505', '23503', '23514', '22012', '45000', 'ABC01', 'P0002', '42P01'].map(
    (state) =>
      `${raising(`raise exception 'Because of %', new.name using errcode = '${state}'`)} ;; ${trigger('before insert')} => CREATE NESTED => 422 refused-by-database Because of new`,
  );
  test.each(
    rowsOf(`
      ${raising(`raise exception 'Not on a Sunday'`)} ;; ${trigger('before insert or update or delete')} => CREATE NESTED MANY UPDATE DELETE => 422 refused-by-database Not on a Sunday
      ${RAISED.join('\n')}
      ${raising(`raise exception 'Not balanced'`)} ;; create constraint trigger theirs after insert or update or delete on things deferrable initially deferred for each row execute function theirs() => CREATE NESTED MANY UPDATE DELETE => 422 refused-by-database Not balanced
      ${raising('insert into nowhere values (1)')} ;; ${trigger('before insert')} => CREATE NESTED => 422 refused-by-database relation "nowhere" does not exist
      alter table things add constraint theirs check (name <> 'new') => CREATE NESTED => 422 refused-by-database new row for relation "things" violates check constraint "theirs"
      create domain short as text constraint theirs check (value <> 'new') ;; alter table things alter column name type short => CREATE NESTED => 422 refused-by-database value for domain short violates check constraint "theirs"
      alter table things add column theirs text ;; update things set theirs = 0 ;; alter table things alter column theirs set not null => CREATE NESTED => 422 refused-by-database null value in column "theirs" of relation "things" violates not-null constraint
      alter table things add constraint theirs exclude (length(name) with =) => OTHER => 409 unique-conflict conflicting key value violates exclusion constraint "theirs"
      create table their_table (thing bigint references things deferrable initially deferred) ;; insert into their_table values (1) => DELETE => 422 refused-by-database
      create table their_table (thing bigint references things) ;; insert into their_table values (1) => DELETE => 409 restrict-conflict
      alter table things enable row level security ;; create policy theirs on things using (true) with check (name not in ('new', 'changed')) => CREATE NESTED MANY UPDATE => 422 refused-by-database new row violates row-level security policy for table "things"
      create rule theirs as on insert to things do instead nothing => CREATE NESTED MANY => 422 refused-by-database cannot perform INSERT RETURNING on relation "things"
      create rule theirs as on insert to things where new.name = 'new' do instead nothing => CREATE NESTED MANY => 422 refused-by-database cannot perform INSERT RETURNING on relation "things"
      create rule theirs as on update to things where new.name = 'changed' do instead nothing => UPDATE => 422 refused-by-database A trigger or rule of the database left the record out
      create rule theirs as on delete to things where old.id = 1 do instead nothing => DELETE => 422 refused-by-database A trigger or rule of the database left the record out
      revoke insert, update, delete on things from ${ROLE} => CREATE NESTED MANY UPDATE DELETE => 503 missing-privilege The database user of the service lacks a privilege; the log of the service says which one
    `),
  )('%s', async (sql, requests, expected) => {
    for (const one of sql.split(' ;; ')) await owner.query(one);
    try {
      for (const name of requests.split(' ')) {
        const [title, body]: Request = REQUESTS[name as keyof typeof REQUESTS];
        expect([title, told(await send(title, body)).join(' ')]).toEqual([title, expect.stringContaining(expected)]);
      }
      expect((await send('GET /api/things')).body).toMatchObject([{ id: 1, name: 'first' }]);
    } finally {
      await owner.query(`
        drop function if exists theirs cascade; drop table if exists their_table; alter table things drop constraint if exists theirs;
        drop rule if exists theirs on things; drop policy if exists theirs on things; alter table things disable row level security;
        alter table things drop column if exists theirs; alter table things alter column name type text; drop domain if exists short;
        grant all on things to ${ROLE}`);
    }
  });

  test('rules that do something besides', async () => {
    await owner.query('create table their_table (name text)');
    for (const [event, row] of [
      ['insert', 'new'],
      ['update', 'new'],
      ['delete', 'old'],
    ] as const)
      await owner.query(
        `create rule their_${event} as on ${event} to things do also insert into their_table values (${row}.name)`,
      );
    await owner.query(`grant all on their_table to ${ROLE}`);
    try {
      const { body } = await send(...CREATE);
      const { id } = body as { readonly id: number };
      const answers = [
        await send(...NESTED),
        await send(...REQUESTS.MANY),
        await send(`PATCH /api/things/${id}`, { name: 'changed' }),
        await send(`DELETE /api/things/${id}`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 200, 200]);
      const { rows } = await owner.query<{ name: string }>('select name from their_table');
      expect(rows.map(({ name }) => name)).toEqual(['new', 'new', 'new', 'newer', 'changed', 'changed']);
    } finally {
      await owner.query('drop table their_table cascade; delete from things where id > 1; delete from owners');
    }
  });

  test('statements that were prepared with a type that is gone are prepared again', async () => {
    await owner.query(
      `create domain short as text check (value <> 'new'); alter table things alter column name type short`,
    );
    // Each connection of the pool prepares its statements.
    const rounds = Array.from({ length: 12 }, () => [CREATE, REQUESTS.MANY, REQUESTS.OTHER]).flat();
    const statuses = async (): Promise<ReadonlySet<number>> =>
      new Set(await Promise.all(rounds.map(async ([title, body]) => (await send(title, body)).status)));
    expect(await statuses()).toEqual(new Set([422, 201]));
    await owner.query('alter table things alter column name type text; drop domain short');
    await owner.query(
      `delete from things where id > 1; alter table things add constraint theirs check (name <> 'new')`,
    );
    expect(await statuses()).toEqual(new Set([422, 201]));
    await owner.query('delete from things where id > 1; alter table things drop constraint theirs');
  });

  const inSchema = (sql: string): string => `do $$ begin execute format('${sql}', current_schema()); end $$`;
  test.each([
    ['a table that is gone', 'alter table things rename to taken', 'alter table taken rename to things', /things/],
    [
      'a column that is gone',
      'alter table things rename name to taken',
      'alter table things rename taken to name',
      /name/,
    ],
    [
      'a schema that is hidden',
      inSchema(`revoke usage on schema %I from ${ROLE}`),
      inSchema(`grant usage on schema %I to ${ROLE}`),
      /_records|things/,
    ],
    ['a table that may not be read', `revoke all on things from ${ROLE}`, `grant all on things to ${ROLE}`, /things/],
  ])('%s: 503, and /health/ready says what is missing until it is back', async (_, take, restore, object) => {
    await owner.query(take);
    try {
      const requests = [
        ['GET /api/things/1'],
        ['GET /api/things'],
        ['GET /api/things?_cnd[limit]=0&_cnd[limit]=2'],
        CREATE,
        NESTED,
        UPDATE,
      ];
      for (const [title = '', body] of requests) {
        const [status, type] = told(await send(title, body)) as [number, string];
        expect([title, status, type]).toEqual([
          title,
          503,
          expect.stringMatching(/^(storage-busy|missing-privilege)$/),
        ]);
      }
      const ready = await fetch(`${instance.url}/health/ready`);
      expect([ready.status, await ready.text()]).toEqual([503, expect.stringMatching(object)]);
    } finally {
      await owner.query(restore);
    }
    expect((await send('GET /api/things')).body).toMatchObject([{ id: 1, name: 'first' }]);
    expect((await fetch(`${instance.url}/health/ready`)).status).toBe(200);
  });

  test.each([
    ['type bigint using 1', 'column name is bigint, not text'],
    ['type jsonb using to_jsonb(name)', 'column name is jsonb, not text'],
    ['type text[] using array[name]', 'column name is text[], not text'],
  ])('alter column name %s: a write is 503, and /health/ready says why until it is undone', async (change, says) => {
    await owner.query(`alter table things alter column name ${change}`);
    try {
      for (const [title, body] of [CREATE, NESTED, REQUESTS.MANY, UPDATE])
        expect([title, told(await send(title, body)).slice(0, 2)]).toEqual([title, [503, 'storage-busy']]);
      const ready = await fetch(`${instance.url}/health/ready`);
      expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(says)]);
    } finally {
      await owner.query(`alter table things alter column name type text using 'first'`);
    }
    expect((await send('GET /api/things')).body).toMatchObject([{ id: 1, name: 'first' }]);
    expect((await fetch(`${instance.url}/health/ready`)).status).toBe(200);
  });
});
