/** The commands that maintainers use, on the command line: check, diff, new, describe, dev. */
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PACKAGE_FOLDER } from '../../engine/process.ts';
import { exchange } from '../support/exchange.ts';
import { until } from '../support/leaving.ts';
import { ask } from '../support/ask.ts';
import { type Running, urlOf, useCompiled } from '../support/compiled.ts';
import { type Files, type Project, runCommand, useProjects } from '../support/project.ts';
import { fixtureSchemas } from '../support/schemas.ts';
import { testAtNight } from '../support/whole.ts';

const compiled = useCompiled();
const projectOf = useProjects();

describe('check', () => {
  const FAULTY = {
    'a.yaml': 'type: A\nfeilds: {}\nopen: maybe\n',
    'b.yaml': 'type: B\nrelations: { a: { kind: belongsTo, type: AA } }\n',
  };

  test('prints every diagnostic of every file, and ends with 1', async () => {
    const project = await projectOf(FAULTY);
    const { code, out } = await project.run('check');
    expect(code).toBe(1);
    const places = [...out.matchAll(/([ab])\.yaml:(\d+:\d+) error (\S+)/g)].map(([, ...found]) => found);
    expect(places).toEqual([
      ['a', '2:1', 'unknown-key'],
      ['a', '3:7', 'wrong-type'],
      ['b', '2:42', 'unknown-type'],
    ]);
  });

  test('--json', async () => {
    const project = await projectOf(FAULTY);
    const { code, out } = await project.run('check', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toHaveLength(3);
    expect(JSON.parse(out)[0]).toMatchObject({ code: 'unknown-key', severity: 'error', line: 2, column: 1 });
  });
});

describe('diff', () => {
  const book = (fields: string, rest = ''): string => `type: Book\nfields: { ${fields} }\n${rest}`;
  const author = (books: string, rest = ''): string =>
    `type: Author\n${rest}relations: { books: { kind: hasMany, type: Book${books} } }\n`;
  const A = 'a: { type: string, maxLength: 9 }';

  const X_Y = 'variants: { default: x, omit: { x: [], y: [a] } }';
  const NOT_EMPTY = "checks: [{ must: { a: { ne: '' } } }]";

  /** The expected changes, and the rest of a book's descriptor before and after. */
  const OF_TYPES: readonly (readonly [told: string, before: string, after: string])[] = [
    ['', '', 'table: volumes'],
    ['', '', 'order: [id]'],
    ['', '', 'title: { one: Book, many: Books }'],
    ['', '', 'label: a'],
    ['breaking path-changed', '', 'path: volumes'],
    ['breaking operation-removed', '', 'operations: [list, get, create, update]'],
    ['operation-added', 'operations: [list]', 'operations: [list, get]'],
    ['breaking identifier-renamed', '', 'identifier: { name: key }'],
    ['breaking identifier-hidden', '', 'identifier: { inRecord: false }'],
    ['identifier-shown', 'identifier: { inRecord: false }', ''],
    ['breaking identifier-type-changed', '', 'identifier: { type: uuid }'],
    ['breaking identifier-by-client', 'identifier: { type: uuid }', 'identifier: { type: uuid, by: client }'],
    ['identifier-by-service', 'identifier: { by: client }', ''],
    ['breaking identifier-narrowed', 'identifier: { type: string }', 'identifier: { type: string, maxLength: 9 }'],
    ['identifier-widened', 'identifier: { type: string, maxLength: 9 }', 'identifier: { type: string }'],
    ['breaking order-changed', 'order: [a]', 'order: [a desc]'],
    ['breaking limit-lowered', '', 'list: { maxLimit: 10 }'],
    ['limit-raised', '', 'list: { maxLimit: 2000 }'],
    ['breaking count-less-exact', '', 'list: { count: estimated }'],
    ['count-more-exact', 'list: { count: none }', 'list: { count: estimated }'],
    ['opened', '', 'open: true'],
    ['breaking closed', 'open: true', ''],
    ['history-kept', '', 'history: true'],
    ['breaking history-ended', 'history: true', ''],
    ['breaking closed', 'open: true\noperations: [list]', 'operations: [list]'],
    ['breaking precondition-required', '', 'preconditions: required'],
    ['precondition-relaxed', 'preconditions: required', ''],
    ['breaking precondition-ignored', '', 'preconditions: off'],
    ['precondition-relaxed', 'preconditions: off', ''],
    ['breaking unique-added', '', 'unique: [[a]]'],
    ['breaking unique-removed', 'unique: [[a]]', ''],
    [
      'unique-removed',
      'unique: [[a]]\noperations: [list, get, create, delete]',
      'operations: [list, get, create, delete]',
    ],
    ['breaking key-declared', 'open: true', 'open: true\nrelations: { up: { kind: belongsTo, type: Book } }'],
    ['breaking check-added', '', NOT_EMPTY],
    ['check-removed', NOT_EMPTY, ''],
    ['check-added', 'operations: [list]', `operations: [list]\n${NOT_EMPTY}`],
    ['variant-added', 'variants: { default: x, omit: { x: [] } }', X_Y],
    ['breaking variant-removed', X_Y, 'variants: { default: x, omit: { x: [] } }'],
    ['breaking default-variant-changed', X_Y, X_Y.replace('default: x', 'default: y')],
    ['breaking variant-lacks-field', X_Y.replace('[a]', '[]'), X_Y],
    ['variant-has-field', X_Y, X_Y.replace('[a]', '[]')],
    [
      'breaking cycles-refused',
      'relations: { up: { kind: belongsTo, type: Book } }',
      'relations: { up: { kind: belongsTo, type: Book, acyclic: true } }',
    ],
    [
      'breaking cycles-accepted',
      'relations: { downs: { kind: hasMany, type: Book, acyclic: true } }',
      'relations: { downs: { kind: hasMany, type: Book } }',
    ],
  ];

  const OF_FIELDS: readonly (readonly [told: string, before: string, after: string])[] = [
    ['', 'type: string', 'type: string, description: x, examples: [y]'],
    ['', 'type: string', 'type: string, title: A'],
    ['breaking unique-removed', 'type: string, unique: true', 'type: string'],
    ['breaking value-removed', 'type: string, enum: [x, y]', 'type: string, enum: [x]'],
    ['breaking value-removed', 'type: string', 'type: string, enum: [x]'],
    ['breaking field-type-changed', 'type: integer', 'type: decimal'],
    ['breaking value-added', 'type: string, enum: [x]', 'type: string, enum: [x, y]'],
    ['breaking value-added', 'type: integer, enum: [1]', 'type: integer'],
    ['breaking value-removed', 'type: string, enum: [x, y]', 'type: string, enum: [y, z]'],
    ['field-widened', 'type: string, maxLength: 9', 'type: string, maxLength: 10'],
    ['breaking field-narrowed', 'type: string, maxLength: 9', 'type: string, maxLength: 8'],
    ['breaking field-narrowed', 'type: array', 'type: array, items: { type: date }'],
    [
      'breaking value-added',
      'type: array, items: { type: date }',
      'type: array, items: { type: date, nullable: true }',
    ],
    ['breaking value-added', 'type: array, items: { type: date }', 'type: array'],
    ['field-widened', 'type: array, items: { type: integer, minimum: 1 }', 'type: array, items: { type: integer }'],
    ['breaking field-required', 'type: string, nullable: true', 'type: string, nullable: true, required: true'],
    ['field-optional', 'type: string, nullable: true, required: true', 'type: string, nullable: true'],
    ['breaking null-refused', 'type: string, default: x, nullable: true', 'type: string, default: x'],
    ['breaking null-answered', 'type: string, default: x', 'type: string, default: x, nullable: true'],
    ['breaking field-read-only', 'type: string', 'type: string, readOnly: true'],
    ['field-writable', 'type: string, readOnly: true', 'type: string'],
    ['default-changed', 'type: integer, default: 0', 'type: integer, default: 1'],
    ['default-changed', "type: date, default: '2030-01-01'", 'type: date, default: now'],
    ['breaking field-generated', 'type: string', 'type: string, generated: createdBy'],
    ['breaking field-not-generated', 'type: timestamp, generated: updatedAt', 'type: timestamp'],
  ];

  const OF_LISTS: readonly (readonly [told: string, before: string, after: string, rest?: string])[] = [
    ['field-added', A, `${A}, b: { type: any }`],
    ['breaking required-field-added', A, `${A}, b: { type: any, required: true }`],
    ['required-field-added', A, `${A}, b: { type: any, required: true }`, 'operations: [list]'],
    ['breaking field-removed', `${A}, b: { type: any }`, A],
    ['breaking field-renamed', A, 'z: { type: string, maxLength: 9, renamedFrom: a }'],
    ['field-narrowed', A, A.replace('9', '8'), 'operations: [get]'],
    [
      'breaking value-removed',
      `${A}, b: { type: string, enum: [x, y] }`,
      `${A}, b: { type: string, enum: [x] }`,
      'operations: [list]',
    ],
    ['breaking key-declared', A, `${A}, b: { type: any }`, 'open: true\noperations: [list]'],
    ...(
      [
        [
          'value-added',
          ', b: { type: array, items: { type: integer } }',
          ', b: { type: array, items: { type: date } }',
        ],
        [
          'value-added',
          ', b: { type: array, items: { type: string, enum: [x] } }',
          ', b: { type: array, items: { type: string } }',
        ],
      ] as const
    ).map(([told, before, after]): [string, string, string, string] => [
      `breaking ${told}`,
      `${A}${before}`,
      `${A}${after}`,
      'operations: [list]',
    ]),
    ['breaking values-hidden', A, A.replace('9', '9, sensitive: true'), 'history: true'],
    ['values-hidden', A, A.replace('9', '9, sensitive: true')],
    ['values-shown', A.replace('9', '9, sensitive: true'), A, 'history: true'],
    ['breaking key-declared, breaking required-field-added', A, `${A}, b: { type: any, required: true }`, 'open: true'],
  ];

  const OF_RELATIONS: readonly (readonly [told: string, before: string, after: string])[] = [
    ['relation-added', '', 'books: { kind: hasMany, type: Book }'],
    ['breaking relation-removed', 'books: { kind: hasMany, type: Book }', ''],
    [
      'breaking relation-renamed',
      'books: { kind: hasMany, type: Book }',
      'works: { kind: hasMany, type: Book, renamedFrom: books }',
    ],
    ['breaking relation-kind-changed', 'books: { kind: hasMany, type: Book }', 'books: { kind: hasOne, type: Book }'],
    [
      'breaking relation-kind-changed',
      'books: { kind: hasMany, type: Book }',
      'books: { kind: manyToMany, type: Book }',
    ],
    ['breaking relation-kind-changed', 'b: { kind: hasOne, type: Book }', 'b: { kind: belongsTo, type: Book }'],
    ['breaking relation-type-changed', 'books: { kind: hasMany, type: Book }', 'books: { kind: hasMany, type: C }'],
    ...(
      [
        ['breaking relation-link-only', ', nested: write', ''],
        ['relation-writable', '', ', nested: write'],
        ['breaking relation-shows-less', '', ', fields: []'],
        ['relation-shows-more', ', fields: []', ''],
        ['breaking relation-not-shown', '', ', shown: false'],
        ['relation-shown', ', shown: false', ''],
        ['breaking ownership-changed', ', nested: write', ', owned: true'],
      ] as const
    ).map(([told, before, after]): [string, string, string] => [
      told,
      `books: { kind: hasMany, type: Book${before} }`,
      `books: { kind: hasMany, type: Book${after} }`,
    ]),
    ...(
      [
        ['breaking relation-required', '', ', required: true'],
        ['breaking relation-optional', ', required: true', ''],
        ['breaking deletion-changed', '', ', onDelete: cascade'],
      ] as const
    ).map(([told, before, after]): [string, string, string] => [
      told,
      `b: { kind: belongsTo, type: Book${before} }`,
      `b: { kind: belongsTo, type: Book${after} }`,
    ]),
    ['breaking required-relation-added', '', 'b: { kind: belongsTo, type: Book, required: true }'],
  ];

  /** `a` of a book is renamed to `b`: the expected changes, the rest of its descriptor, and of the relation to it. */
  const OF_RENAMES: readonly (readonly [told: string, rest: string, shown?: string, omitted?: string])[] = [
    ['breaking field-renamed', NOT_EMPTY],
    ['breaking field-renamed', 'order: [a desc, d]'],
    ['breaking field-renamed', 'unique: [[a], [d, a]]'],
    ['breaking field-renamed', X_Y],
    ['breaking field-renamed', '', ', fields: [a]'],
    ['breaking variant-lacks-field, breaking field-renamed', X_Y.replace('[a]', '[]'), '', 'b'],
  ];
  const renamed = (text: string): string =>
    text.replaceAll(/\ba\b(?=[:, \]])/g, 'b').replace(/(\bb: {)/, '$1 renamedFrom: a,');

  const VOLUME = 'type: Volume\nrenamedFrom: Book\npath: books\nfields: { a: { type: string, maxLength: 9 } }';
  type Schema = Readonly<Record<string, string>>;
  const inside = (type: string, owned: string, fields = ''): string =>
    `type: ${type}\noperations: []\nfields: { ${fields} }\nrelations: { ${owned} }`;
  const written = (by: string, other: string): Schema => ({
    p: `type: Person\nrelations: { books: { kind: hasMany, type: Book, inverse: ${by} } }`,
    b: book(
      A,
      `relations: { ${by}: { kind: belongsTo, type: Person, inverse: books }, ${other}: { kind: belongsTo, type: Person } }`,
    ),
  });
  const sides = (inverse: string, kind = ''): Schema => ({
    p: `type: Person\nrelations: { books: { kind: ${kind || 'hasMany'}, type: Book${inverse} } }`,
    b: book(A, `relations: { by: { kind: ${kind || 'belongsTo'}, type: Person } }`),
  });
  const chapters = (most: number): Schema => ({
    b: book(A, 'relations: { chapters: { kind: hasMany, type: Chapter, owned: true } }'),
    c: inside('Chapter', 'pages: { kind: hasMany, type: Page, owned: true }'),
    p: inside('Page', '', `text: { type: string, maxLength: ${most} }`),
  });
  const both = (make: (text: string) => Schema, [told, before, after]: readonly [string, string, string, string?]) =>
    [told, make(before), make(after)] as const;

  test.each<readonly [string, Schema, Schema]>([
    ['type-added', { b: book(A) }, { b: book(A), c: 'type: C' }],
    ['breaking type-removed', { b: book(A), c: 'type: C' }, { b: book(A) }],
    ['breaking type-renamed', { b: book(A) }, { b: VOLUME }],
    // A body can link a book by its unique values.
    [
      'breaking unique-removed',
      { b: book(A, 'operations: [list]\nunique: [[a]]'), a: author('') },
      { b: book(A, 'operations: [list]'), a: author('') },
    ],
    [
      'unique-removed',
      { b: book(A, 'operations: [list]\nunique: [[a]]'), a: author('', 'operations: [get]\n') },
      { b: book(A, 'operations: [list]'), a: author('', 'operations: [get]\n') },
    ],
    ['breaking type-renamed', { b: book(A), a: author('') }, { b: VOLUME, a: author('').replace('Book', 'Volume') }],
    // A page is written through the chapters of a book, and has no operations itself.
    ['breaking field-narrowed', chapters(9), chapters(8)],
    ['breaking relation-inverse-changed', written('author', 'editor'), written('editor', 'author')],
    ['breaking relation-inverse-changed', sides(', inverse: by'), sides('')],
    ['breaking relation-inverse-changed', sides(''), sides(', inverse: by')],
    [
      'breaking relation-inverse-changed, breaking relation-inverse-changed',
      sides(', inverse: by', 'manyToMany'),
      sides('', 'manyToMany'),
    ],
    // A body that names a book by its unique values makes a new one.
    [
      'breaking relation-links-less, relation-writable',
      { b: book(A, 'unique: [[a]]'), a: author('') },
      { b: book(A, 'unique: [[a]]'), a: author(', nested: write') },
    ],
    ...OF_RENAMES.map(([told, rest, shown = '', more = '']): readonly [string, Schema, Schema] => [
      told,
      { b: book(`${A}, d: { type: string }`, rest), a: author(shown) },
      {
        b: renamed(book(`${A}, d: { type: string }`, rest.replace('y: []', `y: [${more}]`))),
        a: renamed(author(shown)),
      },
    ]),
    [
      'breaking relation-renamed',
      { b: book(A, 'relations: { up: { kind: belongsTo, type: Book } }\nunique: [[a, up]]') },
      { b: book(A, 'relations: { on: { kind: belongsTo, type: Book, renamedFrom: up } }\nunique: [[on, a]]') },
    ],
    ...OF_TYPES.map((row) => both((rest) => ({ b: book(A, rest) }), row)),
    ...OF_FIELDS.map((row) => both((words) => ({ b: book(`a: { ${words} }`) }), row)),
    ...OF_LISTS.map(([told, before, after, rest = '']) =>
      both((fields) => ({ b: book(fields, rest) }), [told, before, after]),
    ),
    ...OF_RELATIONS.map((row) =>
      both((relation) => ({ b: book(A), c: 'type: C', a: `type: Author\nrelations: { ${relation} }` }), row),
    ),
  ])('%s', async (told, before, after) => {
    const files = (schema: Schema, folder: string): Files =>
      Object.fromEntries(Object.entries(schema).map(([name, text]) => [`${folder}/${name}.yaml`, text]));
    const project = await projectOf({ ...files(before, 'old'), ...files(after, 'new') });
    const folders = [join(project.directory, 'old'), join(project.directory, 'new')];
    const { code, out, err } = await project.run('diff', ...folders, '--json');
    expect(err).toBe('');
    const changes: readonly { kind: string; breaking: boolean }[] = JSON.parse(out);
    expect(changes.map(({ kind, breaking }) => (breaking ? `breaking ${kind}` : kind))).toEqual(
      told === '' ? [] : told.split(', '),
    );
    expect(code).toBe(told.startsWith('breaking') ? 3 : 0);
  });

  test.each([
    [['tests/fixtures/store'], 'NEW_DIR is missing'],
    [['tests/fixtures/store', 'no/such/folder'], 'the schema directory cannot be read'],
  ])('%j is refused', async (words, message) => {
    const project = await projectOf({});
    expect(await project.run('diff', ...words)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
  });
});

describe('new', () => {
  test('writes a descriptor without faults, even with its comments enabled', async () => {
    const project = await projectOf({ 'author.yaml': 'type: Author' });
    expect(await project.run('new', 'GiftCard')).toMatchObject({ code: 0, err: '' });
    const file = join(project.directory, 'gift-card.yaml');
    expect((await project.run('check')).code).toBe(0);
    const text = readFileSync(file, 'utf8');
    const uncommented = text.replaceAll(/^( *)# (?=[ -]|[a-z]\w*:)/gm, '$1');
    expect(uncommented.split('\n').length - uncommented.split('#').length).toBeGreaterThan(20);
    writeFileSync(file, uncommented);
    expect(await project.run('check')).toMatchObject({ code: 0, out: expect.stringContaining('2 record types') });
    const created = await project.serving((url) =>
      ask(url, 'POST /api/gift-cards', { name: 'x', price: '1.5', parent: { id: 1 } }),
    );
    expect(created.status).toBe(422);
    const { body } = await project.serving((url) => ask(url, 'GET /api/gift-cards'));
    expect(body).toEqual([{ id: 1, name: 'First', price: '0', code: null, state: 'draft', parent: null }]);
  });

  test('points at the grammar', async () => {
    const project = await projectOf({});
    await project.run('new', 'Thing');
    const [first = ''] = readFileSync(join(project.directory, 'thing.yaml'), 'utf8').split('\n');
    const [, path = ''] = /^# yaml-language-server: \$schema=(\S+)$/.exec(first) ?? [];
    expect(resolve(project.directory, path)).toBe(join(PACKAGE_FOLDER, 'engine/descriptor/descriptor.schema.json'));
  });

  test.each([
    ['author', 'The type Author already exists, in '],
    ['gift card', '"gift card" is not a valid name'],
    ['limit', '"limit" is reserved'],
    ['', 'not a valid name'],
  ])('%j is refused', async (name, message) => {
    const project = await projectOf({ 'author.yaml': 'type: Author' });
    expect(await project.run('new', name)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
  });

  test('never writes over a file', async () => {
    const project = await projectOf({ 'gift-card.yaml': 'type: Card' });
    expect(await project.run('new', 'GiftCard')).toMatchObject({ code: 1, err: expect.stringContaining('EEXIST') });
    expect(readFileSync(join(project.directory, 'gift-card.yaml'), 'utf8')).toBe('type: Card');
  });
});

describe('describe', () => {
  const schemas = [{ name: 'the shipped schema', directory: 'tests/fixtures/store' }, ...fixtureSchemas];

  test.each(schemas)('of $name is a schema that means the same', async ({ directory }) => {
    const project = await projectOf({}, directory);
    const { out } = await project.run('describe');
    const files = out.split(/^---\n/m).map((text, index) => [`${String(index).padStart(3, '0')}.yaml`, text]);
    const described = await projectOf(Object.fromEntries(files));
    const again = await described.run('describe');
    expect(again).toEqual({ code: 0, out, err: '' });
    expect(await described.run('diff', directory, described.directory)).toMatchObject({
      code: 0,
      out: 'Nothing changes for clients.\n',
    });
    await project.starts();
    const environment = { ...project.environment, SCHEMA_DIR: described.directory };
    expect(await runCommand('plan', [], environment)).toMatchObject({ code: 0 });
  });

  test('--diagram', async () => {
    const project = await projectOf({
      'book.yaml': `type: Book
fields: { title: { type: string, unique: true, description: 'A "title"' } }
relations:
  author: { kind: belongsTo, type: Author, required: true }
  cover: { kind: hasOne, type: Cover }
  genres: { kind: manyToMany, type: Größe }`,
      'author.yaml': 'type: Author',
      'cover.yaml': 'type: Cover',
      'size.yaml': 'type: Größe\npath: sizes',
    });
    const { out } = await project.run('describe', '--diagram');
    expect(out.trimEnd().split('\n')).toEqual([
      'erDiagram',
      '  "Author"',
      '  "Book"',
      '  "Cover"',
      '  "Größe"',
      '  "Book" }o--|| "Author" : "author"',
      '  "Cover" |o--o| "Book" : ""',
      '  "Book" }o--o{ "Größe" : ""',
    ]);
  });
});

describe('dev', () => {
  const BOOK = 'type: Book\nfields:\n  title: { type: string }\n';

  async function developing(work: (project: Project, url: string, running: Running) => Promise<void>): Promise<void> {
    const project = await projectOf({ 'book.yaml': BOOK });
    const running = compiled.run('engine/cli.js', ['dev'], project.environment);
    try {
      const url = await urlOf(running);
      await ask(url, 'POST /api/books', { title: 'One' });
      await work(project, url, running);
    } finally {
      running.child.kill('SIGTERM');
      expect(await running.ended).toBe(0);
    }
  }

  const first = async (url: string): Promise<unknown> => (await ask(url, 'GET /api/books/1')).body;

  test('serves what was saved', () =>
    developing(async (project, url) => {
      let text = BOOK;
      for (const name of ['isbn', 'pages', 'note']) {
        text += `  ${name}: { type: string, default: x }\n`;
        project.write({ 'book.yaml': text });
        await until(async () => Object.hasOwn((await first(url)) as object, name));
      }
      expect(await first(url)).toEqual({ id: 1, title: 'One', isbn: 'x', pages: 'x', note: 'x' });
    }));

  const serves = (url: string, name: string) => async (): Promise<boolean> =>
    Object.hasOwn((await first(url)) as object, name);

  testAtNight('keeps following a file, however editors save it', () =>
    developing(async (project, url) => {
      const file = join(project.directory, 'book.yaml');
      const ways: readonly ((text: string) => void)[] = [
        (text) => {
          writeFileSync(`${file}~`, text);
          renameSync(`${file}~`, file);
        },
        (text) => {
          const last = text.trimEnd().split('\n').at(-1) ?? '';
          execFileSync('sed', ['-i', `$a\\${last}`, file]);
        },
        (text) => {
          rmSync(file);
          writeFileSync(file, text);
        },
        (text) => {
          truncateSync(file);
          writeFileSync(file, text);
        },
      ];
      let text = BOOK;
      for (const [index, save] of [...ways, ...ways].entries()) {
        text += `  f${index}: { type: string }\n`;
        save(text);
        await until(serves(url, `f${index}`));
      }
    }),
  );

  test('a faulty save is reported, and the previous version is served', () =>
    developing(async (project, url, running) => {
      project.write({ 'book.yaml': `${BOOK}  isbn: { type: strnig }\n` });
      await until(() => running.err().includes('unknown-value') && running.err().includes('Still serving'));
      expect(await first(url)).toEqual({ id: 1, title: 'One' });
      project.write({ 'book.yaml': `${BOOK}  isbn: { type: string }\n` });
      await until(async () => Object.hasOwn((await first(url)) as object, 'isbn'));
    }));

  test('no request is lost while schemas change', () =>
    developing(async (project, url) => {
      const over = new AbortController();
      const statuses = new Map<number, number>();
      const asking = (async () => {
        while (!over.signal.aborted) {
          const { status } = await ask(url, 'GET /api/books');
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      })();
      for (const name of ['a', 'b', 'c']) {
        project.write({
          'book.yaml': `${BOOK}  a: { type: string, description: as of ${name} }\n  ${name === 'a' ? '' : 'b: { type: string }'}\n`,
        });
        await until(async () => (await exchange(url, 'GET /openapi.json')).text.includes(`as of ${name}`));
      }
      over.abort();
      await asking;
      expect([...statuses.keys()]).toEqual([200]);
    }));
});
