import base from '../jest.base.mts';

/** `npm run test:package`: packs, and installs the package in empty folders, from the registry. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/package/*.package.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // The projects share the two cores with npm.
  maxWorkers: 1,
};
