/** Each fault that is planted in the dialects must make their own test fail: the generated suites are about `/api`. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { dialectMutants } from './dialect-mutants.ts';
import { firstFailureIn } from './finding.ts';
import { type Copy, copyEngine } from './planted.ts';

const OWN_TEST = 'tests/http/dialects.test.ts';

let copy: Copy;

beforeAll(() => void (copy = copyEngine()));
afterAll(() => copy?.remove());

it('the test finds nothing in the dialects as they are', async () => {
  expect(await firstFailureIn(copy, OWN_TEST)).toBeUndefined();
});

it.each(dialectMutants.map((mutant) => [mutant.name, mutant] as const))('it finds %s', async (_, mutant) => {
  const restore = copy.plant(mutant);
  try {
    expect(await firstFailureIn(copy, OWN_TEST)).toBeDefined();
  } finally {
    restore();
  }
});
