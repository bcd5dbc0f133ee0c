import base from '../jest.base.mts';

/** The test file that is named, with the engine that TEST_BUILD names: nothing is built. */
export default { ...base, rootDir: '../..', globalSetup: undefined };
