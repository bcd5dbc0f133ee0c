import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

const config: Config = {
  // Jest leaves one core out by default, which on two cores is half of them. Many tests wait for processes and for time to
  // pass: meanwhile another worker has the core.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  // Tools that others made have packages of their own, and replaying the whole document takes as long: `npm run test:tools`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/tests/tools/'],
  globalSetup: '<rootDir>/tests/support/build.setup.ts',
  testSequencer: '<rootDir>/tests/support/longest-first.mts',
  testEnvironment: '<rootDir>/tests/support/environment.mts',
  transform: { '\\.ts$': '<rootDir>/tests/support/transform.mts' },
  // Never reached; with it, Jest runs even one file in a process of its own, whose timers and console a test may replace.
  workerIdleMemoryLimit: '4GB',
  // Beside other work, a worker with nothing left to do needs more than Jest's half second to exit.
  workerGracefulExitTimeout: 60_000,
  // Only for a test that would never end: other work on the machine makes each of them slow.
  testTimeout: 1_200_000,
};

export default config;
