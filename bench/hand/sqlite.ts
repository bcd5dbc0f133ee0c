/** Fastify and better-sqlite3 by hand, for content images and shipping markups. */
import Database from 'better-sqlite3';
import Fastify from 'fastify';
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

const database = new Database((process.env['DATABASE_URL'] ?? '').replace('sqlite:', ''));
database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');

const names = Object.keys(IMAGE);
const get = database.prepare<[number], Row>('select * from content_images where id = ?');
const list = database.prepare<[number], Row>('select * from content_images order by id limit ?');
const between = database.prepare<[number, number, number], Row>(
  'select * from content_images where date >= ? and date < ? order by id limit ?',
);
const countBetween = database.prepare<[number, number], { found: number }>(
  'select count(*) as found from content_images where date >= ? and date < ?',
);
const create = database.prepare<[Row], Row>(
  `insert into content_images (${names.join(', ')}) values (${names.map((name) => `@${name}`).join(', ')}) returning *`,
);
const remove = database.prepare<[number], Row>('delete from content_images where id = ? returning *');
const update = database.prepare<[Row], Row>(
  `update content_images set ${names.map((name) => `${name} = coalesce(@${name}, ${name})`).join(', ')} where id = @id returning *`,
);
const getMarkup = database.prepare<[number], Row>(`${JOINED} where k.markup_id = ?`);
const createZone = database.prepare<[string]>('insert into zones (zone_name, is_default) values (?, 0)');
const createMarkup = database.prepare<[Row]>(
  `insert into shipping_markups (${AMOUNTS.join(', ')}, shipping_method_id, zone_id)
   values (${AMOUNTS.map((name) => `@${name}`).join(', ')}, @method, @zone)`,
);

const shown = (row: Row | undefined): object | undefined =>
  row && { ...row, cloudicons: JSON.parse(String(row['cloudicons'])) };

/** SQLite has no booleans, and keeps the array as JSON text. A key that is missing is null. */
function bound(body: Row): Row {
  const values: Row = { ...Object.fromEntries(names.map((name) => [name, null])), ...body };
  for (const name of ['needProcess', 'needMigration']) if (name in body) values[name] = body[name] === true ? 1 : 0;
  if ('cloudicons' in body) values['cloudicons'] = JSON.stringify(body['cloudicons']);
  return values;
}

const app = Fastify();
const NOT_FOUND = { message: 'not found' };

app.get<Id>('/api/content-images/:id', { schema: { params, response: { 200: image } } }, (request, reply) => {
  const found = shown(get.get(request.params.id));
  reply.code(found ? 200 : 404).send(found ?? NOT_FOUND);
});
app.get<Page>('/api/content-images', { schema: { querystring, response: { 200: images } } }, ({ query }, reply) => {
  const { limit, from, to } = query;
  if (from === undefined || to === undefined) return reply.send(list.all(limit).map(shown));
  return reply
    .header('X-Total-Count', countBetween.get(from, to)?.found ?? 0)
    .send(between.all(from, to, limit).map(shown));
});
app.post<ImageInput>(
  '/api/content-images',
  { schema: { body: imageBody, response: { 201: image } } },
  ({ body }, reply) => reply.code(201).send(shown(create.get(bound(body)))),
);
app.put<Id & ImageInput>(
  '/api/content-images/:id',
  { schema: { params, body: imageBody, response: { 200: image } } },
  ({ params: { id }, body }, reply) => {
    const found = shown(update.get({ ...bound(body), id }));
    reply.code(found ? 200 : 404).send(found ?? NOT_FOUND);
  },
);
app.delete<Id>('/api/content-images/:id', { schema: { params, response: { 200: image } } }, (request, reply) => {
  const found = shown(remove.get(request.params.id));
  reply.code(found ? 200 : 404).send(found ?? NOT_FOUND);
});
app.get<Id>('/api/shipping-markups/:id', { schema: { params, response: { 200: markup } } }, (request, reply) => {
  const row = getMarkup.get(request.params.id);
  reply.code(row ? 200 : 404).send(row ? showMarkup(row) : NOT_FOUND);
});
const createNested = database.transaction(({ zone, shipping_method: method, ...amounts }: MarkupInput['Body']) => {
  const { lastInsertRowid } = createZone.run(zone.zone_name);
  const made = createMarkup.run({ ...amounts, method: method.method_id, zone: lastInsertRowid });
  return getMarkup.get(Number(made.lastInsertRowid)) ?? {};
});
app.post<MarkupInput>(
  '/api/shipping-markups',
  { schema: { body: markupBody, response: { 201: markup } } },
  ({ body }, reply) => reply.code(201).send(showMarkup(createNested(body))),
);

void app.listen({ port: 0, host: '127.0.0.1' }).then(() => announce(app.server.address()));
