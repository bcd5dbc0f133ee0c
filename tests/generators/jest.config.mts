import base from '../jest.base.mts';

/** `npm run test:generators`: clients that generators write from the simple profile of the OpenAPI document. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/generators/*.generators.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
