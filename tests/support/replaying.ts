/** A service with a client, and a look into its database. */
import { Agent } from 'node:http';
import type { Model } from '../../engine/model/model.ts';
import { exchange } from './exchange.ts';
import type { DatabaseKind } from './databases.ts';
import { createObserver, type Observer } from './observer.ts';
import { startTestServer, type TestServer, type TestSettings } from './server.ts';

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Bench {
  readonly server: TestServer;
  readonly observer: Observer;
  /** Over one connection that is kept alive. */
  send(title: string, headers: Readonly<Record<string, string>>, body: string | undefined): Promise<ReceivedAnswer>;
  close(): Promise<void>;
}

interface Options {
  readonly kind?: DatabaseKind;
  readonly onSend?: () => void;
  readonly settings?: TestSettings;
}

export async function openBench(
  schemaDirectory: string,
  model: Model,
  { kind, onSend, settings = {} }: Options = {},
): Promise<Bench> {
  const server = await startTestServer({ schemaDirectory, settings, ...(kind ? { kind } : {}) });
  const observer = await createObserver(server.database, model);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send: Bench['send'] = async (title, given, body) => {
    onSend?.();
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const parts = { headers: { ...length, ...given }, agent, ...(body === undefined ? {} : { body }) };
    const { status, headers, text } = await exchange(server.url, title, parts);
    return {
      status,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      text,
    };
  };
  const close = async (): Promise<void> => {
    agent.destroy();
    await observer.close();
    await server.close();
  };
  return { server, observer, send, close };
}
