/** The recipes of docs/reference/changes.md, carried out as they are written. */
import { readFileSync } from 'node:fs';
import { ask } from '../support/ask.ts';
import { useProjects } from '../support/project.ts';

const projectOf = useProjects();

const recipes = (readFileSync('docs/reference/changes.md', 'utf8').split('## Recipes\n')[1] ?? '')
  .split('\n## ', 1)[0]
  ?.split(/\n(?=\*\*)/);

/** What a recipe allows, in the order in which it names the steps. */
const allowed = (title: string): readonly string[] =>
  [...(recipes?.find((text) => text.includes(`**${title}.**`)) ?? '').matchAll(/--allow ([\w:.-]+)/g)].map(
    ([, step = '']) => step,
  );

const person = (...fields: readonly string[]): string => `type: Person\nfields:\n  ${fields.join('\n  ')}\n`;
const NAME = 'name: { type: string, maxLength: 100 }';
const field = (name: string, rest = ''): string => `${name}: { type: string, maxLength: 50${rest} }`;
const SPLIT = {
  old: { 'person.yaml': person(NAME) },
  both: { 'person.yaml': person(NAME, field('first_name'), field('last_name')) },
  done: { 'person.yaml': person(field('first_name', ', required: true'), field('last_name', ', required: true')) },
};

async function copyNames(url: string): Promise<void> {
  const { body } = await ask(url, 'GET /api/people?fields=name');
  for (const { id, name } of body as readonly { readonly id: number; readonly name: string }[]) {
    const [first_name, last_name] = name.split(' ');
    expect((await ask(url, `PATCH /api/people/${id}`, { first_name, last_name })).status).toBe(200);
  }
}

const PEOPLE = [{ name: 'Ada Lovelace' }, { name: 'Grace Hopper' }];
const EXPECTED = [
  { id: 1, first_name: 'Ada', last_name: 'Lovelace' },
  { id: 2, first_name: 'Grace', last_name: 'Hopper' },
];

test('split a field', async () => {
  const project = await projectOf(SPLIT.old);
  await project.serving((url) => ask(url, 'POST /api/people', PEOPLE));
  project.write(SPLIT.both);
  await project.serving(copyNames);
  project.write(SPLIT.done);
  const [first = '', last = '', drop = ''] = allowed('Split a field');
  expect(drop).toBe('drop-field:Person.name');
  expect(await project.run('apply', '--allow', first, '--allow', last)).toMatchObject({ code: 0 });
  expect(await project.serving((url) => ask(url, 'GET /api/people'))).toMatchObject({ body: EXPECTED });
  expect(await project.run('apply', '--allow', drop)).toMatchObject({ code: 0 });
  expect(await project.run('plan')).toMatchObject({ code: 0, out: expect.not.stringContaining('drop-field') });
});

test('move a field to another type', async () => {
  const desk = (fields: string): string =>
    `type: Desk\n${fields}relations: { office: { kind: belongsTo, type: Office, nested: write } }\n`;
  const office = (more: string): string => `type: Office\nfields: { title: { type: string }${more} }\n`;
  const PHONE = 'fields: { phone: { type: string } }\n';
  const project = await projectOf({ 'desk.yaml': desk(PHONE), 'office.yaml': office('') });
  await project.serving((url) => ask(url, 'POST /api/desks', { phone: '030', office: { title: 'North' } }));
  project.write({ 'office.yaml': office(', phone: { type: string }') });
  const copied = { office: { id: 1, phone: '030' } };
  await project.serving((url) => ask(url, 'PATCH /api/desks/1', copied));
  project.write({ 'desk.yaml': desk('') });
  await project.starts();
  expect(await project.run('apply', '--allow', 'drop-field:Desk.phone')).toMatchObject({ code: 0 });
  expect((await project.serving((url) => ask(url, 'GET /api/desks/1'))).body).toEqual({
    id: 1,
    office: { id: 1, title: 'North', phone: '030' },
  });
});

test('from belongsTo to manyToMany', async () => {
  const book = (...relations: readonly string[]): string => `type: Book\nrelations:\n  ${relations.join('\n  ')}\n`;
  const [AUTHOR, AUTHORS] = [
    'author: { kind: belongsTo, type: Author }',
    'authors: { kind: manyToMany, type: Author }',
  ];
  const AUTHOR_TYPE = 'type: Author\nfields: { name: { type: string } }\n';
  const project = await projectOf({ 'author.yaml': AUTHOR_TYPE, 'book.yaml': book(AUTHOR) });
  await project.serving(async (url) => {
    await ask(url, 'POST /api/authors', { id: 7, name: 'Ada' });
    await ask(url, 'POST /api/books', { author: { id: 7 } });
  });
  project.write({ 'book.yaml': book(AUTHOR, AUTHORS) });
  const copied = { authors: [{ id: 7 }] };
  expect(await project.serving((url) => ask(url, 'PATCH /api/books/1', copied))).toMatchObject({ status: 200 });
  project.write({ 'book.yaml': book(AUTHORS) });
  await project.starts();
  const [drop = ''] = allowed('From belongsTo to manyToMany');
  expect(await project.run('apply', '--allow', drop)).toMatchObject({ code: 0 });
  expect((await project.serving((url) => ask(url, 'GET /api/books/1'))).body).toEqual({
    id: 1,
    authors: [{ id: 7, name: 'Ada' }],
  });
});

describe('a database that is several versions behind', () => {
  test('a name that was changed twice', async () => {
    const project = await projectOf({ 'book.yaml': 'type: Book\nfields: { title: { type: string } }\n' });
    await project.serving((url) => ask(url, 'POST /api/books', { title: 'Emma' }));
    const headline = (former: string): string =>
      `type: Book\nfields: { headline: { type: string, renamedFrom: ${former} } }\n`;
    project.write({ 'book.yaml': headline('heading') });
    expect(await project.run('plan')).toMatchObject({ code: 1 });
    project.write({ 'book.yaml': headline('title') });
    expect((await project.serving((url) => ask(url, 'GET /api/books/1'))).body).toEqual({ id: 1, headline: 'Emma' });
  });

  test('values that were copied in between: the version with both fields comes first', async () => {
    const project = await projectOf(SPLIT.old);
    await project.serving((url) => ask(url, 'POST /api/people', PEOPLE));
    project.write(SPLIT.done);
    expect(await project.run('plan')).toMatchObject({ code: 1 });
    project.write(SPLIT.both);
    await project.serving(copyNames);
    project.write(SPLIT.done);
    const marks = allowed('Split a field').flatMap((step) => ['--allow', step]);
    expect(await project.run('apply', ...marks)).toMatchObject({ code: 0 });
    expect((await project.serving((url) => ask(url, 'GET /api/people'))).body).toEqual(EXPECTED);
  });
});

test('a relation that is kept restricts deletions, which say so, until it is dropped', async () => {
  const shelf = { 'shelf.yaml': 'type: Shelf\n' };
  const project = await projectOf({
    ...shelf,
    'book.yaml': 'type: Book\nrelations: { shelf: { kind: belongsTo, type: Shelf } }\n',
  });
  await project.serving(async (url) => {
    await ask(url, 'POST /api/shelves', {});
    await ask(url, 'POST /api/books', { shelf: { id: 1 } });
  });
  project.write({ 'book.yaml': 'type: Book\n' });
  expect(await project.run('plan')).toMatchObject({
    code: 0,
    out: expect.stringContaining('drop-relation:Book.shelf'),
  });
  const { status, body } = await project.serving((url) => ask(url, 'DELETE /api/shelves/1'));
  expect([status, body]).toEqual([
    409,
    expect.objectContaining({ detail: expect.stringContaining('links that were kept') }),
  ]);
  expect(await project.run('apply', '--allow', 'drop-relation:Book.shelf')).toMatchObject({ code: 0 });
  expect((await project.serving((url) => ask(url, 'DELETE /api/shelves/1'))).status).toBe(200);
});
