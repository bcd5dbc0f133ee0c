/** Requests for what several records have in common, and for several records at once. */
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { type Dialect, dialects } from '../dialects.ts';
import { identifiers } from '../records.ts';
import { json, plain, type Request, rowOf, type Work } from '../work.ts';
import { CATEGORIES, GROUP, groupName, type Product, productOf, shelfIdOf, shelfOf, SHELVES } from './records.ts';

const PRODUCTS = '/api/products';
const SHELF = '/api/shelves';
const LIMIT = 20;
const MANY = 100;
/** Records that one request may bring. */
const MOST = 1000;
const TOTAL = ['X-Total-Count', /^[1-9]\d*$/] as const;

type Body = Exclude<Request['body'], undefined>;

/** The servers by hand have addresses of their own. */
const asked = (dialect: Dialect, engine: string, byHand: string): string =>
  dialect === dialects.engine ? engine : byHand;

const get = (dialect: Dialect, engine: string, byHand: string): Request => ({
  method: 'GET',
  path: asked(dialect, engine, byHand),
});

const all = (rows: number): readonly Product[] => identifiers(rows).map(productOf);
const found = <T>(records: readonly T[]): JsonValue => json(records.slice(0, LIMIT));

const made = (n: number): JsonObject => {
  const { id: _, ...fields } = productOf(n);
  return json({ ...fields, code: `N-${n}` }) as JsonObject;
};
/** No two requests make the same. */
const madeMany = (n: number, count: number): JsonObject[] =>
  identifiers(count).map((index) => ({ ...made(n * count + index), code: `N${count}-${n * count + index}` }));

const STOCK = 990;
const category = (n: number): string => `category ${n % CATEGORIES}`;

function shelvesWhere(rows: number, is: (products: readonly Product[]) => boolean): JsonValue {
  const on = Map.groupBy(all(rows), ({ id }) => shelfIdOf(id));
  return found(
    identifiers(SHELVES)
      .filter((id) => is(on.get(id) ?? []))
      .map(shelfOf),
  );
}

const changed = (n: number, rows: number): readonly JsonObject[] =>
  identifiers(MANY).map((index) => ({ id: rowOf(n * MANY + index, rows), stock: 2000 + n, price: `${n % 1000}.50` }));

const write = (path: string, body: Body, headers?: Readonly<Record<string, string>>): Request => ({
  method: 'POST',
  path,
  body,
  ...(headers && { headers }),
});

const names = ['code', 'category', 'stock', 'price', 'active'] as const;
const csvOf = (records: readonly JsonObject[]): string =>
  [names, ...records.map((record) => names.map((name) => String(record[name])))]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('');
const ndjsonOf = (records: readonly JsonObject[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

const createMany = (name: string, request: (records: readonly JsonObject[]) => Request, count = MANY): Work => ({
  ...plain,
  name,
  status: [201],
  request: (_, n) => request(madeMany(n, count)),
  expected: (n) => madeMany(n, count),
});

export const requestsWork: readonly Work[] = [
  {
    ...plain,
    name: 'list by a group',
    header: TOTAL,
    request: (dialect, n) =>
      get(
        dialect,
        `${PRODUCTS}?_cnd[$any][0][category]=${category(n)}&_cnd[$any][1][stock][gt]=${STOCK}&_cnd[limit]=0&_cnd[limit]=${LIMIT}`.replaceAll(
          ' ',
          '%20',
        ),
        `${PRODUCTS}/any?category=${encodeURIComponent(category(n))}&above=${STOCK}&limit=${LIMIT}`,
      ),
    expected: (n, { rows }) => found(all(rows).filter((one) => one.category === category(n) || one.stock > STOCK)),
  },
  {
    ...plain,
    name: 'list by a set',
    header: TOTAL,
    request: (dialect, n) =>
      get(
        dialect,
        `${SHELF}?_cnd[products][$some][0][category]=${encodeURIComponent(category(n))}&_cnd[products][$some][0][active]=true&_cnd[limit]=0&_cnd[limit]=${LIMIT}`,
        `${SHELF}/some?category=${encodeURIComponent(category(n))}&limit=${LIMIT}`,
      ),
    expected: (n, { rows }) =>
      shelvesWhere(rows, (products) => products.some((one) => one.category === category(n) && one.active)),
  },
  {
    ...plain,
    name: 'list by a count',
    header: TOTAL,
    request: (dialect) =>
      get(
        dialect,
        `${SHELF}?_cnd[products][$count][gte]=2&_cnd[limit]=0&_cnd[limit]=${LIMIT}`,
        `${SHELF}/counted?least=2&limit=${LIMIT}`,
      ),
    expected: (_, { rows }) => shelvesWhere(rows, ({ length }) => length >= 2),
  },
  {
    ...plain,
    name: 'summary of a category',
    request: (dialect, n) =>
      get(
        dialect,
        `${PRODUCTS}/$summary?by=active&measure=count,sum(stock),sum(price)&_cnd[category]=${encodeURIComponent(category(n))}`,
        `${PRODUCTS}/summary?category=${encodeURIComponent(category(n))}`,
      ),
    expected: (n, { rows }) => summaryOf(all(rows).filter((one) => one.category === category(n))),
  },
  {
    ...plain,
    name: 'summary of all',
    request: (dialect) =>
      get(dialect, `${PRODUCTS}/$summary?by=active&measure=count,sum(stock),sum(price)`, `${PRODUCTS}/summary`),
    expected: (_, { rows }) => summaryOf(all(rows)),
  },
  createMany(`create ${MANY}`, (records) => write(PRODUCTS, records)),
  createMany(`create ${MOST}`, (records) => write(PRODUCTS, records), MOST),
  createMany(`create ${MANY} of CSV`, (records) => write(PRODUCTS, csvOf(records), { 'content-type': 'text/csv' })),
  createMany(`create ${MANY} of NDJSON`, (records) =>
    write(PRODUCTS, ndjsonOf(records), { 'content-type': 'application/x-ndjson' }),
  ),
  {
    ...plain,
    name: `update ${MANY}`,
    request: (_, n, { rows }) => ({ method: 'PATCH', path: PRODUCTS, body: changed(n, rows) }),
    expected: (n, { rows }) => changed(n, rows).map((change) => ({ ...productOf(Number(change['id'])), ...change })),
  },
  {
    ...plain,
    name: 'upsert',
    status: [200, 201],
    // Every other one is there already.
    request: (_, n, { rows }) => ({ method: 'PUT', path: `${PRODUCTS}?on=code`, body: upserted(n, rows) }),
    expected: upsertedIn,
  },
  {
    ...plain,
    name: `delete ${GROUP} by a filter`,
    consumes: true,
    request: (_, n, { spare }) => ({
      method: 'DELETE',
      path: `${PRODUCTS}?_cnd[category]=${encodeURIComponent(groupName(n + spare))}`,
      headers: { prefer: `max-affected=${GROUP}` },
    }),
    expected: () => ({ deleted: GROUP, affected: GROUP }),
  },
  {
    ...plain,
    name: 'dry run of a create',
    status: [200, 201],
    statusOnly: true,
    request: (dialect, n) => write(asked(dialect, `${PRODUCTS}?dryRun=true`, `${PRODUCTS}/try`), made(n)),
    expected: made,
  },
];

const upserted = (n: number, rows: number): JsonObject =>
  n % 2 === 0 ? made(n) : { ...made(n), code: `P-${rowOf(n, rows)}` };

function upsertedIn(n: number, { rows }: { readonly rows: number }): JsonObject {
  return upserted(n, rows);
}

function summaryOf(products: readonly Product[]): JsonValue {
  const groups = [false, true].map((active) => products.filter((one) => one.active === active));
  return groups.flatMap((group, index) => (group.length === 0 ? [] : [summarized(index === 1, group)]));
}

function summarized(active: boolean, group: readonly Product[]): JsonObject {
  const cents = group.reduce((sum, { price }) => sum + Math.round(Number(price) * 100), 0);
  const measures = {
    count: group.length,
    'sum(stock)': group.reduce((sum, { stock }) => sum + stock, 0),
    'sum(price)': (cents / 100).toFixed(2),
  };
  return { by: { active }, measures };
}
