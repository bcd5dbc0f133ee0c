/** What finds a planted fault: the first case of the generated suites that fails, or the first test of a file. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { replay, type Result } from '../../engine/suite/replay.ts';
import { formatFailures } from '../../engine/suite/report.ts';
import { suiteOfAll } from '../../engine/suite/suite.ts';
import { createDatabase, type DatabaseKind } from '../support/databases.ts';
import { loadModel } from '../support/model.ts';
import { createObserver } from '../support/observer.ts';
import type { Mutant, MutantOfTest } from './mutant.ts';
import { type Copy, copyEngine, startService } from './planted.ts';

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
] as const;

/** The first case of a schema's suites that fails, or undefined. */
async function firstFailure(copy: Copy, schema: string, kind: DatabaseKind): Promise<Result | undefined> {
  const schemaDirectory = `tests/fixtures/schemas/${schema}`;
  const model = loadModel(schemaDirectory);
  const database = await createDatabase(kind);
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

/** `schema`: the one that is tried first. */
type FindFailure = (schema?: string) => Promise<Result | undefined>;

/** Faults of one kind stand together in their list: by default the schema that has found the last one is tried first. */
function createFinder(copy: Copy, kind: DatabaseKind): FindFailure {
  let last: string = SCHEMAS[0];
  return async (first = last) => {
    for (const schema of new Set([first, ...SCHEMAS])) {
      const failure = await firstFailure(copy, schema, kind);
      if (!failure) continue;
      last = schema;
      return failure;
    }
    return undefined;
  };
}

const JEST = [
  'node_modules/jest/bin/jest.js',
  '--config',
  'tests/mutants/own-tests.config.mts',
  '--ci',
  '--runInBand',
  '--forceExit',
];

/** The title of the first test of a file that fails with the engine of the copy, or undefined. */
async function firstFailureIn({ directory }: Copy, file: string): Promise<string | undefined> {
  try {
    const env = { ...process.env, TEST_BUILD: directory };
    await promisify(execFile)(process.execPath, [...JEST, '--runTestsByPath', file], { env });
    return undefined;
  } catch (error) {
    const { stderr } = error as { readonly stderr: string };
    return /● (.+)/.exec(stderr)?.[1] ?? stderr;
  }
}

const placeIn = ({ case: { title }, failures: [first] }: Result): string =>
  `${title} -> ${first?.differences[0]?.place}`;

/** Where a fault in the engine of the copy is seen, or undefined. */
type FindPlace = (copy: Copy) => Promise<string | undefined>;

/** Fails unless the fault is seen once it is planted. */
type ExpectFound = (mutant: Mutant, find: FindPlace) => Promise<void>;

/** A copy of the engine for the tests of a file, which are told at their end where each fault was seen. */
function useCopy(): { readonly copy: () => Copy; readonly expectFound: ExpectFound } {
  let copy: Copy;
  const found: (readonly [mutant: string, place: string])[] = [];

  beforeAll(() => void (copy = copyEngine()));
  afterAll(() => {
    copy?.remove();
    const width = Math.max(...found.map(([name]) => name.length));
    if (found.length > 0) console.log(found.map(([name, place]) => `${name.padEnd(width)}  ${place}`).join('\n'));
  });

  return {
    copy: () => copy,
    expectFound: async (mutant, find) => {
      const restore = copy.plant(mutant);
      try {
        const place = await find(copy);
        expect(place).toBeDefined();
        found.push([mutant.name, place ?? '']);
      } finally {
        restore();
      }
    },
  };
}

/** Tests that the generated suites find each of these faults, and nothing in the engine as it is. */
export function testSuitesFind(kind: DatabaseKind, mutants: readonly Mutant[]): void {
  const { copy, expectFound } = useCopy();
  let firstFailureOf: FindFailure;
  beforeAll(() => void (firstFailureOf = createFinder(copy(), kind)));

  it('the suites find nothing in the engine as it is', async () => {
    const failure = await firstFailureOf();
    expect(failure && formatFailures(failure)).toBeUndefined();
  });

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))('they find %s', (_, mutant) =>
    expectFound(mutant, async () => {
      const failure = await firstFailureOf(mutant.schema);
      return failure && placeIn(failure);
    }),
  );
}

/** The same of faults that have a test. */
export function testTestsFind(mutants: readonly MutantOfTest[]): void {
  const { copy, expectFound } = useCopy();

  it.each([...new Set(mutants.map(({ file }) => file))])('%s finds nothing in the engine as it is', async (file) => {
    expect(await firstFailureIn(copy(), file)).toBeUndefined();
  });

  it.each(mutants.map((mutant) => [mutant.file, mutant.name, mutant] as const))('%s finds %s', (file, _, mutant) =>
    expectFound(mutant, (planted) => firstFailureIn(planted, file)),
  );
}
