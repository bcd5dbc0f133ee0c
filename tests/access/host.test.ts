/** A host application with Express and a session names the clients; statements for a role begin with its clause. */
import Database from 'better-sqlite3';
import express, { type RequestHandler } from 'express';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { createEngine, type RecordEngine } from '../../engine/index.ts';
import { createDatabase, type TestDatabase } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';

interface User {
  readonly name: string;
  readonly role: string;
  readonly branch: number;
}

let database: TestDatabase;
let engine: RecordEngine;
let server: Server;
let url: string;

/** The package has no types of its own. */
const session = jest.requireActual<(options: object) => RequestHandler>('express-session');

const sessionOf = (request: unknown): { user?: User } => (request as { readonly session: { user?: User } }).session;

beforeAll(async () => {
  database = await createDatabase('sqlite');
  engine = await createEngine({
    databaseUrl: database.url,
    schemaDirectory: 'tests/fixtures/roles/schema',
    accessDirectory: 'tests/fixtures/roles/access',
    logLevel: 'silent',
    identify: async (request) => {
      const { user } = sessionOf(request);
      return user && { name: user.name, role: user.role, claims: { branch: user.branch } };
    },
  });
  await engine.records('Branch').createMany([{ name: 'North' }, { name: 'South' }]);
  const order = (number: number, branch: number) => ({ number, branch: { id: branch }, lines: [{ text: 'x' }] });
  await engine.records('Order').createMany([order(1, 1), order(2, 2), order(3, 1)]);
  const app = express();
  app.use(session({ secret: 'test', resave: false, saveUninitialized: false }));
  app.post('/sign-in/:name/:role/:branch', (request, response) => {
    const { name, role, branch } = request.params;
    sessionOf(request).user = { name, role, branch: Number(branch) };
    response.end();
  });
  app.use('/data', engine.handler);
  app.use('/data', engine.pages);
  server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await engine.close();
  await database.remove();
});

async function signIn(path: string): Promise<string> {
  const { headers } = await exchange(url, `POST /sign-in/${path}`, {});
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

const ask = async (cookie: string, title: string, more: Readonly<Record<string, string>> = {}) => {
  const { status, text } = await exchange(url, title, { headers: { cookie, ...more } });
  return { status, text };
};

test('a session has the role and the claims that the application gives it', async () => {
  const north = await signIn('anna/branch-reader/1');
  const numbers = async (cookie: string): Promise<unknown> =>
    (JSON.parse((await ask(cookie, 'GET /data/api/orders')).text) as { number: number }[]).map(({ number }) => number);
  expect(await numbers(north)).toEqual([1, 3]);
  expect(await numbers(await signIn('bob/branch-reader/2'))).toEqual([2]);
  expect((await ask('', 'GET /data/api/orders')).status).toBe(401);
  expect((await ask(await signIn('eve/nobody/1'), 'GET /data/api/orders')).status).toBe(403);
});

test('pages of other sites cannot use the session', async () => {
  const north = await signIn('anna/branch-reader/1');
  const from = { 'sec-fetch-site': 'cross-site' };
  expect((await ask(north, 'GET /data/api/orders', from)).status).toBe(403);
});

test('documents and the model of the studio show what the role shows', async () => {
  const north = await signIn('anna/branch-reader/1');
  for (const path of ['/data/openapi.json', '/data/studio/model.json']) {
    const { status, text } = await ask(north, `GET ${path}`);
    expect(status).toBe(200);
    expect(text).toContain('Order');
    expect(text).not.toContain('internal_note');
  }
});

test('in process, an identity has its role, and no identity has all rights', async () => {
  const north = engine.as({ name: 'anna', role: 'branch-reader', claims: { branch: 1 } }).records('Order');
  expect((await north.list()).total).toBe(2);
  expect((await engine.records('Order').list()).total).toBe(3);
  await expect(north.get(2)).rejects.toMatchObject({ code: 'record-not-found' });
  await expect(engine.as({ name: 'x', role: 'none' }).records('Order').list()).rejects.toMatchObject({ status: 403 });
});

test('each statement that reads for a role begins with its clause', async () => {
  const north = await signIn('anna/branch-reader/1');
  const prepared: string[] = [];
  const spy = jest.spyOn(Database.prototype, 'prepare').mockImplementation(function prepare(
    this: unknown,
    sql: string,
  ) {
    prepared.push(sql);
    return original.call(this, sql);
  } as never);
  for (const path of [
    'orders/3?include=lines,branch.orders',
    'orders?_cnd[limit]=0,1&_cnd[branch.name]=North&_cnd[orderBy]=note',
    'orders?_cnd[lines][$some][0][text]=x&include=tags',
    'orders/$summary?by=branch&measure=count',
    'lines?_cnd[limit]=1,1',
  ])
    expect((await ask(north, `GET /data/api/${path}`)).status).toBe(200);
  spy.mockRestore();
  const reading = prepared.filter((sql) => /orders|lines|branches|customers|tags/.test(sql));
  expect(reading.length).toBeGreaterThan(4);
  for (const sql of reading) expect(sql).toMatch(/^with `/);
});

const original = Database.prototype.prepare as unknown as (this: unknown, sql: string) => unknown;
