/** What a migration on PostgreSQL sets for itself, and what its preparations mean for clients. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Serving } from '../../engine/server/serve.ts';
import { createHosts } from '../../engine/storage/postgres/hosts.ts';
import { BEGIN } from '../../engine/storage/postgres/locking.ts';
import { parseAddress } from '../../engine/storage/postgres/address.ts';
import { createConnections } from '../../engine/storage/postgres/pool.ts';
import { writeIn } from '../../engine/storage/postgres/transaction.ts';
import { ask } from '../support/ask.ts';
import { connectTo } from '../support/databases.ts';
import { onServer, startInstance, withParameters } from '../support/postgres.ts';
import { createProject, type Project } from '../support/project.ts';

onServer('a migration', () => {
  let project: Project;
  let old: Serving;
  beforeAll(async () => {
    const note = 'type: Note\nfields: { title: { type: string }, text: { type: string } }\n';
    project = await createProject({ 'note.yaml': note }, undefined, 'postgres');
    old = await startInstance(project.database.url, { schemaDirectory: project.directory });
  });
  afterAll(async () => {
    await old?.close();
    await project?.remove();
  });

  it.each(['on', 'off'])('waits a tenth of a second for locks, with prepared=%s', async (prepared) => {
    const place = parseAddress(withParameters(project.database.url, { prepared }));
    const hosts = createHosts(place);
    const connections = createConnections(place, { statement: 30_000, idle: 10_000, lock: 5000 }, hosts);
    try {
      const limitIn = (begin: string): Promise<unknown> =>
        writeIn(connections, begin, (writer) => writer.value({ sql: 'show lock_timeout' }, []));
      expect(await connections.unlimited(() => limitIn(BEGIN))).toBe('100ms');
      expect(await connections.unlimited(() => limitIn('begin'))).toBe('0');
      expect(await limitIn('begin')).toBe('5s');
    } finally {
      hosts.close();
      await connections.close();
    }
  });

  it('that checks a new rule: older instances refuse what does not fit as invalid, and nothing else', async () => {
    expect((await ask(old.url, 'POST /api/notes', { title: 'A', text: 'B' })).status).toBe(201);
    const client = await connectTo(project.database.url);
    await client.query('alter table notes add constraint _records_new_1_notes check (text is not null) not valid');
    const refused = { status: 422, body: expect.objectContaining({ type: 'urn:problem:invalid-body' }) };
    expect(await ask(old.url, 'POST /api/notes', { title: 'C' })).toMatchObject(refused);
    expect(await ask(old.url, 'PUT /api/notes/1', { text: null })).toMatchObject(refused);
    const several = [{ title: 'D', text: 'E' }, { title: 'F' }, { title: 'G', text: 'H' }].map((body) =>
      ask(old.url, 'POST /api/notes', body),
    );
    expect((await Promise.all(several)).map(({ status }) => status)).toEqual([201, 422, 201]);
    await client.query('alter table notes drop constraint _records_new_1_notes');
    await client.end();
    expect((await ask(old.url, 'POST /api/notes', { title: 'C' })).status).toBe(201);
  });
});
