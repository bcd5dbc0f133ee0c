/** An engine in a host application that says who asks: the header `x-identity` names a role and its claims. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEngine, type RecordEngine } from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json/json.ts';
import type { TestDatabase } from '../support/databases.ts';
import { exchange } from '../support/exchange.ts';

export interface Identity {
  readonly name: string;
  readonly role: string;
  readonly claims: JsonObject;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface Service {
  readonly engine: RecordEngine;
  readonly database: TestDatabase;
  /** Without the service's own address, so that two services can answer alike. */
  send(title: string, headers?: Readonly<Record<string, string>>, body?: string): Promise<Answer>;
  close(): Promise<void>;
}

const HEADER = 'x-identity';

export const as = (identity: Identity): Record<string, string> => ({
  [HEADER]: encodeURIComponent(JSON.stringify(identity)),
});

function identify({ headers }: IncomingMessage): Identity | undefined {
  const text = headers[HEADER];
  return typeof text === 'string' ? (JSON.parse(decodeURIComponent(text)) as Identity) : undefined;
}

/** Without `accessDirectory`, everybody may do everything. */
export async function startService(
  schemaDirectory: string,
  database: TestDatabase,
  accessDirectory?: string,
): Promise<Service> {
  const access = accessDirectory === undefined ? {} : { accessDirectory, identify };
  const engine = await createEngine({ databaseUrl: database.url, schemaDirectory, logLevel: 'warn', ...access });
  const server = createServer((request, response) => {
    const serve = request.url === '/openapi.json' ? engine.document : engine.handler;
    serve(request, response);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    engine,
    database,
    send: async (title, headers = {}, body) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const parts = { headers: { ...length, ...headers }, ...(body === undefined ? {} : { body }) };
      const answer = await exchange(url, title, parts);
      return { ...answer, text: answer.text.replaceAll(url, '') };
    },
    close: async () => {
      await new Promise((resolve) => server.close(resolve));
      await engine.close();
    },
  };
}
