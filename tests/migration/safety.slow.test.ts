/** Migrations that are refused, interrupted, repeated or reverted, and objects that they never touch. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ask } from '../support/ask.ts';
import { urlOf, useCompiled } from '../support/compiled.ts';
import { connectTo, databaseKind, fileOf, runSql } from '../support/databases.ts';
import { onSqlite } from '../support/only.ts';
import { type Files, type Project, runCommand } from '../support/project.ts';
import { some } from '../support/whole.ts';
import { BOOKS, columnsIn, contents, steps, useBooks } from './books.ts';

const compiled = useCompiled();
const { newProject, projectOf } = useBooks();

const REBUILT = BOOKS.replace('integer, default: 0', 'decimal, default: "0"');
const LOSSY = 'type: Book\nfields:\n  pages: { type: decimal, default: "0" }\n';

const NARROWED = BOOKS.replace('maxLength: 100', 'maxLength: 1');

const fill = (url: string) =>
  Promise.all(['A', 'B', 'C'].map((title) => ask(url, 'POST /api/books', { title, pages: 12 })));

describe('identifiers', () => {
  const renamed = (book: string): string => book.replace('Book\n', 'Volume\nrenamedFrom: Book\npath: books\n');
  test.each([
    ['a rebuilt table', [3], { 'book.yaml': REBUILT }],
    ['a rebuilt table that was emptied', [1, 2, 3], { 'book.yaml': REBUILT }],
    ['a renamed type', [3], { 'book.yaml': renamed(BOOKS) }],
    ['both', [3], { 'book.yaml': renamed(REBUILT) }],
  ])('are never used again: %s', async (_, gone, files) => {
    const project = await projectOf({ 'book.yaml': BOOKS }, async (url) => {
      await fill(url);
      for (const id of gone) await ask(url, `DELETE /api/books/${id}`);
    });
    project.write(files);
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    const created = await project.serving((url) => ask(url, 'POST /api/books', { title: 'D' }));
    expect(created.body).toMatchObject({ id: 4 });
  });
});

test('a record that is added to seeds is inserted, what was changed and deleted stays so, also under another name', async () => {
  const seeded = (type: string, more = ''): string =>
    `${type}\npath: codes\nfields: { code: { type: string } }\nseed: [{ id: 1, code: A }, { id: 2, code: B }${more}]\n`;
  const project = await projectOf({ 'code.yaml': seeded('type: Code') }, async (url) => {
    await ask(url, 'PUT /api/codes/1', { code: 'changed' });
    await ask(url, 'DELETE /api/codes/2');
  });
  project.write({ 'code.yaml': seeded('type: Mark\nrenamedFrom: Code', ', { id: 7 }') });
  const { body } = await project.serving((url) => ask(url, 'GET /api/codes'));
  expect(body).toMatchObject([{ id: 1, code: 'changed' }, { id: 7 }]);
});

describe('seeds are steps of the plan', () => {
  const mark = (a: string, more = '', type = ''): string =>
    `type: Mark\nopen: true\n${type}fields:
  a: { type: ${a}, unique: true }
  code: { type: string, unique: true, caseless: true }
  rate: { type: decimal, scale: 2, unique: true }
${more}relations:
  up: { kind: belongsTo, type: Mark, nested: write, acyclic: true }
  other: { kind: belongsTo, type: Other, inverse: mark, nested: link }
  part: { kind: hasOne, type: Part, owned: true }\n`;
  const MARK = mark('integer');
  const OTHER =
    'type: Other\nfields: { a: { type: string } }\nrelations: { mark: { kind: hasOne, type: Mark } }\nseed: [{ id: 3 }]\n';
  const before = {
    'mark.yaml': MARK,
    'other.yaml': OTHER,
    'part.yaml': 'type: Part\nfields: { text: { type: string, unique: true } }\n',
  };

  const marked = (): Promise<Project> =>
    projectOf(before, async (url) => {
      for (const id of [1, 2]) await ask(url, 'POST /api/others', { id, a: 'O' });
      const first = { a: 5, b: 'o', code: 'Straße', rate: '1.50', t: '2020-02-02T00:00:00Z', other: { id: 1 } };
      for (const body of [{ ...first, part: { text: 'n' } }, {}])
        expect((await ask(url, 'POST /api/marks', body)).status).toBe(201);
      expect((await ask(url, 'DELETE /api/others/3')).status).toBe(200);
    });

  const b = (more: string): string => mark('integer', `  b: { type: string${more} }\n`);
  const N = '  n: { type: integer, default: 1 }\n';
  const long = `"${randomBytes(9000).toString('hex')}"`;
  const many = Array.from({ length: 1200 }, (_, at) => `{ id: ${at + 8}, code: c${at}, other: { id: ${at + 8} } }`);
  const taken = (name: string, record = 1): string =>
    `has the ${name} of a seed record; change one of them (${record} for seed 7 of Mark)`;

  // Plans see all but the last ones, which only the database refuses.
  const wrongSeeds = [
    ['{ id: 2, a: 1 }', 'identifier of this record; give the seed record another one (2 for seed 2 of Mark)'],
    ['{ id: 7, code: STRASSE }', taken('"code"')],
    ['{ id: 7, rate: "1.5" }', taken('"rate"')],
    ['{ id: 7, other: { id: 3 } }', 'links this record of Other, which is not there (3 for seed 7 of Mark)'],
    ['{ id: 7, part: { id: 9 } }', 'links this record of Part, which is not there (9 for seed 7 of Mark)'],
    ['{ id: 7, part: { text: n } }', taken('"text"')],
    ['{ id: 6 }, { id: 7, other: { id: 3 } }', 'links this record of Other, which is not there (3 for seed 7 of Mark)'],
    ['MANY', '1200 records: a seed record links this record of Other, which is not there (8 for seed 8 of Mark, 9'],
    ['{ id: 7, b: x }', taken('"b"', 2), b(', unique: true, default: x')],
    ['{ id: 7, b: o }', taken('"b"'), b(', unique: true')],
    ['{ id: 6 }, { id: 7, up: { b: O } }', taken('"b"'), b(', unique: true, caseless: true')],
    ['{ id: 7, a: "5" }', taken('"a"'), mark('string')],
    ['{ id: 7, other: { id: 1 } }', taken('"n", "other"'), mark('integer', N, 'unique: [[n, other]]\n')],
    ['{ id: 7, other: { id: 1 } }', taken('"other"'), b('')],
    ['{ id: 7, part: { id: 1 } }', 'belongs to another record', b('')],
    ['{ id: 7, up: { id: 1, up: { id: 7 } } }', 'would be below itself', b('')],
    ['{ id: 7, other: { id: 2, a: P } }', 'is only linked here', b('')],
    ['{ id: 7, up: { id: 2, code: STRASSE } }', 'value of "code"', b('')],
    [
      '{ id: 7 }, { id: 8 }',
      'seed record 7 in the same body has this value of "t"',
      mark('integer', '  t: { type: timestamp, unique: true, default: now }\n'),
    ],
    ...(databaseKind === 'sqlite' ? [] : [['{ id: 7, b: LONG }', 'too long', b(', index: true')]]),
  ];
  test.each(some(wrongSeeds, 7))('seed %s: %s', async (seed = '', says = '', after = MARK) => {
    const project = await marked();
    const untouched = [await contents(project), await columnsIn(project)];
    await project.serving(async (url) => {
      project.write({ 'mark.yaml': `${after}seed: [${seed.replace('LONG', long).replace('MANY', many.join())}]\n` });
      const allow = (await steps(project)).flatMap(({ id, state }) => (state === 'allow' ? ['--allow', id] : []));
      const planned = await project.run('plan', ...allow);
      expect([planned.code, planned.out.includes(says)]).toEqual(says.includes('for seed') ? [1, true] : [2, false]);
      expect(planned.out).toContain(' of Mark: seeds are tried when this is applied');
      expect(await project.run('apply', ...allow)).toMatchObject({ code: 1, err: expect.stringContaining(says) });
      if (allow.length === 0) await expect(project.starts()).rejects.toThrow(says);
      expect([await contents(project), await columnsIn(project)]).toEqual(untouched);
      expect((await ask(url, 'POST /api/marks', { a: 6, b: 'o' })).status).toBe(201);
    });
    await project.starts(before);
  });

  const noValues = [
    ['integer', '7'],
    ['number', '7.5'],
    ['boolean', 'true'],
    ['decimal, scale: 2', '"7.5"'],
    ['date', '"2020-02-02"'],
    ['timestamp', '"2020-02-02T00:00:00Z"'],
  ] as const;
  test.each(some(noValues, 2))(
    'an open key that is no %s blocks a field with unique, with required, with a seed',
    async (type, value) => {
      const project = await projectOf({ 'item.yaml': 'type: Item\nopen: true\n' }, async (url) => {
        expect((await ask(url, 'POST /api/items', { n: 'seven' })).status).toBe(201);
      });
      const item = (more: string): string =>
        `type: Item\nopen: true\nfields: { m: { type: integer }, n: { type: ${type}${more} } }\n`;
      const seed = `seed: [{ id: 7, m: 1, n: ${value} }]\n`;
      for (const after of [
        item(', unique: true'),
        item(', unique: true') + seed,
        item(', required: true') + seed,
        `${item('')}unique: [[m, n]]\n${seed}`,
      ]) {
        project.write({ 'item.yaml': after });
        const says = '1 record: the open key "n" is not';
        expect(await project.run('plan')).toMatchObject({ code: 1, out: expect.stringContaining(says), err: '' });
        await expect(project.starts()).rejects.toThrow(says);
      }
    },
  );

  test.each([
    ['n: { type: number, unique: true }', '(1, 2, 3)'],
    ['n: { type: integer, unique: true }', '(1, 2, 3, 8)'],
    ['n: { type: integer, required: true }', '(1, 2, 3, 8)'],
    ['n: { type: array, items: { type: integer } }', '(1, 2, 3, 8)'],
  ])('an open key whose text is no such number blocks %s', async (field, says) => {
    const item = (more: string): string => `type: Item\nopen: true\nfields: { a: { type: integer${more} } }\n`;
    const texts = ['1e-400', '1e-20000', '4503599627370497.5', '77.0', '7.8e1', '0e-400', '-0.0e2', '0.5'];
    const project = await projectOf({ 'item.yaml': item('') }, async (url) => {
      for (const [at, text] of texts.entries()) {
        const n = field.includes('array') ? `[${text}]` : text;
        const body = `{${at === 0 ? '' : `"a": ${at}, `}"n": ${n}}`;
        const headers = { 'content-type': 'application/json' };
        expect((await fetch(`${url}/api/items`, { method: 'POST', headers, body })).status).toBe(201);
      }
    });
    const after = item(', default: 5').replace(' }\n', `, ${field} }\n`);
    project.write({ 'item.yaml': `${after}${field.includes('array') ? '' : 'unique: [[a, n]]\n'}` });
    const { code, out, err } = await project.run('plan');
    expect([code, out, err]).toEqual([
      1,
      expect.stringMatching(`the open key "n" is not an? .*\\${says.slice(0, -1)}\\)`),
      '',
    ]);
  });

  test.each(['a start', 'apply'])('%s inserts what the plan shows', async (way) => {
    const project = await marked();
    const seeds = '{ id: 7, code: x, other: { id: 8 } }';
    const books = `${BOOKS}seed: [{ id: 5, title: A }]\n`;
    const others = OTHER.replace('{ id: 3 }', '{ id: 3 }, { id: 8, a: East }');
    project.write({ 'mark.yaml': `${MARK}seed: [${seeds}]\n`, 'other.yaml': others, 'book.yaml': books });
    const added = ['add-type:Book', 'add-seed:Book', 'add-seed:Mark', 'add-seed:Other'];
    expect((await steps(project)).map(({ id, state }) => `${state} ${id}`)).toEqual(added.map((id) => `ready ${id}`));
    expect((await project.run('plan')).out).toContain('Insert seed record 8 of Other');
    if (way === 'apply') expect(await project.run('apply')).toMatchObject({ code: 0 });
    else await project.starts();
    expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to do') });
    const { body } = await project.serving((url) => ask(url, 'GET /api/marks/7?fields=code,other.a'));
    expect(body).toEqual({ id: 7, code: 'x', other: { id: 8, a: 'East' } });
  });
});

test('a seed names a record that is there by its unique values', async () => {
  const place =
    'type: Place\nfields: { code: { type: string, unique: true, caseless: true } }\nseed: [{ id: 4, code: a }]\n';
  const house = 'type: House\nrelations: { place: { kind: belongsTo, type: Place } }\n';
  const seeded = { 'place.yaml': place, 'house.yaml': `${house}seed: [{ id: 1, place: { code: A } }]\n` };
  for (const files of [seeded, { 'place.yaml': place, 'house.yaml': house }]) {
    const project = await newProject(files);
    if (files !== seeded) await project.starts(files, seeded);
    expect(await project.run('apply')).toMatchObject({ code: 0, err: expect.not.stringContaining('error') });
    const { body } = await project.serving((url) => ask(url, 'GET /api/houses'));
    expect(body).toEqual([{ id: 1, place: { id: 4, code: 'a' } }]);
  }
});

test('a seed that links what a new database cannot have: the plan knows it', async () => {
  const project = await newProject({
    'place.yaml': 'type: Place\n',
    'house.yaml':
      'type: House\nrelations: { place: { kind: belongsTo, type: Place } }\nseed: [{ id: 1, place: { id: 9 } }]\n',
  });
  const says = 'links this record of Place, which is not there (9 for seed 1 of House)';
  expect(await project.run('plan')).toMatchObject({ code: 1, out: expect.stringContaining(says) });
  expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringContaining(says) });
});

describe('the start', () => {
  const cli = (project: Project, ...words: readonly string[]) =>
    compiled.run('engine/cli.js', words, project.environment);

  test('refuses others, prints the plan, and changes nothing; apply makes them, and it starts', async () => {
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    const before = await contents(project);
    project.write({ 'book.yaml': NARROWED });
    const refused = compiled.run('server.js', [], project.environment);
    expect(await refused.ended).toBe(1);
    expect(refused.err()).toContain('! Let field "title" of Book accept less');
    expect(refused.err()).toContain('npm run apply -- --allow narrow-field:Book.title');
    expect(await contents(project)).toBe(before);
    const planned = cli(project, 'plan');
    expect([await planned.ended, planned.out()]).toEqual([
      1,
      expect.stringContaining('--allow narrow-field:Book.title'),
    ]);
    const applied = cli(project, 'apply', '--allow', 'narrow-field:Book.title');
    expect([await applied.ended, applied.out()]).toEqual([0, expect.stringContaining('1 step applied.')]);
    const again = cli(project, 'apply');
    expect([await again.ended, again.out()]).toEqual([0, expect.stringContaining('Nothing to do')]);
    const running = compiled.run('server.js', [], project.environment);
    const { body } = await ask(await urlOf(running), 'GET /api/books/1');
    expect(body).toEqual({ id: 1, title: expect.any(String), pages: 12 });
    running.child.kill('SIGTERM');
    await running.ended;
  });

  // One process serves an SQLite file.
  (databaseKind === 'sqlite' ? test.skip : test).each([
    [
      'on a database that is not there yet',
      () => newProject({ 'book.yaml': `${BOOKS}seed: [{ id: 1, title: A }]\n` }),
      0,
    ],
    ['one changes the tables', () => projectOf({ 'book.yaml': BOOKS }, fill), '12'],
  ])('of several processes at once, %s: all serve, or the one that an SQLite file takes', async (_, made, pages) => {
    const project = await made();
    if (pages === '12') project.write({ 'book.yaml': REBUILT });
    const all = [1, 2, 3].map(() => compiled.run('server.js', [], project.environment));
    const urls = await Promise.all(all.map((running) => urlOf(running).catch(() => undefined)));
    const serving = urls.filter((url) => url !== undefined);
    expect(serving).toHaveLength(databaseKind === 'sqlite' ? 1 : 3);
    for (const url of serving) expect((await ask(url, 'GET /api/books/1')).body).toMatchObject({ pages });
    for (const running of all) running.child.kill('SIGTERM');
    for (const [index, { ended, err }] of all.entries()) {
      expect(await ended).toBe(urls[index] === undefined ? 1 : 0);
      if (urls[index] === undefined) expect(err()).toContain('is served by another process');
    }
  });
});

describe('plan', () => {
  onSqlite('makes no database', async () => {
    const project = await newProject({ 'book.yaml': BOOKS });
    expect(await project.run('plan')).toMatchObject({ code: 2, out: '  Add type Book, in table books\n' });
    expect(existsSync(fileOf(project.database))).toBe(false);
  });

  test.each([
    [740, undefined],
    [900, 'the table would have 1801 columns, and can have at most 1500'],
  ])('%i caseless fields', async (count, message) => {
    const fields = Array.from({ length: count }, (_, at) => `  f${at}: { type: string, caseless: true }\n`);
    const project = await newProject({ 'wide.yaml': `type: Wide\nfields:\n${fields.join('')}` });
    if (message !== undefined)
      return expect(await project.run('plan')).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(await project.run('plan')).toMatchObject({ code: 2 });
    await project.serving(async (url) => {
      const body = Object.fromEntries(fields.map((_, at) => [`f${at}`, 'é'.repeat(300)]));
      const { status } = await ask(url, 'POST /api/wides', body);
      // A page of PostgreSQL has no room for so many long values, each of them with its folded text.
      expect(status).toBe(databaseKind === 'sqlite' ? 201 : 422);
      expect((await ask(url, 'POST /api/wides', { f1: 'A' })).status).toBe(201);
    });
  });
});

describe('apply', () => {
  test('a year behind: the marks that one answer concerns stand together, and renamedFrom removes them', async () => {
    const book = (field: string): string => `type: Book\nfields:\n  ${field}\n  pages: { type: integer }\n`;
    const project = await projectOf({ 'book.yaml': book('title: { type: string }') }, (url) =>
      ask(url, 'POST /api/books', { title: 'A' }),
    );
    project.write({ 'book.yaml': book('headline: { type: string, renamedFrom: heading }') });
    const says = 'These belong together: --allow not-moved:Book.headline --allow not-renamed:Book.title';
    expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringContaining(says) });
    expect((await project.run('plan')).out).toContain(says);
    project.write({ 'book.yaml': book('headline: { type: string, renamedFrom: title }') });
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    const { body } = await project.serving((url) => ask(url, 'GET /api/books/1'));
    expect(body).toMatchObject({ headline: 'A' });
  });

  test.each([
    [['--allow', 'drop-field:Book.titel'], 'did you mean "drop-field:Book.title"?'],
    [['--alow', 'x'], `Unknown option '--alow'; did you mean "--allow"?`],
    [['everything'], '"everything" is one argument too many'],
  ])('%j is refused', async (words, message) => {
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    project.write({ 'book.yaml': LOSSY });
    const before = await contents(project);
    expect(await project.run('apply', ...words)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(await contents(project)).toBe(before);
  });

  onSqlite('a foreign key that leads nowhere takes everything back', async () => {
    const files = {
      'book.yaml': BOOKS,
      'loan.yaml': 'type: Loan\nrelations: { book: { kind: belongsTo, type: Book } }',
    };
    const project = await projectOf(files, fill);
    await runSql(project.database, 'pragma foreign_keys = off; insert into loans (book_id) values (99)');
    const before = await contents(project);
    project.write({ 'book.yaml': REBUILT });
    expect(await project.run('plan')).toMatchObject({
      code: 1,
      out: expect.stringContaining('row 1 of loans to books'),
    });
    const { code, err } = await project.run('apply');
    expect([code, err]).toEqual([1, expect.stringContaining('row 1 of loans to books')]);
    expect(await contents(project)).toBe(before);
  });
});

describe('what somebody else did to the tables', () => {
  const indexed = BOOKS.replace('maxLength: 100', 'maxLength: 100, index: true');
  const onEach = databaseKind === 'sqlite' ? 0 : 1;

  const TRIGGER = [
    'create trigger noted after delete on books begin select 1; end',
    `create function noted() returns trigger language plpgsql as 'begin return null; end';
      create trigger noted after delete on books for each row execute function noted()`,
  ][onEach];

  const added: readonly (readonly [name: string, sql: string])[] = [
    ['index mine of books', 'create index mine on books (lower(title))'],
    ['column shelf of books', 'alter table books add column shelf text'],
    ['column place of books', "alter table books add column place text not null default 'here'"],
    ['trigger noted of books', TRIGGER ?? ''],
    ['view titles of books', 'create view titles as select title from books'],
  ];

  test.each(added)('%s is named, and stays through other changes', async (name, sql) => {
    const project = await projectOf({ 'book.yaml': indexed }, fill);
    await runSql(project.database, sql);
    expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.stringContaining(name) });
    const writable = 'type: Other\n';
    // A new column, then what SQLite makes by a new table.
    for (const book of [
      `${indexed}  isbn: { type: string }\n`,
      `${indexed.replace('default: 0', 'default: 1')}  isbn: { type: string }\n  day: { type: date, default: now }\n`,
    ]) {
      project.write({ 'book.yaml': book, 'other.yaml': writable });
      expect(await project.run('plan')).toMatchObject({ code: 2 });
      await project.serving(async (url) => {
        expect((await ask(url, 'POST /api/books', { title: 'D' })).status).toBe(201);
        expect((await ask(url, 'DELETE /api/books/1')).status).toBeLessThan(500);
      });
      const again = await project.run('plan');
      expect([again.code, again.out]).toEqual([0, expect.stringContaining(name)]);
    }
  });

  const remade = (type: string): string =>
    `create table x (id integer primary key autoincrement, title text, pages ${type}) strict;
      drop table books; alter table x rename to books; create index books_title_index on books (title, id)`;
  const missing: readonly (readonly [sql: string, says: string])[] = [
    ['drop index books_title_index', 'index books_title_index is missing'],
    [
      'drop index books_title_index; create index books_title_indexx on books (title)',
      'index books_title_index is missing',
    ],
    ['alter table books drop column pages', 'column pages is missing'],
    ['drop table books', 'it is missing'],
    ['alter table books rename to volumes', 'it is missing'],
    [
      'alter table books add column shelf text not null default 1; alter table books alter column shelf drop default',
      'column shelf is there besides',
    ],
    ...(onEach === 0
      ? [
          [remade('text'), 'column pages is text, not integer'],
          [remade('real'), 'column pages is real, not integer'],
          [remade('integer as (7)'), 'column pages is generated, not integer'],
        ]
      : [
          ['alter table books alter column pages type numeric', 'column pages is numeric, not bigint'],
          ['alter table books alter column title type bytea using null', 'column title is bytea, not text'],
          [
            'alter table books drop column pages, add column pages bigint generated always as identity',
            'column pages is generated',
          ],
          ['alter table books alter column id set generated always', 'column id is generated'],
          ['alter table books alter column id drop identity', 'column id is bigint without identity'],
        ]
    ).map(([sql = '', says = '']) => [sql, says] as const),
  ];

  test.each(missing.filter(([sql]) => onEach === 1 || !sql.includes('alter column')))(
    '%s: plan and start report it',
    async (sql, says) => {
      const project = await projectOf({ 'book.yaml': indexed, 'other.yaml': 'type: Other' }, fill);
      await runSql(project.database, sql);
      const message = `Table books is not as the engine left it: ${says}`;
      expect(await project.run('plan')).toMatchObject({ code: 1, out: expect.stringContaining(message) });
      await expect(project.starts()).rejects.toThrow(message);
      expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringContaining(message) });
      project.write({ 'other.yaml': 'type: Other\nfields: { a: { type: string } }' });
      await expect(project.starts()).rejects.toThrow(message);
    },
  );

  const raising = (event: string): string =>
    onEach === 0
      ? `create trigger strict_books before ${event} on books begin select raise(abort, 'never on a Saturday'); end`
      : `create function strictly() returns trigger language plpgsql as 'begin raise exception ''never on a Saturday''; end';
        create trigger strict_books before ${event} on books for each row execute function strictly()`;
  const seeded = `${BOOKS}seed: [{ id: 7, title: S }]\n`;

  test.each([
    ['a seed', 'insert', seeded],
    ['a seed of another type that brings a book', 'insert', BOOKS],
    ...(onEach === 0 ? [] : [['a fill', 'update', REBUILT]]),
  ])(
    '%s fires a trigger that raises: the plan names it, and apply says what it said',
    async (what, event = '', book = '') => {
      const shelf = 'type: Shelf\nrelations: { books: { kind: hasMany, type: Book, owned: true } }\n';
      const project = await projectOf({ 'book.yaml': BOOKS, 'shelf.yaml': shelf }, fill);
      await runSql(project.database, raising(event));
      const untouched = [await contents(project), await columnsIn(project)];
      project.write({
        'book.yaml': book,
        ...(what.includes('another') ? { 'shelf.yaml': `${shelf}seed: [{ id: 3, books: [{ title: S }] }]\n` } : {}),
      });
      expect((await project.run('plan')).out).toContain(
        '    fires trigger strict_books of books, which the engine did not make',
      );
      expect(JSON.parse((await project.run('plan', '--json')).out).steps).toContainEqual(
        expect.objectContaining({ triggers: ['strict_books of books'] }),
      );
      const { code, err } = await project.run('apply');
      expect([code, err]).toEqual([1, expect.stringContaining('never on a Saturday')]);
      expect(err).toContain('strict_books of books');
      await expect(project.starts()).rejects.toThrow(/never on a Saturday[^]*strict_books of books/);
      expect([await contents(project), await columnsIn(project)]).toEqual(untouched);
    },
  );

  test('a trigger that a step does not fire is not named there', async () => {
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    await runSql(project.database, raising('delete'));
    project.write({ 'book.yaml': `${REBUILT}seed: [{ id: 7, title: S }]\n` });
    expect((await project.run('plan')).out).not.toContain('fires trigger');
    expect(await project.run('apply')).toMatchObject({ code: 0 });
  });

  const OTHER = { 'other.yaml': 'type: Other\n' };
  const withBook = (field: string): Files => ({ 'book.yaml': `${BOOKS}  ${field}\n` });
  /** Changes of the descriptors, and the step that has to be allowed. */
  const CHANGES: Readonly<Record<string, readonly [after: Files, allow?: string]>> = {
    'drop title': [
      { 'book.yaml': 'type: Book\nfields:\n  pages: { type: integer, default: 0 }\n' },
      'drop-field:Book.title',
    ],
    'drop Book': [{ 'book.yaml': null, ...OTHER }, 'drop-type:Book'],
    'add Other': [OTHER],
    'add Other.books': [{ 'other.yaml': 'type: Other\nrelations: { books: { kind: manyToMany, type: Book } }\n' }],
    'add shelf': [withBook('shelf: { type: string }')],
    'index isbn': [withBook('isbn: { type: string, index: true }')],
    'convert pages': [{ 'book.yaml': REBUILT }],
  };
  const constrained = (words: string): string =>
    `pragma foreign_keys = off; create table shelves (id integer primary key); create table x (id integer primary key autoincrement, title text, pages integer default 0, ${words}) strict;
      insert into x select id, title, pages from books; drop table books; alter table x rename to books`;
  const CONSTRAINTS: readonly (readonly [change: string, sql: string, says: string])[] =
    onEach === 0
      ? [
          ['convert pages', constrained('check (pages >= 0)'), 'constraint check (pages >= 0)'],
          ['convert pages', constrained("check (title <> ')')"), "constraint check (title <> ')')"],
          ['convert pages', constrained('foreign key (pages) references shelves'), 'constraint foreign key (pages)'],
          ['convert pages', 'alter table books add column shelf text check (shelf <> 1)', 'check (shelf <> 1)'],
          ['drop title', constrained('check (title <> 1)'), 'constraint check (title <> 1)'],
          ['drop title', constrained('foreign key (title) references shelves'), 'constraint foreign key (title)'],
          ['convert pages', constrained('check (1)').replace('title text', 'title text not null'), 'not null (title)'],
        ]
      : [
          ['convert pages', 'alter table books add check (pages >= 0)', 'constraint books_pages_check'],
          ['drop title', 'alter table books alter title set not null', 'constraint not null (title)'],
          [
            'convert pages',
            'alter table books add constraint pair check (pages > 0 or title is null)',
            'constraint pair',
          ],
          [
            'convert pages',
            'create table shelves (id bigint primary key); alter table books add constraint far foreign key (pages) references shelves not valid',
            'constraint far',
          ],
          [
            'convert pages',
            'alter table books add constraint apart exclude using btree (id with =, pages with =)',
            'constraint apart',
          ],
          ['drop title', 'alter table books add constraint short check (char_length(title) < 9)', 'constraint short'],
          ['drop title', 'alter table books add unique (title)', 'constraint books_title_key'],
          [
            'drop title',
            'create unique index mine on books (title); create table notes (title text references books (title))',
            'table "notes"',
          ],
          [
            'drop Book',
            'alter table loans add constraint lent foreign key (days) references books not valid',
            'lent of table "loans"',
          ],
        ];

  test.each(CONSTRAINTS)('%s after %s: a constraint of somebody else stands in the way', async (change, sql, says) => {
    const [after = {}, allow] = CHANGES[change] ?? [];
    const loan = 'type: Loan\nfields: { days: { type: integer } }\n';
    const project = await projectOf({ 'book.yaml': BOOKS, 'loan.yaml': loan }, fill);
    await runSql(project.database, sql);
    const before = await contents(project);
    expect(await project.run('plan')).toMatchObject({
      code: 0,
      out: expect.stringContaining(says.includes('table') ? '' : 'constraint'),
    });
    project.write(after);
    const options = allow === undefined ? [] : ['--allow', allow];
    const planned = await project.run('plan', ...options);
    expect([planned.code, planned.out]).toEqual([1, expect.stringContaining(says)]);
    expect(await project.run('apply', ...options)).toMatchObject({ code: 1, err: expect.stringContaining(says) });
    expect(await contents(project)).toBe(before);
  });

  test.each([
    ['is dropped', 'code: { type: integer }'],
    ['gives way to an index', 'code: { type: integer, index: true }'],
  ])('a unique rule that %s, beside a foreign key of somebody else that needs it', async (_, field) => {
    const project = await projectOf(withBook('code: { type: integer, unique: true }'));
    await runSql(project.database, 'create table slips (code bigint constraint far references books (code))');
    project.write(withBook(field));
    const planned = await project.run('plan');
    expect([planned.code, planned.out]).toEqual([
      1,
      expect.stringMatching(onEach === 0 ? /"slips"/ : /key far of table/),
    ]);
    await expect(project.starts()).rejects.toThrow(/slips/);
  });

  test('a field becomes narrower beside a check of somebody else: both hold, and a dropped type takes its own along', async () => {
    const priced = (scale: number): Files => ({
      'book.yaml': `${BOOKS}  price: { type: decimal, precision: 9, scale: ${scale} }\nrelations: { next: { kind: belongsTo, type: Book } }\n`,
    });
    const project = await projectOf(priced(2));
    if (onEach === 1) {
      await runSql(
        project.database,
        'alter table books add check (price > 0), add foreign key (next_id) references books',
      );
      project.write({ 'book.yaml': `${priced(4)['book.yaml']?.replace('Book }', 'Book, onDelete: cascade }')}` });
      expect(await project.run('plan')).toMatchObject({ code: 2 });
      await project.starts();
      const { out } = await project.run('plan');
      expect(out).toMatch(/constraint books_next_id_fkey of books, constraint books_price_check1 of books/);
      await project.serving(async (url) => {
        expect((await ask(url, 'POST /api/books', { price: '1.2345' })).status).toBe(201);
        expect((await ask(url, 'POST /api/books', { price: '-1' })).status).toBe(422);
      });
    }
    project.write({ 'book.yaml': null, ...OTHER });
    expect(await project.run('apply', '--allow', 'drop-type:Book')).toMatchObject({ code: 0 });
  });

  const blocked: readonly (readonly [change: string, sql: string, says: string])[] = [
    ['drop title', 'create view titles as select title from books', 'view titles'],
    ['drop title', 'create index mine on books (lower(title))', 'index mine'],
    ['drop Book', 'create view titles as select title from books', 'view titles'],
    ['add Other', 'create table others (a text)', 'table "others"'],
    ['add Other', 'create view others as select 1 as a', 'view "others"'],
    ['add Other', 'create index others on books (pages)', 'index "others"'],
    ['add Other.books', 'create table others_books (a text)', 'table "others_books"'],
    ['add shelf', 'alter table books add column shelf text', 'has a column shelf'],
    ['index isbn', 'create index books_isbn_index on books (pages)', 'index "books_isbn_index"'],
    ['drop Book', 'create table notes (book bigint references books)', 'table "notes"'],
    ...(onEach === 0
      ? ([
          ['drop title', 'create trigger mine before update of title on books begin select 1; end', 'trigger mine'],
          [
            'drop title',
            'create trigger mine after update\nof pages,\n"title"\non books begin select 1; end',
            'trigger mine',
          ],
        ] as const)
      : ([
          ['drop title', 'create table novels (author text) inherits (books)', 'table novels'],
          ['convert pages', 'create table novels (author text) inherits (books)', 'table novels'],
          ['drop Book', 'create table novels (author text) inherits (books)', 'table novels'],
          ['convert pages', 'create view counts as select pages from books', 'view counts'],
          ['add Other', 'create domain others as text', 'type "others"'],
        ] as const)),
  ];

  test.each(blocked)('%s after %s: the plan names what stands in the way', async (change, sql, says) => {
    const [after = {}, allow] = CHANGES[change] ?? [];
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    await runSql(project.database, sql);
    const before = await contents(project);
    project.write(after);
    const options = allow === undefined ? [] : ['--allow', allow];
    expect(await project.run('plan', ...options)).toMatchObject({ code: 1, out: expect.stringContaining(says) });
    expect(await project.run('apply', ...options)).toMatchObject({ code: 1, err: expect.stringContaining(says) });
    if (allow === undefined) await expect(project.starts()).rejects.toThrow(says);
    expect(await contents(project)).toBe(before);
  });
});

/** Texts that would end a literal, a comment or a statement if somebody took DDL apart, or put one into another. */
const TEXTS: readonly string[] = [
  'a;\nb',
  `';\ndrop table books;\n--`,
  '/* -- */ $$ $fill$ $1 ?',
  '"quoted" `name` \\ \\n %s {{x}}',
  'create unique index "i" on "books" ("title")',
  ' add constraint "x" references "books" ',
];

describe('a table and an index of one name', () => {
  const book = (more: string): string =>
    `type: Book\nfields: { isbn: { type: string${more} }, a: { type: integer } }\n`;
  const loan =
    'type: Loan\nrelations: { book: { kind: belongsTo, type: Book }, tags: { kind: manyToMany, type: Book } }\n';
  const named = (table: string): Files => ({ 'thing.yaml': `type: Thing\ntable: ${table}\n` });
  test.each<[table: string, files: Files]>([
    ['books_isbn_unique', { 'book.yaml': book(', unique: true') }],
    ['BOOKS_ISBN_INDEX', { 'book.yaml': book(', index: true') }],
    ['books_isbn_a_unique', { 'book.yaml': `${book('')}unique: [[isbn, a]]\n` }],
    ['books_isbn_index', { 'book.yaml': `${book('')}order: [isbn]\n` }],
    ['loans_book_id_index', { 'book.yaml': book(''), 'loan.yaml': loan }],
    ['loans_tags_book_id_index', { 'book.yaml': book(''), 'loan.yaml': loan }],
  ])('%s is refused by check, and by all that reads the descriptors', async (table, files) => {
    const project = await newProject({ ...files, ...named(table) });
    const says = expect.stringContaining(`the table "${table}" has the name of an index of table "`);
    expect(await project.run('check')).toMatchObject({ code: 1, out: says });
    expect(await project.run('apply')).toMatchObject({ code: 1, err: says });
  });

  const kept = 'type: Book\nfields: { a: { type: integer } }\n';
  const CLASHES: readonly (readonly [table: string, before: Files, after: Files])[] = [
    ['books_isbn_index', { 'book.yaml': book(', index: true') }, { 'book.yaml': kept }],
    ...(databaseKind === 'sqlite'
      ? []
      : ['books_pkey', 'books_id_seq'].map((name) => [name, { 'book.yaml': book('') }, {}] as const)),
  ];

  test.each(CLASHES)('%s is refused by the plan, as the database has the name', async (table, before, after) => {
    const says = new RegExp(`^x .*\n    a table or an index has .*"${table}".*`, 'im');
    const project = await newProject(before);
    await project.starts();
    project.write({ ...after, ...named(table) });
    const planned = await project.run('plan');
    expect([planned.code, planned.out]).toEqual([1, expect.stringMatching(says)]);
    expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringMatching(says) });
  });

  test('a name that its owner gives up in the same plan is free', async () => {
    const project = await projectOf({ 'book.yaml': book(', unique: true') });
    project.write({ 'book.yaml': book(''), ...named('books_isbn_unique') });
    expect(await project.run('plan')).toMatchObject({ code: 2 });
    await project.starts();
    project.write({ 'thing.yaml': null, 'book.yaml': book(', maxLength: 9, unique: true') });
    expect(await project.run('plan')).toMatchObject({ code: 1 });
    expect(await project.run('apply', '--allow', 'drop-type:Thing', '--allow', 'narrow-field:Book.isbn')).toMatchObject(
      { code: 0 },
    );
  });
});

describe('a text in DDL is data', () => {
  const field = (text: string): string =>
    `  note: { type: string, unique: true, caseless: true, default: ${JSON.stringify(text)}, enum: [${JSON.stringify(text)}, b] }\n`;
  const filled = (text: string): string => field(text).replace('unique: true, caseless: true, ', '');

  test.each(TEXTS)('default %j of a new type, and in place of null', async (text) => {
    const made = await newProject({ 'book.yaml': `${BOOKS}${field(text)}` });
    await made.serving(async (url) => {
      expect((await ask(url, 'POST /api/books', { title: 'B' })).body).toMatchObject({ title: 'B', note: text });
      expect((await ask(url, 'POST /api/books', { title: 'C' })).status).toBe(409);
    });
    expect(await made.run('plan')).toMatchObject({ code: 0, err: '' });

    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    const count = await project.serving(async (url) => ((await ask(url, 'GET /api/books')).body as object[]).length);
    await project.starts({ 'book.yaml': `${BOOKS}  note: { type: string }\n` });
    project.write({ 'book.yaml': `${BOOKS}${filled(text)}` });
    expect(
      await project.run('apply', '--allow', 'fill-field:Book.note', '--allow', 'narrow-field:Book.note'),
    ).toMatchObject({
      code: 0,
    });
    await project.serving(async (url) => {
      const books = (await ask(url, 'GET /api/books')).body as { note: string }[];
      expect(books.map(({ note }) => note)).toEqual(Array.from({ length: count }, () => text));
    });
    expect(await project.run('plan')).toMatchObject({ code: 0, err: '' });
  });
});

describe('limits and failures of PostgreSQL', () => {
  const onPostgres = databaseKind === 'postgres' ? test : test.skip;

  onPostgres.each([
    ['index: true', 'add-index:Book.title'],
    ['unique: true', 'add-unique:Book.title'],
    ['index: true, caseless: true', 'add-index:Book.title'],
  ])('values that are too long for an index stand in the way of { %s }', async (words, id) => {
    const text = (more = ''): string => `type: Book\nfields:\n  title: { type: string${more} }\n`;
    const random = randomBytes(3000).toString('base64');
    const project = await projectOf({ 'book.yaml': text() }, async (url) => {
      for (const title of ['short', 'a'.repeat(9000), random])
        expect((await ask(url, 'POST /api/books', { title })).status).toBe(201);
    });
    project.write({ 'book.yaml': text(`, ${words}`) });
    expect((await steps(project)).filter(({ state }) => state === 'blocked').map((step) => step.id)).toEqual([id]);
    expect((await project.run('plan')).out).toMatch(/1 record: the values of "title".* are too long .* \(3\)/);
    await expect(project.starts()).rejects.toThrow('too long');
    project.write({ 'book.yaml': text() });
    await project.serving((url) => ask(url, 'DELETE /api/books/3'));
    project.write({ 'book.yaml': text(`, ${words}`) });
    expect(await project.run('apply', ...(words.startsWith('unique') ? ['--allow', id] : []))).toMatchObject({
      code: 0,
    });
  });

  onPostgres('a user without the rights: the plan says so', async () => {
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    const client = await connectTo(project.database.url);
    const [{ schema = '' } = {}] = (await client.query<{ schema: string }>('select current_schema() as schema')).rows;
    const role = `limited_${randomBytes(6).toString('hex')}`;
    await client.query(
      `create role ${role} login; grant usage on schema ${schema} to ${role}; grant all on all tables in schema ${schema} to ${role}`,
    );
    try {
      const url = new URL(project.database.url);
      url.username = role;
      const limited = { ...project.environment, DATABASE_URL: url.href };
      expect(await runCommand('plan', [], limited)).toMatchObject({ code: 0 });
      project.write({ 'book.yaml': `${BOOKS}  isbn: { type: string }\n`, 'other.yaml': 'type: Other\n' });
      const { code, out } = await runCommand('plan', [], limited);
      expect([code, out]).toEqual([1, expect.stringContaining('another database user owns table books')]);
      expect(out).toContain(`this database user may not create tables in schema ${schema}`);
      const says = expect.stringContaining('owns table books');
      expect(await runCommand('apply', [], limited)).toMatchObject({ code: 1, err: says });
    } finally {
      await client.query(`drop owned by ${role}; drop role ${role}`);
      await client.end();
    }
  });

  onPostgres(
    'an apply that the database refuses at its end leaves nothing behind, and names what refused it',
    async () => {
      const project = await projectOf({ 'book.yaml': BOOKS }, fill);
      // Somebody makes a view while the rows are filled.
      await runSql(
        project.database,
        `create function peeked() returns trigger language plpgsql as
        'begin execute ''create or replace view counts as select pages from books''; return new; end';
      create trigger peeked before update on books for each row execute function peeked()`,
      );
      const before = await columnsIn(project);
      project.write({ 'book.yaml': REBUILT });
      const { code, err } = await project.run('apply');
      expect([code, err]).toEqual([1, expect.stringContaining('view counts depends on column pages')]);
      expect(await columnsIn(project)).toBe(before);
      const client = await connectTo(project.database.url);
      const left = `select tgname from pg_trigger where starts_with(tgname, '_records') union all select proname from pg_proc where starts_with(proname, '_records')`;
      expect((await client.query(left)).rows).toEqual([]);
      await client.end();
      expect(await project.run('plan')).toMatchObject({ code: 1, out: expect.stringContaining('view counts') });
    },
  );
});

describe('the backup', () => {
  const copies = ({ database }: Project): readonly string[] => {
    const file = fileOf(database);
    const names = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.backup-`));
    return names.map((name) => join(dirname(file), name));
  };

  onSqlite('is made before a destructive step, and only then', async () => {
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    project.write({ 'book.yaml': REBUILT });
    await project.run('apply');
    expect(copies(project)).toEqual([]);
    const before = await contents(project);
    project.write({ 'book.yaml': LOSSY });
    const { out } = await project.run('apply', '--allow', 'drop-field:Book.title');
    const [copy = ''] = copies(project);
    expect(out).toContain(`The database as it was: ${copy}\n`);
    expect(await contents({ ...project, database: { ...project.database, url: `sqlite:${copy}` } })).toBe(before);
  });

  onSqlite('records restore goes back to the copy', async () => {
    const project = await projectOf({ 'book.yaml': BOOKS }, fill);
    const before = await contents(project);
    project.write({ 'book.yaml': LOSSY });
    await project.run('apply', '--allow', 'drop-field:Book.title');
    await project.serving((url) => ask(url, 'DELETE /api/books/1'));
    project.write({ 'book.yaml': BOOKS });
    expect(await project.run('restore', copies(project)[0] ?? '')).toMatchObject({ code: 0 });
    expect(await contents(project)).toBe(before);
    const { body } = await project.serving((url) => ask(url, 'GET /api/books/1'));
    expect(body).toEqual({ id: 1, title: expect.any(String), pages: 12 });
  });
});
