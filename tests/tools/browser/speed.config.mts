import base from './jest.config.mts';

/** `npm run test:studio:speed`: figures of a quiet machine. */
export default {
  ...base,
  testMatch: ['<rootDir>/tests/tools/browser/*.speed.ts'],
};
