/** How large the sets of a record may be. */
import { ask } from '../support/ask.ts';
import { type TestServer, useServer } from '../support/server.ts';

/** `made` answers the identifier of what it creates. */
function sending(server: Pick<TestServer, 'url'>) {
  const send = (request: string, body?: unknown): ReturnType<typeof ask> => ask(server.url, request, body);
  const made = async (path: string, body: unknown): Promise<number> => {
    const { status, body: record } = await send(`POST /api/${path}`, body);
    expect(status).toBe(201);
    return (record as { readonly id: number }).id;
  };
  return { send, made };
}

const many = (count: number, one: unknown): unknown[] => Array.from({ length: count }, () => one);

describe('large sets', () => {
  const LIMIT = 10_000;
  const server = useServer({
    schemaDirectory: 'tests/fixtures/sets',
    settings: { bodyLimit: 8 * 1024 * 1024, bodyKeys: 100_000, writeRows: 20_000 },
  });
  const { send, made } = sending(server);
  const refusal = (place: object, named: string): object => ({
    status: 400,
    body: {
      type: 'urn:problem:too-many-related',
      errors: [{ ...place, code: 'too-many-related', message: expect.stringContaining(named) }],
    },
  });

  test('the largest set that can be shown can be PUT back', async () => {
    const id = await made('categories?include=', { name: 'full', posts: many(LIMIT, {}) });
    const { status, body } = await send(`GET /api/categories/${id}`);
    expect({ status, posts: (body as { posts: unknown[] }).posts.length }).toEqual({ status: 200, posts: LIMIT });
    const put = await send(`PUT /api/categories/${id}`, body);
    expect(put.status).toBe(200);
    expect(put.body).toEqual(body);
    // A record to each of them is no set.
    const posts = await send(`GET /api/posts?_cnd[category]=${id}`);
    expect((posts.body as unknown[]).length).toBe(LIMIT);
    expect(posts.body).toContainEqual(expect.objectContaining({ category: { id, name: 'full' } }));
  });

  test('a larger set is refused, and nothing is written', async () => {
    const id = await made('categories?include=', { name: 'more', posts: many(LIMIT, {}) });
    await made('posts', { category: { id } });
    const path = `/api/categories/${id}`;
    const relation = refusal({ relation: 'posts' }, '"posts" leads to more than 10000 related records');
    for (const [request, expected] of [
      [`GET ${path}`, relation],
      [`GET ${path}?include=posts`, refusal({ parameter: 'include' }, 'posts')],
      [`GET ${path}?fields=name,posts.title`, refusal({ parameter: 'fields' }, 'posts')],
      [`GET ${path}?include=tags,posts.category`, refusal({ parameter: 'include' }, 'posts')],
      [`GET /api/categories?_cnd[id]=${id}`, relation],
      [`GET /api/categories?_cnd[id]=${id}&_cnd[limit]=0&_cnd[limit]=2`, relation],
      [
        `GET /api/posts?_cnd[category]=${id}&_cnd[limit]=0&_cnd[limit]=2&include=category.posts`,
        refusal({ parameter: 'include' }, 'category.posts'),
      ],
      [`DELETE ${path}`, relation],
    ] as const)
      expect(await send(request)).toMatchObject(expected);
    expect(await send(`PATCH ${path}`, { name: 'renamed' })).toMatchObject(relation);
    expect(await send(`PUT ${path}`, { name: 'renamed', tags: [{ word: 'new' }] })).toMatchObject(relation);
    expect(await send(`GET ${path}?include=`)).toMatchObject({ status: 200, body: { id, name: 'more' } });
    expect((await send('GET /api/tags')).body).toEqual([]);

    // What counts is the set as it will be.
    expect(await send(`PATCH ${path}?include=`, { name: 'renamed' })).toMatchObject({ status: 200 });
    const { body } = await send(`GET /api/posts?_cnd[category]=${id}&_cnd[limit]=0&_cnd[limit]=1&include=`);
    expect(await send(`PATCH ${path}`, { name: 'fewer', posts: body })).toMatchObject({
      status: 200,
      body: { name: 'fewer', posts: body },
    });
  });
});

describe('a write that would touch more rows than it may', () => {
  const MOST = 30;
  const server = useServer({ schemaDirectory: 'tests/fixtures/sets', settings: { writeRows: MOST } });
  const { send, made } = sending(server);
  const everything = async (): Promise<readonly unknown[]> => {
    const view = 'include=posts,tags,memos,archive.lines';
    const paths = [`categories?${view}`, 'posts', 'tags', 'memos', 'scrolls?include=lines'];
    return Promise.all(paths.map(async (path) => (await send(`GET /api/${path}`)).body));
  };
  const refusal = (place: object): object => ({
    status: 422,
    body: {
      type: 'urn:problem:too-many-rows',
      errors: [{ ...place, code: 'too-many-rows', message: expect.stringContaining(`more than ${MOST} rows`) }],
    },
  });

  async function refused(request: string, body: unknown, place: object): Promise<void> {
    const before = await everything();
    expect(await send(request, body)).toMatchObject(refusal(place));
    expect(await everything()).toEqual(before);
  }

  async function grown(key: string, count: number, one: object = {}): Promise<string> {
    const id = await made('categories?include=', { name: key });
    const path = `/api/categories/${id}?include=${key}`;
    for (let left = count; left > 0; left -= 10) {
      const { body } = await send(`GET ${path}`);
      const set = [...((body as { [key: string]: unknown[] })[key] ?? []), ...many(Math.min(10, left), one)];
      expect((await send(`PUT ${path}`, { [key]: set })).status).toBe(200);
    }
    return path;
  }

  test.each(['posts', 'memos', 'tags'])('%s that a body leaves out', async (key) => {
    const path = await grown(key, MOST + 1);
    await refused(`PUT ${path}`, { [key]: [] }, { pointer: `/${key}` });
    const { body } = await send(`GET ${path}`);
    const set = (body as { [key: string]: unknown[] })[key] ?? [];
    // What stays is no write.
    expect((await send(`PUT ${path}`, body)).status).toBe(200);
    expect((await send(`PUT ${path}`, { [key]: set.slice(0, 1) })).body).toMatchObject({ [key]: set.slice(0, 1) });
  });

  test('owned records that a body leaves out, with what they own', async () => {
    const path = await grown('archive', 10, { lines: many(2, {}) });
    await refused(`PATCH ${path}`, { archive: many(1, {}) }, { pointer: '/archive' });
    const { body } = await send(`GET ${path}`);
    const { archive } = body as { archive: unknown[] };
    expect((await send(`PATCH ${path}`, { archive: archive.slice(1) })).body).toMatchObject({
      archive: archive.slice(1),
    });
    expect((await send(`PATCH ${path}`, { archive: [] })).body).toMatchObject({ archive: [] });
    expect((await send('GET /api/scrolls')).body).toEqual([]);
  });

  test.each([
    ['archive', 10, { lines: many(2, {}) }],
    ['memos', MOST, {}],
    ['tags', MOST, {}],
  ])('DELETE of a record with its %s', async (key, count, one) => {
    const path = await grown(key, count, one);
    await refused(`DELETE ${path}`, undefined, { relation: key });
    const { body } = await send(`GET ${path}`);
    const set = (body as { [key: string]: unknown[] })[key] ?? [];
    expect((await send(`PUT ${path}`, { [key]: set.slice(1) })).status).toBe(200);
    expect((await send(`DELETE ${path}`)).status).toBe(200);
  });
});
