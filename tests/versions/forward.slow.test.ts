/** A database goes forward only: what other descriptors made stays, and older ones are served from what is there. */
import { tmpdir } from 'node:os';
import { readModel } from '../../engine/commands/command.ts';
import { databaseAt } from '../../engine/storage/open.ts';
import { applyPlan, planFor } from '../../engine/storage/migrate/apply.ts';
import { ask } from '../support/ask.ts';
import { runSql } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { type Files, type Project, useProjects } from '../support/project.ts';
import { contents } from '../migration/books.ts';
import { some } from '../support/whole.ts';

const newProject = useProjects();

const BOOK = `type: Book
fields:
  title: { type: string, maxLength: 100 }
  pages: { type: integer, default: 0 }
`;
const TITLED = BOOK.replace('maxLength: 100', 'maxLength: 100, required: true');
const withField = (line: string): string => `${BOOK}  ${line}\n`;
const SHELF = 'type: Shelf\nfields: { name: { type: string } }\n';
const COPY =
  'type: Copy\nfields: { place: { type: string } }\nrelations: { book: { kind: belongsTo, type: Book, onDelete: restrict } }\n';

const keptIn = async (project: Project): Promise<readonly string[]> =>
  (JSON.parse((await project.run('plan', '--json')).out).steps as readonly { id: string; state: string }[])
    .filter(({ state }) => state === 'kept')
    .map(({ id }) => id);

/** A database that these versions were applied to, one after the other; the last one made a record of each path. */
async function appliedIn(versions: readonly Files[], records: readonly (readonly [string, unknown])[] = []) {
  const project = await newProject({});
  await project.starts(...versions);
  await project.serving(async (url) => {
    for (const [path, body] of records) expect((await ask(url, `POST /api/${path}`, body)).status).toBe(201);
  });
  return project;
}

describe('descriptors that the database has left behind', () => {
  const FORWARD: readonly (readonly [what: string, before: Files, after: Files])[] = [
    ['a type', { 'book.yaml': BOOK }, { 'shelf.yaml': SHELF }],
    ['a field', { 'book.yaml': BOOK }, { 'book.yaml': withField('isbn: { type: string }') }],
    ['a filled field', { 'book.yaml': BOOK }, { 'book.yaml': withField('isbn: { type: string, default: none }') }],
    ['an index', { 'book.yaml': BOOK }, { 'book.yaml': BOOK.replace('maxLength', 'index: true, maxLength') }],
    ['a wider field', { 'book.yaml': BOOK }, { 'book.yaml': BOOK.replace('100', '200') }],
    ['a field that may be null', { 'book.yaml': TITLED }, { 'book.yaml': BOOK }],
    [
      'a relation',
      { 'book.yaml': BOOK, 'shelf.yaml': SHELF },
      { 'book.yaml': `${BOOK}relations: { shelf: { kind: belongsTo, type: Shelf } }\n` },
    ],
    [
      'a set',
      { 'book.yaml': BOOK, 'shelf.yaml': SHELF },
      { 'book.yaml': `${BOOK}relations: { shelves: { kind: manyToMany, type: Shelf } }\n` },
    ],
    ['a type that refers to it', { 'book.yaml': BOOK }, { 'copy.yaml': COPY }],
  ];

  test.each(some(FORWARD, 4))(
    '%s is newer: the older version starts again, changes nothing, and serves',
    async (_, before, after) => {
      const added = Object.fromEntries(Object.keys(after).map((name) => [name, before[name] ?? null]));
      for (const isFilled of [false, true]) {
        const project = await appliedIn([before, after], isFilled ? [['books', { title: 'A', pages: 7 }]] : []);
        const untouched = await contents(project);
        project.write(added);
        await project.starts();
        expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.stringContaining('its own view') });
        expect(await project.run('apply')).toMatchObject({ code: 1, err: expect.stringContaining('--back') });
        expect(await contents(project)).toBe(untouched);
        await project.serving(async (url) => {
          if (isFilled) expect((await ask(url, 'GET /api/books/1')).body).toEqual({ id: 1, title: 'A', pages: 7 });
          const { status, body } = await ask(url, 'POST /api/books', { title: 'B' });
          expect([status, body]).toEqual([201, expect.objectContaining({ title: 'B', pages: 0 })]);
          const { id } = body as { id: number };
          expect((await ask(url, `PATCH /api/books/${id}`, { pages: 8 })).status).toBe(200);
          expect((await ask(url, `DELETE /api/books/${id}`)).status).toBe(200);
          const { text } = await exchange(url, 'GET /health/ready');
          expect(text).toBe('ready\nThe database has model 2, this instance serves model 1\n');
        });
        project.write(after);
        await project.serving(async (url) => {
          const { text } = await exchange(url, 'GET /health/ready');
          expect(text).toBe('ready\nThe database has model 2, this instance serves model 2\n');
        });
      }
    },
  );

  test('several steps behind, and each one in turn', async () => {
    const versions = ['', '  a: { type: string }\n', '  a: { type: string }\n  b: { type: integer, default: 1 }\n'].map(
      (more) => ({ 'book.yaml': BOOK + more }),
    );
    const project = await appliedIn([...versions, { 'shelf.yaml': SHELF }], [['books', { title: 'A', a: 'x', b: 5 }]]);
    const untouched = await contents(project);
    project.write({ 'shelf.yaml': null });
    for (const [index, version] of versions.entries()) {
      project.write(version);
      await project.serving(async (url) => {
        const { text } = await exchange(url, 'GET /health/ready');
        expect(text).toContain(`has model 4, this instance serves model ${index + 1}\n`);
        expect((await ask(url, 'GET /api/books/1')).body).toMatchObject({ id: 1, title: 'A' });
        expect((await ask(url, 'PUT /api/books/1', { pages: 0 })).status).toBe(200);
      });
    }
    expect(await contents(project)).toBe(untouched);
  });

  test('keep what they do not know of a record', async () => {
    const newer = { 'book.yaml': withField('isbn: { type: string, default: none }') };
    const project = await appliedIn([{ 'book.yaml': BOOK }, newer], [['books', { title: 'A', isbn: '1-2-3' }]]);
    project.write({ 'book.yaml': BOOK });
    await project.serving(async (url) => {
      expect((await ask(url, 'PUT /api/books/1', { title: 'B', pages: 2 })).status).toBe(200);
      expect((await ask(url, 'POST /api/books', { title: 'C' })).status).toBe(201);
      const unknown = await ask(url, 'PATCH /api/books/1', { isbn: 'x' });
      expect([unknown.status, unknown.body]).toEqual([422, expect.anything()]);
    });
    project.write(newer);
    await project.serving(async (url) => {
      expect((await ask(url, 'GET /api/books')).body).toEqual([
        { id: 1, title: 'B', pages: 2, isbn: '1-2-3' },
        { id: 2, title: 'C', pages: 0, isbn: 'none' },
      ]);
    });
  });

  test('do not delete a record that only newer descriptors refer to', async () => {
    const project = await appliedIn(
      [{ 'book.yaml': BOOK }, { 'copy.yaml': COPY }],
      [
        ['books', { title: 'A' }],
        ['copies', { book: { id: 1 } }],
      ],
    );
    project.write({ 'copy.yaml': null });
    await project.serving(async (url) => {
      const { status, body } = await ask(url, 'DELETE /api/books/1');
      expect([status, body]).toEqual([
        409,
        expect.objectContaining({ type: 'urn:problem:restrict-conflict', detail: expect.stringContaining('newer') }),
      ]);
    });
  });

  test('share open keys that newer descriptors declare as fields', async () => {
    const open = 'type: Thing\nopen: true\nfields:\n  code: { type: string }\n';
    const project = await appliedIn([{ 'thing.yaml': open }], [['things', { code: 'a', size: 3 }]]);
    await project.starts({ 'thing.yaml': `${open}  size: { type: integer }\n` });
    project.write({ 'thing.yaml': open });
    await project.serving(async (url) => {
      expect((await ask(url, 'GET /api/things/1')).body).toEqual({ id: 1, code: 'a', size: 3 });
      expect((await ask(url, 'PATCH /api/things/1', { size: 4 })).status).toBe(200);
      expect((await ask(url, 'POST /api/things', { code: 'b', size: 5, other: 1 })).status).toBe(201);
    });
    project.write({ 'thing.yaml': `${open}  size: { type: integer }\n` });
    await project.serving(async (url) => {
      expect((await ask(url, 'GET /api/things')).body).toEqual([
        { id: 1, code: 'a', size: 4 },
        { id: 2, code: 'b', size: 5, other: 1 },
      ]);
    });
  });
});

describe('descriptors that come again after the database went back to older ones', () => {
  const COVER = 'type: Cover\nfields: { image: { type: string } }\n';
  const AGAIN: readonly (readonly [what: string, older: Files, newer: Files])[] = [
    ['a field', { 'book.yaml': BOOK }, { 'book.yaml': withField('isbn: { type: string }') }],
    ['a unique field', { 'book.yaml': BOOK }, { 'book.yaml': withField('isbn: { type: string, unique: true }') }],
    ['a type', { 'book.yaml': BOOK }, { 'book.yaml': BOOK, 'shelf.yaml': SHELF }],
    ['a closed type', { 'book.yaml': BOOK }, { 'book.yaml': `${BOOK}open: true\n` }],
    ['an index', { 'book.yaml': BOOK }, { 'book.yaml': BOOK.replace('maxLength', 'index: true, maxLength') }],
    [
      'a caseless field',
      { 'book.yaml': BOOK },
      { 'book.yaml': BOOK.replace('maxLength', 'caseless: true, maxLength') },
    ],
    [
      'a relation',
      { 'book.yaml': BOOK, 'cover.yaml': COVER },
      { 'book.yaml': `${BOOK}relations: { cover: { kind: belongsTo, type: Cover } }\n` },
    ],
    [
      'a set',
      { 'book.yaml': BOOK, 'cover.yaml': COVER },
      { 'book.yaml': `${BOOK}relations: { covers: { kind: manyToMany, type: Cover } }\n` },
    ],
    [
      'a renamed field and a new one',
      { 'book.yaml': BOOK },
      { 'book.yaml': withField('isbn: { type: string }').replace('title: {', 'heading: { renamedFrom: title,') },
    ],
  ];

  test.each(some(AGAIN, 4))('%s: dropped on the way back, it is added again', async (_, older, newer) => {
    const before = { ...Object.fromEntries(Object.keys(newer).map((name) => [name, null])), ...older };
    const project = await appliedIn([older], [['books', { title: 'A', pages: 7 }]]);
    await project.starts(newer);
    for (let round = 0; round < 2; round += 1) {
      project.write(before);
      expect(await project.run('apply', '--back')).toMatchObject({ code: 0 });
      const drops = await keptIn(project);
      expect(await project.run('apply', ...drops.flatMap((id) => ['--allow', id]))).toMatchObject({ code: 0 });
      project.write(newer);
      expect(await project.run('plan')).toMatchObject({ code: 2, err: '' });
      if (round === 0) await project.starts();
      else expect(await project.run('apply')).toMatchObject({ code: 0 });
      expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to do') });
      await project.serving(async (url) => {
        const { body } = await ask(url, 'GET /api/books/1');
        expect(Object.values(body as object)).toEqual(expect.arrayContaining(['A', 7]));
      });
      // What the database has left behind is served, and changes nothing.
      project.write(before);
      expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.stringContaining('its own view') });
      await project.starts();
    }
  });
});

describe('descriptors that the database has never seen', () => {
  test('two branches: each adds its own, and takes nothing of the other', async () => {
    const one = { 'book.yaml': withField('isbn: { type: string, unique: true }'), 'shelf.yaml': SHELF };
    const project = await appliedIn([{ 'book.yaml': BOOK }, one], [['books', { title: 'A', isbn: '1' }]]);
    const other = {
      'book.yaml': withField('weight: { type: integer, index: true }'),
      'shelf.yaml': null,
      'copy.yaml': COPY,
    };
    project.write(other);
    await project.serving(async (url) => {
      expect((await ask(url, 'POST /api/books', { title: 'B', weight: 15 })).status).toBe(201);
    });
    expect(await keptIn(project)).toEqual(['drop-type:Shelf', 'drop-field:Book.isbn']);
    project.write({ ...one, 'copy.yaml': null });
    await project.serving(async (url) => {
      expect((await ask(url, 'GET /api/books')).body).toEqual([
        { id: 1, title: 'A', pages: 0, isbn: '1' },
        { id: 2, title: 'B', pages: 0, isbn: null },
      ]);
      expect((await ask(url, 'POST /api/books', { title: 'C', isbn: '1' })).status).toBe(409);
      expect((await ask(url, 'POST /api/shelves', { name: 'S' })).status).toBe(201);
    });
    project.write(other);
    await project.serving(async (url) => {
      expect((await ask(url, 'GET /api/books/2')).body).toEqual({ id: 2, title: 'B', pages: 0, weight: 15 });
    });
  });

  test('a required field that an older version cannot fill is refused by name', async () => {
    const project = await appliedIn([{ 'book.yaml': TITLED }], [['books', { title: 'A' }]]);
    project.write({ 'book.yaml': BOOK.replace(/  title.*\n/, '') });
    await expect(project.starts()).rejects.toThrow('--allow drop-field:Book.title');
  });

  test('empty things stay too, until their drop is allowed', async () => {
    const project = await appliedIn([
      { 'book.yaml': BOOK.replace('maxLength', 'index: true, maxLength'), 'shelf.yaml': SHELF },
    ]);
    await project.starts({ 'book.yaml': BOOK.replace(/  pages.*\n/, ''), 'shelf.yaml': null });
    const kept = ['drop-type:Shelf', 'drop-field:Book.pages', 'drop-index:Book.title'];
    expect(await keptIn(project)).toEqual(kept);
    await project.run('apply', ...kept.flatMap((id) => ['--allow', id]));
    expect(await keptIn(project)).toEqual([]);
    expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to do') });
  });
});

describe('what apply drops', () => {
  test('is counted again under the lock: records that arrived meanwhile are kept and reported', async () => {
    const project = await appliedIn([{ 'book.yaml': BOOK, 'shelf.yaml': SHELF }]);
    project.write({ 'shelf.yaml': null });
    const model = readModel(project.directory);
    const driver = await databaseAt(project.database.url).open();
    const allowed = new Set(['drop-type:Shelf']);
    const plan = await planFor(model, driver, allowed);
    const insert = { sql: `insert into ${driver.dialect.quote('shelves')} (name) values ('late')` };
    const migrate: typeof driver.migrate = async (migration) => {
      await driver.write((writer) => writer.run(insert, []));
      return driver.migrate(migration);
    };
    await expect(applyPlan(plan, { ...driver, migrate }, allowed)).rejects.toThrow(
      'records were written in the meantime',
    );
    expect(await driver.value({ sql: 'select name from shelves' }, [])).toBe('late');
    await applyPlan(await planFor(model, driver, allowed), driver, allowed);
    expect(await driver.existing()).not.toContain('shelves');
    await driver.close();
  });
});

describe('databases of other versions of the engine', () => {
  test.each([
    [5, 'made by an earlier build (format 5). Export it with that build (`records export`) and import it here.'],
    [7, 'A newer version of the engine made the tables of this database (format 7; this version reads 6)'],
  ])('format %i is refused by name, and nothing is changed', async (format, says) => {
    const project = await appliedIn([{ 'book.yaml': BOOK }]);
    await runSql(
      project.database,
      `update _records_model set applied = replace(applied, '"format":6', '"format":${format}')`,
    );
    const untouched = await contents(project);
    await expect(project.starts()).rejects.toThrow(says);
    for (const command of ['plan', 'apply', 'export', 'import', 'delete'] as const)
      expect(await project.run(command, ...ARGUMENTS[command])).toMatchObject({
        code: 1,
        err: expect.stringContaining(says),
      });
    expect(await contents(project)).toBe(untouched);
  });
});

const ARGUMENTS = {
  plan: [],
  apply: [],
  export: [`${tmpdir()}/never-written.ndjson`],
  import: ['tests/fixtures/earlier/export.ndjson'],
  delete: ['Book', '1', '--chunked'],
};

test('a rule that becomes narrower: running instances read, and refuse to write until it is wider again', async () => {
  const project = await appliedIn([{ 'book.yaml': BOOK, 'shelf.yaml': SHELF }]);
  await project.serving(async (url) => {
    const create = async (path = 'books'): Promise<number> =>
      (await ask(url, `POST /api/${path}`, path === 'books' ? { title: 'x' } : {})).status;
    expect(await create()).toBe(201);
    project.write({ 'book.yaml': BOOK.replace('100', '60') });
    expect(await project.run('apply', '--allow', 'narrow-field:Book.title')).toMatchObject({ code: 0 });
    await until(async () => (await create()) === 503);
    for (const [title, body] of [
      ['PATCH /api/books/1', { title: 'y' }],
      ['DELETE /api/books/1', undefined],
    ] as const)
      expect([title, (await ask(url, title, body)).status]).toEqual([title, 503]);
    expect((await ask(url, 'GET /api/books')).status).toBe(200);
    expect((await exchange(url, 'GET /health/ready')).status).toBe(200);
    expect(await create('shelves')).toBe(201);
    project.write({ 'book.yaml': BOOK.replace('100', '200') });
    expect(await project.run('apply')).toMatchObject({ code: 0 });
    await until(async () => (await ask(url, 'GET /api/books/1')).status === 200 && (await create()) === 201);
  });
});
