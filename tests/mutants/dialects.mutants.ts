/** Each fault that is planted in the dialects must make their own test fail: the generated suites are about `/api`. */
import { dialectMutants } from './dialect-mutants.ts';
import { testTestsFind } from './finding.ts';

testTestsFind(dialectMutants);
