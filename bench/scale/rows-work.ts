/** The work that is measured at different numbers of rows. Only this engine is asked. */
import { CATEGORIES, categoryOf, firstByName, itemOf } from '../records.ts';
import type { Running } from '../process.ts';
import { json, plain, rowOf, type Work, work } from '../work.ts';

const LIMIT = 20;
const BY_NAME = '_cnd[orderBy]=name';

const items = (offset: number, search: string): string =>
  `/api/items?_cnd[limit]=${offset}&_cnd[limit]=${LIMIT}&${search}`;
const get = (path: string) => ({ method: 'GET', path }) as const;

/** The last page but one: it has neighbours on both sides. */
const farOffset = (rows: number): number => rows - 2 * LIMIT;
const farPage = (rows: number) =>
  json(
    firstByName(rows, 2 * LIMIT, true)
      .toReversed()
      .slice(0, LIMIT)
      .map(itemOf),
  );

/** Walked to from the page before it, as a client would. */
async function linkedPage({ url, data: { rows } }: Running): Promise<string> {
  const before = await fetch(url + items(farOffset(rows) - LIMIT, BY_NAME));
  const [, next] = /<([^>]+)>; rel="next"/.exec(before.headers.get('link') ?? '') ?? [];
  if (next === undefined) throw new Error(`${before.url} has no link to the next page`);
  return next;
}

export const WHOLE_LIST = '/api/items';

export const readWork: readonly Work[] = [
  ...work.filter(({ name }) => name === 'get'),
  {
    ...plain,
    name: 'first page',
    request: () => get(items(0, BY_NAME)),
    expected: (_, { rows }) => json(firstByName(rows, LIMIT).map(itemOf)),
  },
  {
    ...plain,
    name: 'far page, offset',
    request: (_, __, { rows }) => get(items(farOffset(rows), BY_NAME)),
    expected: (_, { rows }) => farPage(rows),
  },
  {
    ...plain,
    name: 'far page, Link: next',
    page: linkedPage,
    request: (_, __, { page = '' }) => get(page),
    expected: (_, { rows }) => farPage(rows),
  },
  {
    ...plain,
    name: 'filter, index',
    request: (_, n) => get(items(0, `_cnd[category]=${encodeURIComponent(categoryOf(n))}`)),
    expected: (n, { rows }) => {
      const first = n % CATEGORIES || CATEGORIES;
      const ids = Array.from({ length: LIMIT }, (_, index) => first + index * CATEGORIES);
      return json(ids.filter((id) => id <= rows).map(itemOf));
    },
  },
  {
    ...plain,
    name: 'filter, no index',
    request: (_, n, { rows }) => get(items(0, `_cnd[code]=${itemOf(rowOf(n, rows)).code}`)),
    expected: (n, { rows }) => json([itemOf(rowOf(n, rows))]),
  },
];

export const rowsWork: readonly Work[] = [...readWork, ...work.filter(({ name }) => name === 'create')];
