/** The table of work: the n-th request of each kind, to the engine and to the servers by hand, and the expected answer. */
import type { JsonObject, JsonValue } from '../engine/json/json.ts';
import { amountsOf, dateOf, imageOf, methodIdOf, methodOf, zoneIdOf, zoneOf } from './records.ts';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Where the servers by hand have another query. */
  readonly byHand?: string;
  readonly body?: JsonObject;
}

export interface Work {
  readonly name: string;
  readonly status: number;
  /** Whether each request uses up a record: number `rows + n`. */
  readonly consumes?: true;
  request(n: number, rows: number): Request;
  /** What the answer must hold; a record that was made holds an identifier besides. */
  expected(n: number, rows: number): JsonValue;
}

const IMAGES = '/api/content-images';
const MARKUPS = '/api/shipping-markups';
const IN_RANGE = 100;

/** Neighbouring requests ask for rows that lie far apart. */
const rowOf = (n: number, rows: number): number => 1 + ((n * 7919) % rows);

const json = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;

const without = (record: object, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name))) as JsonObject;

const madeImage = (n: number): JsonObject => without(imageOf(n), 'id');

const imagesFrom = (first: number, count: number): JsonValue =>
  json(Array.from({ length: count }, (_, index) => imageOf(first + index)));

const list = (limit: number): Work => ({
  name: `list ${limit}`,
  status: 200,
  request: () => ({
    method: 'GET',
    path: `${IMAGES}?_cnd[limit]=0&_cnd[limit]=${limit}`,
    byHand: `${IMAGES}?limit=${limit}`,
  }),
  expected: () => imagesFrom(1, limit),
});

/** One of a hundred ranges: clients of a shop send the same filters again and again. */
const rangeOf = (n: number, rows: number): number => 1 + Math.floor(((n % 100) * (rows - IN_RANGE)) / 100);

export const work: readonly Work[] = [
  {
    name: 'get',
    status: 200,
    request: (n, rows) => ({ method: 'GET', path: `${IMAGES}/${rowOf(n, rows)}` }),
    expected: (n, rows) => json(imageOf(rowOf(n, rows))),
  },
  {
    name: 'get with two relations',
    status: 200,
    request: (n, rows) => ({ method: 'GET', path: `${MARKUPS}/${rowOf(n, rows)}` }),
    expected: (n, rows) => {
      const id = rowOf(n, rows);
      return json({ ...amountsOf(id), shipping_method: methodOf(methodIdOf(id)), zone: zoneOf(zoneIdOf(id)) });
    },
  },
  list(20),
  list(100),
  {
    name: 'filtered list',
    status: 200,
    request: (n, rows) => {
      const [from, to] = [dateOf(rangeOf(n, rows)), dateOf(rangeOf(n, rows) + IN_RANGE)];
      return {
        method: 'GET',
        path: `${IMAGES}?_cnd[date][gte]=${from}&_cnd[date][lt]=${to}&_cnd[limit]=0&_cnd[limit]=20`,
        byHand: `${IMAGES}?from=${from}&to=${to}&limit=20`,
      };
    },
    expected: (n, rows) => imagesFrom(rangeOf(n, rows), 20),
  },
  {
    name: 'update',
    status: 200,
    // Each request changes something: a write that changes nothing costs less.
    request: (n, rows) => ({ method: 'PUT', path: `${IMAGES}/${rowOf(n, rows)}`, body: changes(n) }),
    expected: (n, rows) => json({ ...imageOf(rowOf(n, rows)), ...changes(n) }),
  },
  {
    name: 'delete',
    status: 200,
    consumes: true,
    request: (n, rows) => ({ method: 'DELETE', path: `${IMAGES}/${rows + n}` }),
    expected: (n, rows) => json(imageOf(rows + n)),
  },
  {
    name: 'create',
    status: 201,
    request: (n) => ({ method: 'POST', path: IMAGES, body: madeImage(n) }),
    expected: madeImage,
  },
  {
    name: 'nested create',
    status: 201,
    request: (n) => ({
      method: 'POST',
      path: MARKUPS,
      body: {
        ...without(amountsOf(n), 'markup_id'),
        shipping_method: { method_id: methodIdOf(n) },
        zone: { zone_name: `New ${n}` },
      },
    }),
    expected: (n) =>
      json({
        ...without(amountsOf(n), 'markup_id'),
        shipping_method: methodOf(methodIdOf(n)),
        zone: { zone_name: `New ${n}`, is_default: false },
      }),
  },
];

const changes = (n: number): JsonObject => ({ size: 1_000_000 + n, hash: `changed-${n}` });
