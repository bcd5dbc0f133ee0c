/** A service with a client, and a look into its database. */
import type { Model } from '../../engine/model/model.ts';
import { type Client, createClient } from '../oracle/client.ts';
import type { DatabaseKind } from './databases.ts';
import { createObserver, type Observer } from './observer.ts';
import { startTestServer, type TestServer, type TestSettings } from './server.ts';

export interface Bench {
  readonly server: TestServer;
  readonly observer: Observer;
  readonly client: Client;
  close(): Promise<void>;
}

interface Options {
  readonly kind?: DatabaseKind;
  /** Called before each request. */
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
  const client = createClient(server.url, onSend);
  const close = async (): Promise<void> => {
    client.close();
    await observer.close();
    await server.close();
  };
  return { server, observer, client, close };
}
