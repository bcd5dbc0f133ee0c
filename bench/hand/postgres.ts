/** Fastify and pg by hand: what `sqlite.ts` is for SQLite. Each connection prepares each statement once. */
import Fastify from 'fastify';
import { Pool, type PoolClient, types } from 'pg';
import {
  AMOUNTS,
  announce,
  type Id,
  IMAGE,
  image,
  imageBody,
  type ImageInput,
  images,
  JOINED,
  markup,
  markupBody,
  type MarkupInput,
  type Page,
  params,
  querystring,
  showMarkup,
} from './schemas.ts';

type Row = Record<string, unknown>;

const INT8 = 20;
types.setTypeParser(INT8, Number);

const url = new URL(process.env['DATABASE_URL'] ?? '');
const max = Number(url.searchParams.get('pool') ?? 10);
const pool = new Pool({ connectionString: url.href, max });

const names = Object.keys(IMAGE);
const quoted = names.map((name) => `"${name}"`);
const placeholders = (count: number): string => Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ');
const range = 'where date >= $2 and date < $3';

const statements = {
  get: 'select * from content_images where id = $1',
  list: 'select *, (select count(*) from content_images) as found from content_images order by id limit $1',
  between: `select *, (select count(*) from content_images ${range}) as found from content_images ${range} order by id limit $1`,
  create: `insert into content_images (${quoted.join(', ')}) values (${placeholders(names.length)}) returning *`,
  update: `update content_images set ${quoted.map((name, at) => `${name} = coalesce($${at + 2}, ${name})`).join(', ')} where id = $1 returning *`,
  remove: 'delete from content_images where id = $1 returning *',
  getMarkup: `${JOINED} where k.markup_id = $1`,
  createZone: 'insert into zones (zone_name, is_default) values ($1, false) returning zone_id',
  createMarkup: `insert into shipping_markups (${AMOUNTS.join(', ')}, shipping_method_id, zone_id)
    values (${placeholders(AMOUNTS.length + 2)}) returning markup_id`,
} as const;

async function rows(
  name: keyof typeof statements,
  values: readonly unknown[],
  client: Pool | PoolClient = pool,
): Promise<readonly Row[]> {
  return (await client.query<Row>({ name, text: statements[name], values: [...values] })).rows;
}

/** A key that is missing is null. */
const bound = (body: Row): readonly unknown[] =>
  names.map((name) => (name === 'cloudicons' && name in body ? JSON.stringify(body[name]) : (body[name] ?? null)));

const app = Fastify();
const NOT_FOUND = { message: 'not found' };

app.get<Id>('/api/content-images/:id', { schema: { params, response: { 200: image } } }, async (request, reply) => {
  const [row] = await rows('get', [request.params.id]);
  return reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
});
app.get<Page>(
  '/api/content-images',
  { schema: { querystring, response: { 200: images } } },
  async ({ query }, reply) => {
    const { limit, from, to } = query;
    const page = await (from === undefined ? rows('list', [limit]) : rows('between', [limit, from, to]));
    return reply.header('X-Total-Count', Number(page[0]?.['found'] ?? 0)).send(page);
  },
);
app.post<ImageInput>(
  '/api/content-images',
  { schema: { body: imageBody, response: { 201: image } } },
  async ({ body }, reply) => reply.code(201).send((await rows('create', bound(body)))[0]),
);
app.put<Id & ImageInput>(
  '/api/content-images/:id',
  { schema: { params, body: imageBody, response: { 200: image } } },
  async ({ params: { id }, body }, reply) => {
    const [row] = await rows('update', [id, ...bound(body)]);
    return reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
  },
);
app.delete<Id>('/api/content-images/:id', { schema: { params, response: { 200: image } } }, async (request, reply) => {
  const [row] = await rows('remove', [request.params.id]);
  return reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
});
app.get<Id>('/api/shipping-markups/:id', { schema: { params, response: { 200: markup } } }, async (request, reply) => {
  const [row] = await rows('getMarkup', [request.params.id]);
  return reply.code(row ? 200 : 404).send(row ? showMarkup(row) : NOT_FOUND);
});
app.post<MarkupInput>(
  '/api/shipping-markups',
  { schema: { body: markupBody, response: { 201: markup } } },
  async ({ body: { zone, shipping_method: method, ...amounts } }, reply) => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const [area] = await rows('createZone', [zone.zone_name], client);
      const values = [...AMOUNTS.map((name) => amounts[name]), method.method_id, area?.['zone_id']];
      const [made] = await rows('createMarkup', values, client);
      const [row = {}] = await rows('getMarkup', [made?.['markup_id']], client);
      await client.query('commit');
      return await reply.code(201).send(showMarkup(row));
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  },
);

void app.listen({ port: 0, host: '127.0.0.1' }).then(() => announce(app.server.address()));
