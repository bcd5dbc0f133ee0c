/** Express by hand, as its manual shows it. */
import express from 'express';
import { readItem, readPurchase } from './body.ts';
import { showItem, showPurchase } from './represent.ts';
import { announce, settings } from './settings.ts';
import { openRecords } from './statements.ts';

const { port, file } = settings();
const records = openRecords(file);
const app = express();
const NOT_FOUND = { message: 'not found' };
const INVALID = { message: 'invalid' };

app.use(express.json());

app.get('/api/items/:id', (request, response) => {
  const row = records.item(Number(request.params.id));
  response.status(row ? 200 : 404).json(row ? showItem(row) : NOT_FOUND);
});
app.get('/api/items', (request, response) => {
  const { offset = 0, limit = 20, orderBy, category } = request.query;
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  response.json(records.items(Number(offset), Number(limit), text(orderBy), text(category)).map(showItem));
});
app.post('/api/items', (request, response) => {
  const item = readItem(request.body);
  response.status(item ? 201 : 422).json(item ? showItem(records.createItem(item)) : INVALID);
});
app.put('/api/items/:id', (request, response) => {
  const item = readItem(request.body);
  const row = item && records.updateItem(Number(request.params.id), item);
  response.status(row ? 200 : item ? 404 : 422).json(row ? showItem(row) : item ? NOT_FOUND : INVALID);
});
app.delete('/api/items/:id', (request, response) => {
  const row = records.deleteItem(Number(request.params.id));
  response.status(row ? 200 : 404).json(row ? showItem(row) : NOT_FOUND);
});
app.get('/api/purchases/:id', (request, response) => {
  const row = records.purchase(Number(request.params.id));
  response.status(row ? 200 : 404).json(row ? showPurchase(row) : NOT_FOUND);
});
app.get('/api/purchases', (request, response) => {
  const { offset = 0, limit = 20 } = request.query;
  response.json(records.purchases(Number(offset), Number(limit)).map(showPurchase));
});
app.post('/api/purchases', (request, response) => {
  const purchase = readPurchase(request.body);
  response.status(purchase ? 201 : 422).json(purchase ? showPurchase(records.createPurchase(purchase)) : INVALID);
});

const server = app.listen(port, '127.0.0.1', () => announce(server.address()));
