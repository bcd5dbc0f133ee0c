/**
 * fast-check, with one seed for all properties: a test that failed by chance would say nothing about the change that it
 * is run for. `SEED=7` draws other values, and a run with RUNS of its own is a search: it draws new ones each time.
 */
import fc from 'fast-check';

const { SEED, RUNS } = process.env;
if (SEED !== undefined || RUNS === undefined)
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(SEED ?? 2030) });

const MOST_SHORTER = 500;

/**
 * After the first failure, only so many more runs look for a shorter one that fails too. A limit of time would also end
 * the runs before it on a busy machine.
 */
export function shortening<A extends readonly unknown[]>(
  check: (...drawn: A) => Promise<void>,
): (...drawn: A) => Promise<void> {
  let more: number | undefined;
  return async (...drawn) => {
    if (more === 0) return;
    if (more !== undefined) more -= 1;
    try {
      await check(...drawn);
    } catch (error) {
      if (!fc.PreconditionFailure.isFailure(error)) more ??= MOST_SHORTER;
      throw error;
    }
  };
}

export * from 'fast-check';
export default fc;
