import { createToken, tokenLine } from '../../engine/access/tokens.ts';
import { exchangeJson, type Exchanged } from '../support/exchange.ts';
import { rowsOf } from '../support/table.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

type Headers = Readonly<Record<string, string>>;

let server: TestServer;
const send = (title: string, body?: unknown, headers: Headers = {}): Promise<Exchanged> =>
  exchangeJson(server.url, title, body, headers);

const dry = (title: string): string => `${title}${title.includes('?') ? '&' : '?'}dryRun=true`;

interface Report {
  readonly dryRun: boolean;
  readonly answer: { readonly status: number; readonly headers: Headers; readonly body: unknown };
  readonly effects: readonly Readonly<Record<string, unknown>>[];
}

const reportOf = ({ headers, text }: Exchanged): Report => {
  expect(headers['content-type']).toBe('application/vnd.dry-run+json');
  return JSON.parse(text);
};

/** `deleted Line 1,2` and `unlinked Memo.category 3` and `changed Category[name] 1`. */
const told = ({ effects }: Report): readonly string[] =>
  effects.map(({ effect, type, relation, keys, count, identifiers = [] }) => {
    const how = `${relation === undefined ? '' : `.${String(relation)}`}${keys === undefined ? '' : `[${String(keys)}]`}`;
    expect([(identifiers as readonly number[]).length, 0]).toContain(count === 0 ? -1 : type === null ? 0 : count);
    return `${String(effect)} ${String(type)}${how} ${type === null ? String(count) : String(identifiers)}`;
  });

async function everything(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => send(`GET /api/${path}`)));
  return found.map(({ text }) => text);
}

describe('of deletions and sets', () => {
  const PATHS = ['categories?include=archive.lines,tags,memos,posts', 'tags', 'memos', 'posts', 'scrolls'];
  beforeAll(async () => {
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/sets' });
    const made = [
      await send('POST /api/categories?include=archive.lines', {
        name: 'full',
        tags: [{ word: 'a' }, { word: 'b' }],
        memos: [{ text: 'm' }, { text: 'n' }],
        archive: [
          { text: 's', lines: [{ text: '1' }, { text: '2' }] },
          { text: 't', lines: [{ text: '3' }] },
        ],
      }),
      await send('POST /api/categories', { name: 'restricted', posts: [{ title: 'p' }] }),
      await send('POST /api/categories', { name: 'empty' }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  });
  afterAll(() => server.close());

  test.each(
    rowsOf(`
      DELETE /api/categories/1 => 200 => unlinked Memo.category 1,2; unlinked Tag.categories 1,2; deleted Category 1; deleted Line 1,2,3; deleted Scroll 1,2
      DELETE /api/categories/3 => 200 => deleted Category 3
      DELETE /api/scrolls/1 => 200 => deleted Line 1,2; deleted Scroll 1
      DELETE /api/tags/1 => 200 => unlinked Category.tags 1; deleted Tag 1
      PUT /api/categories/1 {"name":"full"} => 200
      PUT /api/categories/1 {"name":"new"} => 200 => changed Category[name] 1
      PATCH /api/categories/1 {"name":null,"memos":[]} => 200 => changed Category[name] 1; unlinked Memo.category 1,2
      PUT /api/categories/1 {"tags":[{"id":2},{"word":"c"}]} => 200 => created Tag 3; linked Category.tags 1; unlinked Category.tags 1; unlinked Tag.categories 1
      PUT /api/tags/1 {"categories":[{"id":3}]} => 200 => linked Category.tags 3; linked Tag.categories 1; unlinked Category.tags 1; unlinked Tag.categories 1
      PUT /api/categories/1 {"archive":[{"id":1,"text":"x"}]} => 200 => changed Scroll[text] 1; deleted Line 3; deleted Scroll 2
      PUT /api/categories/3 {"memos":[{"id":1}]} => 200 => linked Memo.category 1
      PUT /api/memos/1 {"category":null,"text":"m"} => 200 => unlinked Memo.category 1
      POST /api/categories {"name":"x","memos":[{"id":1,"text":"y"},{"text":"z"}]} => 201 => created Category 4; created Memo 3; changed Memo[text] 1; linked Memo.category 1
      POST /api/categories {} => 201 => created Category 4
    `),
  )('%s: %s, %s', async (row, status, effects) => {
    const before = await everything(PATHS);
    const [, title = row, body] = /^(\S+ \S+)(?: (.+))?$/.exec(row) ?? [];
    const answer = await send(dry(title), body === undefined ? undefined : JSON.parse(body));
    expect([String(answer.status), answer.headers['etag'], answer.headers['location']]).toEqual([
      status,
      undefined,
      undefined,
    ]);
    const report = reportOf(answer);
    expect(await everything(PATHS)).toEqual(before);
    expect(told(report).join('; ')).toBe(effects);
    expect([report.dryRun, String(report.answer.status)]).toEqual([true, status]);
    if (status === '201') expect(report.answer.headers['Location']).toMatch(/^\/api\/categories\/\d+$/);
  });

  test('a tag in If-Match is compared', async () => {
    const tag = String((await send('GET /api/categories/1')).headers['etag']);
    expect((await send(dry('PUT /api/categories/1'), { name: 'x' }, { 'if-match': tag })).status).toBe(200);
    expect((await send(dry('PUT /api/categories/1'), { name: 'x' }, { 'if-match': '"x"' })).status).toBe(412);
  });

  test('an identifier in the body does not move the sequence', async () => {
    const far = 2 ** 52;
    const report = reportOf(await send(dry('POST /api/posts'), { id: far, title: 'far' }));
    expect(report.answer.body).toMatchObject({ id: far });
    const { id } = JSON.parse((await send('POST /api/posts', { title: 'near' })).text);
    expect(id).toBeLessThan(100);
  });

  test('an Idempotency-Key is neither stored nor looked up', async () => {
    const headers = { 'idempotency-key': 'once' };
    for (let time = 0; time < 2; time += 1)
      expect((await send(dry('POST /api/posts'), { title: 'k' }, headers)).status).toBe(201);
    const first = await send('POST /api/posts', { title: 'k' }, headers);
    expect([first.status, first.headers['content-type']]).toEqual([201, 'application/json']);
    expect((await send('POST /api/posts', { title: 'k' }, headers)).text).toBe(first.text);
    expect((await send(dry('POST /api/posts'), { title: 'other' }, headers)).status).toBe(201);
  });
});

describe('of a token that may not read all types', () => {
  const token = createToken();
  const crm = { authorization: `Bearer ${token}` };
  beforeAll(async () => {
    const root = createToken();
    const all = { name: 'root', read: 'all', write: 'all' } as const;
    const some = { name: 'crm', read: new Set<string>(), write: new Set(['Purchase']) };
    const tokens = [tokenLine(all, root), tokenLine(some, token)].join(';');
    server = await startTestServer({ schemaDirectory: 'tests/fixtures/access', settings: { tokens } });
    const headers = { authorization: `Bearer ${root}` };
    const purchase = { code: 'A', customer: { id: 1 }, baskets: [{ amount: 1 }], memos: [], stickers: [{ word: 's' }] };
    expect((await send('POST /api/purchases', purchase, headers)).status).toBe(201);
  });
  afterAll(() => server.close());

  test('omits what the token may not read', async () => {
    const answer = await send('DELETE /api/purchases/1?dryRun=true', undefined, crm);
    expect(told(reportOf(answer))).toEqual(['deleted Basket 1', 'deleted Purchase 1']);
    expect(answer.text).not.toMatch(/sticker|hidden/i);
  });
});

test('take turns with the requests of others', async () => {
  await using own = await startTestServer({ schemaDirectory: 'tests/fixtures/sets' });
  const turn = jest.spyOn(own.budget.work, 'turn');
  expect((await exchangeJson(own.url, dry('POST /api/categories'), { name: 'a' })).status).toBe(201);
  expect(turn).toHaveBeenCalledTimes(1);
});
