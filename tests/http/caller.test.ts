/** Whether the client of a request is still there: whatever way it leaves. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createBudget } from '../../engine/budget.ts';
import { CallerGone, stillThere } from '../../engine/caller.ts';
import { problemFor } from '../../engine/http/problems.ts';
import { HttpCaller } from '../../engine/http/request.ts';
import type { Log } from '../../engine/log.ts';
import { settled, until } from '../support/leaving.ts';

const GET = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
const INTERIM = 'HTTP/1.1 102 Processing\r\n\r\n';

/** Each request waits for its client to leave, or to be answered; `gone` counts those whose clients have left. */
async function waiting<T>(use: (socket: Socket, state: State) => Promise<T>): Promise<T> {
  const state: State = {
    began: 0,
    gone: 0,
    hasEnded: () => false,
    mayHaveLeft: () => false,
    isThere: async () => undefined,
    answer: () => undefined,
  };
  const serve: RequestListener = (request, response) => {
    const caller = new HttpCaller(request, response, createBudget(1024));
    const stop = caller.onGone(() => (state.gone += 1));
    state.hasEnded = () => request.socket.readableEnded;
    state.mayHaveLeft = () => caller.mayHaveLeft;
    state.isThere = () => {
      // It would send interim responses of its own.
      stop();
      return stillThere(caller);
    };
    state.began += 1;
    state.answer = () => {
      stop();
      response.end('answer');
    };
  };
  const server = createServer(serve).listen(0, '127.0.0.1');
  // As the service does.
  Object.assign(server, { httpAllowHalfOpen: true });
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  try {
    return await use(socket, state);
  } finally {
    socket.destroy();
    server.close();
    server.closeAllConnections();
  }
}

interface State {
  began: number;
  gone: number;
  /** All of the last request. */
  hasEnded: () => boolean;
  mayHaveLeft: () => boolean;
  isThere: () => Promise<void>;
  answer: () => void;
}

test.each([
  ['with a reset', (socket: Socket) => void socket.resetAndDestroy()],
  ['without one', (socket: Socket) => void socket.destroy()],
])('a client that leaves %s', (_, leave) =>
  waiting(async (socket, state) => {
    socket.write(GET);
    await until(() => state.began === 1);
    leave(socket);
    await until(() => state.gone === 1);
  }),
);

test('a client that leaves many requests on one connection', () =>
  waiting(async (socket, state) => {
    socket.write(GET.repeat(30));
    await until(() => state.began === 30);
    socket.destroy();
    await until(() => state.gone === 30);
  }));

const receivedBy = (socket: Socket): { text: string } => {
  const received = { text: '' };
  socket.setEncoding('latin1').on('data', (piece: string) => (received.text += piece));
  return received;
};

test('a client that has ended its side, and waits, is answered', () =>
  waiting(async (socket, state) => {
    const received = receivedBy(socket);
    socket.write(GET);
    await until(() => state.began === 1);
    expect(state.mayHaveLeft()).toBe(false);
    socket.end();
    await until(() => state.mayHaveLeft());
    // Interim responses find out that it is there.
    await until(() => received.text.includes(INTERIM));
    expect(state.gone).toBe(0);
    state.answer();
    await once(socket, 'end');
    expect(received.text).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*answer/);
  }));

test('one that has left without a reset is found out before work begins, even if a turn takes long', () =>
  waiting(async (socket, state) => {
    socket.write(GET);
    await until(() => state.began === 1);
    socket.destroy();
    await until(() => state.mayHaveLeft());
    const found = settled(state.isThere());
    // All timers are late then.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect(await found).toBeInstanceOf(CallerGone);
  }));

test('one that has only ended its side is taken to be there', () =>
  waiting(async (socket, state) => {
    socket.write(GET);
    await until(() => state.began === 1);
    socket.end();
    await until(() => state.mayHaveLeft());
    await expect(state.isThere()).resolves.toBeUndefined();
  }));

test('a client of HTTP/1.0 is sent no interim responses', () =>
  waiting((old, state) =>
    waiting(async (later) => {
      const [received, receivedLater] = [receivedBy(old), receivedBy(later)];
      old.end(GET.replace('HTTP/1.1', 'HTTP/1.0'));
      await until(() => state.began === 1 && state.hasEnded());
      // Its turn would come before that of another, which ends its side after it.
      later.end(GET);
      await until(() => receivedLater.text.includes(INTERIM));
      expect(state.mayHaveLeft()).toBe(false);
      state.answer();
      await once(old, 'end');
      expect(received.text).toMatch(/^HTTP\/1\.1 200 OK/);
    }),
  ));

test('that a client has left is not a fault of the service, and is not logged as one', () => {
  const logged: unknown[] = [];
  const note = (fields: unknown): void => void logged.push(fields);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  expect(problemFor(new CallerGone(), 'id', log).code).toBe('bad-request');
  expect(logged).toEqual([]);
  expect(problemFor(new Error('x'), 'id', log).code).toBe('internal-error');
  expect(logged).toHaveLength(1);
});
