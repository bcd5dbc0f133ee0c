/** What the servers by hand tell Fastify of parameters, bodies and responses. Its serializer writes 0 and 1 as booleans. */
const text = { type: 'string', nullable: true } as const;
const integer = { type: 'integer' } as const;
const boolean = { type: 'boolean' } as const;
const amount = { type: 'string', nullable: true, pattern: '^-?\\d{1,14}(\\.\\d{1,4})?$' } as const;
const object = (properties: object): object => ({ type: 'object', properties });
const same = (names: readonly string[], schema: object): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, schema]));

export const AMOUNTS = [
  ...['weight', 'total', 'items'].flatMap((name) => [`min_${name}`, `max_${name}`]),
  ...['flat', 'percent', 'per_item', 'per_weight'].map((name) => `markup_${name}`),
];

export const METHOD = {
  method_id: integer,
  ...same(['free', 'enabled', 'added', 'fromMarketplace'], boolean),
  ...same(
    ['processor', 'carrier', 'code', 'moduleName', 'iconURL', 'tableType', 'handlingFee', 'handlingFeeType'],
    text,
  ),
  position: integer,
};

const ZONE = { zone_id: integer, zone_name: text, is_default: boolean };

export const IMAGE = {
  path: { ...text, maxLength: 512 },
  fileName: { ...text, maxLength: 255 },
  mime: { type: 'string', maxLength: 128 },
  storageType: { type: 'string', maxLength: 255 },
  ...same(['size', 'width', 'height', 'date'], { ...integer, minimum: 0 }),
  hash: { ...text, maxLength: 255 },
  ...same(['needProcess', 'needMigration'], boolean),
  cloudicons: { type: 'array', items: {} },
};

export const image = object({ id: integer, ...IMAGE });
export const imageBody = { type: 'object', additionalProperties: false, properties: IMAGE };
export const images = { type: 'array', items: image };
export const markup = object({
  markup_id: integer,
  ...same(AMOUNTS, text),
  shipping_method: object(METHOD),
  zone: object(ZONE),
});
export const markupBody = {
  type: 'object',
  additionalProperties: false,
  required: ['zone', 'shipping_method'],
  properties: {
    ...same(AMOUNTS, amount),
    zone: { type: 'object', required: ['zone_name'], properties: { zone_name: text } },
    shipping_method: { type: 'object', required: ['method_id'], properties: { method_id: integer } },
  },
};
export const params = { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } };
export const querystring = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 0, maximum: 1000, default: 20 },
    from: { type: 'integer' },
    to: { type: 'integer' },
  },
};

export interface Id {
  Params: { id: number };
}
export interface Page {
  Querystring: { limit: number; from?: number; to?: number };
}
type Values = Record<string, unknown>;
export interface ImageInput {
  Body: Values;
}
export interface MarkupInput {
  Body: Values & { zone: { zone_name: string }; shipping_method: { method_id: number } };
}

/** `alias.name as alias_name`, quoted, since names hold capitals. */
export const columns = (names: object, alias: string): string =>
  Object.keys(names)
    .map((name) => `${alias}."${name}" as "${alias}_${name}"`)
    .join(', ');

/** The row of a markup joined with its method and zone, as the record that clients see. */
export function showMarkup(row: Values): object {
  const part = (names: object, alias: string): object =>
    Object.fromEntries(Object.keys(names).map((name) => [name, row[`${alias}_${name}`]]));
  return { ...row, shipping_method: part(METHOD, 'm'), zone: part(ZONE, 'z') };
}

export const JOINED = `select k.*, ${columns(METHOD, 'm')}, ${columns(ZONE, 'z')} from shipping_markups k
  left join shipping_methods m on m.method_id = k.shipping_method_id left join zones z on z.zone_id = k.zone_id`;

/** Announces the address to the process that measures. */
export function announce(address: unknown): void {
  const { port } = address as { readonly port: number };
  console.log(`listening at http://127.0.0.1:${port}`);
}
