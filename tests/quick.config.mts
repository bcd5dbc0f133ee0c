import base from './jest.base.mts';

/** `npm run test:quick`, for each save: what starts no process of its own, and takes less than four seconds of a core. */
export default {
  ...base,
  rootDir: '..',
  // These wait for nothing.
  maxWorkers: '100%',
  // Those of PostgreSQL would load the engine to skip their tests: `npm run test:postgres`.
  testPathIgnorePatterns: [...(base.testPathIgnorePatterns ?? []), '\\.slow\\.test\\.ts$', '<rootDir>/tests/postgres/'],
};
