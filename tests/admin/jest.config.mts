import base from '../jest.base.mts';

/** `npm run test:admin`: admin frameworks in Chromium, each with its own provider and no adapter. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/admin/*.admin.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
