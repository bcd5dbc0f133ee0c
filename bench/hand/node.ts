/** node:http by hand: no framework at all. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { readItem, readPurchase } from './body.ts';
import { showItem, showPurchase } from './represent.ts';
import { announce, settings } from './settings.ts';
import { openRecords } from './statements.ts';

const { port, file } = settings();
const records = openRecords(file);

type Serve = (request: IncomingMessage, response: ServerResponse, id: number, query: URLSearchParams) => void;

const server = createServer((request, response) => {
  const url = request.url ?? '/';
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const [, root, collection = '', id] = path.split('/');
  const route = routes[`${request.method} ${collection}${id === undefined ? '' : '/id'}`];
  if (root !== 'api' || !route) return send(response, 404, { message: 'not found' });
  return route(request, response, Number(id), new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)));
});

const routes: Readonly<Record<string, Serve>> = {
  'GET items/id': (_request, response, id) => {
    const row = records.item(id);
    send(response, row ? 200 : 404, row ? showItem(row) : { message: 'not found' });
  },
  'GET items': (_request, response, _id, query) => {
    const [offset, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 20)];
    const rows = records.items(offset, limit, query.get('orderBy') ?? undefined, query.get('category') ?? undefined);
    send(response, 200, rows.map(showItem));
  },
  'POST items': (request, response) =>
    withBody(request, response, (body) => {
      const item = readItem(body);
      if (!item) return send(response, 422, { message: 'invalid' });
      return send(response, 201, showItem(records.createItem(item)));
    }),
  'PUT items/id': (request, response, id) =>
    withBody(request, response, (body) => {
      const item = readItem(body);
      if (!item) return send(response, 422, { message: 'invalid' });
      const row = records.updateItem(id, item);
      return send(response, row ? 200 : 404, row ? showItem(row) : { message: 'not found' });
    }),
  'DELETE items/id': (_request, response, id) => {
    const row = records.deleteItem(id);
    send(response, row ? 200 : 404, row ? showItem(row) : { message: 'not found' });
  },
  'GET purchases/id': (_request, response, id) => {
    const row = records.purchase(id);
    send(response, row ? 200 : 404, row ? showPurchase(row) : { message: 'not found' });
  },
  'GET purchases': (_request, response, _id, query) => {
    const rows = records.purchases(Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 20));
    send(response, 200, rows.map(showPurchase));
  },
  'POST purchases': (request, response) =>
    withBody(request, response, (body) => {
      const purchase = readPurchase(body);
      if (!purchase) return send(response, 422, { message: 'invalid' });
      return send(response, 201, showPurchase(records.createPurchase(purchase)));
    }),
};

function withBody(request: IncomingMessage, response: ServerResponse, use: (body: unknown) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    let body: unknown;
    try {
      body = JSON.parse(Buffer.concat(chunks).toString());
    } catch {
      return send(response, 400, { message: 'no JSON' });
    }
    return use(body);
  });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

server.listen(port, '127.0.0.1', () => announce(server.address()));
