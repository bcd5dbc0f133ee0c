/** Records that go with the one above them, in a long chain. */
import { ask } from '../support/ask.ts';
import { databaseKinds } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const FILES = {
  'node.yaml': `type: Node
relations:
  up: { kind: belongsTo, type: Node, onDelete: cascade }
  root: { kind: belongsTo, type: Node, onDelete: cascade }
`,
  'link.yaml': 'type: Link\nrelations:\n  up: { kind: belongsTo, type: Ring, onDelete: cascade, required: true }\n',
  'ring.yaml': 'type: Ring\nrelations:\n  up: { kind: belongsTo, type: Link, onDelete: cascade }\n',
};

const LENGTH = 1100;

describe.each(databaseKinds)('1,100 records on %s', (kind) => {
  let project: Project;
  let server: TestServer;
  beforeAll(async () => {
    project = await createProject(FILES);
    server = await startTestServer({ schemaDirectory: project.directory, kind });
  });
  afterAll(async () => {
    await server?.close();
    await project?.remove();
  });

  async function send(request: string, items: readonly object[]): Promise<void> {
    for (const some of [items.slice(0, 550), items.slice(550)])
      if (some.length > 0)
        expect((await ask(server.url, `${request}?include=&fields=id`, some)).status).toBeLessThan(300);
  }

  const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

  /** Each record is below the one before. */
  const chain = (more: (id: number) => object = () => ({})): Promise<void> =>
    send(
      'POST /api/nodes',
      numbers(LENGTH).map((id) => ({ id, ...(id > 1 ? { up: { id: id - 1 } } : {}), ...more(id) })),
    );

  /** Two types in turn, of which one must be below the other. */
  async function rings(): Promise<void> {
    const ids = numbers(LENGTH / 2);
    await send(
      'POST /api/rings',
      ids.map((id) => ({ id })),
    );
    await send(
      'POST /api/links',
      ids.map((id) => ({ id, up: { id } })),
    );
    await send(
      'PATCH /api/rings',
      ids.map((id) => ({ id, up: { id: id === 1 ? ids.length : id - 1 } })),
    );
  }

  it.each<[title: string, path: string, make: () => Promise<void>, request: string]>([
    ['a chain', 'nodes', chain, 'DELETE /api/nodes/1'],
    ['a chain that a filter finds', 'nodes', chain, 'DELETE /api/nodes?_cnd[id][gte]=1'],
    [
      'a chain of which each is below the first',
      'nodes',
      () => chain((id) => (id > 1 ? { root: { id: 1 } } : {})),
      'DELETE /api/nodes/1',
    ],
    [
      'a cycle',
      'nodes',
      () => chain().then(() => send('PATCH /api/nodes', [{ id: 1, up: { id: LENGTH } }])),
      'DELETE /api/nodes/7',
    ],
    ['a cycle of required links', 'links', rings, 'DELETE /api/links/1'],
  ])('%s', async (_, path, make, request) => {
    await make();
    const prefer = request.includes('?') ? { prefer: `max-affected=${2 * LENGTH}` } : undefined;
    const tried = await ask(server.url, `${request}${prefer ? '&' : '?'}dryRun=true`, undefined, prefer);
    expect(tried).toMatchObject({ status: 200 });
    const { effects } = tried.body as { effects: readonly { effect: string; count: number }[] };
    expect(effects.reduce((sum, { effect, count }) => (effect === 'deleted' ? sum + count : 0), 0)).toBe(LENGTH);
    expect(await ask(server.url, request, undefined, prefer)).toMatchObject({ status: 200 });
    expect((await ask(server.url, `GET /api/${path}?_cnd[limit]=0,1`)).body).toEqual([]);
  });
});
