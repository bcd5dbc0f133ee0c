import base from './jest.base.mts';

const { globalSetup: _, ...withoutBuild } = base;

/** `npm run test:quick`: what needs no build and no process of its own, and does not replay for long. */
export default {
  ...withoutBuild,
  rootDir: '..',
  // Those of PostgreSQL would load the engine to skip their tests: `npm run test:postgres`.
  testPathIgnorePatterns: [...(base.testPathIgnorePatterns ?? []), '\\.slow\\.test\\.ts$', '<rootDir>/tests/postgres/'],
};
