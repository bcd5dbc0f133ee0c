/** Each fault that is planted in the dialects must make their own test fail: the generated suites are about `/api`. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { dialectMutants } from './dialect-mutants.ts';
import type { Mutant } from './mutants.ts';
import { plantedIn, readSources } from './planted.ts';

const TEST = 'tests/http/dialects.test.ts';
const COPIED = [
  'engine',
  'schema',
  'package.json',
  'tests/http',
  'tests/support',
  'tests/fixtures/dialects',
  'tests/jest.base.mts',
];
/** Nothing is compiled for it, and there is one file only. */
const CONFIG = `import base from './tests/jest.base.mts';
const { globalSetup, testSequencer, ...rest } = base;
export default { ...rest, testMatch: ['<rootDir>/${TEST}'] };
`;

let directory: string;
const sources = readSources();

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'dialects-'));
  mkdirSync(join(directory, 'tests/fixtures'), { recursive: true });
  for (const path of COPIED) cpSync(path, join(directory, path), { recursive: true });
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'jest.config.mts'), CONFIG);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function plant(mutant: Mutant): () => void {
  const changed = plantedIn(mutant, sources);
  for (const [file, source] of changed) writeFileSync(join(directory, file), source);
  return () => {
    for (const file of changed.keys()) writeFileSync(join(directory, file), sources.get(file) ?? '');
  };
}

/** The first test that fails, or undefined. */
async function firstFailure(): Promise<string | undefined> {
  const jest = resolve('node_modules/jest/bin/jest.js');
  const cache = ['--cacheDirectory', join(directory, 'cache')];
  try {
    await promisify(execFile)(process.execPath, [jest, '--ci', '--runInBand', ...cache], { cwd: directory });
    return undefined;
  } catch (error) {
    const { stderr } = error as { readonly stderr: string };
    return /● (.+)/.exec(stderr)?.[1] ?? stderr;
  }
}

it('the test finds nothing in the dialects as they are', async () => {
  expect(await firstFailure()).toBeUndefined();
});

it.each(dialectMutants.map((mutant) => [mutant.name, mutant] as const))('it finds %s', async (_, mutant) => {
  const restore = plant(mutant);
  try {
    expect(await firstFailure()).toBeDefined();
  } finally {
    restore();
  }
});
