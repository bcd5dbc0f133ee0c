/** The configuration is written in tests/jest.projects.mts; this file needs no loader. */
module.exports = async () => (await import('./tests/jest.projects.mts')).default;
