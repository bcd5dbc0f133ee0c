/** Objects of others in the database: a plan names what would go with a step, and the triggers that it fires. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { ask } from '../support/ask.ts';
import { connectTo, databaseKind, fileOf, runSql } from '../support/databases.ts';
import { type Files, type Project, runCommand } from '../support/project.ts';
import { BOOKS, contents, steps, useBooks } from './books.ts';

const { projectOf } = useBooks();
const onSqlite = databaseKind === 'sqlite';

const LOAN =
  'type: Loan\nfields: { days: { type: integer } }\nrelations: { book: { kind: belongsTo, type: Book }, books: { kind: manyToMany, type: Book } }\n';
const UUID = BOOKS.replace('type: Book\n', 'type: Book\nidentifier: { type: uuid }\n');
const DECIMAL = BOOKS.replace('integer, default: 0', 'decimal, default: "0"');
const REQUIRED = BOOKS.replace('maxLength: 100', 'maxLength: 100, required: true');
const OTHER = 'type: Other\n';

const FUNCTION = `create function f() returns trigger language plpgsql as 'begin return new; end'; `;
const trigger = (event: string, table: string): string =>
  onSqlite
    ? `create trigger mine ${event} on ${table} begin select 1; end`
    : `${FUNCTION}create trigger mine ${event} on ${table} for each row execute function f()`;
/** A table of somebody else's making, in place of that of the engine. */
const remade = (columns: string): string =>
  `pragma foreign_keys = off; create table x (id integer primary key autoincrement, ${columns}) strict;
    insert into x (id, title, pages) select id, title, pages from books; drop table books; alter table x rename to books`;

const CHANGES: Readonly<Record<string, Files>> = {
  'another identifier': { 'book.yaml': UUID },
  'another type of a field': { 'book.yaml': DECIMAL },
  'a title of any kind': { 'book.yaml': BOOKS.replace('string, maxLength: 100', 'any') },
  'a required field': { 'book.yaml': REQUIRED },
  'a dropped field': { 'book.yaml': 'type: Book\nfields:\n  title: { type: string, maxLength: 100 }\n' },
  'a dropped type': { 'book.yaml': null, 'loan.yaml': null, 'other.yaml': OTHER },
  'a dropped relation': { 'loan.yaml': 'type: Loan\nfields: { days: { type: integer } }\n' },
};

type Case = readonly [change: keyof typeof CHANGES, sql: string, says: string];

const ON_BOTH: readonly Case[] = [
  ['another identifier', 'create view titles as select title from books', 'view titles'],
  ['another identifier', 'create view links as select book_id from loans_books', 'view links'],
  ['another identifier', 'create index mine on books (title)', 'index mine'],
  ['another identifier', 'create index mine on loans_books (book_id, loan_id)', 'index mine'],
  ['another identifier', 'alter table books add column shelf text', 'column shelf'],
  ['another identifier', 'alter table loans_books add column shelf text', 'column shelf'],
  ['another identifier', trigger('before update', 'books'), 'trigger mine'],
  ['another identifier', trigger('before delete', 'loans_books'), 'trigger mine'],
  ['a dropped type', 'alter table books add column shelf text', 'column shelf'],
  ['a dropped relation', 'alter table loans_books add column shelf text', 'column shelf'],
  ['a dropped relation', 'create index mine on loans (days, book_id)', 'index mine'],
  ['a dropped relation', 'create view mine as select book_id from loans', 'view mine'],
  [
    'another identifier',
    `create table notes (book ${onSqlite ? 'integer' : 'bigint'} references books (id))`,
    'of table "notes"',
  ],
];

const setting = (event: string, sets: string): string => `create trigger mine ${event} begin ${sets}; end`;
const NO_PAGES = 'trigger mine depends on';

const ON_SQLITE: readonly Case[] = [
  ['a dropped relation', 'create trigger mine before update on loans begin select new.book_id; end', 'trigger mine'],
  ['another type of a field', remade('title text collate nocase, pages integer default 0'), 'collate nocase'],
  ['a required field', remade('title text, pages integer not null on conflict ignore default 0'), 'on conflict ignore'],
  ['another type of a field', remade('title text, pages integer default 0, check (1)'), 'check (1)'],
  ['another type of a field', 'alter table books add column shelf text collate nocase', 'collate nocase'],
  ['another type of a field', 'alter table books add column twice integer as (id * 2)', 'generated column twice'],
  ['another type of a field', remade('title text, pages integer default (abs(-7))'), 'default abs(-7)'],
  ['another type of a field', remade(`title text default 'x', pages integer default 0`), `default 'x' of column title`],
  ['a dropped field', setting('after insert on loans', 'update books set pages = 1'), NO_PAGES],
  ['a dropped field', setting('after update of days on loans', 'insert into books (pages) values (2)'), NO_PAGES],
  ['a dropped field', setting('before delete on books', 'update books set pages = 1 where id = 2'), NO_PAGES],
  [
    'a dropped field',
    `create view shelves as select title from books; ${setting('instead of insert on shelves', 'update books set pages = 1')}`,
    NO_PAGES,
  ],
];

const ON_POSTGRES: readonly Case[] = [
  ['another identifier', 'create policy mine on books', 'policy mine'],
  ['another identifier', 'alter table books add constraint many check (pages > 0)', 'constraint many'],
  ['another identifier', 'grant select on books to pg_monitor', 'a grant on table books'],
  ['another identifier', `comment on table books is 'ours'`, 'the comment on table books'],
  ['another identifier', 'alter table books enable row level security', 'row level security of table books'],
  ['another identifier', 'alter table books set (fillfactor = 50)', 'a setting of table books'],
  ['another identifier', `comment on column books.title is 'ours'`, 'the comment on column title'],
  ['another type of a field', `comment on column books.pages is 'ours'`, 'the comment on column pages'],
  ['another type of a field', 'grant update (pages) on books to pg_monitor', 'a grant on column pages'],
  ['another type of a field', 'alter table books alter pages set statistics 500', 'a setting of column pages'],
  ['another type of a field', 'alter table books alter pages set (n_distinct = 5)', 'a setting of column pages'],
  [
    'another type of a field',
    `create sequence own; alter table books alter pages set default nextval('own')`,
    `default nextval('own'::regclass) of column pages`,
  ],
  ['a title of any kind', `alter table books alter title set default 'x'`, `default 'x'::text of column title`],
  [
    'another type of a field',
    'create domain small as bigint check (value < 500); alter table books alter pages type small',
    'the type small of column pages',
  ],
  [
    'a title of any kind',
    'alter table books alter title type text collate "en-x-icu"',
    'the collation of column title',
  ],
  [
    'a title of any kind',
    'alter table books alter title type varchar(100)',
    'the type character varying(100) of column',
  ],
  ['another type of a field', 'create statistics mine on pages, title from books', 'statistics object mine'],
  ['a dropped field', 'create statistics mine on pages, title from books', 'statistics object mine'],
  [
    'another type of a field',
    'create unique index mine on books (pages); alter table books replica identity using index mine',
    'replica identity',
  ],
  ['another type of a field', 'create sequence own owned by books.pages', 'sequence own'],
  [
    'another type of a field',
    'create rule mine as on update to books where new.pages < 0 do instead nothing',
    'rule mine',
  ],
  [
    'another type of a field',
    'alter table books add double bigint generated always as (pages * 2) stored',
    'generated column double',
  ],
  ['a dropped type', 'create table shelves (first books)', 'column first of table shelves'],
  ['a dropped type', 'create table shelves (all_books books[])', 'column all_books of table shelves'],
  ['a dropped type', `create function best(books) returns int language sql as 'select 1'`, 'function best(books)'],
  [
    'a dropped type',
    `create table notes (id bigint default nextval('books_id_seq'))`,
    'default value for column id of table notes',
  ],
];

test.each([...ON_BOTH, ...(onSqlite ? ON_SQLITE : ON_POSTGRES)])(
  '%s, after %s: the plan names it',
  async (change, sql, says) => {
    const project = await projectOf({ 'book.yaml': BOOKS, 'loan.yaml': LOAN });
    await runSql(project.database, sql);
    expect((await project.run('plan')).code).toBe(0);
    const before = await contents(project);
    project.write(CHANGES[change] ?? {});
    const allow = (await steps(project)).flatMap(({ id }) => (id.startsWith('drop-') ? ['--allow', id] : []));
    const line = expect.stringMatching(/^ {4}(.*: drop it first, and make it again afterwards|error in .*)$/m);
    const planned = await project.run('plan', ...allow);
    expect([planned.code, planned.out]).toEqual([1, line]);
    expect(planned.out).toContain(says);
    expect(await project.run('apply', ...allow)).toMatchObject({ code: 1, err: expect.stringContaining(says) });
    expect(await contents(project)).toBe(before);
  },
);

const BY_PAGES = BOOKS.replace('integer, default: 0', 'integer, unique: true');

/** Comments, settings and `cluster` marks of others on an index of the engine, on PostgreSQL. */
const OF_INDEX = [
  [`comment on index books_pages_unique is 'ours'`, 'the comment on index books_pages_unique'],
  ['alter index books_pages_unique set (fillfactor = 50)', 'a setting of index books_pages_unique'],
  ['cluster books using books_pages_unique', 'the order of the table by index books_pages_unique'],
] as const;

const onlyOnPostgres = onSqlite ? test.skip : test;

onlyOnPostgres.each(OF_INDEX)('an index that is made anew, after %s: the plan names it', async (sql, says) => {
  const project = await projectOf({ 'book.yaml': BY_PAGES });
  await runSql(project.database, sql);
  for (const wanted of ['decimal, unique: true', 'string, unique: true, caseless: true']) {
    project.write({ 'book.yaml': BY_PAGES.replace('integer, unique: true', wanted) });
    const { code, out } = await project.run('plan');
    expect([code, out]).toEqual([1, expect.stringContaining(`${says} depends on what this replaces or drops`)]);
  }
  project.write({ 'book.yaml': BY_PAGES.replace(', unique: true', '') });
  expect(await project.run('apply')).toMatchObject({ code: 0 });
});

/** The answer of the database, and what somebody else has made there. */
const KEPT: readonly (readonly [change: keyof typeof CHANGES, sql: string, asked: string, answer: string])[] = onSqlite
  ? [
      [
        'a required field',
        'create trigger Mine before update on BOOKS begin select 1; end',
        `select count(*) from sqlite_schema where type = 'trigger'`,
        '1',
      ],
      [
        'a required field',
        `alter table books add column shelf text not null default 'a'`,
        `select "notnull" || dflt_value from pragma_table_info('books') where name = 'shelf'`,
        `1'a'`,
      ],
      [
        'a required field',
        remade(`title text, pages integer default 0, made text default current_timestamp, sum text default (1 || '2')`),
        `select group_concat(dflt_value) from pragma_table_info('books') where name in ('made', 'sum')`,
        `current_timestamp,1 || '2'`,
      ],
    ]
  : [
      [
        'a required field',
        `comment on column books.title is 'ours'`,
        `select col_description('books'::regclass, 2)`,
        'ours',
      ],
      [
        'a required field',
        `alter table books alter title set default upper('t')`,
        `select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'books'::regclass and adnum = 2`,
        `upper('t'::text)`,
      ],
      ['a dropped field', `comment on column books.pages is 'ours'`, 'select 1', '1'],
      ['a dropped field', 'grant update (pages) on books to pg_monitor', 'select 1', '1'],
    ];

test.each(KEPT)('%s leaves alone: %s', async (change, sql, asked, answer) => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  await runSql(project.database, sql);
  project.write(CHANGES[change] ?? {});
  const allow = (await steps(project)).flatMap(({ id }) => (id.startsWith('drop-') ? ['--allow', id] : []));
  expect(await project.run('apply', ...allow)).toMatchObject({ code: 0 });
  expect(await valueOf(project, asked)).toBe(answer);
});

test('a table that is dropped takes along what the plan names, and does not leave it alone', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS, 'loan.yaml': LOAN });
  await runSql(project.database, trigger('before delete', 'loans_books'), 'create index rare on loans (days)');
  project.write(CHANGES['a dropped relation'] ?? {});
  const says = 'trigger mine of loans_books';
  const leaves = (names: string): string => `The engine did not make, and leaves alone: ${names}`;
  const kept = (await project.run('plan')).out;
  expect(kept).toContain(leaves(`index rare of loans, ${says}`));
  const allow = ['--allow', 'drop-relation:Loan.book', '--allow', 'drop-relation:Loan.books'];
  const { code, out } = await project.run('plan', ...allow);
  expect([code, out]).toEqual([2, expect.stringContaining(`    takes ${says} along, which the engine did not make\n`)]);
  expect(out).toContain(`${leaves('index rare of loans')}\n`);
  expect(await steps(project, ...allow)).toContainEqual(expect.objectContaining({ takes: [says] }));
  expect(await project.run('apply', ...allow)).toMatchObject({ code: 0 });
});

test('rows of somebody else that have numbers below 1 stay, are checked, and are exported', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS }, (url) => ask(url, 'POST /api/books', { title: 'A' }));
  await runSql(project.database, `insert into books (id, title, pages) values (0, 'zero', 3), (-7, 'long', 4)`);
  project.write({ 'book.yaml': BOOKS.replace('100', '3') });
  expect((await project.run('plan')).out).toContain(
    '2 records: "title" is not a string of at most 3 characters (-7, 0)',
  );
  project.write({ 'book.yaml': DECIMAL });
  expect(await project.run('apply')).toMatchObject({ code: 0 });
  const sql = `select sum(id) || ' ' || sum(pages) || ' ' || count(*) from books where id < 1`;
  expect(await valueOf(project, sql)).toBe('-7 7 2');
  const file = join(project.directory, 'all.ndjson');
  expect(await project.run('export', file)).toMatchObject({ code: 0, out: expect.stringContaining('Wrote 4 lines') });
});

test('links that lead nowhere stand in the way of another rule of deletion', async () => {
  const loan = (more: string): Files => ({
    'loan.yaml': `type: Loan\nrelations: { book: { kind: belongsTo, type: Book${more} } }\n`,
  });
  const project = await projectOf({ 'book.yaml': BOOKS, ...loan('') });
  // As a replica or a restored table can have them.
  const unchecked = onSqlite ? 'pragma foreign_keys = off' : 'set session_replication_role = replica';
  await runSql(project.database, `${unchecked}; insert into loans (id, book_id) values (1, 77), (2, null)`);
  project.write(loan(', onDelete: cascade'));
  const says = expect.stringContaining('1 record: "book" leads to a record that is not there; unlink it (1)');
  expect(await project.run('plan')).toMatchObject({ code: 1, out: says });
  expect(await project.run('apply')).toMatchObject({ code: 1, err: says });
  await project.starts(loan(''));
});

test('a number above 2^53 ends apply with a sentence', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  await runSql(project.database, 'insert into books (id, pages) values (9007199254740993, 3)');
  const before = await contents(project);
  project.write({ 'book.yaml': DECIMAL });
  const says = 'Table books has an identifier above 2^53';
  expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringContaining(says) });
  if (onSqlite) expect(await contents(project)).toBe(before);
  expect(await valueOf(project, 'select pages from books')).toBe('3');
});

(onSqlite ? test.skip : test)('a user that may not refer to a table, nor insert its seeds', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  const role = `guest_${randomBytes(6).toString('hex')}`;
  const [schema] = /records_\w+/.exec(project.database.url) ?? [];
  await runSql(
    project.database,
    `create role ${role} login; grant usage, create on schema ${schema} to ${role};
      grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
  );
  const url = new URL(project.database.url);
  url.username = role;
  const run = (command: 'plan' | 'apply') =>
    runCommand(command, [], { ...project.environment, DATABASE_URL: url.href });
  const says = expect.stringContaining('this database user may not refer to table books: grant references on it');
  for (const kind of ['belongsTo', 'manyToMany']) {
    project.write({ 'loan.yaml': `type: Loan\nrelations: { book: { kind: ${kind}, type: Book } }\n` });
    expect(await run('plan')).toMatchObject({ code: 1, out: says });
    expect(await run('apply')).toMatchObject({ code: 1, err: says });
  }
  project.write({ 'loan.yaml': 'type: Loan\n', ...book() });
  expect(await run('plan')).toMatchObject({ code: 2 });
  const refused = 'Seed records of Book cannot be inserted: permission denied for sequence books_id_seq';
  expect(await run('apply')).toMatchObject({ code: 1, err: expect.stringContaining(refused) });
  await runSql(project.database, `drop owned by ${role} cascade; drop role ${role}`);
});

(onSqlite ? test.skip : test)('row level security that hides rows from the service stands in the way', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  const role = `owner_${randomBytes(6).toString('hex')}`;
  const [schema] = /records_\w+/.exec(project.database.url) ?? [];
  await runSql(
    project.database,
    `create role ${role} login; grant all on schema ${schema} to ${role}; grant all on all tables in schema ${schema} to ${role};
      alter table books owner to ${role}; alter table books enable row level security`,
  );
  const url = new URL(project.database.url);
  url.username = role;
  const planned = () => runCommand('plan', [], { ...project.environment, DATABASE_URL: url.href });
  project.write({ 'book.yaml': DECIMAL });
  expect(await planned()).toMatchObject({ code: 2 });
  await runSql(project.database, 'alter table books force row level security');
  const says = expect.stringContaining('forced row level security depends on what this replaces');
  expect(await planned()).toMatchObject({ code: 1, out: says });
  expect(await project.run('plan')).toMatchObject({ code: 2 });
  await runSql(project.database, `drop owned by ${role} cascade; drop role ${role}`);
});

async function valueOf({ database }: Project, sql: string): Promise<string> {
  if (onSqlite) {
    const file = new Database(fileOf(database), { readonly: true });
    const value: unknown = file.prepare(sql).pluck().get();
    file.close();
    return String(value);
  }
  const client = await connectTo(database.url);
  const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
  await client.end();
  return String(rows[0]?.[0]);
}

const SHELF =
  'type: Shelf\nrelations: { books: { kind: hasMany, type: Book }, stamps: { kind: manyToMany, type: Book } }\n';
const raising = (event: string, table: string, name = 'strict'): string =>
  onSqlite
    ? `create trigger ${name} ${event} on ${table} begin select raise(abort, 'never on a Saturday'); end`
    : `create function f() returns trigger language plpgsql as $$begin raise exception 'never on a Saturday'; end$$;
      create trigger ${name} ${event} on ${table} for each row execute function f()`;
const shelf = (more: string): Files => ({ 'shelf.yaml': `${SHELF}seed: [{ id: 7, ${more} }]\n` });
const book = (more = ''): Files => ({ 'book.yaml': `${BOOKS}seed: [{ id: 7, title: S }]\n${more}` });

/** Triggers, and what a seed sets off: the plan names the trigger, and `apply` quotes it. */
const FIRED: readonly (readonly [event: string, table: string, name: string, after: Files])[] = [
  ['before insert', 'shelves_stamps', 'strict', shelf('stamps: [{ id: 1 }]')],
  ['before update of shelf_books_id', 'books', 'strict', shelf('books: [{ id: 1 }]')],
  ['after update', 'books', '"act on books"', shelf('books: [{ id: 1 }]')],
  ...(onSqlite
    ? ([
        ['before INSERT', 'BOOKS', 'strict', book()],
        ['\nbefore\ninsert\non\nbooks', '', 'strict', book()],
      ] as const)
    : []),
];

test.each(FIRED)('a seed fires a trigger %j on %s named %s', async (event, table, name, after) => {
  const project = await projectOf({ 'book.yaml': BOOKS, 'shelf.yaml': SHELF }, (url) =>
    ask(url, 'POST /api/books', { title: 'A' }),
  );
  await runSql(project.database, raising(event, table, name).replace('on  begin', 'begin'));
  const before = await contents(project);
  project.write(after);
  const says = `trigger ${name.replaceAll('"', '')} of ${table.toLowerCase() || 'books'}`;
  expect((await project.run('plan')).out).toContain(`    fires ${says}, which the engine did not make\n`);
  const { code, err } = await project.run('apply');
  expect([code, err]).toEqual([1, expect.stringContaining('never on a Saturday')]);
  expect(err).toContain(`Triggers that fired: ${says.replace('trigger ', '')}`);
  expect(await contents(project)).toBe(before);
});

test.each<[event: string, name: string, after: Files]>([
  ['before delete', '"no insert after update"', book()],
  ...(onSqlite ? [] : ([['before update of title', 'strict', { 'book.yaml': DECIMAL }]] as [string, string, Files][])),
])('a trigger %j named %s is not fired, nor named', async (event, name, after) => {
  const project = await projectOf({ 'book.yaml': BOOKS, 'shelf.yaml': SHELF }, (url) =>
    ask(url, 'POST /api/books', { title: 'A' }),
  );
  await runSql(project.database, raising(event, 'books', name));
  project.write(after);
  expect((await project.run('plan')).out).not.toContain('fires');
  expect(await project.run('apply')).toMatchObject({ code: 0 });
});

(onSqlite ? test.skip : test)('a trigger of the whole database runs at changes of tables', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  await runSql(
    project.database,
    `create function f() returns event_trigger language plpgsql as $$begin raise exception 'never on a Saturday'; end$$;
      create event trigger strict on ddl_command_end when tag in ('ALTER TABLE') execute function f();
      create event trigger idle on sql_drop execute function f()`,
  );
  try {
    const says = 'strict of the database';
    project.write(book());
    expect((await project.run('plan')).out).not.toContain('fires');
    project.write({ 'book.yaml': `${BOOKS}  isbn: { type: string }\n` });
    const { out } = await project.run('plan');
    expect(out.match(/fires .*/g)).toEqual([`fires trigger ${says}, which the engine did not make`]);
    const { code, err } = await project.run('apply');
    expect([code, err]).toEqual([1, expect.stringContaining('never on a Saturday')]);
    expect(err).toContain(`Triggers that fired: ${says}`);
    await runSql(project.database, 'alter event trigger strict disable');
    expect((await project.run('plan')).out).not.toContain('fires');
    expect(await project.run('apply')).toMatchObject({ code: 0 });
  } finally {
    await runSql(project.database, 'drop event trigger strict; drop event trigger idle');
  }
});

const LINKS: readonly (readonly [change: string, left: string])[] = [
  ['rename constraint loans_book_id_foreign to mine', 'loans_book_id_foreign c'],
  ['drop constraint loans_book_id_foreign', 'loans_book_id_foreign c'],
  [
    'drop constraint loans_book_id_foreign, add constraint loans_book_id_foreign foreign key (book_id) references books on delete set null',
    'loans_book_id_foreign c',
  ],
  [
    'add constraint mine foreign key (book_id) references books (id) on delete set null',
    'loans_book_id_foreign c, mine n',
  ],
];

(onSqlite ? test.skip : test).each(LINKS)('another rule of deletion, after %s', async (change, left) => {
  const loan = (more: string): Files => ({
    'loan.yaml': `type: Loan\nrelations: { book: { kind: belongsTo, type: Book${more} } }\n`,
  });
  const project = await projectOf({ 'book.yaml': BOOKS, ...loan('') });
  await runSql(project.database, `alter table loans ${change}`);
  await project.starts();
  project.write(loan(', onDelete: cascade'));
  expect(await project.run('apply')).toMatchObject({ code: 0 });
  const keys = `select string_agg(conname || ' ' || confdeltype::text, ', ' order by conname) from pg_constraint where conrelid = 'loans'::regclass and contype = 'f'`;
  expect(await valueOf(project, keys)).toBe(left);
});

/** Rules that wait for the end of the transaction. */
test('a seed that a deferred rule refuses: apply quotes the database', async () => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  const references = 'references shelves (id) deferrable initially deferred';
  await runSql(
    project.database,
    onSqlite
      ? `create table shelves (id integer primary key); ${remade(`title text, pages integer default 0 ${references}`)}`
      : `create function f() returns trigger language plpgsql as $$begin raise 'FOREIGN KEY constraint failed'; end$$;
        create constraint trigger late after insert on _records_seeds deferrable initially deferred for each row execute function f()`,
  );
  const before = await contents(project);
  project.write(book());
  const says = 'The database refuses a seed record: FOREIGN KEY constraint failed. Nothing was changed.';
  expect(await project.run('apply')).toMatchObject({ code: 1, err: says });
  await expect(project.starts()).rejects.toThrow(says);
  expect(await contents(project)).toBe(before);
});

const BROKEN: readonly (readonly [sql: string, says: string])[] = onSqlite
  ? [
      [
        'create trigger broken before insert on books begin insert into gone values (1); end',
        'no such table: main.gone',
      ],
    ]
  : [
      [
        'create rule broken as on insert to books do instead nothing',
        'cannot perform INSERT RETURNING on relation "books"',
      ],
      [
        `create function f() returns trigger language plpgsql as $$begin perform 1 from gone; end$$;
          create trigger broken before insert on books for each row execute function f()`,
        'relation "gone" does not exist',
      ],
    ];

test.each(BROKEN)('a seed meets %s: apply quotes the database, and a running service goes on', async (sql, says) => {
  const project = await projectOf({ 'book.yaml': BOOKS });
  await runSql(project.database, sql);
  const before = await contents(project);
  for (const after of [book(), { 'book.yaml': `${BOOKS}  isbn: { type: string }\nseed: [{ id: 7, title: S }]\n` }]) {
    project.write(after);
    const { code, err } = await project.run('apply');
    expect([code, err]).toEqual([1, expect.stringMatching(/^Seed record.* of Book cannot be inserted: /m)]);
    expect(err).toContain(`inserted: ${says}\nNothing was changed.`);
    await expect(project.starts()).rejects.toThrow(says);
    expect(await contents(project)).toBe(before);
  }
});

const PRICE = '  price: { type: decimal, scale: 2 }\n';
const CLASHES: readonly (readonly [sql: string, after: Files, says: string])[] = [
  [
    'alter table books add constraint books_price_check check (id > 0)',
    { 'book.yaml': `${BOOKS}${PRICE}` },
    'table books has a constraint books_price_check already',
  ],
  [
    'alter table books add constraint books_pages_check check (id > 0)',
    { 'book.yaml': DECIMAL },
    'table books has a constraint books_pages_check already',
  ],
  [
    'alter table books add constraint books_next_id_foreign check (id > 0)',
    { 'book.yaml': `${BOOKS}relations: { next: { kind: belongsTo, type: Book } }\n` },
    'table books has a constraint books_next_id_foreign already',
  ],
  ['select 1', { 'thing.yaml': 'type: Thing\ntable: shelves_nr_seq\n' }, 'has the name "shelves_nr_seq" too'],
];

(onSqlite ? test.skip : test)('a check of somebody else that begins like those of the engine', async () => {
  const project = await projectOf({ 'book.yaml': `${BOOKS}${PRICE}` });
  await runSql(project.database, 'alter table books add constraint tidy check (scale(price) <= 1 and price > 0)');
  expect((await project.run('plan')).out).toContain('constraint tidy of books');
  project.write({ 'book.yaml': `${BOOKS}${PRICE.replace('scale: 2', 'precision: 12, scale: 3, minimum: "-9"')}` });
  expect(await project.run('apply', '--allow', 'narrow-field:Book.price')).toMatchObject({ code: 0 });
  const checks = `select string_agg(conname, ' ' order by conname) from pg_constraint where conrelid = 'books'::regclass and contype = 'c'`;
  expect(await valueOf(project, checks)).toBe('books_price_check tidy');
});

(onSqlite ? test.skip : test).each(CLASHES)('a name that is taken, after %s', async (sql, after, says) => {
  const project = await projectOf({ 'book.yaml': BOOKS, 'shelf.yaml': 'type: Shelf\nidentifier: { name: nr }\n' });
  await runSql(project.database, sql);
  project.write(after);
  const planned = await project.run('plan');
  expect([planned.code, planned.out]).toEqual([1, expect.stringContaining(says)]);
  expect(planned.out).not.toContain('there is a sequence');
  expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringContaining(says) });
});

test('a table that has the name of the sequence of an identifier, which comes with it', async () => {
  const keyed = (type: string): string => `type: Shelf\nidentifier: { name: nr${type} }\n`;
  const project = await projectOf({ 'book.yaml': BOOKS });
  project.write({ 'shelf.yaml': keyed(''), 'thing.yaml': 'type: Thing\ntable: shelves_nr_seq\n' });
  const { code, out } = await project.run('plan');
  expect([code, out.includes('has the name "shelves_nr_seq" too')]).toEqual(onSqlite ? [2, false] : [1, true]);
  project.write({ 'shelf.yaml': keyed(', type: uuid') });
  expect(await project.run('plan')).toMatchObject({ code: 2 });
  expect(await project.run('apply')).toMatchObject({ code: 0 });
});
