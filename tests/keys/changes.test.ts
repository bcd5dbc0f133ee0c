/** Changes of what identifies records, and of tables whose records have no numbers. */
import { ask } from '../support/ask.ts';
import { useProjects } from '../support/project.ts';

const newProject = useProjects();

const schema = (identifier: string, unique = '') => ({
  'thing.yaml': `type: Thing
identifier: ${identifier}
fields: { name: { type: string${unique} } }
relations:
  parent: { kind: belongsTo, type: Thing }
  tags: { kind: manyToMany, type: Tag }
  parts: { kind: hasMany, type: Part, inverse: thing, owned: true }
`,
  'part.yaml': 'type: Part\nrelations: { thing: { kind: belongsTo, type: Thing, inverse: parts, required: true } }\n',
  'tag.yaml': 'type: Tag\nidentifier: { name: word, type: string }\n',
});

const [INTEGER, UUID, CODE] = ['{}', '{ type: uuid }', '{ type: string, examples: [one] }'];

interface Planned {
  readonly steps: readonly {
    readonly id: string;
    readonly state: string;
    readonly records: readonly { readonly identifiers: unknown }[];
  }[];
}

test.each([
  [INTEGER, UUID, 1],
  [UUID, CODE, '01890a5d-ac96-774b-bcce-b302099a8057'],
  [CODE, INTEGER, 'one'],
])('from %s to %s: refused where there are records, else done', async (before, after, id) => {
  const project = await newProject(schema(before));
  await project.serving(async (url) => {
    expect(await ask(url, 'POST /api/things', { id, name: 'x', tags: [] })).toMatchObject({ status: 201 });
  });
  project.write(schema(after));
  const plan = await project.run('plan', '--json');
  const { steps } = JSON.parse(plan.out) as Planned;
  const step = steps.find((one) => one.id === 'replace-identifier:Thing');
  expect(step).toMatchObject({ state: 'blocked', records: [{ identifiers: [id] }] });
  expect((await project.run('plan')).out).toMatch(/^x Turn the identifier of Thing from \w+ into \w+/m);
  await expect(project.starts()).rejects.toThrow('Turn the identifier of Thing');
  project.write(schema(before));
  await project.serving((url) => ask(url, `DELETE /api/things/${id}`));
  project.write(schema(after));
  await project.serving(async (url) => {
    const given = after === INTEGER ? {} : { id: after === UUID ? '01890a5d-ac96-774b-bcce-b302099a8057' : 'two' };
    const made = await ask(url, 'POST /api/things', { ...given, name: 'x', tags: [] });
    expect(made).toMatchObject({ status: 201, body: { name: 'x' } });
    const own = (made.body as { readonly id: string | number }).id;
    expect(typeof own).toBe(after === INTEGER ? 'number' : 'string');
    expect(await ask(url, 'POST /api/tags', { word: 'w' })).toMatchObject({ status: 201 });
    const linked = { parent: { id: own }, tags: [{ word: 'w' }] };
    expect(await ask(url, `PATCH /api/things/${own}`, { tags: linked.tags })).toMatchObject({
      body: { tags: [{ word: 'w' }] },
    });
    const child = await ask(url, 'POST /api/parts', { thing: { id: own } });
    expect(child).toMatchObject({ status: 201, body: { thing: { id: own } } });
  });
  const { out } = await project.run('plan', '--json');
  expect(JSON.parse(out)).toMatchObject({ steps: [] });
});

test('a table of other identifiers has the indexes that no descriptor names any more', async () => {
  const [before, after] = [schema(INTEGER, ', unique: true }, size: { type: integer, index: true'), schema(UUID)];
  const project = await newProject(before);
  await project.starts(before, after, after);
  expect(await project.run('plan')).toMatchObject({ code: 0 });
});

test.each(['', ', unique: true'])('seeds of a table of other identifiers, %j', async (unique) => {
  const project = await newProject(schema(INTEGER, unique));
  await project.starts();
  const { 'thing.yaml': thing, 'part.yaml': part, ...rest } = schema(CODE, unique);
  const seeded = {
    ...rest,
    'thing.yaml': `${thing}seed: [{ id: one, name: a }, { id: two, parent: { id: one } }]\n`,
    'part.yaml': `${part}seed: [{ id: 1, thing: { id: two } }]\n`,
  };
  project.write(seeded);
  expect(await project.run('plan')).toMatchObject({ code: 2, err: '' });
  await project.starts(seeded);
  expect(await project.run('plan')).toMatchObject({ code: 0 });
});

test.each([UUID, CODE])('columns that need every row are filled, though keys are %s', async (identifier) => {
  const project = await newProject(schema(identifier));
  const ids = Array.from({ length: 30 }, (_, at) =>
    identifier === UUID ? `00000000-0000-0000-0000-0000000000${String(at).padStart(2, '0')}` : `key ${at}`,
  );
  await project.serving((url) =>
    ask(
      url,
      'POST /api/things',
      ids.map((id) => ({ id, name: id })),
    ),
  );
  project.write({
    'thing.yaml': schema(identifier)['thing.yaml'].replace('type: string }', 'type: string, caseless: true }'),
  });
  await project.serving(async (url) => {
    const { body } = await ask(url, 'GET /api/things?_cnd[name]=KEY%201&fields=name');
    expect(body).toHaveLength(identifier === UUID ? 0 : 1);
    expect((await ask(url, 'GET /api/things')).body).toHaveLength(ids.length);
    expect(await ask(url, 'POST /api/things', { id: ids[0], name: 'new' })).toMatchObject({ status: 409 });
  });
});

test('a narrower pattern needs identifiers that match it', async () => {
  const project = await newProject(schema('{ type: string }'));
  await project.serving((url) => ask(url, 'POST /api/things', [{ id: 'ABC' }, { id: 'abc' }]));
  project.write(schema("{ type: string, pattern: '^[A-Z]+$', examples: [A] }"));
  const { steps } = JSON.parse((await project.run('plan', '--json')).out) as Planned;
  expect(steps).toMatchObject([
    { id: 'narrow-identifier:Thing', state: 'blocked', records: [{ identifiers: ['abc'] }] },
  ]);
  project.write(schema('{ type: string, maxLength: 100, by: client }'));
  const wider = JSON.parse((await project.run('plan', '--json')).out) as Planned;
  expect(wider).toMatchObject({ steps: [{ id: 'narrow-identifier:Thing', state: 'allow', records: [] }] });
});

test('only clients make identifiers any more', async () => {
  const project = await newProject(schema('{ type: uuid }'));
  await project.starts();
  project.write(schema('{ type: uuid, by: client }'));
  expect((await project.run('plan')).out).toContain(
    'Let only clients make identifiers of Thing: a create without one is refused',
  );
  await project.serving(async (url) => {
    expect(await ask(url, 'POST /api/things', { name: 'x' })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/id', code: 'required' }] },
    });
  });
});
