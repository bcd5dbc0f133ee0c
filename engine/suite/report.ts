/** Results of a replay for people: what was asked, what was expected, what came. */
import type { Failure, Result } from './replay.ts';

function formatFailure({ request, differences }: Failure): string {
  const lines = differences.map(
    ({ place, expected, got }) => `    ${place}\n      expected ${expected}\n      got      ${got}`,
  );
  return [`  ${request}`, ...lines].join('\n');
}

/** One case that failed, with every difference of the request that did not get what it should. */
export const formatFailures = ({ case: one, outcome, failures }: Result): string =>
  [`${one.type} ${one.title} (${one.group}): ${outcome}`, ...failures.map(formatFailure)].join('\n');

/** How many passed, failed and were skipped, by type. */
export function formatSummary(results: readonly Result[]): string {
  const types = [...new Set(results.map((result) => result.case.type))];
  const count = (type: string, outcome: Result['outcome']): number =>
    results.filter((result) => result.case.type === type && result.outcome === outcome).length;
  const width = Math.max(4, ...types.map((type) => type.length));
  const row = (name: string, cells: readonly (string | number)[]): string =>
    [name.padEnd(width), ...cells.map((cell) => String(cell).padStart(8))].join('');
  return [
    row('Type', ['passed', 'failed', 'skipped']),
    ...types.map((type) => row(type, [count(type, 'passed'), count(type, 'failed'), count(type, 'skipped')])),
  ].join('\n');
}
