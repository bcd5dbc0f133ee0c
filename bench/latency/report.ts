/** What was waited for -> a table for each server, beside what it did meanwhile. */
import type { Report } from '../report/report.ts';
import { figure, table } from '../report/table.ts';
import { latencyChart } from './chart.ts';
import type { Waited } from './waits.ts';

const HEADER = ['beside', 'cores', 'done beside', 'p50 ms', 'p99 ms', 'max ms', 'p99 × alone'];

export function latencies(waited: readonly Waited[], rows: number, rate: number): Report {
  const names = [...new Set(waited.map(({ contender }) => contender))];
  const head = `Get by id, ${rate} a second, of ${rows.toLocaleString('en-US')} records`;
  const text = names.map(
    (name) => `### ${name}: ${head}\n\n${oneTable(waited.filter((one) => one.contender === name))}`,
  );
  return { text: text.join('\n\n'), data: waited, chart: latencyChart(waited) };
}

function oneTable(waited: readonly Waited[]): string {
  const alone = (cores: string): number =>
    waited.find((one) => one.cores === cores && one.situation === 'alone')?.p99 ?? Number.NaN;
  const rows = waited.map(({ situation, cores, beside, p50, p99, max }) => [
    situation,
    cores,
    beside,
    ...[p50, p99, max, p99 / alone(cores)].map(figure),
  ]);
  return table(HEADER, rows);
}
