/** The configuration is in tests/jest.base.mts, which those of the other test scripts build on. */
module.exports = async () => (await import('./tests/jest.base.mts')).default;
