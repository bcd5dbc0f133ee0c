/** Fastify by hand for products and shelves: groups, sets, totals, and many records at once, with the SQL that they need. */
import Database from 'better-sqlite3';
import Fastify, { type FastifyReply } from 'fastify';
import type { Product, shelfOf } from '../requests/records.ts';
import { list } from './schemas.ts';
import { announce, settings } from './settings.ts';

type Shelf = ReturnType<typeof shelfOf>;
/** SQLite has no booleans. */
type Row = Omit<Product, 'active'> & { readonly active: number };
type NewProduct = Omit<Product, 'id'>;
type Change = Pick<Product, 'id' | 'stock' | 'price'>;
interface Sums {
  readonly active: number;
  readonly count: number;
  readonly stock: number;
  readonly cents: number;
  /** After the point, of the price that has most. */
  readonly digits: number;
}

const integer = { type: 'integer' } as const;
const text = { type: 'string' } as const;
const fields = {
  code: { ...text, maxLength: 32 },
  category: { ...text, maxLength: 64 },
  stock: integer,
  price: { ...text, pattern: '^-?\\d{1,12}(\\.\\d{1,2})?$' },
  active: { type: 'boolean' },
} as const;
const product = { type: 'object', properties: { id: integer, ...fields } };
const shelf = { type: 'object', properties: { id: integer, name: text } };
const body = { type: 'object', additionalProperties: false, required: ['code', 'category'], properties: fields };
const many = { type: 'array', maxItems: 1000, items: body };
const change = {
  type: 'object',
  additionalProperties: false,
  required: ['id'],
  properties: { id: integer, stock: integer, price: fields.price },
};
const search = {
  type: 'object',
  properties: { category: text, above: integer, least: integer, limit: { ...integer, maximum: 1000 } },
};
const object = { type: 'object', additionalProperties: true } as const;
const summary = {
  type: 'array',
  items: {
    type: 'object',
    properties: { by: { type: 'object', properties: { active: fields.active } }, measures: object },
  },
};

const { port, file } = settings();
const database = new Database(file);
database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');

const COLUMNS = 'id, code, category, stock, price, active';
const VALUES = '(code, category, stock, price, active) values (@code, @category, @stock, @price, @active)';
const page = <B extends unknown[], T>(from: string, columns: string) => {
  const rows = database.prepare<[...B, number], T>(`select ${columns} from ${from} order by id limit ?`);
  const total = database.prepare<B, number>(`select count(*) from ${from}`).pluck();
  return (limit: number, ...values: B): readonly [readonly T[], number] => [
    rows.all(...values, limit),
    total.get(...values) ?? 0,
  ];
};
const inGroup = page<[string, number], Row>('products where category = ? or stock > ?', COLUMNS);
const withSome = page<[string], Shelf>(
  'shelves as s where exists (select 1 from products where shelf_id = s.id and category = ? and active = 1)',
  'id, name',
);
const counted = page<[number], Shelf>(
  'shelves as s where (select count(*) from products where shelf_id = s.id) >= ?',
  'id, name',
);
// The sum has as many digits as the price that has most.
const SUMS = `active, count(*) as count, sum(stock) as stock, sum(cast(round(price * 100) as integer)) as cents,
  max(length(price) - instr(price || '.', '.')) as digits`;
const sumsOfAll = database.prepare<[], Sums>(`select ${SUMS} from products group by active order by active`);
const sumsOf = database.prepare<[string], Sums>(
  `select ${SUMS} from products where category = ? group by active order by active`,
);
const insert = database.prepare<[object], Row>(`insert into products ${VALUES} returning ${COLUMNS}`);
const upsert = database.prepare<[object], Row>(
  `insert into products ${VALUES} on conflict (code) do update set category = excluded.category, stock = excluded.stock,
     price = excluded.price, active = excluded.active returning ${COLUMNS}`,
);
const update = database.prepare<[Change], Row>(
  `update products set stock = coalesce(@stock, stock), price = coalesce(@price, price) where id = @id returning ${COLUMNS}`,
);
const countOf = database.prepare<[string], number>('select count(*) from products where category = ?').pluck();
const removeIn = database.prepare<[string]>('delete from products where category = ?');

const asRow = ({ stock = 0, price = '0', active = true, ...one }: NewProduct): object => ({
  ...one,
  stock,
  price,
  active: active ? 1 : 0,
});
const insertAll = database.transaction((all: readonly NewProduct[]) => all.map((one) => insert.get(asRow(one))));
/** All or none. */
const updateAll = database.transaction((all: readonly Change[]) => all.map((one) => update.get(one) ?? missing(one)));
function missing({ id }: Change): never {
  throw Object.assign(new Error(`There is no product ${id}`), { statusCode: 422 });
}
const removeFew = database.transaction((category: string, most: number): number | undefined =>
  (countOf.get(category) ?? 0) > most ? undefined : removeIn.run(category).changes,
);
/** Undone at the end. */
function tryInsert(one: NewProduct): Row | undefined {
  database.exec('begin immediate');
  try {
    return insert.get(asRow(one));
  } finally {
    database.exec('rollback');
  }
}

const shown = ({ active, count, stock, cents, digits }: Sums): object => ({
  by: { active: active === 1 },
  measures: { count, 'sum(stock)': stock, 'sum(price)': (cents / 100).toFixed(Math.max(digits, 0)) },
});

function sendPage(reply: FastifyReply, [rows, total]: readonly [readonly object[], number]): void {
  void reply.header('X-Total-Count', total).send(rows);
}

const app = Fastify();

/** The first line names the columns. No cell of these tables has a comma or a quote. */
function fromCsv(table: string): readonly NewProduct[] {
  const [head = '', ...lines] = table.split('\r\n').filter((line) => line !== '');
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    const one = Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
    return { ...one, stock: Number(one['stock']), active: one['active'] === 'true' } as unknown as NewProduct;
  });
}
const fromNdjson = (lines: string): readonly NewProduct[] =>
  lines.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as NewProduct)));
app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_, given, done) => done(null, fromCsv(String(given))));
app.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (_, given, done) =>
  done(null, fromNdjson(String(given))),
);

interface Search {
  Querystring: { category: string; above: number; least: number; limit: number };
}

app.get<Search>(
  '/api/products/any',
  { schema: { querystring: search, response: { 200: list(product) } } },
  ({ query: { category, above, limit } }, reply) => sendPage(reply, inGroup(limit, category, above)),
);
app.get<Search>(
  '/api/shelves/some',
  { schema: { querystring: search, response: { 200: list(shelf) } } },
  ({ query: { category, limit } }, reply) => sendPage(reply, withSome(limit, category)),
);
app.get<Search>(
  '/api/shelves/counted',
  { schema: { querystring: search, response: { 200: list(shelf) } } },
  ({ query: { least, limit } }, reply) => sendPage(reply, counted(limit, least)),
);
app.get<{ Querystring: { category?: string } }>(
  '/api/products/summary',
  { schema: { querystring: search, response: { 200: summary } } },
  ({ query: { category } }, reply) =>
    void reply.send((category === undefined ? sumsOfAll.all() : sumsOf.all(category)).map(shown)),
);
app.post<{ Body: readonly NewProduct[] }>(
  '/api/products',
  { schema: { body: many, response: { 201: list(product) } } },
  ({ body: given }, reply) => void reply.code(201).send(insertAll(given)),
);
app.post<{ Body: NewProduct }>(
  '/api/products/try',
  { schema: { body, response: { 200: product } } },
  ({ body: given }, reply) => void reply.send(tryInsert(given)),
);
app.patch<{ Body: readonly Change[] }>(
  '/api/products',
  { schema: { body: { type: 'array', maxItems: 1000, items: change }, response: { 200: list(product) } } },
  ({ body: given }, reply) => void reply.send(updateAll(given)),
);
app.put<{ Body: NewProduct }>(
  '/api/products',
  { schema: { body, response: { 200: product } } },
  ({ body: given }, reply) => void reply.send(upsert.get(asRow(given))),
);
app.delete<{ Querystring: { '_cnd[category]': string } }>('/api/products', ({ query, headers }, reply) => {
  const most = Number(/max-affected=(\d+)/.exec(String(headers['prefer']))?.[1] ?? 0);
  const deleted = removeFew(query['_cnd[category]'], most);
  if (deleted === undefined) void reply.code(409).send({ message: 'too many' });
  else void reply.send({ deleted, affected: deleted });
});

void app.listen({ port, host: '127.0.0.1' }).then(() => announce(app.server.address()));
