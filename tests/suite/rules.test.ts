/** Rules that the oracle of the suites once had otherwise than the service: for each a body, and the places that both must name. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { answer as oracle } from '../../engine/suite/oracle.ts';
import { createWorld } from '../../engine/suite/world.ts';
import { ask } from '../support/ask.ts';
import { exchange } from '../support/exchange.ts';
import { createProject } from '../support/project.ts';
import { loadModel } from '../support/model.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/nested';

const LEAF = `type: Leaf
relations:
  leaves: { kind: hasMany, type: Leaf, inverse: stem, owned: true }
  stem: { kind: belongsTo, type: Leaf, inverse: leaves }
  next: { kind: belongsTo, type: Leaf, nested: write }
  friend: { kind: belongsTo, type: Leaf }
  above: { kind: belongsTo, type: Leaf, inverse: below, acyclic: true, nested: write }
  below: { kind: hasMany, type: Leaf, inverse: above, nested: write }
fields:
  grade: { type: integer }
  most: { type: integer }
  least: { type: integer, readOnly: true, default: 1 }
  mark: { type: boolean, nullable: true, default: true }
  word: { type: string, unique: true }
checks:
  - must: { grade: { gte: { field: least } } }
  - must: { most: { gte: { field: grade } } }
`;
const model = loadModel(SCHEMA);
let server: TestServer;

beforeAll(async () => void (server = await startTestServer({ schemaDirectory: SCHEMA })));
afterAll(() => server.close());

interface Case {
  readonly type: string;
  readonly path: string;
  /** Its identifier is that of the record which it makes. */
  readonly body: JsonObject;
  readonly pointers: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'a value that does not fit its relation says nothing, so that no other place contradicts it': {
    type: 'Owner',
    path: 'owners',
    body: {
      id: 7,
      rank: 1,
      badge: 'none',
      friend: { id: 7, badge: null, friend: { id: 7, badge: { number: 1 } } },
    },
    pointers: ['/badge', '/friend/badge', '/friend/friend/badge'],
  },
  'an empty key is told where it stands, before the keys that follow it': {
    type: 'Thing',
    path: 'things',
    body: {
      id: 7,
      '': 1,
      more: 2,
      owner: { rank: 1, things: [{ id: 7, '': 3, more: 4 }] },
    },
    pointers: ['/', '/more', '/owner/things/0/', '/owner/things/0/more'],
  },
};

it.each(Object.entries(cases))('%s', async (_, { type: name, path, body, pointers }) => {
  const type = model.types.get(name);
  if (!type) throw new Error(`no type ${name}`);
  const { expect: said } = oracle(createWorld(), { type, method: 'POST', body });
  const answer = await ask(server.url, `POST /api/${path}`, body);
  const { errors = [] } = answer.body as { errors?: { pointer: string }[] };
  expect({ status: answer.status, pointers: errors.map(({ pointer }) => pointer) }).toEqual({ status: 422, pointers });
  expect(said.problem?.pointers).toEqual(pointers);
});

/** The last request is refused, and both say the same of it. The first ones make records with these identifiers. */
const refusals: Readonly<
  Record<string, readonly (readonly [method: string, id: number | undefined, body: JsonValue])[]>
> = {
  'a new record whose identifier is taken may name the children that are there as its own': [
    ['POST', undefined, { id: 1 }],
    ['POST', undefined, { id: 2, stem: { id: 1 } }],
    ['POST', undefined, { id: 1, leaves: [{ id: 2 }, {}] }],
  ],
  'of an array, a unique value that is taken is told before an identifier further on': [
    ['POST', undefined, { id: 1, word: 'a' }],
    ['POST', undefined, [{ word: 'a' }, {}, { id: 1 }]],
  ],
  'of an array, an identifier that is taken is told before a unique value further on': [
    ['POST', undefined, { id: 1, word: 'a' }],
    ['POST', undefined, [{}, { id: 1 }, { word: 'a' }]],
  ],
  'a record that an array both changes and deletes is named, before what keeps it from being deleted': [
    ['POST', undefined, { id: 1 }],
    ['POST', undefined, { id: 2, stem: { id: 1 } }],
    ['POST', undefined, { id: 3, next: { id: 2 } }],
    ['PATCH', undefined, [{ id: 1, leaves: [] }, { id: 2 }]],
  ],
  'a record that is deleted with its owner cannot be linked in the same body': [
    ['POST', undefined, { id: 1 }],
    ['POST', undefined, { id: 2, stem: { id: 1 } }],
    ['POST', undefined, { id: 3, stem: { id: 2 } }],
    ['PATCH', 1, { leaves: [], next: { id: 3 } }],
  ],
  'a record that two places put below itself is refused at the first of them': [
    ['POST', undefined, { id: 1 }],
    ['PATCH', 1, { below: [{ id: 1 }], above: { id: 1 } }],
    ['PATCH', 1, { above: { id: 1 }, below: [{ id: 1 }] }],
  ],
  'a record that the body deletes puts no other below itself': [
    ['POST', undefined, { id: 1 }],
    ['POST', undefined, { id: 2, stem: { id: 1 }, above: { id: 1 } }],
    ['PATCH', 1, { leaves: [], above: { id: 2 } }],
  ],
  'a record that is only linked holds null, not the default of its field': [
    ['POST', undefined, { id: 1, mark: null }],
    ['POST', undefined, { id: 2, friend: { id: 1, mark: true } }],
  ],
  'a read-only value that does not fit its field is refused before the record is looked for': [
    ['PUT', 7, { least: '1' }],
  ],
  'a record of which the body says two things is held to no check that compares them, wherever it is only linked': [
    ['POST', undefined, { id: 1, grade: 1 }],
    ['PATCH', 1, { friend: { id: 1, grade: 5 }, next: { id: 1, grade: 9, most: 7 } }],
    ['PATCH', 1, { next: { id: 1, grade: 9, most: 7 }, friend: { id: 1, grade: 5 } }],
    ['POST', undefined, [{ friend: { id: 1, grade: 5 } }, { next: { id: 1, grade: 9, most: 7 } }]],
    ['POST', undefined, { friend: { id: 1, grade: 5 }, next: { next: { id: 1, grade: 9, most: 7 } } }],
    ['POST', undefined, { next: { friend: { id: 1, least: 1 }, next: { id: 1, grade: 0, least: 2 } } }],
  ],
  'a read-only value that does not fit its field is not compared': [['POST', undefined, { grade: 0, least: '1' }]],
};

const uniqueRefusals: typeof refusals = {
  'a value that must be unique is null, not the default of its field': [
    ['POST', undefined, { id: 1, word: 'a', code: 'x' }],
    ['POST', undefined, { id: 2, word: 'b', code: null }],
    ['PATCH', 2, { word: 'a' }],
  ],
};
const CODED = LEAF.replace('fields:', 'fields:\n  code: { type: string, unique: true, nullable: true, default: x }');

it.each([
  ...Object.entries(refusals).map(([title, requests]) => [title, requests, LEAF] as const),
  ...Object.entries(uniqueRefusals).map(([title, requests]) => [title, requests, CODED] as const),
])('%s', async (_, requests, descriptor) => {
  const project = await createProject({ 'leaf.yaml': descriptor });
  const type = loadModel(project.directory).types.get('Leaf');
  if (!type) throw new Error('no type Leaf');
  const world = createWorld();
  const answers = await project.serving(async (url) => {
    const all: unknown[] = [];
    for (const [method, id, body] of requests) {
      const path = `/api/${type.path}${id === undefined ? '' : `/${id}`}`;
      const { status, body: got } = await ask(url, `${method} ${path}`, body);
      const { type: problem, errors = [] } = got as { type?: string; errors?: { pointer: string }[] };
      const { expect: said } = oracle(world, { type, method, body, ...(id === undefined ? {} : { id }) });
      const places = errors.map(({ pointer }) => pointer);
      // Of a unique value in an array, the oracle does not say the place.
      all.push([
        [status, problem, places],
        [said.status, said.problem && `urn:problem:${said.problem.code}`, said.problem?.pointers ?? places],
      ]);
    }
    return all;
  });
  await project.remove();
  for (const [got, said] of answers as (readonly [unknown, unknown])[]) expect(got).toEqual(said);
  const [last] = (answers.at(-1) as readonly [readonly [number]]) ?? [];
  expect(last?.[0]).toBeGreaterThanOrEqual(400);
});

it('a deletion by a filter counts what goes with its records, also where these go with each other', async () => {
  const project = await createProject({ 'leaf.yaml': LEAF });
  const path = loadModel(project.directory).types.get('Leaf')?.path ?? '';
  await project.serving(async (url) => {
    for (const body of [{ id: 1 }, ...[2, 3, 4].map((id) => ({ id, stem: { id: 1 } }))])
      expect((await ask(url, `POST /api/${path}`, body)).status).toBe(201);
    const remove = async (most: number): Promise<number> => {
      const headers = { prefer: `max-affected=${most}` };
      return (await exchange(url, `DELETE /api/${path}?_cnd[id][in]=1&_cnd[id][in]=2`, { headers })).status;
    };
    expect([await remove(3), await remove(4)]).toEqual([409, 200]);
  });
  await project.remove();
});
