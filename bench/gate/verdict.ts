/** Costs of the same work -> whether this engine's is within its limit. */
import { limits } from './limits.ts';
import { figure, table } from '../report/table.ts';

export interface Verdict {
  readonly work: string;
  /** Microseconds of CPU for each request. */
  readonly engine: number;
  readonly reference: number;
  readonly ratio: number;
  readonly limit: number;
  readonly passed: boolean;
}

/** The costs of the rounds, of this engine and of the other. The cheapest count: whatever else a machine does can only add. */
export function verdict(work: string, costs: readonly (readonly number[])[]): Verdict {
  const [engine = Number.NaN, reference = Number.NaN] = costs.map((rounds) => Math.min(...rounds));
  const [ratio, limit] = [engine / reference, limits[work] ?? 0];
  return { work, engine, reference, ratio, limit, passed: ratio <= limit };
}

export function verdictsText(verdicts: readonly Verdict[], reference: string): string {
  const rows = verdicts.map(({ work, engine, reference: other, ratio, limit, passed }) => [
    work,
    ...[engine, other, ratio, limit].map(figure),
    passed ? 'ok' : 'too dear',
  ]);
  const failed = verdicts.filter(({ passed }) => !passed);
  const sentences = failed.map(
    ({ work, ratio, limit }) => `${work} costs ${figure(ratio)} times what it costs ${reference}; at most ${limit}`,
  );
  const header = ['work', 'engine, µs CPU', `${reference}, µs CPU`, 'ratio', 'limit', ''];
  return [table(header, rows), ...(failed.length > 0 ? ['', ...sentences] : [])].join('\n');
}
