/** A dry run says what the write then does: the same identifiers, the same faults in the same order. */
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { type Answer, ask } from '../support/ask.ts';
import { createProject, type Project } from '../support/project.ts';

const FILES = {
  'node.yaml': `type: Node
fields: { name: { type: string } }
relations:
  parent: { kind: belongsTo, type: Node, inverse: nodes, nested: write }
  nodes: { kind: hasMany, type: Node, inverse: parent, nested: write }
  other: { kind: belongsTo, type: Node, nested: write }
  peers: { kind: manyToMany, type: Node, nested: write }
  seats: { kind: hasMany, type: Seat, inverse: node, nested: write }
`,
  'seat.yaml': `type: Seat
fields: { name: { type: string } }
relations: { node: { kind: belongsTo, type: Node, inverse: seats, required: true, nested: write } }
unique: [[node, name]]
`,
};

describe('a dry run', () => {
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

  const short = (body: unknown): string => JSON.stringify(body).replaceAll(/n{100,}|m{100,}/g, 'long');
  const VIEW = 'include=parent,nodes.nodes,other,peers,seats';

  test.each<readonly [string, unknown, unknown?]>([
    ['a new parent', { name: 'a', parent: { name: 'b' } }],
    ['a new parent with further children', { parent: { nodes: [{ name: 'c' }] }, nodes: [{ name: 'd' }] }],
    ['new children of new children', { nodes: [{ nodes: [{ name: 'c' }] }, { nodes: [{}, {}] }] }],
    ['two new links', { parent: { parent: { name: 'above' } }, other: { name: 'beside' } }],
    ['a new pair with a parent', { peers: [{ parent: { name: 'p' } }, { name: 'q' }], other: {} }],
    ['an array', [{ parent: {} }, { name: 'a' }, { other: { nodes: [{}] } }]],
    ['seats of a new parent', { parent: { seats: [{ name: 'x' }, { name: 'y' }] }, seats: [{ name: 'z' }] }],
    ['an array with a given identifier', [{ id: 1000, parent: {} }, {}], [{ id: 2000 }, { parent: {} }]],
    ['long texts', { name: 'n'.repeat(50_000), parent: { name: 'm'.repeat(50_000) } }],
  ])('shows the identifiers of %s', async (_, first, second = first) => {
    for (const [view, body] of [
      ['', first],
      [VIEW, second],
    ]) {
      const dry = (await send(`POST /api/nodes?dryRun=true&${view}`, body)).body as { answer: { body: unknown } };
      const written = (await send(`POST /api/nodes?${view}`, body)).body;
      expect(short(written)).toBe(short(dry.answer.body));
    }
  });

  it('names the same record first of those that cannot be left out', async () => {
    const seats = ['e', 'b', 'd', 'a', 'c'].map((name) => ({ name }));
    const made = (await send('POST /api/nodes', { seats })).body as { id: number; seats: readonly { id: number }[] };
    const first = Math.min(...made.seats.map(({ id }) => id));
    // PostgreSQL then stores it behind the others, and finds it last unless asked for an order.
    await send(`PUT /api/nodes/${made.id}`, {
      seats: made.seats.map(({ id }) => (id === first ? { id, name: 'z' } : { id })),
    });
    const message = `Seat ${first} cannot be left out: it must belong to a record of Node`;
    for (const query of ['', '?dryRun=true']) {
      const { status, body } = await send(`PUT /api/nodes/${made.id}${query}`, { seats: [] });
      const { errors = [] } = body as { errors?: readonly { message: string }[] };
      expect([status, errors.map((fault) => fault.message)]).toEqual([422, [message]]);
    }
  });
});
