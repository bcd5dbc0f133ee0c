import base from '../jest.base.mts';

/** `npm run test:bench`: the commands of the benchmarks themselves. They measure nothing, and take half a minute. */
export default { ...base, rootDir: '../..', testMatch: ['<rootDir>/tests/bench/*.bench.ts'] };
