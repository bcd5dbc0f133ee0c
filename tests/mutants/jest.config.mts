import base from '../jest.base.mts';

/** `npm run test:mutants`: plants faults in a copy of the engine and expects the generated suites to find each of them. */
export default { ...base, rootDir: '../..', testMatch: ['<rootDir>/tests/mutants/*.mutants.ts'] };
