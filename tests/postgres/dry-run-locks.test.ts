/** What a dry run leaves behind in the rows that it looks at: PostgreSQL keeps who locked a row last in the row itself. */
import type { Client } from 'pg';
import { ask } from '../support/ask.ts';
import { connectTo, databaseKinds } from '../support/databases.ts';
import { createProject, type Project } from '../support/project.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const FILES = { 'note.yaml': 'type: Note\nfields:\n  text: { type: string }\n' };

(databaseKinds.includes('postgres') ? describe : describe.skip)('a dry run leaves no row lock', () => {
  let project: Project;
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    project = await createProject(FILES);
    server = await startTestServer({ schemaDirectory: project.directory, kind: 'postgres' });
    client = await connectTo(server.database.url);
  });
  afterAll(async () => {
    await client?.end();
    await server?.close();
    await project?.remove();
  });

  it.each([
    ['PATCH', { text: 'b' }],
    ['PATCH', { text: 'a' }],
    ['DELETE', undefined],
  ])('%s %j', async (method, body) => {
    const { body: made } = await ask(server.url, 'POST /api/notes', { text: 'a' });
    const { id } = made as { id: number };
    const report = await ask(server.url, `${method} /api/notes/${id}?dryRun=true`, body);
    expect(report.status).toBe(200);
    const { rows } = await client.query(`select xmax::text as locked from notes where id = ${id}`);
    expect(rows).toEqual([{ locked: '0' }]);
  });
});
