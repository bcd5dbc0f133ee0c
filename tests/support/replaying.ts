/** A service and everything that is needed to replay cases against it. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../../engine/model/model.ts';
import type { Case } from '../../engine/suite/case.ts';
import { formatFailures } from '../../engine/suite/report.ts';
import { createReplayer, type Replayer } from '../../engine/suite/replay.ts';
import { createObserver, type Observer } from './observer.ts';
import { startTestServer, type TestServer } from './server.ts';

export interface Bench {
  readonly server: TestServer;
  readonly observer: Observer;
  readonly replayer: Replayer;
  close(): Promise<void>;
}

/** Memory, where the system offers it as files: thousands of commits need no disk. */
const fastDirectory = (): string => mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'records-'));

export async function openBench(schemaDirectory: string, model: Model): Promise<Bench> {
  const directory = fastDirectory();
  const file = join(directory, 'records.db');
  const server = await startTestServer({ schemaDirectory, settings: { databaseUrl: `sqlite:${file}` } });
  const observer = createObserver(file, model);
  const replayer = createReplayer({ url: server.url, observe: observer.snapshot });
  const close = async (): Promise<void> => {
    replayer.close();
    observer.close();
    await server.close();
    rmSync(directory, { recursive: true });
  };
  return { server, observer, replayer, close };
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
