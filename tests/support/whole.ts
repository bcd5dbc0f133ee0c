/**
 * Tables and random runs that take long and rarely fail: `npm test` takes a part of them, so that people wait for it, and
 * `npm run test:nightly -- whole` all.
 */
export const isWhole = process.env['TESTS'] === 'whole';

/** So many of the cases, evenly spread; the first is one of them. */
export const some = <T>(cases: readonly T[], count = 1): readonly T[] => {
  const step = Math.max(1, Math.ceil(cases.length / count));
  return isWhole ? cases : cases.filter((_, index) => index % step === 0);
};

/** Tests that only the job `whole` runs. */
export const testAtNight = isWhole ? test : test.skip;
export const describeAtNight = isWhole ? describe : describe.skip;
