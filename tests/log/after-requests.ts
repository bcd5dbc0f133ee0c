/** Random requests to types with a history, after which a test looks at what the log has. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '../../engine/model/model.ts';
import { compareSequence, START } from '../oracle/compare-sequence.ts';
import { type Operation, randomOperation } from '../oracle/random-operations.ts';
import fc from '../support/fast-check.ts';
import { readModel } from '../support/random-schema.ts';
import { type Bench, openBench } from '../support/replaying.ts';

export type Check<T> = (bench: Bench, model: Model) => Promise<T>;

export const operations = (most: number) =>
  fc.array(randomOperation, { minLength: most / 2, maxLength: most, size: 'max' });

/** Removes the directory of the descriptors in the end. Draws again if no type has a history. */
export async function afterRequests<T>(directory: string, requests: readonly Operation[], check: Check<T>): Promise<T> {
  try {
    const model = readModel(directory);
    fc.pre(model !== undefined && [...model.types.values()].some(({ history }) => history));
    let sent = 0;
    const clock = (): Date => new Date(START + sent * 1000);
    const bench = await openBench(directory, model, { settings: { clock }, onSend: () => (sent += 1) });
    try {
      await compareSequence(bench, model, requests);
      return await check(bench, model);
    } finally {
      await bench.close();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const NESTED = 'tests/fixtures/nested';

/** The directory of types with links, parts and unique values, all of them with a history. */
export function recordedNested(): string {
  const directory = mkdtempSync(join(tmpdir(), 'schema-'));
  for (const file of readdirSync(NESTED))
    writeFileSync(join(directory, file), `history: true\n${readFileSync(join(NESTED, file), 'utf8')}`);
  return directory;
}
