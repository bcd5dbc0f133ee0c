import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  // Jest leaves one core out by default, which on two cores is half of them.
  maxWorkers: '100%',
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  // Tools that others made have packages of their own, and replaying the whole document takes as long: `npm run test:tools`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/tests/tools/'],
  globalSetup: '<rootDir>/tests/support/build.setup.ts',
  testSequencer: '<rootDir>/tests/support/longest-first.mts',
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
  // Only for a test that would never end: other work on the machine makes each of them slow.
  testTimeout: 1_200_000,
};

export default config;
