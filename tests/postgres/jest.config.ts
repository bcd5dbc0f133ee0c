/** @jest-config-loader esbuild-register */
import base from '../../jest.config.ts';

/**
 * What runs on PostgreSQL as well as on SQLite. Left out are tests that no database has a part in, and those of files
 * and of one machine: backup, durability, scans.
 */
const both = [
  'access',
  'commands',
  'docs-examples',
  'entity-tags',
  'formats',
  'hostile',
  'http',
  'http-steps',
  'interface',
  'limits',
  'migration',
  'migration-random',
  'migration-safety',
  'model-based',
  'ninth-type',
  'operation',
  'paging',
  'relations',
  'sensitive',
  'storage',
  'suite',
  'suite-fixtures',
  'suite-large',
  'transfer',
];

/** `npm run test:postgres`: on a server that is thrown away, or on the one that TEST_POSTGRES_URL names. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/postgres/*.test.ts', ...both.map((name) => `<rootDir>/tests/${name}.test.ts`)],
};
