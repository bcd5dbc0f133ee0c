/** Each planted fault must make a case of the generated suites fail; the engine as it is must make none fail. */
import { testFinding } from './finding.ts';
import { mutants, mutantsOfTests } from './mutants.ts';

testFinding('sqlite', mutants, mutantsOfTests);
