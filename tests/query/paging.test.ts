import { exchange } from '../support/exchange.ts';
import { useServer } from '../support/server.ts';
import fc from '../support/fast-check.ts';

interface Box {
  readonly id: number;
  readonly slot: number | null;
  readonly width: string | null;
}

const JSON_BODY = { 'content-type': 'application/json' };

const server = useServer({ schemaDirectory: 'tests/fixtures/schemas/unique-together' });

async function create(box: Omit<Box, 'id'>): Promise<number> {
  const { status, text } = await exchange(server.url, 'POST /api/boxes', {
    headers: JSON_BODY,
    body: JSON.stringify(box),
  });
  expect(status).toBe(201);
  return JSON.parse(text).id;
}

async function remove(id: number): Promise<void> {
  expect((await exchange(server.url, `DELETE /api/boxes/${id}`)).status).toBe(200);
}

interface Page {
  readonly boxes: readonly Box[];
  readonly links: ReadonlyMap<string, string>;
}

async function read(path: string): Promise<Page> {
  const { text, headers } = await exchange(server.url, `GET ${path}`);
  const links = String(headers['link']).matchAll(/<([^>]+)>; rel="(\w+)"/g);
  return { boxes: JSON.parse(text), links: new Map([...links].map(([, url = '', rel = '']) => [rel, url])) };
}

/** Null comes before every value ascending, and after it descending; the identifier breaks ties, as the last field goes. */
const compare = (a: number | string | null, b: number | string | null): number =>
  a === b ? 0 : a === null ? -1 : b === null ? 1 : Number(a) - Number(b);

const ORDERS = [
  { query: '', by: (a: Box, b: Box) => a.id - b.id },
  {
    query: '&_cnd[orderBy]=width&_cnd[orderBy]=desc',
    by: (a: Box, b: Box) => -compare(a.width, b.width) || b.id - a.id,
  },
  {
    query: '&_cnd[orderBy]=slot&_cnd[orderBy]=width&_cnd[orderBy]=desc',
    by: (a: Box, b: Box) => compare(a.slot, b.slot) || -compare(a.width, b.width) || b.id - a.id,
  },
  {
    query: '&_cnd[orderBy]=width&_cnd[orderBy]=slot&_cnd[orderBy]=desc&_cnd[orderBy]=id',
    by: (a: Box, b: Box) => compare(a.width, b.width) || -compare(a.slot, b.slot) || a.id - b.id,
  },
] as const;

/** Few values, so that many are the same. */
const box = fc.record({
  slot: fc.constantFrom(null, -1, 0, 5),
  width: fc.constantFrom(null, '-1.50', '-1.5', '0', '0.10', '9', '10', '100000'),
});

/** Between two pages: some come, and of those that are there one goes. */
const meanwhile = fc.record({ come: fc.array(box, { maxLength: 2 }), goes: fc.option(fc.nat(1000)) });

/** Follows the links of one relation to the end, while things happen. */
async function walk(
  path: string,
  relation: 'next' | 'prev',
  between: () => Promise<void>,
): Promise<readonly (readonly Box[])[]> {
  const pages: (readonly Box[])[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const page: Page = await read(next);
    pages.push(page.boxes);
    next = page.links.get(relation);
    if (next !== undefined) await between();
    if (pages.length > 200) throw new Error('the links lead nowhere');
  }
  return pages;
}

const property = fc.asyncProperty(
  fc.constantFrom(...ORDERS),
  fc.integer({ min: 1, max: 4 }),
  fc.array(box, { maxLength: 14 }),
  fc.infiniteStream(meanwhile),
  async ({ query, by }, limit, boxes, events) => {
    const all = new Set((await read('/api/boxes?_cnd[limit]=0&_cnd[limit]=1000')).boxes.map(({ id }) => id));
    for (const id of all) await remove(id);
    const there = new Set<number>();
    for (const one of boxes) there.add(await create(one));
    const stayed = new Set(there);
    let changes = 0;
    const between = async (): Promise<void> => {
      const { value: event } = events.next();
      // Records that come behind the page would lead on for ever.
      if (changes++ > 12) return;
      for (const one of event.come) there.add(await create(one));
      const gone = event.goes === null ? undefined : [...there][event.goes % Math.max(1, there.size)];
      if (gone === undefined) return;
      await remove(gone);
      there.delete(gone);
      stayed.delete(gone);
    };
    const first = `/api/boxes?_cnd[limit]=0&_cnd[limit]=${limit}${query}`;
    const forth = (await walk(first, 'next', between)).flat();
    expect(forth).toEqual(forth.toSorted(by));
    expect(new Set(forth.map(({ id }) => id)).size).toBe(forth.length);
    expect([...stayed].filter((id) => !forth.some((one) => one.id === id))).toEqual([]);

    // And back, from what is last now.
    const last = (await read(`/api/boxes?_cnd[limit]=0&_cnd[limit]=1000${query}`)).boxes;
    const start = await read(`/api/boxes?_cnd[limit]=${Math.max(0, last.length - limit)}&_cnd[limit]=${limit}${query}`);
    const remaining = new Set(there);
    const previous = start.links.get('prev');
    const earlier =
      previous === undefined
        ? []
        : await walk(previous, 'prev', async () => {
            const { value: event } = events.next();
            for (const one of event.come.slice(0, 1)) await create(one);
            const gone = event.goes === null ? undefined : [...remaining][event.goes % Math.max(1, remaining.size)];
            if (gone === undefined) return;
            await remove(gone);
            remaining.delete(gone);
          });
    const back = [...earlier.toReversed().flat(), ...start.boxes];
    expect(back).toEqual(back.toSorted(by));
    expect(new Set(back.map(({ id }) => id)).size).toBe(back.length);
    expect([...remaining].filter((id) => !back.some((one) => one.id === id))).toEqual([]);
  },
);

test('pages by links are right while records come and go', () => fc.assert(property, { numRuns: 40 }));

test.each(ORDERS)('a page before a cursor has a next one only where something follows: "$query"', async ({ query }) => {
  const all = (await read('/api/boxes?_cnd[limit]=0&_cnd[limit]=1000')).boxes;
  for (const { id } of all) await remove(id);
  for (const slot of [0, 1, 2, 3]) await create({ slot, width: null });
  const { boxes, links } = await read(`/api/boxes?_cnd[limit]=2&_cnd[limit]=2${query}`);
  const previous = links.get('prev') ?? '';
  const inFront = async (): Promise<readonly string[]> => [...(await read(previous)).links.keys()];
  expect(await inFront()).toEqual(['first', 'next']);
  await remove(boxes[0]?.id ?? 0);
  expect(await inFront()).toEqual(['first', 'next']);
  await remove(boxes[1]?.id ?? 0);
  expect(await inFront()).toEqual(['first']);
});
