/**
 * The same for what only PostgreSQL runs: its SQL, its types, and the writes that are one statement. What requests that
 * come one after the other cannot show is found by the tests that are about it.
 */
import { onServer } from '../support/postgres.ts';
import { testSuitesFind, testTestsFind } from './finding.ts';
import { postgresMutants, postgresMutantsOfTests } from './postgres-mutants.ts';

onServer('on PostgreSQL', () => {
  testSuitesFind('postgres', postgresMutants);
  testTestsFind(postgresMutantsOfTests);
});
