import base from '../jest.base.mts';

/** `npm run test:failover`: a PostgreSQL cluster that elects its leader, with Patroni and etcd. It measures time, and takes minutes. */
export default {
  ...base,
  rootDir: '../..',
  maxWorkers: 1,
  testMatch: ['<rootDir>/tests/failover/*.failover.ts'],
  testTimeout: 600_000,
};
