/** Acyclic relations: no write makes a record its own ancestor, however many write at once. */
import { type Answer, ask } from '../support/ask.ts';
import { useServer } from '../support/server.ts';

const server = useServer({ schemaDirectory: 'tests/fixtures/schemas/trees' });

const send = (request: string, body?: unknown): Promise<Answer> => ask(server.url, request, body);

type Above = Readonly<Record<number, number | null>>;

async function parents(): Promise<Above> {
  const { body } = await send('GET /api/categories?include=parent&fields=id,parent');
  const rows = body as readonly { id: number; parent: { id: number } | null }[];
  return Object.fromEntries(rows.map(({ id, parent }) => [id, parent?.id ?? null]));
}

/** 1 > 2 > 3 > 4, and 5 beside them. */
beforeEach(async () => {
  for (const path of ['categories', 'folders']) {
    const { body } = await send(`GET /api/${path}?fields=id`);
    for (const { id } of body as readonly { id: number }[]) await send(`DELETE /api/${path}/${id}`);
  }
  for (const [id, parent] of [[1], [2, 1], [3, 2], [4, 3], [5]]) {
    const { status } = await send('POST /api/categories', {
      id,
      name: `c${id}`,
      parent: parent ? { id: parent } : null,
    });
    expect(status).toBe(201);
  }
});

const BELOW = 'link a record that is not below it';
const moved = (id: number, parent: number): object => ({ id, parent: { id: parent } });

describe('refused, and nothing is written', () => {
  test.each<[title: string, body: unknown, pointers: readonly string[]]>([
    ['PUT /api/categories/1', { parent: { id: 1 } }, ['/parent']],
    ['PUT /api/categories/1', { parent: { id: 4 } }, ['/parent']],
    ['PUT /api/categories/4', { children: [{ id: 5 }, { id: 2 }, { name: 'new' }] }, ['/children/1']],
    // Only together.
    ['PUT /api/categories/1', { parent: { id: 5, parent: { id: 4 } } }, ['/parent', '/parent/parent']],
    ['PUT /api/categories/5', { parent: { id: 4 }, children: [{ id: 1 }] }, ['/children/0', '/parent']],
    ['POST /api/categories', { name: 'new', parent: { id: 4 }, children: [{ id: 2 }] }, ['/children/0']],
    ['PATCH /api/categories', [moved(1, 5), moved(5, 4)], ['/0/parent', '/1/parent']],
    ['POST /api/categories', [moved(60, 61), moved(61, 60)], []],
    ['PUT /api/categories/3', { children: [{ id: 4, children: [{ id: 5, children: [{ id: 3 }] }] }] }, []],
  ])('%s %j', async (request, body, pointers) => {
    const before = await parents();
    const answer = await send(request, body);
    const { errors } = answer.body as { errors: readonly { pointer: string; code: string; message: string }[] };
    expect(answer.status).toBe(422);
    if (pointers.length > 0) {
      expect(errors.map(({ pointer, code }) => [pointer, code]).toSorted()).toEqual(
        pointers.map((pointer) => [pointer, 'cycle']).toSorted(),
      );
      expect(errors[0]?.message).toContain(BELOW);
    }
    expect(await parents()).toEqual(before);
  });
});

test('of many writers that move records at once, none makes a cycle', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => index + 100);
  for (const id of ids) await send('POST /api/categories', { id, name: `m${id}` });
  const statuses: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const moves = ids.map((id, index) =>
      send(`PUT /api/categories/${id}`, { parent: { id: ids[(index + 1 + round) % ids.length] } }),
    );
    statuses.push(...(await Promise.all(moves)).map(({ status }) => status));
    const above = await parents();
    for (const start of ids) {
      const seen = new Set<number>();
      for (let at: number | null = start; at !== null; at = above[at] ?? null) {
        expect(seen.has(at)).toBe(false);
        seen.add(at);
      }
    }
  }
  expect(new Set(statuses)).toEqual(new Set([200, 422]));
});

test('of two concurrent moves that form a cycle, one is refused', async () => {
  const put = async (id: number, parent: number | null) =>
    (await send(`PUT /api/categories/${id}`, { parent: parent === null ? null : { id: parent } })).status;
  for (let round = 0; round < 20; round += 1) {
    for (const [id, parent] of [
      [1, null],
      [3, null],
      [2, 3],
      [4, 1],
    ] as const)
      expect(await put(id, parent)).toBe(200);
    const statuses = await Promise.all([put(1, 2), put(3, 4)]);
    expect(statuses.toSorted()).toEqual([200, 422]);
  }
});

/** Each row: crates as NUMBER or NUMBER>INSIDE/UNDER. On PostgreSQL the restricted link is checked first. */
test.each(['1 2>1/1', '1 2>1 3>1/2', '1 2>1/1 3>2/1'])('DELETE of crate 1, with those inside: %s', async (crates) => {
  for (const crate of crates.split(' ')) {
    const [id, inside, under] = crate.split(/[>/]/).map(Number);
    const links = { inside: inside ? { id: inside } : null, under: under ? { id: under } : null };
    expect((await send('POST /api/crates', { id, ...links })).status).toBe(201);
  }
  expect((await send('DELETE /api/crates/1')).status).toBe(200);
  expect((await send('GET /api/crates')).body).toEqual([]);
});

test('a body deletes a crate from under one that it unlinks, and from under no other', async () => {
  for (const body of [{ id: 7 }, { id: 8, inside: { id: 7 } }, { id: 9, inside: { id: 7 }, under: { id: 8 } }])
    expect((await send('POST /api/crates', body)).status).toBe(201);
  const put = async (crate: object) => (await send('PUT /api/crates/7', { crates: [{ id: 9, ...crate }] })).status;
  expect([await put({}), await put({ under: null })]).toEqual([409, 200]);
  expect((await send('GET /api/crates/8')).status).toBe(404);
});
