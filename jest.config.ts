/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

const config: Config = {
  testEnvironment: 'node',
  // Jest leaves one core out by default, which on two cores is half of them.
  maxWorkers: '100%',
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  // Linters and clients take as long as all the rest: `npm run test:openapi`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/tests/openapi', '<rootDir>/tests/clients/'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
    ],
  },
  testTimeout: 30_000,
};

export default config;
