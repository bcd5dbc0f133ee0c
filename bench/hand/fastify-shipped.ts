/** Fastify by hand for the tables of the shipped types: content images, and shipping markups with method and zone. */
import Database from 'better-sqlite3';
import Fastify from 'fastify';
import type { amountsOf, imageOf, methodOf, zoneOf } from '../shipped/records.ts';
import { type Id, list, NOT_FOUND, params, type Query, querystring } from './schemas.ts';
import { announce, settings } from './settings.ts';

type Image = Omit<ReturnType<typeof imageOf>, 'id'>;
/** SQLite has no booleans; the array is JSON text. */
type ImageRow = Omit<Image, 'cloudicons' | 'needProcess' | 'needMigration'> & {
  readonly id: number;
  readonly needProcess: number;
  readonly needMigration: number;
  readonly cloudicons: string;
};
type Prefixed<T, P extends string> = { readonly [K in keyof T as `${P}${string & K}`]: T[K] };
type MarkupRow = ReturnType<typeof amountsOf> &
  Prefixed<ReturnType<typeof methodOf>, 'm_'> &
  Prefixed<ReturnType<typeof zoneOf>, 'z_'>;

const text = { type: 'string', nullable: true } as const;
const integer = { type: 'integer' } as const;
const boolean = { type: 'boolean' } as const;
const object = (properties: object): object => ({ type: 'object', properties });
const same = (names: readonly string[], schema: object): object =>
  Object.fromEntries(names.map((name) => [name, schema]));

const AMOUNTS = 'weight total items'.split(' ').flatMap((name) => [`min_${name}`, `max_${name}`]);
const MARKUPS = ['flat', 'percent', 'per_item', 'per_weight'].map((name) => `markup_${name}`);
const METHOD = {
  method_id: integer,
  free: boolean,
  processor: text,
  carrier: text,
  code: text,
  enabled: boolean,
  position: integer,
  added: boolean,
  moduleName: text,
  fromMarketplace: boolean,
  iconURL: text,
  tableType: text,
  handlingFee: text,
  handlingFeeType: text,
};
const ZONE = { zone_id: integer, zone_name: text, is_default: boolean };
const markup = object({
  markup_id: integer,
  ...same([...AMOUNTS, ...MARKUPS], text),
  shipping_method: object(METHOD),
  zone: object(ZONE),
});
const fields = {
  path: { ...text, maxLength: 512 },
  fileName: { ...text, maxLength: 255 },
  mime: { type: 'string', maxLength: 128 },
  storageType: { type: 'string', maxLength: 255 },
  ...same(['size', 'width', 'height'], { ...integer, minimum: 0 }),
  hash: { ...text, maxLength: 255 },
  date: { ...integer, minimum: 0 },
  needProcess: boolean,
  needMigration: boolean,
  cloudicons: { type: 'array', items: {} },
};
const image = object({ id: integer, ...fields });
const imageBody = { type: 'object', additionalProperties: false, properties: fields };

const { port, file } = settings();
const database = new Database(file);
database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');

const columns = (names: object, alias: string): string =>
  Object.keys(names)
    .map((name) => `${alias}.${name} as ${alias}_${name}`)
    .join(', ');
const getImage = database.prepare<[number], ImageRow>('select * from content_images where id = ?');
const listImages = database.prepare<[number, number], ImageRow>(
  'select * from content_images order by id limit ? offset ?',
);
const names = Object.keys(fields);
const createImage = database.prepare<[object], ImageRow>(
  `insert into content_images (${names.join(', ')}) values (${names.map((name) => `@${name}`).join(', ')}) returning *`,
);
const getMarkup = database.prepare<[number], MarkupRow>(
  `select k.*, ${columns(METHOD, 'm')}, ${columns(ZONE, 'z')} from shipping_markups k
     left join shipping_methods m on m.method_id = k.shipping_method_id left join zones z on z.zone_id = k.zone_id
   where k.markup_id = ?`,
);

const showImage = ({ cloudicons, ...row }: ImageRow): object => ({ ...row, cloudicons: JSON.parse(cloudicons) });

/** Its serializer takes the fields that the schema names, and writes 0 and 1 as booleans. */
const showMarkup = (row: MarkupRow): object => ({
  ...row,
  shipping_method: {
    method_id: row.m_method_id,
    free: row.m_free,
    processor: row.m_processor,
    carrier: row.m_carrier,
    code: row.m_code,
    enabled: row.m_enabled,
    position: row.m_position,
    added: row.m_added,
    moduleName: row.m_moduleName,
    fromMarketplace: row.m_fromMarketplace,
    iconURL: row.m_iconURL,
    tableType: row.m_tableType,
    handlingFee: row.m_handlingFee,
    handlingFeeType: row.m_handlingFeeType,
  },
  zone: { zone_id: row.z_zone_id, zone_name: row.z_zone_name, is_default: row.z_is_default },
});

const app = Fastify();
app.get<Id>('/api/content-images/:id', { schema: { params, response: { 200: image } } }, (request, reply) => {
  const row = getImage.get(request.params.id);
  reply.code(row ? 200 : 404).send(row ? showImage(row) : NOT_FOUND);
});
app.get<Query>('/api/content-images', { schema: { querystring, response: { 200: list(image) } } }, (request, reply) => {
  const { offset, limit } = request.query;
  reply.send(listImages.all(limit, offset).map(showImage));
});
app.post<{ Body: Image }>(
  '/api/content-images',
  { schema: { body: imageBody, response: { 201: image } } },
  ({ body }, reply) => {
    const row = createImage.get({
      ...body,
      needProcess: body.needProcess ? 1 : 0,
      needMigration: body.needMigration ? 1 : 0,
      cloudicons: JSON.stringify(body.cloudicons),
    });
    reply.code(201).send(row && showImage(row));
  },
);
app.get<Id>('/api/shipping-markups/:id', { schema: { params, response: { 200: markup } } }, (request, reply) => {
  const row = getMarkup.get(request.params.id);
  reply.code(row ? 200 : 404).send(row ? showMarkup(row) : NOT_FOUND);
});

void app.listen({ port, host: '127.0.0.1' }).then(() => announce(app.server.address()));
