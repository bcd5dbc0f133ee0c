/** What was measured -> tables: the cost of each request, and how many times this engine's cost the others have. */
import type { Measured } from '../measure.ts';
import { spread } from '../statistics.ts';
import { figure, table } from './table.ts';

/** Everybody else is compared with this one. */
export const SUBJECT = 'engine';

/** `subject` is undefined where there is nothing to compare with. */
type Cell = (measured: Measured, subject: Measured | undefined) => string;

const timesMore = (value: number, subject: number | undefined): string =>
  subject === undefined ? '' : `  ×${figure(value / subject)}`;

const cost: Cell = ({ cpu }, subject) =>
  `${figure(cpu.median)} ±${Math.round(spread(cpu) * 100)} %${timesMore(cpu.median, subject?.cpu.median)}`;
/** Other work on the machine can only add to a cost. */
const cheapest: Cell = ({ cpu }, subject) => `${figure(cpu.least)}${timesMore(cpu.least, subject?.cpu.least)}`;
const databaseCost: Cell = ({ databaseCpu }, subject) =>
  databaseCpu ? `${figure(databaseCpu.median)}${timesMore(databaseCpu.median, subject?.databaseCpu?.median)}` : '-';
const rate: Cell = ({ rate: { median } }, subject) => `${figure(median)}${timesMore(median, subject?.rate.median)}`;
const latency: Cell = ({ p50, p99 }) => `${figure(p50)} / ${figure(p99)}`;

interface Table {
  readonly title: (subject: string) => string;
  readonly cell: Cell;
  readonly isEmpty?: (all: readonly Measured[]) => boolean;
}

const TABLES: readonly Table[] = [
  {
    title: (subject) => `Microseconds of the server's CPU per request (× ${subject}: above 1, the engine is cheaper)`,
    cell: cost,
  },
  { title: () => 'The same of the cheapest round', cell: cheapest },
  {
    title: () => "Microseconds of the database's CPU per request, all processes of the server together",
    cell: databaseCost,
    isEmpty: (all) => all.every(({ databaseCpu }) => databaseCpu === undefined),
  },
  { title: (subject) => `Requests per second (× ${subject}: below 1, the engine answers more)`, cell: rate },
  { title: () => 'Milliseconds until the answer: median / 99th percentile', cell: latency },
];

export function comparison(all: readonly Measured[], subject = SUBJECT): string {
  return connectionCounts(all)
    .flatMap((connections) =>
      TABLES.filter(({ isEmpty }) => isEmpty?.(all) !== true).map(
        ({ title, cell }) =>
          `### ${title(subject)}, ${plural(connections)}\n\n${oneTable(all, connections, cell, subject)}`,
      ),
    )
    .join('\n\n');
}

export const connectionCounts = (all: readonly Measured[]): readonly number[] => [
  ...new Set(all.map(({ connections }) => connections)),
];

export const at = (
  all: readonly Measured[],
  work: string,
  contender: string,
  connections: number,
): Measured | undefined =>
  all.find((one) => one.work === work && one.contender === contender && one.connections === connections);

export const plural = (connections: number): string => `${connections} connection${connections === 1 ? '' : 's'}`;

function oneTable(all: readonly Measured[], connections: number, cell: Cell, subject: string): string {
  const names = [...new Set(all.map(({ contender }) => contender))];
  const works = [...new Set(all.map(({ work }) => work))];
  const rows = works.map((work) => [
    work,
    ...names.map((name) => {
      const one = at(all, work, name, connections);
      return one ? cell(one, name === subject ? undefined : at(all, work, subject, connections)) : '-';
    }),
  ]);
  return table(['work', ...names], rows);
}
