/**
 * The connections of the service itself to SQLite have no deadline: a statement there cannot be interrupted. So every
 * statement that they run for a request must find its rows by an index, and their number is limited before.
 */
import Database from 'better-sqlite3';
import { serve, type Serving } from '../../engine/server/serve.ts';
import { readSettings } from '../../engine/settings/settings.ts';
import { ask } from '../support/ask.ts';
import { createDatabase, fileOf, type TestDatabase } from '../support/databases.ts';

const MANY = 150_000;
const PAGE = '_cnd[limit]=0&_cnd[limit]=5';
const MANY_MAY_GO = { prefer: 'max-affected=100' };
type Asked = readonly [request: string, body?: unknown, headers?: Readonly<Record<string, string>>];
const REQUESTS: readonly Asked[] = [
  ['GET /api/notes/1'],
  ['GET /api/shelves/1'],
  ['GET /api/shelves/2'],
  ['GET /api/shelves/1?include='],
  ['GET /api/shelves/1?include=memos.shelf'],
  ['GET /api/shelves/2?include=memos.shelf'],
  [`GET /api/shelves?${PAGE}`],
  [`GET /api/shelves?include=&${PAGE}`],
  [`GET /api/notes?${PAGE}`],
  [`HEAD /api/notes?${PAGE}`],
  ['GET /api/notes?_cnd[limit]=120000&_cnd[limit]=5'],
  [`GET /api/notes?_cnd[title]=t5&${PAGE}`],
  [`GET /api/notes?_cnd[title][like]=*9*&${PAGE}`],
  [`GET /api/notes?_cnd[rank][gt]=5&_cnd[title][ne]=t&${PAGE}`],
  [`GET /api/notes?_cnd[orderBy]=title&${PAGE}`],
  [`GET /api/memos?_cnd[shelf]=1&${PAGE}`],
  [`GET /api/memos?_cnd[shelf.name]=small&${PAGE}`],
  ['GET /api/notes'],
  ['POST /api/notes', { title: 'x' }],
  ['POST /api/shelves?include=', { name: 'x', items: [{ text: 'a' }], memos: [{ id: 6 }] }],
  ['PUT /api/shelves/1?include=', { items: [] }],
  ['PUT /api/shelves/1?include=', { memos: [] }],
  ['PUT /api/shelves/2', { items: [], memos: [] }],
  ['PUT /api/shelves/2', { memos: [{ id: 5 }] }],
  ['PATCH /api/shelves/1', { name: 'y' }],
  ['PATCH /api/shelves/1?include=', { name: 'y' }],
  ['PATCH /api/memos/5', { shelf: { id: 1 } }],
  ['PATCH /api/memos/5', { shelf: null }],
  ['DELETE /api/shelves/1?include='],
  ['DELETE /api/shelves/2'],
  ['DELETE /api/memos/9'],
  ['POST /api/shelves?include=', [{ name: 'x', items: [{ text: 'a' }] }, { memos: [{ id: 7 }] }]],
  ['POST /api/notes?dryRun=true', [{ title: 'x' }, { title: 'y' }]],
  [
    'PATCH /api/shelves?include=',
    [
      { id: 3, items: [{ text: 'c' }] },
      { id: 4, name: 'z' },
    ],
  ],
  [
    'PATCH /api/shelves?include=',
    [
      { id: 2, memos: [] },
      { id: 1, memos: [] },
    ],
  ],
  ['PATCH /api/notes?dryRun=true', [{ id: 3, title: 'c' }]],
  ['PUT /api/shelves/2?dryRun=true', { items: [{ text: 'e' }], memos: [{ id: 5 }] }],
  ['PUT /api/shelves?on=code&include=', { code: 'new', memos: [{ id: 8 }] }],
  ['PUT /api/shelves?on=code&include=', { code: 'new', items: [{ text: 'd' }] }],
  ['PUT /api/shelves?on=code&include=&dryRun=true', { code: 'shelf 9', memos: [] }],
  ['DELETE /api/shelves?_cnd[id][gt]=149990', undefined, MANY_MAY_GO],
  ['DELETE /api/shelves?_cnd[id]=1', undefined, MANY_MAY_GO],
  ['DELETE /api/notes?_cnd[title]=t5&dryRun=true', undefined, MANY_MAY_GO],
  ['DELETE /api/notes?_cnd[text][like]=*x*&_cnd[rank]=8', undefined, MANY_MAY_GO],
  ['DELETE /api/memos?_cnd[shelf.name]=large', undefined, MANY_MAY_GO],
  ['GET /api/notes/$summary?by=title'],
  [`GET /api/notes/$summary?by=title,rank&measure=count,sum(rank),max(text)&${PAGE}`],
  ['GET /api/memos/$summary?by=shelf.name&_cnd[id][lt]=9'],
  [`GET /api/shelves?_cnd[memos][$some][0][text]=x&${PAGE}`],
  [`GET /api/shelves?_cnd[id]=5&_cnd[memos][$every][0][text]=x&${PAGE}`],
  [`GET /api/shelves?_cnd[$none][0][memos][$count][lt]=1&_cnd[memos][$every][0][text][like]=*t*&${PAGE}`],
];

let database: TestDatabase;
let serving: Serving;
let file: Database.Database;
beforeAll(async () => {
  database = await createDatabase('sqlite');
  const settings = {
    ...readSettings({}),
    port: 0,
    databaseUrl: database.url,
    schemaDirectory: 'tests/fixtures/attack',
  };
  await (await serve(settings)).close();
  file = new Database(fileOf(database));
  const all = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${MANY})`;
  const owner = `iif(i % 50000 = 0, 2, 1) from n`;
  file.exec(`${all} insert into shelves (name, code) select 'shelf ' || i, 'shelf ' || i from n;
    ${all} insert into items (text, shelf_items_id) select 'text', ${owner};
    ${all} insert into memos (text, shelf_id) select 'text', ${owner};
    ${all} insert into notes (title, text, rank) select 't' || i, 'text', i from n;`);
  serving = await serve(settings);
});
afterAll(async () => {
  await serving.close();
  file.close();
  await database.remove();
});

/** The statements that this process prepares; what runs elsewhere is prepared there. */
async function preparedDuring(work: () => Promise<void>): Promise<ReadonlySet<string>> {
  const prepared = new Set<string>();
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    prepared.add(sql);
    return prepare.call(this, sql);
  } as typeof prepare;
  await work().finally(() => (Database.prototype.prepare = prepare));
  return prepared;
}

const BOUNDED =
  /^SCAN (sqlite_sequence|counted|json_each|listed|pragma_data_version|CONSTANT ROW)|^USE TEMP B-TREE FOR group_concat\(ORDER BY\)/;
/** The records of an array, which has a limit, in its order. */
const LISTED = / from json_each\(\?\) as listed\$ order by listed\$\.key$/;
/** The rows of a preview: those that the body names, and those that the answer shows. */
const PREVIEWED = /`(\w+)` as materialized .* from `\1` as t\$/;

function unboundedStepsOf(sql: string): readonly string[] {
  if (!/^\s*(select|with|insert|update|delete)/i.test(sql)) return [];
  const values = Array.from(sql.matchAll(/\?/g), () => 1);
  const plan = file.prepare<number[], { readonly detail: string }>(`explain query plan ${sql}`).all(...values);
  return plan
    .map(({ detail }) => detail)
    .filter((step) => /^SCAN|TEMP B-TREE/.test(step) && !BOUNDED.test(step))
    .filter((step) => !(step.startsWith('SCAN t$') && PREVIEWED.test(sql)))
    .filter((step) => !(step === 'USE TEMP B-TREE FOR ORDER BY' && LISTED.test(sql)));
}

test('no request makes the service itself read a table, or sort it', async () => {
  const statuses: number[] = [];
  const prepared = await preparedDuring(async () => {
    for (const [request, body, headers] of REQUESTS) {
      const { status } = await ask(serving.url, request, body, headers);
      statuses.push(status);
    }
  });
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  expect(prepared.size).toBeGreaterThan(30);
  const unbounded = [...prepared].map((sql) => ({ sql, steps: unboundedStepsOf(sql) }));
  expect(unbounded.filter(({ steps }) => steps.length > 0)).toEqual([]);
});
