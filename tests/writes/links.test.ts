/** A link names a record that was there before the request, whichever identifiers the service assigns. */
import { type Answer, ask } from '../support/ask.ts';
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { createProject, type Project } from '../support/project.ts';

const FILES = {
  'node.yaml': `type: Node
fields: { name: { type: string } }
relations:
  parent: { kind: belongsTo, type: Node, nested: write }
  above: { kind: belongsTo, type: Node, acyclic: true }
  tags: { kind: manyToMany, type: Tag, nested: write }
  peers: { kind: manyToMany, type: Node }
  leaves: { kind: hasMany, type: Leaf, inverse: node, owned: true }
`,
  'leaf.yaml': `type: Leaf
path: leaves
fields: { name: { type: string } }
relations:
  node: { kind: belongsTo, type: Node, inverse: leaves, required: true }
  twin: { kind: belongsTo, type: Leaf }
  tag: { kind: belongsTo, type: Tag, nested: write }
`,
  'tag.yaml': `type: Tag
fields: { word: { type: string } }
relations: { node: { kind: belongsTo, type: Node, nested: write } }
`,
};

/** The identifiers that the sequences would assign next. */
interface Next {
  readonly node: number;
  readonly leaf: number;
  readonly tag: number;
}

type Body = (next: Next) => unknown;

const BODIES: Readonly<Record<string, Body>> = {
  'itself as parent': ({ node: id }) => ({ parent: { id } }),
  'itself in an acyclic relation': ({ node: id }) => ({ above: { id } }),
  'itself in a set': ({ node: id }) => ({ peers: [{ id }] }),
  'the new parent beside it': ({ node: id }) => ({ parent: {}, peers: [{ id }] }),
  'itself from a new parent': ({ node }) => ({ parent: { above: { id: node + 1 } } }),
  'the first new leaf from the second': ({ leaf: id }) => ({ leaves: [{ name: 'a' }, { twin: { id } }] }),
  'the second new leaf from the first': ({ leaf }) => ({ leaves: [{ twin: { id: leaf + 1 } }, { name: 'b' }] }),
  'itself from a new tag of a new leaf': ({ node: id }) => ({ leaves: [{ tag: { node: { id } } }] }),
  'a new tag of its set from a leaf': ({ tag: id }) => ({ tags: [{ word: 'w' }], leaves: [{ tag: { id } }] }),
  'the first of an array from the second': ({ node: id }) => [{ name: 'a' }, { parent: { id } }],
  'itself in an array of one': ({ node: id }) => [{ parent: { id } }],
};

describe('a link to an identifier that this request would assign', () => {
  let project: Project;
  let service: Serving;
  beforeAll(async () => {
    project = await createProject(FILES);
    service = await serve({ ...readSettings(project.environment), shutdownTimeout: 1000 });
  });
  afterAll(async () => {
    await service.close();
    await project.remove();
  });
  const send = (title: string, body?: unknown): Promise<Answer> => ask(service.url, title, body);

  const refused = ({ status, body }: Answer): unknown => {
    const { type, errors = [] } = body as { type?: string; errors?: readonly { code: string }[] };
    return [status, type, errors.map(({ code }) => code)];
  };
  const nextOf = async (): Promise<Next> => {
    const { body } = await send('POST /api/nodes?include=leaves.tag', { leaves: [{ tag: {} }] });
    const { id, leaves } = body as { id: number; leaves: readonly { id: number; tag: { id: number } }[] };
    const [leaf = { id: 0, tag: { id: 0 } }] = leaves;
    for (const path of [`nodes/${id}`, `tags/${leaf.tag.id}`]) await send(`DELETE /api/${path}`);
    return { node: id + 1, leaf: leaf.id + 1, tag: leaf.tag.id + 1 };
  };
  const everything = (): Promise<unknown> =>
    Promise.all(['nodes', 'leaves', 'tags'].map(async (path) => (await send(`GET /api/${path}`)).body));

  test.each(Object.entries(BODIES))('is refused: %s', async (_, bodyOf) => {
    const body = bodyOf(await nextOf());
    for (const path of ['/api/nodes?dryRun=true', '/api/nodes'])
      expect(refused(await send(`POST ${path}`, body))).toEqual([422, 'urn:problem:invalid-reference', ['not-found']]);
    expect(await everything()).toEqual([[], [], []]);
  });

  it('is no fault of the next request, which finds the record', async () => {
    const { id } = (await send('POST /api/nodes', { name: 'first' })).body as { id: number };
    const { status, body } = await send('POST /api/nodes', { parent: { id }, peers: [{ id }], leaves: [{}] });
    expect([status, body]).toMatchObject([201, { parent: { id }, peers: [{ id }], leaves: [{}] }]);
  });
});
