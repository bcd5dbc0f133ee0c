/** Each planted fault must make a case of the generated suites, or its test, fail; the engine as it is must make none fail. */
import { testSuitesFind, testTestsFind } from './finding.ts';
import { mutants, mutantsOfTests } from './mutants.ts';

testSuitesFind('sqlite', mutants);
testTestsFind(mutantsOfTests);
