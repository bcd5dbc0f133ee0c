import { createToken, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import { exchangeJson } from '../support/exchange.ts';
import { createProject } from '../support/project.ts';
import { startTestServer, useServer } from '../support/server.ts';

const FILES = {
  'owner.yaml': `type: Owner
preconditions: required
fields: { name: { type: string }, phone: { type: string } }
relations:
  pets: { kind: hasMany, type: Pet, inverse: owner }
  notes: { kind: hasMany, type: Note, inverse: owner, owned: true }
  card: { kind: hasOne, type: Card, inverse: owner, owned: true }
  locker: { kind: hasOne, type: Locker, inverse: owner }
`,
  'pet.yaml': `type: Pet
preconditions: required
fields: { name: { type: string }, data: { type: any }, total: { type: integer, readOnly: true, default: 0 } }
relations:
  owner: { kind: belongsTo, type: Owner, inverse: pets }
  vet: { kind: belongsTo, type: Vet, nested: write }
  hidden: { kind: belongsTo, type: Vet, shown: false }
  tags: { kind: manyToMany, type: Tag, inverse: pets }
`,
  'note.yaml': `type: Note
operations: []
fields: { text: { type: string } }
relations: { owner: { kind: belongsTo, type: Owner, inverse: notes, required: true } }
`,
  'card.yaml': `type: Card
operations: []
fields: { code: { type: string } }
relations: { owner: { kind: belongsTo, type: Owner, inverse: card } }
`,
  'locker.yaml': `type: Locker
fields: { code: { type: string } }
relations: { owner: { kind: belongsTo, type: Owner, inverse: locker } }
`,
  'vet.yaml': 'type: Vet\nidentifier: { name: vet_id }\nfields: { name: { type: string, required: true } }\n',
  'tag.yaml': `type: Tag
fields: { label: { type: string } }
relations: { pets: { kind: manyToMany, type: Pet, inverse: tags } }
`,
  'odd.yaml': `type: Odd
identifier: { name: vet_id }
fields: { owner_id: { type: string } }
relations:
  owner: { kind: belongsTo, type: Owner, column: owner_ref }
  vet: { kind: belongsTo, type: Vet, column: vet_ref }
`,
};
const server = useServer({ files: FILES });

type Json = Readonly<Record<string, ReturnType<typeof JSON.parse>>>;
const send = async (call: string, body?: object): Promise<{ status: number; json: Json }> => {
  const { status, text } = await exchangeJson(server.url, call, body);
  return { status, json: JSON.parse(text) };
};
const ok = async (call: string, body?: object): Promise<Json> => {
  const { status, json } = await send(call, body);
  if (status >= 300) throw new Error(JSON.stringify(json));
  return json;
};
const colleague = (path: string, body: object): Promise<Json> =>
  exchangeJson(server.url, `PATCH /api/${path}`, body, { 'if-match': '*' }).then(({ status, text }) => {
    if (status !== 200) throw new Error(text);
    return JSON.parse(text);
  });

let owner: Json;
let other: Json;
let third: Json;
beforeEach(async () => {
  owner = await ok('POST /api/owners', {
    name: 'Ann',
    notes: [{ text: 'first' }],
    pets: [],
    card: { code: 'c' },
  });
  other = await ok('POST /api/owners', { name: 'Bob' });
  third = await ok('POST /api/owners', { name: 'Cid' });
});

describe.each([
  ['json-server', '_embed='],
  ['simple-rest', 'embed='],
])('a form of /%s', (root, word) => {
  const embed = (...names: readonly string[]): string =>
    root === 'json-server'
      ? names.map((name) => `${word}${name}`).join('&')
      : `${word}${encodeURIComponent(JSON.stringify(names))}`;
  const at = (path: string): string => `/${root}/${path}`;

  test('shows own fields and the identifiers of linked records', async () => {
    const pet = await ok(`POST ${at('pets')}`, {
      name: 'Rex',
      owner_id: owner['id'],
      vet: { name: 'Dr' },
      tags: [{ label: 'x' }].slice(1),
    });
    expect(pet).toStrictEqual({
      id: pet['id'],
      name: 'Rex',
      data: null,
      total: 0,
      owner_id: owner['id'],
      vet_id: pet['vet_id'],
      owner: { id: owner['id'] },
      vet: { vet_id: pet['vet_id'] },
    });
    expect(await ok(`GET ${at('pets')}/${pet['id']}`)).toStrictEqual(pet);
    const shown = await ok(`GET ${at('owners')}/${owner['id']}`);
    expect(shown).toStrictEqual({ id: owner['id'], name: 'Ann', phone: null, locker: null });
    const list: unknown = await ok(`GET ${at('pets')}`);
    expect(list).toContainEqual(pet);
  });

  test('saved unchanged after a change of a colleague loses nothing of sets and parts', async () => {
    const path = `owners/${owner['id']}`;
    for (const search of ['', `?${embed('notes', 'pets', 'card')}`]) {
      const form = await ok(`GET ${at(path)}${search}`);
      await colleague(path, { notes: [{ text: 'of a colleague' }, { text: 'another' }], card: { code: 'new' } });
      await ok('POST /api/pets', { name: 'Tom', owner: { id: owner['id'] } });
      const before = await ok(`GET /api/${path}`);
      await ok(`PUT ${at(path)}`, form);
      expect(await ok(`GET /api/${path}`)).toEqual(before);
      await ok(`PUT ${at(path)}`, { ...form, name: `${form['name']}!` });
      expect(await ok(`GET /api/${path}`)).toEqual({ ...before, name: `${form['name']}!` });
    }
  });

  test('changes sets that its own request shows', async () => {
    const path = `owners/${owner['id']}?${embed('notes')}`;
    const form = await ok(`GET ${at(path)}`);
    const saved = await ok(`PUT ${at(path)}`, { ...form, notes: [...form['notes'], { text: 'second' }] });
    expect(saved['notes'].map(({ text }: Json) => text)).toEqual(['first', 'second']);
  });

  test('is not refused for copies of linked records that are out of date', async () => {
    const { id } = await ok('POST /api/pets', {
      name: 'Rex',
      owner: { id: owner['id'] },
      vet: { name: 'Dr' },
      tags: [await ok('POST /api/tags', { label: 'x' })],
    });
    for (const search of ['', `?${embed('owner', 'vet', 'tags')}`]) {
      const form = await ok(`GET ${at('pets')}/${id}?${embed('owner', 'vet', 'tags')}`);
      await colleague(`owners/${owner['id']}`, { name: 'Anna' });
      await colleague(`tags/${form['tags'][0].id}`, { label: `${form['tags'][0].label}!` });
      expect((await ok(`PUT ${at('pets')}/${id}${search}`, { ...form, name: 'Max' }))['name']).toBe('Max');
      // An input of "owner.id" leaves the other name beside the new identifier.
      const moved = { ...form, name: 'Max', owner: { ...form['owner'], id: other['id'] } };
      expect((await ok(`PUT ${at('pets')}/${id}${search}`, moved))['owner_id']).toBe(other['id']);
      expect((await ok(`GET /api/owners/${other['id']}`))['name']).toBe('Bob');
      await ok(`PUT ${at('pets')}/${id}`, { owner_id: owner['id'] });
      await colleague(`owners/${owner['id']}`, { name: 'Ann' });
    }
    const vet = await ok(`GET ${at('pets')}/${id}?${embed('vet')}`);
    const saved = await ok(`PUT ${at('pets')}/${id}?${embed('vet')}`, { ...vet, vet: { ...vet['vet'], name: 'New' } });
    expect(saved['vet'].name).toBe('New');
  });

  test('links by either name, whichever has changed', async () => {
    const form = await ok(`POST ${at('pets')}`, { name: 'Rex', owner: { id: owner['id'] } });
    const path = at(`pets/${form['id']}`);
    const ownerAfter = async (body: object): Promise<unknown> => (await ok(`PUT ${path}`, body))['owner_id'];
    expect(await ownerAfter({ ...form, owner_id: other['id'] })).toBe(other['id']);
    expect(await ownerAfter({ ...form, owner: { id: owner['id'] }, owner_id: other['id'] })).toBe(owner['id']);
    expect(await ownerAfter({ ...form, owner_id: null })).toBe(null);
    expect(await ownerAfter({ owner_id: owner['id'] })).toBe(owner['id']);
    expect(await ownerAfter({ ...form, owner: null })).toBe(null);
    expect(await ownerAfter({ owner_id: owner['id'] })).toBe(owner['id']);
    expect(await ownerAfter({ ...form, owner: { id: null } })).toBe(null);
    expect(await ownerAfter({ owner_id: owner['id'] })).toBe(owner['id']);
    expect(await ownerAfter({ ...form, owner: { id: null, name: 'Ann' } })).toBe(null);
    expect(await ownerAfter({ owner: { id: owner['id'] } })).toBe(owner['id']);
    expect((await ok(`POST ${at('pets')}`, { name: 'x', owner_id: owner['id'], owner: null }))['owner_id']).toBe(
      owner['id'],
    );
    expect((await ok(`PUT ${path}`, { name: 'y' }))['owner_id']).toBe(owner['id']);
    const { status, json } = await send(`PUT ${path}`, { owner_id: other['id'], owner: { id: third['id'] } });
    expect([status, json['errors'][0]]).toEqual([
      422,
      { pointer: '/owner_id', code: 'contradiction', message: expect.stringContaining('"owner_id" and "owner"') },
    ]);
  });

  test.each<[body: object, pointer: string, message: string]>([
    [{ owner_id: 'x' }, '/owner_id', '"owner_id" must be an identifier'],
    [{ owner_id: 999_999 }, '/owner_id', 'no Owner 999999'],
    [{ owner: { id: 999_999 } }, '/owner/id', 'no Owner 999999'],
    [{ vet_id: 1.5 }, '/vet_id', '"vet_id" must be an identifier'],
    [{ vet_id: '' }, '/vet_id', '"vet_id" must be an identifier'],
    [{ hidden_id: 1 }, '/hidden_id', 'Unknown key "hidden_id"'],
    [{ owner_idd: 1 }, '/owner_idd', 'Unknown key "owner_idd"; did you mean "owner_id"?'],
  ])('%j is refused at %s', async (body, pointer, message) => {
    const { status, json } = await send(`POST ${at('pets')}`, body);
    expect(status).toBe(422);
    expect(json['errors']).toMatchObject([{ pointer, message: expect.stringContaining(message) }]);
  });

  test('a field keeps its name where a linked record would have the same', async () => {
    const vet = await ok('POST /api/vets', { name: 'Dr' });
    const odd = await ok(`POST ${at('odds')}`, {
      owner_id: 'text',
      owner: { id: owner['id'] },
      vet: { vet_id: vet['vet_id'] },
    });
    expect(odd).toStrictEqual({
      id: odd['id'],
      owner_id: 'text',
      owner: { id: owner['id'] },
      vet: { vet_id: vet['vet_id'] },
    });
  });

  test('is not refused for a read-only value that has changed since', async () => {
    const form = await ok(`POST ${at('pets')}`, { name: 'Rex', total: 0 });
    expect(await ok(`PUT ${at('pets')}/${form['id']}`, { ...form, name: 'Max', total: 7 })).toStrictEqual({
      ...form,
      name: 'Max',
    });
    expect((await send(`POST ${at('pets')}`, { total: 7 })).json['errors'][0]).toMatchObject({ pointer: '/total' });
  });

  test('any value of a record stays as it was written', async () => {
    const { text } = await exchangeJson(server.url, `POST ${at('pets')}`, { data: { x: 1 }, owner_id: owner['id'] });
    const { id } = JSON.parse(text);
    const kept = '{"b":1.50,"a":1e2}';
    const put = await fetch(server.url + at(`pets/${id}`), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: `{"data":${kept},"owner_id":null,"owner":{"id":${owner['id']},"name":"old"}}`,
    });
    expect(await put.text()).toContain(`"data":${kept},"total":0,"owner_id":null`);
  });

  test('lists are filtered and sorted by the identifiers of linked records', async () => {
    const owners = [other['id'], owner['id']];
    for (const id of owners) await ok(`POST ${at('pets')}`, { name: 'Rex', owner_id: id });
    const search = (more: string): string =>
      root === 'json-server'
        ? `?owner_id=${owners.join('&owner_id=')}${more}`
        : `?filter=${encodeURIComponent(JSON.stringify({ owner_id: owners }))}${more}`;
    const sort = root === 'json-server' ? '&_sort=owner_id&_order=desc' : '&sort=["owner_id","DESC"]';
    const list = (await ok(`GET ${at('pets')}${search(sort)}`)) as unknown as readonly Json[];
    expect(list.map(({ owner_id: id }) => id)).toEqual(owners);
  });

  test('a token learns nothing of links to records that it may not read', async () => {
    const [pets, every] = [createToken(), createToken()];
    const tokens = [
      tokenLine({ name: 'pets', read: new Set(), write: parseTypes('Pet') }, pets),
      tokenLine({ name: 'every', read: new Set(), write: parseTypes('*') }, every),
    ];
    const project = await createProject(FILES);
    await using guarded = await startTestServer({
      schemaDirectory: project.directory,
      settings: { tokens: tokens.join(';') },
    });
    const as = (token: string, call: string, body?: object) =>
      exchangeJson(guarded.url, call, body, { authorization: `Bearer ${token}` });
    const { id } = JSON.parse((await as(every, 'POST /api/owners', { name: 'Ann' })).text);
    const pet = JSON.parse((await as(every, `POST ${at('pets')}`, { name: 'Rex', owner_id: id })).text);
    const path = at(`pets/${pet.id}`);
    expect(pet.owner_id).toBe(id);
    expect(JSON.parse((await as(pets, `GET ${path}`)).text)).toStrictEqual({
      id: pet.id,
      name: 'Rex',
      data: null,
      total: 0,
    });
    const put = await as(pets, `PUT ${path}`, { name: 'Max', owner_id: null });
    expect([put.status, JSON.parse(put.text).errors[0].pointer]).toEqual([422, '/owner_id']);
    expect((await as(pets, `PUT ${path}`, { id: pet.id, name: 'Max', data: null })).status).toBe(200);
    expect(JSON.parse((await as(every, `GET ${path}`)).text)).toStrictEqual({ ...pet, name: 'Max' });
    await project.remove();
  });
});
