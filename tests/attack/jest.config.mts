import base from '../jest.base.mts';

/** `npm run test:attack`: tools of people who attack services, against one on loopback. One after the other: they leave no time for others. */
export default {
  ...base,
  rootDir: '../..',
  maxWorkers: 1,
  testMatch: ['<rootDir>/tests/attack/*.attack.ts'],
};
