/** Requests that come before the answers to earlier ones are read: served as the answers are taken, and within the budget. */
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { type Budget, createBudget } from '../../engine/budget.ts';
import { inBatches } from '../../engine/server/batches.ts';
import { closed as closing } from '../support/closed.ts';
import { until } from '../support/leaving.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** More than the system buffers of some of them. */
const LENGTH = 2_000_000;
const ANSWER = Buffer.alloc(LENGTH, 'x');

interface Piped {
  readonly socket: Socket;
  close(): Promise<void>;
}

/** A connection to a server that answers with `serve`. */
async function open(serve: RequestListener, budget: Budget): Promise<Piped> {
  const server = createServer(inBatches(serve, budget)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return {
    socket: socket.pause(),
    close: async () => {
      socket.destroy();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

test('what is not read holds up the requests behind it, and each is served once the answers before it are read', async () => {
  const budget = createBudget(2 * 1024 ** 2);
  let served = 0;
  const piped = await open((_, response) => {
    served += 1;
    response.end(ANSWER);
  }, budget);
  piped.socket.write(REQUEST.repeat(60));
  await until(() => budget.used > 0);
  // What the system buffers, and one answer more.
  expect(served).toBeLessThan(20);
  let received = 0;
  piped.socket.on('data', (piece: Buffer) => (received += piece.length)).resume();
  await until(() => received > 60 * LENGTH);
  expect(served).toBe(60);
  await until(() => budget.used === 0);
  await piped.close();
});

test('requests that wait are cut off, oldest first, when the budget is used up', async () => {
  const budget = createBudget(2 * 1024 ** 2);
  const piped = await open((_, response) => void response.end(ANSWER), budget);
  piped.socket.write(REQUEST.repeat(60));
  await until(() => budget.used > 0);
  const share = budget.take((budget.limit * 7) / 8);
  piped.socket.resume();
  await closing(piped.socket);
  expect(budget.used).toBe((budget.limit * 7) / 8);
  share.release();
  await piped.close();
});

test.each([
  ['GET', 1],
  ['HEAD', 1],
  ['POST', 8],
])('%s: %d of a connection wait for an answer at the same time', async (method, most) => {
  const responses: ServerResponse[] = [];
  const budget = createBudget(2 * 1024 ** 2);
  const piped = await open((_, response) => responses.push(response), budget);
  piped.socket.resume().write(REQUEST.replace('GET', method).repeat(20));
  for (let answered = 0; answered < 20; answered += 1) {
    await until(() => responses.length >= Math.min(20, answered + most));
    await turn();
    expect(responses).toHaveLength(Math.min(20, answered + most));
    responses[answered]?.end();
  }
  await until(() => budget.used === 0);
  await piped.close();
});

test('a read does not wait for writes before it, nor a write for a read', async () => {
  const methods: (string | undefined)[] = [];
  const piped = await open(({ method }) => methods.push(method), createBudget(2 * 1024 ** 2));
  piped.socket.write(`${REQUEST.replace('GET', 'POST')}${REQUEST}${REQUEST.replace('GET', 'POST')}${REQUEST}`);
  await until(() => methods.length === 3);
  await turn();
  expect(methods).toEqual(['POST', 'GET', 'POST']);
  await piped.close();
});

test('at most 32 requests of a connection are served at the same time', async () => {
  const responses: ServerResponse[] = [];
  const budget = createBudget(2 * 1024 ** 2);
  const piped = await open((_, response) => {
    responses.push(response);
    response.flushHeaders();
  }, budget);
  piped.socket.resume().write(REQUEST.repeat(40));
  await until(() => budget.used > 0);
  expect(responses).toHaveLength(32);
  for (const response of responses) response.end();
  await until(() => responses.length === 40);
  await piped.close();
});

test('a connection that closes gives up every answer, not only the first', async () => {
  const closed: number[] = [];
  let served = 0;
  const budget = createBudget(2 * 1024 ** 2);
  const piped = await open((_, response) => {
    const number = (served += 1);
    response.once('close', () => closed.push(number)).flushHeaders();
  }, budget);
  piped.socket.write(REQUEST.repeat(40));
  await until(() => budget.used > 0);
  piped.socket.destroy();
  await until(() => closed.length === 32);
  expect([served, budget.used]).toEqual([32, 0]);
  await piped.close();
});

test('a connection that has been served goes before the first requests of many new ones', async () => {
  const served: string[] = [];
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => served.length);
  const serve = inBatches(
    (request, response) => {
      served.push(request.url ?? '');
      response.end();
    },
    createBudget(2 * 1024 ** 2),
  );
  const ask = (socket: Socket, url: string): void => {
    const request = Object.assign(new IncomingMessage(socket), { method: 'GET', url });
    serve(request, new ServerResponse(request));
  };
  try {
    const known = new Socket();
    ask(known, 'first of the known');
    await turn();
    for (let index = 0; index < 100; index += 1) ask(new Socket(), `new ${index}`);
    await turn();
    expect(served).toHaveLength(9);
    ask(known, 'second of the known');
    await turn();
    expect(served[9]).toBe('second of the known');
    for (let index = 0; index < 20; index += 1) await turn();
    expect(served.slice(1).filter((url) => url.startsWith('new'))).toEqual(
      Array.from({ length: 100 }, (_, index) => `new ${index}`),
    );
  } finally {
    clock.mockRestore();
  }
});
