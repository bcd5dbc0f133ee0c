/** What refers to a record that is deleted does not prevent it if it is deleted with it, in whatever order constraints are checked. */
import { expect, test } from '@jest/globals';
import { ask } from '../support/ask.ts';
import { useProjects } from '../support/project.ts';

const newProject = useProjects();

const RELATIONS = {
  up: 'up: { kind: belongsTo, type: Node, onDelete: cascade }',
  see: 'see: { kind: belongsTo, type: Node, onDelete: restrict }',
} as const;

test.each([
  ['up', 'see'],
  ['see', 'up'],
] as const)('of links that are declared as %s, %s', async (first, second) => {
  const project = await newProject({
    'node.yaml': `type: Node\nrelations:\n  ${RELATIONS[first]}\n  ${RELATIONS[second]}\n`,
  });
  await project.serving(async (url) => {
    const link = (id: number) => ({ id });
    const chain = [{ id: 1 }, { id: 2, up: link(1) }, { id: 3, up: link(2), see: link(2) }];
    const other = { id: 4, see: link(2) };
    const make = async (...bodies: readonly object[]): Promise<void> => {
      for (const body of bodies) expect((await ask(url, 'POST /api/nodes', body)).status).toBe(201);
    };
    await make(...chain, other);
    const refused = await ask(url, 'DELETE /api/nodes/1');
    expect([refused.status, refused.body]).toMatchObject([409, { detail: 'Node 4 refers to Node 2' }]);
    expect((await ask(url, 'GET /api/nodes/3')).body).toMatchObject({ up: { id: 2 }, see: { id: 2 } });

    await ask(url, 'DELETE /api/nodes/4');
    expect((await ask(url, 'DELETE /api/nodes/1')).status).toBe(200);
    await make(...chain, { id: 5, up: link(3), see: link(3) });
    await ask(url, 'PATCH /api/nodes/3', { see: { id: 5 } });
    const headers = { prefer: 'max-affected=4' };
    const found = await ask(url, 'DELETE /api/nodes?_cnd[id]=1', undefined, headers);
    expect([found.status, found.body]).toEqual([200, { deleted: 1, affected: 4 }]);
    expect((await ask(url, 'GET /api/nodes')).body).toEqual([]);
  });
});
