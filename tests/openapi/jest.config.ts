/** @jest-config-loader esbuild-register */
import base from '../../jest.config.ts';

/** `npm run test:openapi`: the document under its linters and replayed, and clients that are made from it. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/openapi*.test.ts', '<rootDir>/tests/clients/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
