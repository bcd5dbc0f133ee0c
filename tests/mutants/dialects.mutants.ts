/** Each fault that is planted in the dialects must make their own test fail: the generated suites are about `/api`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { dialectMutants } from './dialect-mutants.ts';
import { type Copy, copyEngine } from './planted.ts';

const JEST = [
  'node_modules/jest/bin/jest.js',
  '--config',
  'tests/mutants/dialects.config.mts',
  '--ci',
  '--runInBand',
  '--forceExit',
];

let copy: Copy;

beforeAll(() => void (copy = copyEngine()));
afterAll(() => copy?.remove());

/** The first test that fails, or undefined. */
async function firstFailure(): Promise<string | undefined> {
  try {
    await promisify(execFile)(process.execPath, JEST, { env: { ...process.env, TEST_BUILD: copy.directory } });
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
  const restore = copy.plant(mutant);
  try {
    expect(await firstFailure()).toBeDefined();
  } finally {
    restore();
  }
});
