/** A service and everything that is needed to replay cases against it. */
import type { Model } from '../../engine/model/model.ts';
import type { Case } from '../oracle/case.ts';
import { formatFailures } from '../oracle/report.ts';
import { type Client, createClient } from '../oracle/client.ts';
import { createReplayer, type Replayer } from '../oracle/replay.ts';
import type { Tokens } from '../oracle/replay.ts';
import { conditionsFor } from './conditions.ts';
import { type DatabaseKind, onDisk } from './databases.ts';
import { createObserver, type Observer } from './observer.ts';
import type { SmallDisk } from './small-disk.ts';
import { startTestServer, type TestServer, type TestSettings } from './server.ts';

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
  readonly settings?: TestSettings;
  readonly tokens?: Tokens;
  /** The disk for its database, where that is to run full. */
  readonly disk?: SmallDisk | undefined;
}

export async function openBench(
  schemaDirectory: string,
  model: Model,
  { kind, recording = (client) => client, settings = {}, tokens = {}, disk }: Options = {},
): Promise<Bench> {
  const server = await startTestServer({
    schemaDirectory,
    settings,
    ...(kind ? { kind } : {}),
    ...(disk ? { database: onDisk(disk) } : {}),
  });
  const observer = await createObserver(server.database, model);
  const conditions = conditionsFor(server, model, disk);
  const client = recording(createClient(server.url));
  const replayer = createReplayer({ url: server.url, client, observe: observer.snapshot, conditions, ...tokens });
  const close = async (): Promise<void> => {
    replayer.close();
    await observer.close();
    await server.close();
  };
  return { server, observer, client, replayer, close };
}

const MAX_SHOWN = 10;

/** Throws with the requests that did not get what they should. `maySkip`: there may be no record for a case to adopt. */
export async function replayAll({ replayer }: Bench, cases: readonly Case[], maySkip = false): Promise<void> {
  const wrong: string[] = [];
  for (const one of cases) {
    const result = await replayer.replay(one);
    if (result.outcome !== 'passed' && !(maySkip && result.outcome === 'skipped')) wrong.push(formatFailures(result));
  }
  if (wrong.length > 0)
    throw new Error(`${wrong.length} of ${cases.length} cases failed\n${wrong.slice(0, MAX_SHOWN).join('\n')}`);
}
