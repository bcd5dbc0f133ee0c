/** Clients that read whole lists do not keep others waiting. */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type Answer, ask } from '../support/ask.ts';
import { fileOf } from '../support/databases.ts';
import { onSqlite } from '../support/only.ts';
import { dial } from '../support/raw.ts';
import { startTestServer, useServer } from '../support/server.ts';

const LISTS = 6;
/** Milliseconds: no list is cut off for being read slowly. */
const HOURS = 36_000_000;

/** Sends a request, and reads nothing of the response once it has begun. */
async function unread(url: string, path: string): Promise<Socket> {
  const socket = await dial(url);
  socket.once('readable', () => undefined).write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

onSqlite('a search begins while whole lists wait', async () => {
  const server = await startTestServer({
    schemaDirectory: 'tests/fixtures/sets',
    settings: { slowReaderTimeout: HOURS },
  });
  expect((await ask(server.url, 'POST /api/categories', { name: 'all' })).status).toBe(201);
  const database = new Database(fileOf(server.database));
  database.exec(
    `insert into scrolls (text, category_id) select printf('%.*c', 500000, 'x'), 1 from json_each('[${'0,'.repeat(59)}0]')`,
  );
  database.close();
  const lists: Socket[] = [];
  try {
    for (let count = 0; count < LISTS; count += 1)
      lists.push(await unread(server.url, '/api/scrolls?_cnd[text][like]=*x*'));
    const search = await ask(server.url, 'GET /api/scrolls?_cnd[text][like]=*y*&_cnd[limit]=0&_cnd[limit]=1');
    expect([search.status, search.body]).toEqual([200, []]);
  } finally {
    for (const socket of lists) socket.destroy();
    await server.close();
  }
});

describe('in turns of long work, with short pages between them,', () => {
  const server = useServer({
    files: {
      'category.yaml': 'type: Category\nfields: { name: { type: string } }\nhistory: true\n',
    },
  });
  const waiting: (() => void)[] = [];
  const send = (title: string, body?: unknown): Promise<Answer> => ask(server.url, title, body);
  beforeAll(async () => {
    const many = Array.from({ length: 600 }, () => ({ name: 'all' }));
    expect((await send('POST /api/categories', many)).status).toBe(201);
    expect((await send('DELETE /api/categories/1')).status).toBe(200);
    jest
      .spyOn(server.budget.work, 'turn')
      .mockImplementation(() => new Promise((resolve) => void waiting.push(resolve)));
  });

  test.each([
    ['/api/categories', 599, 3],
    ['/api/categories?_cnd[limit]=0,101', 101, 1],
    ['/api/categories/$summary?by=id', 599, 1],
    ['/api/categories/2/$history?limit=101', 1, 1],
    ['/api/categories/$deleted?limit=101', 1, 1],
    ['/api/$changes?limit=101', 101, 1],
  ])('%s is read', async (path, length, least) => {
    let turns = 0;
    const reading = send(`GET ${path}`);
    while ((await Promise.race([reading, nextTurn()])) === undefined) {
      expect((await send('GET /api/categories?_cnd[limit]=0,1')).status).toBe(200);
      for (const resume of waiting.splice(0)) {
        resume();
        turns += 1;
      }
    }
    const { body } = await reading;
    expect(Array.isArray(body) ? body : (body as { readonly changes: unknown }).changes).toHaveLength(length);
    expect(turns).toBeGreaterThanOrEqual(least);
  });
});
