/** What was measured -> tables: the cost of each request, and how many times this engine's cost the others have. */
import type { Measured } from '../measure.ts';
import { spread } from '../statistics.ts';
import { figure, table } from './table.ts';

/** Everybody else is compared with this one. */
export const SUBJECT = 'engine';

type Cell = (measured: Measured, subject: Measured | undefined) => string;

const cost: Cell = ({ contender, cpu }, subject) => {
  const ratio = contender === SUBJECT || !subject ? '' : `  ×${figure(cpu.median / subject.cpu.median)}`;
  return `${figure(cpu.median)} ±${Math.round(spread(cpu) * 100)} %${ratio}`;
};
const rate: Cell = ({ contender, rate: { median } }, subject) =>
  `${figure(median)}${contender === SUBJECT || !subject ? '' : `  ×${figure(median / subject.rate.median)}`}`;
const latency: Cell = ({ p50, p99 }) => `${figure(p50)} / ${figure(p99)}`;

const TABLES: readonly { readonly title: string; readonly cell: Cell }[] = [
  { title: "Microseconds of the server's CPU per request (× engine: above 1, the engine is cheaper)", cell: cost },
  { title: 'Requests per second (× engine: below 1, the engine answers more)', cell: rate },
  { title: 'Milliseconds until the answer: median / 99th percentile', cell: latency },
];

export function comparison(all: readonly Measured[]): string {
  const counts = [...new Set(all.map(({ connections }) => connections))];
  return counts
    .flatMap((connections) => {
      const measured = all.filter((one) => one.connections === connections);
      return TABLES.map(({ title, cell }) => `### ${title}, ${plural(connections)}\n\n${oneTable(measured, cell)}`);
    })
    .join('\n\n');
}

const plural = (connections: number): string => `${connections} connection${connections === 1 ? '' : 's'}`;

function oneTable(measured: readonly Measured[], cell: Cell): string {
  const names = [...new Set(measured.map(({ contender }) => contender))];
  const works = [...new Set(measured.map(({ work }) => work))];
  const at = (work: string, contender: string): Measured | undefined =>
    measured.find((one) => one.work === work && one.contender === contender);
  const rows = works.map((work) => [
    work,
    ...names.map((name) => {
      const one = at(work, name);
      return one ? cell(one, at(work, SUBJECT)) : '-';
    }),
  ]);
  return table(['work', ...names], rows);
}
