import base from '../../jest.base.mts';

/** `npm run test:browser`: the pages, and a page of another origin, in Chromium (CHROMIUM names it where it is not /usr/bin/chromium). */
export default {
  ...base,
  testPathIgnorePatterns: ['/node_modules/'],
  rootDir: '../../..',
  testMatch: ['<rootDir>/tests/tools/browser/*.browser.ts'],
};
