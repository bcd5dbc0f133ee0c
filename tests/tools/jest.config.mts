import base from '../jest.base.mts';

/** `npm run test:tools`: linters, clients and an editor that others made, on the OpenAPI document, the service and the grammar. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/tools/**/*.test.ts', '<rootDir>/tests/openapi/replay.tools.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
