/** Items of an array may link records that the same array makes with identifiers of their own. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ask, type Answer } from '../support/ask.ts';
import { databaseKinds } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const schemaDirectory = 'tests/fixtures/linked-items';

describe.each(databaseKinds)('%s', (kind) => {
  let server: TestServer;
  beforeAll(async () => void (server = await startTestServer({ schemaDirectory, kind })));
  afterAll(() => server.close());

  const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);

  const folders = async (): Promise<unknown> => {
    const { body } = await send('GET /api/folders?include=parent,peer&_cnd[id][gte]=3');
    return (body as readonly Row[]).map(({ id, name, parent, peer }) => [id, name, parent?.id ?? 0, peer?.id ?? 0]);
  };

  beforeEach(async () => {
    for (const path of ['parts', 'folders']) {
      const { body } = await send(`GET /api/${path}?fields=id`);
      const ids = (body as readonly Row[]).map(({ id }) => id).filter((id) => path !== 'folders' || id > 2);
      for (const id of ids.toReversed()) await send(`DELETE /api/${path}/${id}`);
    }
  });

  test('seeds refer to each other', async () => {
    const { body } = await send('GET /api/folders?include=parent,peer&fields=id');
    expect(body).toEqual([
      { id: 1, parent: expect.objectContaining({ id: 2 }), peer: expect.objectContaining({ id: 1 }) },
      { id: 2, parent: null, peer: expect.objectContaining({ id: 1 }) },
    ]);
  });

  describe('are made', () => {
    test.each<[request: string, items: readonly unknown[], rows: readonly unknown[]]>([
      [
        'POST /api/folders',
        [
          { id: 500, name: 'p' },
          { id: 501, name: 'c', parent: { id: 500 } },
        ],
        [
          [500, 'p', 0, 0],
          [501, 'c', 500, 0],
        ],
      ],
      [
        'POST /api/folders',
        [
          { id: 522, name: 'c', parent: { id: 521 } },
          { id: 521, name: 'b', parent: { id: 520 } },
          { id: 520, name: 'a' },
        ],
        [
          [520, 'a', 0, 0],
          [521, 'b', 520, 0],
          [522, 'c', 521, 0],
        ],
      ],
      [
        'POST /api/folders',
        [
          { id: 540, name: 'a', peer: { id: 541 } },
          { id: 541, name: 'b', peer: { id: 542 } },
          { id: 542, name: 'c', peer: { id: 540 } },
        ],
        [
          [540, 'a', 0, 541],
          [541, 'b', 0, 542],
          [542, 'c', 0, 540],
        ],
      ],
      // One of the links decides whether names are unique.
      [
        'POST /api/folders',
        [
          { id: 560, name: 'c' },
          { id: 561, name: 'p', children: [{ id: 560 }] },
        ],
        [
          [560, 'c', 561, 0],
          [561, 'p', 0, 0],
        ],
      ],
    ])('%s %j', async (request, items, rows) => {
      const tried = await send(`${request}${request.includes('?') ? '&' : '?'}dryRun=true`, items);
      expect(tried.status).toBe(request.includes('?on') ? 200 : 201);
      expect((tried.body as { effects: unknown }).effects).toMatchObject([
        { effect: 'created', type: 'Folder', count: items.length },
      ]);
      expect(await folders()).toEqual([]);
      const { status } = await send(request, items);
      expect([status, await folders()]).toEqual([request.includes('?on') ? 200 : 201, rows]);
    });

    test.each(['text/csv', 'application/x-ndjson'])('as a tree that went out as %s', async (format) => {
      await send('POST /api/folders', { name: 'root', children: [{ name: 'a', children: [{ name: 'b' }] }] });
      const list = `GET /api/folders?_cnd[id][gte]=3${format === 'text/csv' ? '' : '&include=parent,peer'}`;
      const get = () => exchange(server.url, list, { headers: { accept: format } });
      const { text } = await get();
      const { body } = await send('GET /api/folders?_cnd[name]=root');
      await send(`DELETE /api/folders/${(body as readonly Row[])[0]?.id}`);
      expect(await folders()).toEqual([]);
      const headers = { 'content-type': format };
      const sent = await exchange(server.url, 'POST /api/folders', { headers, body: text });
      expect([sent.status, (await get()).text]).toEqual([201, text]);
    });
  });

  describe('are refused', () => {
    test.each<[path: string, items: readonly unknown[], status: number, faults: readonly (readonly string[])[]]>([
      [
        'folders',
        [
          { id: 700, name: 'a', parent: { id: 701 } },
          { id: 701, name: 'b', parent: { id: 700 } },
        ],
        422,
        [
          ['/0/parent', 'cycle'],
          ['/1/parent', 'cycle'],
        ],
      ],
      [
        'folders',
        [{ id: 700, name: 'a', children: [{ name: 'b', children: [{ id: 700, name: 'a' }] }] }],
        422,
        [['/0/children/0/children/0', 'cycle']],
      ],
      [
        'parts',
        [
          { id: 700, whole: { id: 701 } },
          { id: 701, whole: { id: 700 } },
        ],
        422,
        [['/1/whole/id', 'owned']],
      ],
      [
        'folders',
        [
          { id: 700, name: 7 },
          { name: 'c', peer: { id: 700 } },
        ],
        422,
        [['/0/name', 'type']],
      ],
      [
        'folders',
        [
          { id: 700, name: 'a' },
          { name: 'c', peer: { id: 701 } },
        ],
        422,
        [['/1/peer/id', 'not-found']],
      ],
      [
        'folders',
        [
          { id: 700, name: 'a' },
          { name: 'c', peer: { id: 700, name: 'b' } },
        ],
        422,
        [
          ['/0/name', 'contradiction'],
          ['/1/peer/name', 'contradiction'],
        ],
      ],
      // Names are unique below one parent: the link of the first item is set last, since 702 needs 700.
      [
        'folders',
        [
          { id: 700, name: 'a', parent: { id: 702 } },
          { id: 701, name: 'a', parent: { id: 702 } },
          { id: 702, name: 'c', peer: { id: 700 } },
        ],
        409,
        [['/1/name', 'unique']],
      ],
    ])('/api/%s %j', async (path, items, expected, faults) => {
      const { status, body } = await send(`POST /api/${path}`, items);
      const { errors = [] } = body as { errors?: readonly { pointer: string; code: string }[] };
      expect([status, errors.map(({ pointer, code }) => [pointer, code])]).toEqual([expected, faults]);
      expect(await folders()).toEqual([]);
    });
  });
});

interface Row {
  readonly id: number;
  readonly name: string;
  readonly parent: { readonly id: number } | null;
  readonly peer: { readonly id: number } | null;
}

describe.each(databaseKinds)('%s: a record does not own itself', (kind) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/schemas/owned-by-its-own-type', kind });
    await ask(server.url, 'POST /api/parts', { id: 1 });
  });
  afterAll(() => server.close());

  test.each<[body: object, pointer: string]>([
    [{ id: 700, whole: { id: 700 } }, '/whole/id'],
    [{ id: 700, parts: [{ id: 700 }] }, '/parts/0/id'],
    [{ id: 1, whole: { id: 1 } }, '/whole/id'],
    [{ id: 1, parts: [{ id: 1 }] }, '/parts/0/id'],
  ])('%j', async (body, pointer) => {
    const { status, body: problem } = await ask(server.url, 'POST /api/parts', body);
    expect(status).toBe(422);
    expect(problem).toMatchObject({ errors: [{ pointer, code: 'owned' }] });
  });
});
