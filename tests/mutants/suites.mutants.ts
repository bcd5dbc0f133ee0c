/** Each planted fault must make a case of the generated suites fail; the engine as it is must make none fail. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatFailures } from '../../engine/suite/report.ts';
import { replay, type Result } from '../../engine/suite/replay.ts';
import { suiteOfAll } from '../../engine/suite/suite.ts';
import { createDatabase } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { createObserver } from '../support/observer.ts';
import { mutants } from './mutants.ts';
import { type Copy, copyEngine, startService } from './planted.ts';

const fixture = (name: string): string => `tests/fixtures/schemas/${name}`;

/** The quick ones first: between them they have every kind of field and relation. */
const SCHEMAS = [
  'has-one',
  'unique-together',
  'open-types',
  'on-delete',
  'checks',
  'stamps',
  'trees',
  'caseless',
  'many-to-many-with-itself',
  'every-field-type',
].map(fixture);

let copy: Copy;
const found: (readonly [mutant: string, request: string])[] = [];

beforeAll(() => void (copy = copyEngine()));
afterAll(() => {
  copy?.remove();
  const width = Math.max(...found.map(([name]) => name.length));
  if (found.length > 0) console.log(found.map(([name, request]) => `${name.padEnd(width)}  ${request}`).join('\n'));
});

/** The first case that fails, or undefined. */
async function firstFailure(schemaDirectory: string): Promise<Result | undefined> {
  const model = loadModel(schemaDirectory);
  const database = await createDatabase('sqlite');
  try {
    const service = await startService(copy, schemaDirectory, database.url);
    const observer = await createObserver(database, model);
    let failure: Result | undefined;
    try {
      const note = (result: Result): void => void (failure ??= result.outcome === 'failed' ? result : undefined);
      const stop = (): boolean => failure !== undefined;
      await replay(suiteOfAll(model), { url: service.url, observe: observer.snapshot, onProgress: note, stop });
      return failure;
    } finally {
      await observer.close();
      await service.stop();
    }
  } finally {
    await database.remove();
  }
}

/** Faults of one kind stand together in their list: what has found the last one is tried first. */
const schemas = [...SCHEMAS];

async function firstFailureOfAll(): Promise<Result | undefined> {
  for (const schema of schemas) {
    const failure = await firstFailure(schema);
    if (!failure) continue;
    schemas.unshift(...schemas.splice(schemas.indexOf(schema), 1));
    return failure;
  }
  return undefined;
}

describe('generated suites', () => {
  it('find nothing in the engine as it is', async () => {
    const failure = await firstFailureOfAll();
    expect(failure && formatFailures(failure)).toBeUndefined();
  });

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))('find %s', async (name, mutant) => {
    const restore = copy.plant(mutant);
    try {
      const failure = await firstFailureOfAll();
      expect(failure).toBeDefined();
      found.push([name, `${failure?.case.title} -> ${failure?.failures[0]?.differences[0]?.place}`]);
    } finally {
      restore();
    }
  });
});
