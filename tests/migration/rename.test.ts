import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { watchDatabase } from '../support/observer.ts';
import { type Files, type Project, useProjects } from '../support/project.ts';

const newProject = useProjects();

const OLD = {
  'author.yaml': `type: Author
fields: { name: { type: string, unique: true } }
relations:
  books: { kind: hasMany, type: Book, inverse: author }
  friends: { kind: manyToMany, type: Author }
`,
  'book.yaml': `type: Book
fields:
  title: { type: string, maxLength: 100, unique: true }
  pages: { type: integer, default: 0, index: true }
relations:
  author: { kind: belongsTo, type: Author, nested: write }
  tags: { kind: manyToMany, type: Tag, inverse: books }
order: [title]
`,
  'tag.yaml': 'type: Tag\nfields: { word: { type: string } }\nrelations: { books: { kind: manyToMany, type: Book } }\n',
};

const NEW = {
  'author.yaml': `type: Writer
renamedFrom: Author
identifier: { name: number }
fields: { label: { type: string, unique: true, renamedFrom: name } }
relations:
  works: { kind: hasMany, type: Volume, inverse: writer, renamedFrom: books }
  allies: { kind: manyToMany, type: Writer, renamedFrom: friends }
`,
  'book.yaml': `type: Volume
renamedFrom: Book
fields:
  heading: { type: string, maxLength: 100, unique: true, renamedFrom: title }
  pages: { type: integer, default: 0, index: true }
relations:
  writer: { kind: belongsTo, type: Writer, nested: write, renamedFrom: author }
  words: { kind: manyToMany, type: Word, inverse: volumes, renamedFrom: tags }
order: [heading]
`,
  'tag.yaml':
    'type: Word\nrenamedFrom: Tag\nfields: { word: { type: string } }\nrelations: { volumes: { kind: manyToMany, type: Volume, renamedFrom: books } }\n',
};

const NEWER = {
  ...NEW,
  'book.yaml': NEW['book.yaml'].replace(', renamedFrom: title }', ' }\n  title: { type: string, default: none }'),
};

interface Plan {
  readonly steps: readonly { readonly id: string; readonly state: string; readonly sql: readonly string[] }[];
  readonly drift: readonly unknown[];
}

const planOf = async (project: Project, ...options: readonly string[]): Promise<Plan> =>
  JSON.parse((await project.run('plan', '--json', '--sql', ...options)).out) as Plan;

async function bodyOf(url: string, title: string, body?: unknown): Promise<unknown> {
  const answer = await ask(url, title, body);
  expect([title, answer.status < 300 ? 'ok' : answer.status, answer.body]).toEqual([title, 'ok', expect.anything()]);
  return answer.body;
}

async function columnsIn(project: Project): Promise<string> {
  const watch = await watchDatabase(project.database);
  const text = await watch.columns();
  await watch.close();
  return text;
}

async function appliedIn(...versions: readonly Files[]): Promise<Project> {
  const project = await newProject({});
  await project.starts(...versions);
  return project;
}

async function withBoth(
  project: Project,
  older: Project,
  work: (older: string, newer: string) => Promise<unknown>,
): Promise<void> {
  const environment = { ...older.environment, DATABASE_URL: project.database.url };
  const running: Serving[] = [await serve(readSettings(environment))];
  try {
    running.push(await serve(readSettings(project.environment)));
    const [one, other] = running;
    await work(one?.url ?? '', other?.url ?? '');
  } finally {
    for (const { close } of running) await close();
  }
}

async function fill(url: string): Promise<void> {
  await bodyOf(url, 'POST /api/authors', { name: 'A' });
  await bodyOf(url, 'POST /api/authors', { name: 'B', friends: [{ id: 1 }] });
  await bodyOf(url, 'POST /api/tags', { word: 'w' });
  await bodyOf(url, 'POST /api/books', { title: 'One', pages: 7, author: { id: 1 }, tags: [{ id: 1 }] });
}

describe('an old and a new version on one database', () => {
  async function readAndWrite(old: string, fresh: string, round: number): Promise<void> {
    const [a, b] = [`Old ${round}`, `New ${round}`];
    const made = (await bodyOf(old, 'POST /api/books', { title: a, author: { id: 1 }, tags: [{ id: 1 }] })) as {
      id: number;
    };
    expect(await bodyOf(fresh, `GET /api/volumes/${made.id}`)).toEqual({
      id: made.id,
      heading: a,
      pages: 0,
      title: 'none',
      writer: expect.objectContaining({ number: 1, label: 'A' }),
      words: [{ id: 1, word: 'w' }],
    });
    const other = (await bodyOf(fresh, 'POST /api/volumes', {
      heading: b,
      title: 'subtitle',
      writer: { number: 2 },
      words: [],
    })) as { id: number };
    expect(await bodyOf(old, `GET /api/books/${other.id}`)).toEqual({
      id: other.id,
      title: b,
      pages: 0,
      author: expect.objectContaining({ id: 2, name: 'B' }),
      tags: [],
    });
    await bodyOf(old, `PATCH /api/books/${other.id}`, { title: `${b}+`, pages: 3 });
    expect(await bodyOf(fresh, `GET /api/volumes/${other.id}?fields=heading,title,pages`)).toEqual({
      id: other.id,
      heading: `${b}+`,
      pages: 3,
      title: 'subtitle',
    });
    await bodyOf(fresh, `PATCH /api/volumes/${made.id}`, { heading: `${a}+`, writer: { number: 2, label: 'B' } });
    expect(
      await bodyOf(old, `GET /api/books?_cnd[title]=${encodeURIComponent(`${a}+`)}&fields=title,author.name`),
    ).toEqual([{ id: made.id, title: `${a}+`, author: { id: 2, name: 'B' } }]);
    const taken = await ask(old, 'POST /api/books', { title: `${b}+` });
    expect([taken.status, taken.body]).toEqual([
      409,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/title' })] }),
    ]);
    const alike = await ask(fresh, 'POST /api/volumes', { heading: `${b}+` });
    expect([alike.status, alike.body]).toEqual([
      409,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/heading' })] }),
    ]);
    expect(await bodyOf(old, 'GET /api/authors/2?fields=name,friends.name')).toEqual({
      id: 2,
      name: 'B',
      friends: [{ id: 1, name: 'A' }],
    });
    expect(await bodyOf(fresh, 'GET /api/writers/2?fields=label,allies.label')).toEqual({
      number: 2,
      label: 'B',
      allies: [{ number: 1, label: 'A' }],
    });
    await bodyOf(old, `DELETE /api/books/${other.id}`);
    expect((await ask(fresh, `GET /api/volumes/${other.id}`)).status).toBe(404);
  }

  test('each reads and writes under its own names, started in either order', async () => {
    const older = await newProject(OLD);
    const project = await newProject(OLD);
    await project.serving(fill);
    const before = await columnsIn(project);
    project.write(NEW);
    const { steps } = await planOf(project);
    expect(steps.map(({ id, state }) => `${state} ${id}`)).toEqual([
      'ready rename-type:Writer',
      'ready rename-identifier:Writer',
      'ready rename-field:Writer.label',
      'ready rename-type:Volume',
      'ready rename-field:Volume.heading',
      'ready rename-relation:Volume.writer',
      'ready rename-type:Word',
      'ready rename-relation:Writer.allies',
      'ready rename-relation:Volume.words',
    ]);
    await project.starts();
    expect(await columnsIn(project)).toBe(before);
    project.write(NEWER);
    // The old version runs while the new one comes, and starts again after it.
    await withBoth(project, older, (old, fresh) => readAndWrite(old, fresh, 1));
    await withBoth(project, older, (old, fresh) => readAndWrite(old, fresh, 2));
    expect(await columnsIn(project)).toBe(
      before.replace('books: ', 'books: title_2 ').split('\n').map(sorted).join('\n'),
    );
    expect(await planOf(project)).toMatchObject({ steps: [], drift: [] });
  });

  test('an open type cannot have both names: the old version is refused by name', async () => {
    const thing = (more: string): Files => ({ 'thing.yaml': `type: Thing\nopen: true\nfields:\n  ${more}\n` });
    const project = await appliedIn(thing('code: { type: string }'));
    project.write(thing('sign: { type: string, renamedFrom: code }'));
    expect((await project.run('plan')).out).toContain('older instances cannot use the type (503)');
    await project.starts();
    project.write(thing('code: { type: string }'));
    const refusal = '"code" is called "sign" now, and it is open to keys of either name';
    await expect(project.starts()).rejects.toThrow(refusal);
    for (const command of ['plan', 'apply'] as const)
      expect(await project.run(command)).toMatchObject({ code: 1, err: expect.stringContaining(refusal) });
    expect(await project.run('apply', '--back')).toMatchObject({ code: 0 });
  });
});

test('links are renamed once, also where another name changes the order of their types', async () => {
  const project = await appliedIn({
    'thing.yaml': 'type: Parcel\nrelations: { tags: { kind: manyToMany, type: Label, inverse: parcels } }\n',
    'label.yaml': 'type: Label\nrelations: { parcels: { kind: manyToMany, type: Parcel } }\n',
  });
  const label = 'type: Label\nrelations: { boxes: { kind: manyToMany, type: Box, renamedFrom: parcels } }\n';
  project.write({
    'thing.yaml':
      'type: Box\nrenamedFrom: Parcel\nrelations: { labels: { kind: manyToMany, type: Label, inverse: boxes, renamedFrom: tags } }\n',
    'label.yaml': label,
  });
  expect((await planOf(project)).steps.map(({ id }) => id)).toEqual(['rename-type:Box', 'rename-relation:Label.boxes']);
  await project.starts();
  project.write({ 'label.yaml': `${label}fields: { word: { type: string } }\n` });
  expect((await planOf(project)).steps.map(({ id }) => id)).toEqual(['add-field:Label.word']);
});

const sorted = (line: string): string => {
  const [table, columns = ''] = line.split(': ');
  return `${table}: ${columns.split(' ').toSorted().join(' ')}`;
};

describe('names over time', () => {
  const book = (...fields: readonly string[]): Files => ({
    'book.yaml': ['type: Book', 'fields:', ...fields.map((field) => `  ${field}`), ''].join('\n'),
  });
  const [A] = ['a: { type: string, unique: true }', 'b: { type: string }'];

  test('from a to b to c: each version finds it', async () => {
    const versions = [
      book(A),
      book(`b: { type: string, unique: true, renamedFrom: a }`),
      book(`c: { type: string, unique: true, renamedFrom: b }`),
    ];
    const project = await appliedIn(...versions);
    for (const [index, version] of versions.entries()) {
      project.write(version);
      await project.serving(async (url) => {
        const name = 'abc'[index] ?? '';
        await bodyOf(url, 'POST /api/books', { [name]: `made by ${name}` });
        const all = (await bodyOf(url, 'GET /api/books')) as readonly object[];
        expect(all.map((one) => Reflect.get(one, name))).toEqual(
          ['a', 'b', 'c'].slice(0, index + 1).map((one) => `made by ${one}`),
        );
      });
    }
    expect(await columnsIn(project)).toContain('books: a id');
  });

  test('two types swap their names through a third, with their seeds', async () => {
    const type = (name: string, text: string, more = ''): string =>
      `type: ${name}\n${more}fields: { text: { type: string } }\nseed: [{ id: 1, text: ${text} }]\n`;
    const first = { 'one.yaml': type('One', 'x'), 'two.yaml': type('Two', 'y') };
    const project = await appliedIn(
      first,
      { 'one.yaml': type('Three', 'x', 'renamedFrom: One\n') },
      { 'one.yaml': type('Three', 'x'), 'two.yaml': type('One', 'y', 'renamedFrom: Two\n') },
      { 'one.yaml': type('Two', 'x', 'renamedFrom: Three\n'), 'two.yaml': type('One', 'y') },
    );
    await project.serving(async (url) => {
      expect(await bodyOf(url, 'GET /api/twos')).toEqual([{ id: 1, text: 'x' }]);
      expect(await bodyOf(url, 'DELETE /api/ones/1')).toEqual({ id: 1, text: 'y' });
    });
    project.write(first);
    expect(await project.run('apply', '--back')).toMatchObject({ code: 0 });
    await project.serving(async (url) => {
      expect(await bodyOf(url, 'GET /api/ones')).toEqual([{ id: 1, text: 'x' }]);
      expect(await bodyOf(url, 'GET /api/twos')).toEqual([]);
    });
  });

  test('going back after a rename needs no answer, and keeps new data', async () => {
    const project = await newProject(OLD);
    await project.serving(fill);
    await project.starts(NEW);
    project.write(NEWER);
    await project.serving((url) => bodyOf(url, 'POST /api/volumes', { heading: 'Two', title: 'sub' }));
    project.write(OLD);
    const { steps } = await planOf(project, '--back');
    expect(steps.filter(({ state }) => state !== 'ready').map(({ id, state }) => `${state} ${id}`)).toEqual([
      'kept drop-field:Book.title',
    ]);
    expect(await project.run('apply', '--back')).toMatchObject({ code: 0 });
    await project.serving(async (url) => {
      expect(await bodyOf(url, 'GET /api/books?fields=title')).toEqual([
        { id: 1, title: 'One' },
        { id: 2, title: 'Two' },
      ]);
    });
    project.write(NEWER);
    await project.serving(async (url) => {
      expect(await bodyOf(url, 'GET /api/volumes?fields=heading,title')).toEqual([
        { id: 1, heading: 'One', title: 'none' },
        { id: 2, heading: 'Two', title: 'sub' },
      ]);
    });
  });
});

test('a table, column or join table of another name: the plan says that the old name stays, and what to do', async () => {
  const project = await newProject(OLD);
  await project.starts();
  expect((await project.run('plan')).out).not.toContain('Without effect');
  const named = {
    'author.yaml': OLD['author.yaml'].replace('friends: { kind', 'friends: { through: friendships, kind'),
    'book.yaml': OLD['book.yaml']
      .replace('Book\n', 'Book\ntable: volumes\n')
      .replace('author: { kind', 'author: { column: written_by, kind'),
    'tag.yaml': OLD['tag.yaml'].replace('books: { kind', 'books: { through: marks, kind'),
  };
  project.write(named);
  const unused = [
    '"through: friendships" of Author.friends (it stays authors_friends)',
    '"column: written_by" of Author.books (it stays author_id)',
    '"table: volumes" of Book (it stays books)',
    '"through: marks" of Book.tags (it stays books_tags)',
  ];
  const { code, out } = await project.run('plan');
  expect([code, out]).toEqual([0, expect.stringContaining('export the records, and import them into a new database')]);
  for (const one of unused) expect(out).toContain(one);
  expect(JSON.parse((await project.run('plan', '--json')).out).unused).toHaveLength(unused.length);
  const made = await newProject(named);
  await made.starts();
  expect((await made.run('plan')).out).not.toContain('Without effect');
  made.write(OLD);
  const defaults = [
    'the default through authors_friends of Author.friends (it stays friendships)',
    'the default column author_id of Author.books (it stays written_by)',
    'the default table books of Book (it stays volumes)',
    'the default through books_tags of Book.tags (it stays marks)',
  ];
  for (const one of defaults) expect((await made.run('plan')).out).toContain(one);
  await made.starts();
  expect(JSON.parse((await made.run('plan', '--json')).out).unused).toHaveLength(defaults.length);
});

test('names that would be the defaults, after a rename: they are chosen, and have no effect either', async () => {
  const book = (relations: string): string => `type: Book\nrelations:\n${relations}`;
  const tome = (words: string, more: string): string =>
    `type: Tome\nrenamedFrom: Book\n${words}relations:\n  by: { kind: belongsTo, type: Author, renamedFrom: author${more} }\n  labels: { kind: manyToMany, type: Author, renamedFrom: tags${more === '' ? '' : ', through: tomes_labels'} }\n`;
  const project = await newProject({
    'author.yaml': 'type: Author\n',
    'book.yaml': book('  author: { kind: belongsTo, type: Author }\n  tags: { kind: manyToMany, type: Author }\n'),
  });
  await project.starts();
  await project.starts({ 'book.yaml': tome('', '') });
  expect((await project.run('plan')).out).not.toContain('Without effect');
  project.write({ 'book.yaml': tome('table: tomes\n', ', column: by_id') });
  const { out } = await project.run('plan');
  for (const one of ['table: tomes', 'column: by_id', 'through: tomes_labels'])
    expect(out).toContain(`"${one}" of Tome`);
});
