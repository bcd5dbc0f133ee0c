/** Triggers that others have added to an SQLite file: a write that they refuse is 422 with their text, and no other one fails. */
import Database from 'better-sqlite3';
import { ask } from '../support/ask.ts';
import { fileOf } from '../support/databases.ts';
import { startTestServer } from '../support/server.ts';

test.each(['abort', 'rollback', 'fail'])('raise(%s)', async (how) => {
  await using server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested', kind: 'sqlite' });
  const send = async (title: string, body?: unknown): Promise<unknown> => {
    const answer = await ask(server.url, title, body);
    const { type, detail } = (answer.body ?? {}) as { type?: string; detail?: string };
    return [answer.status, type, detail];
  };
  expect(await send('POST /api/things', { id: 1, name: 'first' })).toEqual([201, undefined, undefined]);
  const database = new Database(fileOf(server.database));
  for (const event of ['insert', 'update', 'delete'])
    database.exec(`create trigger ${event}s before ${event} on things begin select raise(${how}, 'Not now'); end`);
  database.close();
  const others = [send('POST /api/tags', {}), send('POST /api/tags', {})];
  const refused = [
    send('POST /api/things', { name: 'new' }),
    send('POST /api/things', { name: 'new', owner: { rank: 1 } }),
    send('POST /api/things', [{ name: 'new' }, {}]),
    send('PATCH /api/things/1', { name: 'changed' }),
    send('DELETE /api/things/1'),
  ];
  for (const one of await Promise.all(refused))
    expect(one).toEqual([422, 'urn:problem:refused-by-database', 'Not now']);
  for (const one of await Promise.all(others)) expect(one).toEqual([201, undefined, undefined]);
  expect((await ask(server.url, 'GET /api/things')).body).toMatchObject([{ id: 1, name: 'first' }]);
  expect((await ask(server.url, 'GET /api/owners')).body).toEqual([]);
});

test('a missing table: 503 until it is back', async () => {
  await using server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested', kind: 'sqlite' });
  const database = new Database(fileOf(server.database));
  const send = async (title: string): Promise<number> => (await ask(server.url, title)).status;
  const reads = ['GET /api/things', 'GET /api/things/1'];
  await ask(server.url, 'POST /api/things', { id: 1, name: 'first' });
  database.exec('alter table things rename to taken');
  expect(await Promise.all(reads.map(send))).toEqual([503, 503]);
  const ready = await fetch(`${server.url}/health/ready`);
  expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('no such table: things')]);
  database.exec('alter table taken rename to things');
  expect(await Promise.all(reads.map(send))).toEqual([200, 200]);
  database.close();
});

test('a deferred foreign key of others refuses a deletion, and no write that comes with it', async () => {
  await using server = await startTestServer({ schemaDirectory: 'tests/fixtures/nested', kind: 'sqlite' });
  const send = async (title: string, body?: unknown): Promise<unknown> => {
    const { status, body: answer } = await ask(server.url, title, body);
    return [status, (answer as { detail?: string } | undefined)?.detail];
  };
  for (const name of ['one', 'two', 'three']) await send('POST /api/things', { name });
  const database = new Database(fileOf(server.database));
  database.exec(`create table notes (thing integer references things (id) deferrable initially deferred);
    insert into notes values (1)`);
  const refused = [422, 'FOREIGN KEY constraint failed'];
  expect(await send('DELETE /api/things/1')).toEqual(refused);
  const together = ['DELETE /api/things/2', 'DELETE /api/things/1', 'DELETE /api/things/9', 'DELETE /api/things/3'];
  const statuses = (await Promise.all(together.map((title) => send(title)))).map((answer) => (answer as number[])[0]);
  expect(statuses).toEqual([200, 422, 404, 200]);
  database.exec('delete from notes');
  database.close();
  expect((await ask(server.url, 'DELETE /api/things/1')).status).toBe(200);
  expect((await ask(server.url, 'GET /api/things')).body).toEqual([]);
});
