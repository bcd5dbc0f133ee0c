import base from '../jest.base.mts';

/** The dialects' own test, with the engine that TEST_BUILD names: nothing is built. */
export default {
  ...base,
  rootDir: '../..',
  globalSetup: undefined,
  testMatch: ['<rootDir>/tests/http/dialects.test.ts'],
};
