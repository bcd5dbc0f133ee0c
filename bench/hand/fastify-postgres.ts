/** Fastify and pg by hand: what `fastify.ts` is for SQLite. */
import Fastify from 'fastify';
import { openPostgres } from './postgres-statements.ts';
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
  purchaseBody,
  type PurchaseInput,
  type Query,
  querystring,
} from './schemas.ts';
import { announce, settings } from './settings.ts';

const { port, url } = settings();
const records = openPostgres(url);
const app = Fastify();

app.get<Id>('/api/items/:id', { schema: { params, response: { 200: item } } }, async (request, reply) => {
  const row = await records.item(request.params.id);
  return reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
});
app.get<Query>('/api/items', { schema: { querystring, response: { 200: list(item) } } }, async (request, reply) => {
  const { offset, limit, orderBy, category } = request.query;
  const page = await records.items(offset, limit, orderBy, category);
  return reply.header('X-Total-Count', page.total).send(page.records);
});
app.post<ItemInput>('/api/items', { schema: { body: itemBody, response: { 201: item } } }, async (request, reply) => {
  const row = await records.createItem(request.body);
  return reply
    .code(201)
    .header('Location', `/api/items/${row?.id ?? 0}`)
    .send(row);
});
app.put<Id & ItemInput>(
  '/api/items/:id',
  { schema: { params, body: itemBody, response: { 200: item } } },
  async (request, reply) => {
    const row = await records.updateItem(request.params.id, request.body);
    return reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
  },
);
app.delete<Id>('/api/items/:id', { schema: { params, response: { 200: item } } }, async (request, reply) => {
  const row = await records.deleteItem(request.params.id);
  return reply.code(row ? 200 : 404).send(row ?? NOT_FOUND);
});
app.get<Id>('/api/purchases/:id', { schema: { params, response: { 200: purchase } } }, async (request, reply) => {
  const row = await records.purchase(request.params.id);
  return reply.code(row ? 200 : 404).send(row ? showPurchase(row) : NOT_FOUND);
});
app.get<Query>(
  '/api/purchases',
  { schema: { querystring, response: { 200: list(purchase) } } },
  async (request, reply) => {
    const { offset, limit } = request.query;
    const page = await records.purchases(offset, limit);
    return reply.header('X-Total-Count', page.total).send(page.records.map(showPurchase));
  },
);
app.post<PurchaseInput>(
  '/api/purchases',
  { schema: { body: purchaseBody, response: { 201: purchase } } },
  async (request, reply) => {
    const { customer: made, warehouse: linked, ...body } = request.body;
    const customer = { ...made, regular: made.regular ? 1 : 0 };
    const row = await records.createPurchase({ ...body, customer, warehouse: linked.id });
    return reply
      .code(row ? 201 : 500)
      .header('Location', `/api/purchases/${row?.id ?? 0}`)
      .send(row && showPurchase(row));
  },
);

void app.listen({ port, host: '127.0.0.1' }).then(() => announce(app.server.address()));
