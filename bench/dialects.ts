/** How each kind of contender is asked, and how its answers are read. */
import { isObject, type JsonObject, type JsonValue } from '../engine/json.ts';

export interface ListOptions {
  readonly offset: number;
  readonly limit: number;
  readonly orderBy?: string;
  readonly category?: string;
}

export type Collection = 'items' | 'purchases';

export interface Dialect {
  path(collection: Collection): string;
  query(options: ListOptions): string;
  /** The records in the answer to a list. */
  records(body: JsonValue): JsonValue;
  /** The record in the answer to anything else. */
  record(body: JsonValue): JsonValue;
  /** The body that makes a record of these fields, or changes them. */
  body(fields: JsonObject): JsonObject;
  /** Whether a write is answered with the record. */
  readonly echoes: boolean;
  /** Whether rows are served that come into the database from outside. */
  readonly live: boolean;
  /** The method that changes some fields. */
  readonly update: 'PUT' | 'PATCH';
  /** Whether related records are answered. */
  readonly relations: boolean;
  /** Whether a list without a limit is answered whole. */
  readonly streams: boolean;
}

const same = <T>(value: T): T => value;
const member =
  (name: string) =>
  (body: JsonValue): JsonValue =>
    isObject(body) ? (body[name] ?? null) : null;

/** SQLite has no booleans, and some do not translate. */
function withBooleans(record: JsonValue): JsonValue {
  return isObject(record) && typeof record['active'] === 'number'
    ? { ...record, active: record['active'] === 1 }
    : record;
}
const allWithBooleans = (records: JsonValue): JsonValue =>
  Array.isArray(records) ? records.map(withBooleans) : records;

const withoutBooleans = (fields: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value]),
  );

/** Parameters that are not given are left out. */
const search = (parameters: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value)}`))
    .join('&');

export const dialects = {
  /** This engine. */
  engine: {
    path: (collection) => `/api/${collection}`,
    query: ({ offset, limit, orderBy, category }) =>
      `_cnd[limit]=${offset}&_cnd[limit]=${limit}&${search({ '_cnd[orderBy]': orderBy, '_cnd[category]': category })}`,
    records: same,
    record: same,
    body: same,
    echoes: true,
    live: true,
    update: 'PUT',
    relations: true,
    streams: true,
  },
  /** What is written by hand. */
  plain: {
    path: (collection) => `/api/${collection}`,
    query: ({ offset, limit, orderBy, category }) => search({ offset, limit, orderBy, category }),
    records: same,
    record: same,
    body: same,
    echoes: true,
    live: true,
    update: 'PUT',
    relations: true,
    streams: false,
  },
  jsonServer: {
    path: (collection) => `/${collection}`,
    query: ({ offset, limit, orderBy, category }) =>
      search({ _start: offset, _limit: limit, _sort: orderBy, category }),
    records: same,
    record: same,
    body: same,
    echoes: true,
    live: false,
    update: 'PATCH',
    relations: false,
    streams: false,
  },
  feathers: {
    path: (collection) => `/${collection}`,
    query: ({ offset, limit, orderBy, category }) =>
      search({ $skip: offset, $limit: limit, ...(orderBy ? { [`$sort[${orderBy}]`]: 1 } : {}), category }),
    records: (body) => allWithBooleans(member('data')(body)),
    record: withBooleans,
    body: same,
    echoes: true,
    live: true,
    update: 'PATCH',
    relations: false,
    streams: false,
  },
  soul: {
    path: (collection) => `/api/tables/${collection}/rows`,
    query: ({ offset, limit, orderBy, category }) =>
      search({
        _page: offset / limit + 1,
        _limit: limit,
        _ordering: orderBy,
        _filters: category === undefined ? undefined : `category:${category}`,
      }),
    records: (body) => allWithBooleans(member('data')(body)),
    record: (body) => {
      const data = member('data')(body);
      return withBooleans(Array.isArray(data) ? (data[0] ?? null) : data);
    },
    body: (fields) => ({ fields: withoutBooleans(fields) }),
    echoes: false,
    live: true,
    update: 'PUT',
    relations: false,
    streams: false,
  },
} satisfies Record<string, Dialect>;

export type DialectName = keyof typeof dialects;
