/** Each planted fault must make a case of the generated suites fail; the engine as it is must make none fail. */
import { testSuitesFind } from './finding.ts';
import { mutants } from './mutants.ts';

testSuitesFind('sqlite', mutants);
