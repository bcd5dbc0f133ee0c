import base from '../../jest.base.mts';

/**
 * `npm run test:browser`: the pages, the studio, and a page of another origin, in Chromium (CHROMIUM names it where it is not
 * /usr/bin/chromium). `npm run test:browser:short` leaves the slow ones out, and shows pages to fewer readers.
 */
export default {
  ...base,
  testPathIgnorePatterns: ['/node_modules/', ...(process.env['BROWSER'] === 'short' ? [String.raw`\.slow\.`] : [])],
  rootDir: '../../..',
  testMatch: ['<rootDir>/tests/tools/browser/*.browser.ts'],
};
