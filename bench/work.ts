/** The work that is measured: the n-th request of each kind, and what must be answered. */
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Dialect, ListOptions, Collection } from './dialects.ts';
import type { Running } from './process.ts';
import {
  CATEGORIES,
  categoryOf,
  customerOf,
  firstByName,
  identifiers,
  itemOf,
  purchaseOf,
  WAREHOUSES,
  warehouseOf,
} from './records.ts';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The body and the headers of a request as they are sent. */
export function sent({ body, headers = {} }: Request): {
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  if (body === undefined) return { headers };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { body: text, headers: { 'content-type': 'application/json', ...headers } };
}

/** What the data is like when the work begins. */
export interface World {
  readonly rows: number;
  /** Where each request uses up a record, the n-th takes the one with the identifier n more than this. */
  readonly spare: number;
  /** Record types, where there are many of the same kind. */
  readonly types?: number | undefined;
  /** The path of a page that the server itself has linked to. */
  readonly page?: string | undefined;
}

export interface Work {
  readonly name: string;
  /** Whether related records are part of it. */
  readonly relations: boolean;
  /** Whether each request uses up a record. */
  readonly consumes: boolean;
  /** Finds the path of such a page. */
  page?(server: Running): Promise<string>;
  request(dialect: Dialect, n: number, world: World): Request;
  readonly status: readonly number[];
  /** Whether contenders answer it in forms of their own. */
  readonly statusOnly?: true;
  /** What a contender with `headers` answers besides. */
  readonly header?: readonly [name: string, value: RegExp];
  /** What the body must hold, read by the dialect; a record that is made may hold more. */
  expected(n: number, world: World): JsonValue;
}

/** Neighbouring requests ask for rows that lie far apart. */
export const rowOf = (n: number, rows: number): number => 1 + ((n * 7919) % rows);
/** Rows in the second half are changed; whoever reads beside that reads the first. */
const readRow = (n: number, rows: number): number => rowOf(n, Math.floor(rows / 2));
const changedRow = (n: number, rows: number): number => Math.floor(rows / 2) + readRow(n, rows);
/** Lists begin at one of the first pages: how far offsets cost is a question of its own. */
const PAGES = 3;

export const json = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;

export const plain = { relations: false, consumes: false, status: [200] } as const;

const TOTAL = ['X-Total-Count', /^[1-9]\d*$/] as const;

const list = (dialect: Dialect, collection: Collection, options: ListOptions): Request => ({
  method: 'GET',
  path: `${dialect.path(collection)}?${dialect.query(options)}`,
});

const listWork = (limit: number): Work => ({
  ...plain,
  name: `list ${limit}`,
  header: TOTAL,
  request: (dialect, n) => list(dialect, 'items', { offset: (n % PAGES) * limit, limit, orderBy: 'name' }),
  expected: (n, { rows }) => {
    const offset = (n % PAGES) * limit;
    return json(
      firstByName(rows, offset + limit)
        .slice(offset)
        .map(itemOf),
    );
  },
});

const getItem: Work = {
  ...plain,
  name: 'get',
  request: (dialect, n, { rows }) => ({ method: 'GET', path: `${dialect.path('items')}/${readRow(n, rows)}` }),
  expected: (n, { rows }) => json(itemOf(readRow(n, rows))),
};

/** Each request changes something: a write that changes nothing costs less. */
const changes = (n: number): JsonObject => ({ quantity: 1000 + n, code: `U-${n.toString(36)}` });

const updateItem: Work = {
  ...plain,
  name: 'update',
  request: (dialect, n, { rows }) => ({
    method: dialect.update,
    path: `${dialect.path('items')}/${changedRow(n, rows)}`,
    body: dialect.body(changes(n)),
  }),
  expected: (n, { rows }) => json({ ...itemOf(changedRow(n, rows)), ...changes(n) }),
};

const madeItem = (n: number): JsonObject => {
  const { id: _, ...fields } = itemOf(n + 1);
  return { ...fields };
};

const madePurchase = (n: number): JsonObject => {
  const { id: _, ...customer } = customerOf(n + 1);
  const { id: __, warehouse: ___, ...fields } = purchaseOf(n + 1);
  return { ...fields, customer, warehouse: { id: 1 + (n % WAREHOUSES) } };
};

export const work: readonly Work[] = [
  getItem,
  {
    ...plain,
    name: 'get with relations',
    relations: true,
    request: (dialect, n, { rows }) => ({ method: 'GET', path: `${dialect.path('purchases')}/${rowOf(n, rows)}` }),
    expected: (n, { rows }) => json(purchaseOf(rowOf(n, rows))),
  },
  listWork(20),
  listWork(100),
  {
    ...plain,
    name: 'list with relations',
    header: TOTAL,
    relations: true,
    request: (dialect, n) => list(dialect, 'purchases', { offset: (n % PAGES) * 20, limit: 20, orderBy: 'number' }),
    expected: (n, { rows }) => {
      const offset = (n % PAGES) * 20;
      return json(
        firstByName(rows, offset + 20)
          .slice(offset)
          .map(purchaseOf),
      );
    },
  },
  {
    ...plain,
    name: 'filtered list',
    header: TOTAL,
    request: (dialect, n) => list(dialect, 'items', { offset: 0, limit: 20, category: categoryOf(n) }),
    expected: (n, { rows }) =>
      json(
        identifiers(rows)
          .filter((id) => id % CATEGORIES === n % CATEGORIES)
          .slice(0, 20)
          .map(itemOf),
      ),
  },
  updateItem,
  {
    ...plain,
    name: 'mixed 90/10',
    request: (dialect, n, world) => (n % 10 === 9 ? updateItem : getItem).request(dialect, n, world),
    expected: (n, world) => (n % 10 === 9 ? updateItem : getItem).expected(n, world),
  },
  {
    ...plain,
    name: 'delete',
    consumes: true,
    status: [200, 204],
    request: (dialect, n, { spare }) => ({ method: 'DELETE', path: `${dialect.path('items')}/${n + spare}` }),
    expected: (n, { spare }) => json(itemOf(n + spare)),
  },
  {
    ...plain,
    name: 'create',
    header: ['Location', /\/api\/items\/[1-9]\d*$/],
    status: [201],
    request: (dialect, n) => ({ method: 'POST', path: dialect.path('items'), body: dialect.body(madeItem(n)) }),
    expected: madeItem,
  },
  {
    ...plain,
    name: 'nested create',
    header: ['Location', /\/api\/purchases\/[1-9]\d*$/],
    relations: true,
    status: [201],
    request: (dialect, n) => ({ method: 'POST', path: dialect.path('purchases'), body: dialect.body(madePurchase(n)) }),
    expected: (n) => ({ ...madePurchase(n), warehouse: json(warehouseOf(1 + (n % WAREHOUSES))) }),
  },
];
