/** A service and everything that is needed to replay cases against it. */
import type { Model } from '../../engine/model/model.ts';
import type { Case } from '../../engine/suite/case.ts';
import { formatFailures } from '../../engine/suite/report.ts';
import { type Client, createClient } from '../../engine/suite/client.ts';
import { createReplayer, type Replayer } from '../../engine/suite/replay.ts';
import type { DatabaseKind } from './databases.ts';
import { createObserver, type Observer } from './observer.ts';
import { startTestServer, type TestServer } from './server.ts';

export interface Bench {
  readonly server: TestServer;
  readonly observer: Observer;
  readonly client: Client;
  readonly replayer: Replayer;
  close(): Promise<void>;
}

interface Options {
  readonly kind?: DatabaseKind;
  /** Around the client that speaks to the service. */
  readonly recording?: (client: Client) => Client;
}

export async function openBench(
  schemaDirectory: string,
  model: Model,
  { kind, recording = (client) => client }: Options = {},
): Promise<Bench> {
  const server = await startTestServer({ schemaDirectory, ...(kind ? { kind } : {}) });
  const observer = await createObserver(server.database, model);
  const client = recording(createClient(server.url));
  const replayer = createReplayer({ url: server.url, client, observe: observer.snapshot });
  const close = async (): Promise<void> => {
    replayer.close();
    await observer.close();
    await server.close();
  };
  return { server, observer, client, replayer, close };
}

const MAX_SHOWN = 10;

/** Throws with the requests that did not get what they should. */
export async function replayAll({ replayer }: Bench, cases: readonly Case[]): Promise<void> {
  const wrong: string[] = [];
  for (const one of cases) {
    const result = await replayer.replay(one);
    if (result.outcome !== 'passed') wrong.push(formatFailures(result));
  }
  if (wrong.length > 0)
    throw new Error(`${wrong.length} of ${cases.length} cases failed\n${wrong.slice(0, MAX_SHOWN).join('\n')}`);
}
