/** Fastify by hand, as its manual advises: schemas of parameters, bodies and answers. */
import Fastify from 'fastify';
import { showPurchase } from './represent.ts';
import {
  type Id,
  item,
  type ItemInput,
  itemBody,
  list,
  NOT_FOUND,
  params,
  purchase,
  type PurchaseInput,
  purchaseBody,
  type Query,
  querystring,
} from './schemas.ts';
import { announce, settings } from './settings.ts';
import { openRecords } from './statements.ts';

const { port, file } = settings();
const records = openRecords(file);
const app = Fastify();

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
