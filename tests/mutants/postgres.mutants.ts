/**
 * The same for what only PostgreSQL runs: its SQL, its types, and the writes that are one statement. What requests that
 * come one after the other cannot show is found by the tests that are about it.
 */
import { expect, it } from '@jest/globals';
import { onServer } from '../support/postgres.ts';
import { copyEngine } from './planted.ts';
import { firstFailureIn, testSuitesFind } from './finding.ts';
import { mutantsOfTests, postgresMutants } from './postgres-mutants.ts';

onServer('on PostgreSQL', () => {
  const expectFound = testSuitesFind('postgres', postgresMutants);

  it.each([...new Set(mutantsOfTests.map(({ file }) => file))])('%s finds nothing in it', async (file) => {
    const copy = copyEngine();
    try {
      expect(await firstFailureIn(copy, file)).toBeUndefined();
    } finally {
      copy.remove();
    }
  });

  it.each(mutantsOfTests.map((mutant) => [mutant.file, mutant.name, mutant] as const))(
    '%s finds %s',
    (file, _, mutant) => expectFound(mutant, (copy) => firstFailureIn(copy, file)),
  );
});
