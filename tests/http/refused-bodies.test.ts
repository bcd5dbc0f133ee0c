/** A client that sends its whole body before it reads, as proxies do, gets the refusal. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createToken, parseTypes, tokenLine } from '../../engine/access/tokens.ts';
import { createEngine } from '../../engine/index.ts';
import { createDatabase } from '../support/databases.ts';
import { dial, statusesOf } from '../support/raw.ts';
import { useServer } from '../support/server.ts';

const SCHEMA = 'tests/fixtures/limits';
const MEGABYTES = Buffer.alloc(5_000_000, 'x');
const TYPE = 'Content-Type: application/json\r\n';

const token = createToken();
const line = tokenLine({ name: 'reader', read: parseTypes('*'), write: new Set() }, token);
const AUTHORIZATION = `Authorization: Bearer ${token}\r\n`;

const open = useServer({ schemaDirectory: SCHEMA });
const guarded = useServer({ schemaDirectory: SCHEMA, settings: { tokens: line } });

/** Writes everything although the response comes first; rejects if the connection is reset. */
async function sendAll(url: string, head: string): Promise<string> {
  const socket = await dial(url);
  const reset = new Promise<never>((_, reject) => socket.once('error', reject));
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  const ended = once(socket, 'end');
  socket.write(head);
  await Promise.race([once(socket, 'data'), reset]);
  // The server's turns in which it would close the connection.
  for (let written = 0; written < MEGABYTES.length; written += 100_000) {
    await Promise.race([
      new Promise((resolve) => socket.write(MEGABYTES.subarray(written, written + 100_000), resolve)),
      reset,
    ]);
    await new Promise(setImmediate);
  }
  await Promise.race([ended, reset]);
  socket.destroy();
  return text;
}

const REFUSED: readonly (readonly [status: number, request: string, headers: string])[] = [
  [404, 'POST /api/nothing', TYPE],
  [404, 'POST /nothing', TYPE],
  [405, 'POST /api/gadgets/1', TYPE],
  [405, 'POST /docs', TYPE],
  [308, 'POST /docs/', TYPE],
  [406, 'POST /api/gadgets', `${TYPE}Accept: text/plain\r\n`],
  [413, 'POST /api/gadgets', TYPE],
  [413, 'POST /json-server/gadgets', TYPE],
  [413, 'POST /mcp', TYPE],
  [415, 'POST /api/gadgets', 'Content-Type: text/plain\r\n'],
  [400, 'DELETE /api/gadgets/1', TYPE],
  [400, 'POST /api/gadgets', `${TYPE}${TYPE}`],
];

const LENGTH = `Content-Length: ${MEGABYTES.length}\r\n`;
const CLOSE = 'Host: localhost\r\nConnection: close\r\n';

test.each(REFUSED)('%i %s, %j', async (status, request, headers) => {
  for (const version of ['1.1', '1.0'])
    expect(
      statusesOf(await sendAll(open.url, `${request} HTTP/${version}\r\n${CLOSE}${headers}${LENGTH}\r\n`)),
    ).toEqual([status]);
});

test.each([
  [401, ''],
  [401, 'Authorization: Bearer unknown\r\n'],
  [403, AUTHORIZATION],
])('%i with %j', async (status, authorization) => {
  const head = `POST /api/gadgets HTTP/1.1\r\n${CLOSE}${TYPE}${authorization}${LENGTH}\r\n`;
  expect(statusesOf(await sendAll(guarded.url, head))).toEqual([status]);
});

test('a service that is stopping, whose responses close their connections', async () => {
  open.drain();
  const head = `POST /api/nothing HTTP/1.1\r\nHost: localhost\r\n${TYPE}${LENGTH}\r\n`;
  expect(await sendAll(open.url, head)).toMatch(/^HTTP\/1.1 404 [^]*Connection: close\r\n/);
});

test('a host application', async () => {
  const database = await createDatabase();
  const engine = await createEngine({ databaseUrl: database.url, schemaDirectory: SCHEMA, logLevel: 'error' });
  const host = createServer(express().use('/records', engine.handler)).listen(0, '127.0.0.1');
  await once(host, 'listening');
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  for (const path of ['/api/nothing', '/api/gadgets/1'])
    expect(statusesOf(await sendAll(url, `POST /records${path} HTTP/1.1\r\n${CLOSE}${TYPE}${LENGTH}\r\n`))).toEqual([
      path === '/api/nothing' ? 404 : 405,
    ]);
  host.close();
  await engine.close();
  await database.remove();
});
