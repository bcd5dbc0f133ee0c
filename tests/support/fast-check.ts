/**
 * fast-check, with one seed for all properties: a test that failed by chance would say nothing about the change that it
 * is run for. `SEED=7` draws other values, and a run with RUNS of its own is a search: it draws new ones each time.
 */
import fc from 'fast-check';

const { SEED, RUNS } = process.env;
if (SEED !== undefined || RUNS === undefined)
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(SEED ?? 2030) });

export * from 'fast-check';
export default fc;
