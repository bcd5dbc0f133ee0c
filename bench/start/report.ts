/** What starts take -> a table, with what is asked of them. */
import type { Report } from '../report/report.ts';
import { figure, table } from '../report/table.ts';
import { spread, summary } from '../statistics.ts';

export interface Taken {
  readonly what: string;
  readonly unit: 'ms' | 'MiB';
  /** One for each round. */
  readonly values: readonly number[];
  /** At most, where something is asked of it. */
  readonly limit?: number;
}

export function takenReport(all: readonly Taken[]): Report {
  const rows = all.map(({ what, unit, values, limit }) => {
    const found = summary(values);
    return [
      `${what}, ${unit}`,
      `${figure(found.median)} ±${Math.round(spread(found) * 100)} %`,
      ...(limit === undefined ? ['', ''] : [`≤ ${figure(limit)}`, found.median <= limit ? 'met' : 'missed']),
    ];
  });
  return { text: table(['', 'median', 'target', ''], rows), data: all, chart: '' };
}
