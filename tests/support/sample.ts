/**
 * What is generated or drawn in great number is sampled: `npm test` takes a part of it, and with `SAMPLE=1`, as in
 * `npm run test:suites`, all of it. `SAMPLE=10`: every tenth case of a suite.
 */
const { SAMPLE, RUNS } = process.env;

export const isWhole = SAMPLE === '1';

/** Every `usual`-th, from the first on, unless SAMPLE says otherwise. */
export function sampled<T>(all: readonly T[], usual: number): readonly T[] {
  const stride = Number(SAMPLE ?? usual);
  return all.filter((_, index) => index % stride === 0);
}

/** How many values are drawn for a property: all, or, where what is generated is sampled, a third. `RUNS=1000` draws as many. */
export const drawn = (whole: number): number => Number(RUNS ?? (isWhole ? whole : Math.ceil(whole / 3)));
