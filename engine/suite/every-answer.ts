/** What every answer of the records interface has, whatever it is about: said once, and added to every case. */
import type { Case, Expectation, Step } from './case.ts';

const ALWAYS = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'x-request-id': '{*}',
} as const;

/** Request headers that decide about answers; there may be more of them. */
const VARY = 'Accept, Accept-Encoding, Prefer';

function completed({ headers = {}, ...expect }: Expectation): Expectation {
  const { vary = null, ...others } = headers;
  return { ...expect, headers: { ...ALWAYS, vary: vary === null ? VARY : `${VARY}, ${vary}`, ...others } };
}

/** What is no HTTP request has no such answer, and what operators ask is about no record. */
const isRecords = ({ request: { raw, path } }: Step): boolean => raw === undefined && !path.startsWith('/health/');

const withAlways = (steps: readonly Step[]): readonly Step[] =>
  steps.map((step) => (isRecords(step) ? { ...step, expect: completed(step.expect) } : step));

export const asEveryAnswer = (one: Case): Case => ({
  ...one,
  steps: withAlways(one.steps),
  cleanup: withAlways(one.cleanup),
});
