/**
 * The one configuration of Jest. `npm test` runs the tests in tests/ on SQLite. `npm run test:postgres` runs tests/postgres/
 * and, on PostgreSQL, those of the others whose result depends on the database. With NIGHTLY=attack, as
 * `npm run test:nightly -- attack` sets it, Jest runs tests/nightly/**\/*.attack.ts instead.
 */
import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

const { NIGHTLY, TEST_POSTGRES_URL } = process.env;

const shared: NonNullable<Config['projects']>[number] = {
  rootDir: '.',
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/tests/support/build.setup.ts',
  testEnvironment: '<rootDir>/tests/support/environment.mts',
  transform: { '\\.ts$': '<rootDir>/tests/support/transform.mts' },
};

/** They ask no database, or one of their own: they pass where TEST_POSTGRES_URL names a server that is not there. */
const WITHOUT_DATABASE = [
  'tests/(architecture|packages|walk)\\.',
  'tests/(descriptor|docs|openapi|package|pages|studio)/',
  'tests/access/(host|role-faults)\\.',
  'tests/commands/(commands|export-pipe|files|help)\\.',
  'tests/embed/engine\\.',
  'tests/log/entries\\.',
  'tests/field-types/(array-items|values)\\.',
  'tests/http/(body|framing|hidden-fields|limits|steps)\\.',
  'tests/migration/plans\\.',
  'tests/query/(cursors|heaviness|query|readers|statements|views)\\.',
  'tests/server/(file|outages|postgres-urls|public-url|sensitive|serve|settings|workers)\\.',
  'tests/suite/command\\.',
  'tests/writes/(bounded|plans|triggers)\\.',
  // Compares with PostgreSQL at night.
  'tests/oracle/',
];

const ordinary = {
  ...shared,
  testPathIgnorePatterns: ['/node_modules/', ...(TEST_POSTGRES_URL ? WITHOUT_DATABASE : ['tests/postgres/'])],
  displayName: TEST_POSTGRES_URL ? 'PostgreSQL' : 'SQLite',
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
};

const nightly = { ...shared, displayName: NIGHTLY ?? '', testMatch: [`<rootDir>/tests/nightly/**/*.@(${NIGHTLY}).ts`] };

const config: Config = {
  rootDir: '.',
  projects: [NIGHTLY ? nightly : ordinary],
  // Tests wait for processes and timers: a third worker per two cores uses that time.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  testSequencer: '<rootDir>/tests/support/longest-first.mts',
  // Never reached. With it, Jest runs even a single file in a process of its own, whose console a test may replace.
  workerIdleMemoryLimit: '4GB',
  // On a busy machine, an idle worker needs more than Jest's half second to exit.
  workerGracefulExitTimeout: 60_000,
  // Only for a test that would never end: a busy machine makes each of them slow.
  testTimeout: 1_200_000,
};

export default config;
