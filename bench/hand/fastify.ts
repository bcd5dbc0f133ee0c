/** Fastify by hand, as its manual advises: schemas of parameters, bodies and answers. */
import Fastify from 'fastify';
import { showPurchase } from './represent.ts';
import { announce, settings } from './settings.ts';
import { openRecords, type PurchaseBody } from './statements.ts';

const { port, file } = settings();
const records = openRecords(file);
const app = Fastify();

const text = { type: 'string' } as const;
const integer = { type: 'integer' } as const;
const boolean = { type: 'boolean' } as const;
const money = { type: 'string', pattern: '^-?\\d{1,12}(\\.\\d{1,2})?$' } as const;

const writable = {
  code: { ...text, maxLength: 32 },
  name: { ...text, maxLength: 255 },
  category: { ...text, maxLength: 64 },
  quantity: integer,
  price: money,
  active: boolean,
};
/** Its serializer writes SQLite's 0 and 1 as booleans. */
const item = { type: 'object', properties: { id: integer, ...writable } };
const itemBody = { type: 'object', additionalProperties: false, properties: writable };
const customerFields = { name: text, email: text, city: text, regular: boolean };
const customer = { type: 'object', nullable: true, properties: { id: integer, ...customerFields } };
const warehouse = { type: 'object', nullable: true, properties: { id: integer, name: text, city: text } };
const purchaseFields = { number: text, status: text, total: money, placed: integer };
const purchase = { type: 'object', properties: { id: integer, ...purchaseFields, customer, warehouse } };
const purchaseBody = {
  type: 'object',
  additionalProperties: false,
  required: ['number', 'status', 'total', 'placed', 'customer', 'warehouse'],
  properties: {
    ...purchaseFields,
    customer: { type: 'object', required: Object.keys(customerFields), properties: customerFields },
    warehouse: { type: 'object', required: ['id'], properties: { id: integer } },
  },
};
const params = { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } };
const querystring = {
  type: 'object',
  properties: {
    offset: { type: 'integer', minimum: 0, default: 0 },
    limit: { type: 'integer', minimum: 0, maximum: 1000, default: 20 },
    orderBy: text,
    category: text,
  },
};
const list = (items: object): object => ({ type: 'array', items });
const NOT_FOUND = { message: 'not found' };

interface Id {
  Params: { id: number };
}
interface Query {
  Querystring: { offset: number; limit: number; orderBy?: string; category?: string };
}
interface ItemInput {
  Body: {
    code?: string;
    name?: string;
    category?: string;
    quantity?: number;
    price?: string;
    active?: boolean;
  };
}
interface PurchaseInput {
  Body: Omit<PurchaseBody, 'customer' | 'warehouse'> & {
    customer: Omit<PurchaseBody['customer'], 'regular'> & { regular: boolean };
    warehouse: { id: number };
  };
}

const withFlag = ({ active, ...body }: ItemInput['Body']): object =>
  active === undefined ? body : { ...body, active: active ? 1 : 0 };

app.get<Id>('/api/items/:id', { schema: { params, response: { 200: item } } }, (request, reply) => {
  const row = records.item(request.params.id);
  reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
});
app.get<Query>('/api/items', { schema: { querystring, response: { 200: list(item) } } }, (request, reply) => {
  const { offset, limit, orderBy, category } = request.query;
  reply.send(records.items(offset, limit, orderBy, category));
});
app.post<ItemInput>('/api/items', { schema: { body: itemBody, response: { 201: item } } }, (request, reply) => {
  reply.code(201).send(records.createItem(withFlag(request.body)));
});
app.put<Id & ItemInput>(
  '/api/items/:id',
  { schema: { params, body: itemBody, response: { 200: item } } },
  (request, reply) => {
    const row = records.updateItem(request.params.id, withFlag(request.body));
    reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
  },
);
app.delete<Id>('/api/items/:id', { schema: { params, response: { 200: item } } }, (request, reply) => {
  const row = records.deleteItem(request.params.id);
  reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
});
app.get<Id>('/api/purchases/:id', { schema: { params, response: { 200: purchase } } }, (request, reply) => {
  const row = records.purchase(request.params.id);
  reply.code(row ? 200 : 404).send(row ? showPurchase(row) : NOT_FOUND);
});
app.get<Query>('/api/purchases', { schema: { querystring, response: { 200: list(purchase) } } }, (request, reply) => {
  const { offset, limit } = request.query;
  reply.send(records.purchases(offset, limit).map(showPurchase));
});
app.post<PurchaseInput>(
  '/api/purchases',
  { schema: { body: purchaseBody, response: { 201: purchase } } },
  (request, reply) => {
    const { customer: made, warehouse: linked, ...body } = request.body;
    const row = records.createPurchase({
      ...body,
      customer: { ...made, regular: made.regular ? 1 : 0 },
      warehouse: linked.id,
    });
    reply.code(201).send(showPurchase(row));
  },
);

void app.listen({ port, host: '127.0.0.1' }).then(() => announce(app.server.address()));
