import base from '../jest.base.mts';

/**
 * What runs on PostgreSQL as well as on SQLite. Left out are tests in which the database has no part of its own, and
 * those of files and of one machine: backup, durability, scans.
 */
const both = [
  'commands/apply.slow',
  'commands/delete-tree.slow',
  'commands/import',
  'commands/transfer.slow',
  'field-types/case-folding',
  'http/delete-found',
  'http/dialects',
  'http/dry-run',
  'embed/records',
  'http/entity-tags',
  'http/formats',
  'http/hostile.slow',
  'http/http',
  'http/record-lines',
  'http/steps',
  'http/upsert',
  'interface/interface',
  'mcp/agents',
  'migration/costs',
  'migration/forward.slow',
  'migration/migration.slow',
  'migration/no-migrate.slow',
  'migration/random.slow',
  'migration/rename',
  'migration/safety.slow',
  'migration/versions.slow',
  'model-based.slow',
  'query/conditions',
  'query/counts',
  'query/like',
  'query/paging',
  'query/summaries',
  'storage/advice',
  'storage/batches',
  'storage/caseless',
  'storage/checks',
  'storage/deleted-identifiers',
  'storage/idempotency-table',
  'storage/nested-bodies',
  'storage/own-child',
  'storage/page-bytes',
  'storage/deletions',
  'storage/equal-values',
  'storage/linked-items',
  'storage/raw-values',
  'storage/relations',
  'storage/sets',
  'storage/stamps',
  'storage/storage',
  'storage/trees',
  'storage/two-versions.slow',
  'suite/fixtures.slow',
  'suite/suite.slow',
];

/** What runs through PgBouncer in transaction mode once more; where that is not there, this is left out. */
const pooled = ['http/http', 'postgres/instances'];

const files = (names: readonly string[]): readonly string[] => names.map((name) => `<rootDir>/tests/${name}.test.ts`);
const { maxWorkers, testTimeout, testSequencer, workerIdleMemoryLimit, workerGracefulExitTimeout, ...each } = {
  ...base,
  rootDir: '.',
};

const direct = {
  ...each,
  displayName: 'PostgreSQL',
  testMatch: ['<rootDir>/tests/postgres/*.test.ts', ...files(both)],
};
const throughPooler = {
  ...each,
  displayName: 'PgBouncer',
  testMatch: files(pooled),
  setupFiles: ['<rootDir>/tests/postgres/pooled.setup.ts'],
};

/** `npm run test:postgres`: on a server that is thrown away, or on the one that TEST_POSTGRES_URL names. */
export default {
  maxWorkers,
  testTimeout,
  testSequencer,
  workerIdleMemoryLimit,
  workerGracefulExitTimeout,
  rootDir: '../..',
  projects: process.env['TEST_POOLER_URL'] ? [direct, throughPooler] : [direct],
};
