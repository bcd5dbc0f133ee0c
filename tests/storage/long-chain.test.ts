/** Records that go with the one above them, in a long chain. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask } from '../support/ask.ts';
import { databaseKinds } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const FILES = {
  'node.yaml': 'type: Node\nrelations:\n  up: { kind: belongsTo, type: Node, onDelete: cascade }\n',
};

describe.each(databaseKinds)('1,100 records on %s', (kind) => {
  let project: Project;
  let server: TestServer;
  beforeAll(async () => {
    project = await createProject(FILES);
    server = await startTestServer({ schemaDirectory: project.directory, kind });
    const items = Array.from({ length: 1100 }, (_, index) =>
      index === 0 ? { id: 1 } : { id: index + 1, up: { id: index } },
    );
    for (const some of [items.slice(0, 550), items.slice(550)])
      expect((await ask(server.url, 'POST /api/nodes?include=', some)).status).toBe(201);
  });
  afterAll(async () => {
    await server?.close();
    await project?.remove();
  });

  // SQLite answers "triggers nested too deep".
  const planned = kind === 'sqlite' ? it.failing : it;
  planned.each(['DELETE /api/nodes/1?dryRun=true', 'DELETE /api/nodes/1'])('%s', async (request) => {
    expect(await ask(server.url, request)).toMatchObject({ status: 200 });
  });
});
