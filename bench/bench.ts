/** `npm run bench`: what this engine costs, measured. */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { compare } from './compare.ts';
import { enginePostgres } from './contenders.ts';
import { cautions, chooseCores } from './cores.ts';
import { gate } from './gate/gate.ts';
import { type Options, readOptions, UsageError } from './options.ts';
import { describeServer } from './postgres.ts';
import { comparison, SUBJECT } from './report/comparison.ts';
import { comparisonChart } from './report/comparison-chart.ts';
import { latency } from './latency/latency.ts';
import type { Report } from './report/report.ts';
import { requests } from './requests/requests.ts';
import { scale } from './scale/scale.ts';
import { shipped } from './shipped/shipped.ts';
import { startTimes } from './start/start.ts';
import { type CommandName, USAGE } from './usage.ts';

type Command = (options: Options) => Promise<Report>;

async function compared(options: Options, subject: string): Promise<Report> {
  const data = await compare(options, chooseCores());
  return { text: comparison(data, subject), data, chart: comparisonChart(data, subject) };
}

async function onPostgres(options: Options): Promise<Report> {
  const report = await compared(options, enginePostgres.name);
  return { ...report, text: [await describeServer(), report.text].join('\n\n') };
}

const commands: Readonly<Record<CommandName, Command>> = {
  compare: (options) => compared(options, SUBJECT),
  gate,
  latency,
  postgres: onPostgres,
  requests,
  scale,
  shipped,
  start: startTimes,
  workers: (options) => onPostgres({ ...options, contenders: options.contenders.filter((name) => name !== SUBJECT) }),
};

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    console.log(USAGE);
    return 0;
  }
  const options = readOptions(args);
  const notes = cautions(chooseCores());
  const report = await commands[options.command](options);
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, notes };
  if (options.chart !== '') writeFileSync(options.chart, report.chart);
  if (options.json) console.log(JSON.stringify({ ...machine, results: report.data }, undefined, 2));
  else console.log([`Node ${machine.node}, ${machine.cores} × ${machine.cpu}`, ...notes, '', report.text].join('\n'));
  return report.failed === true ? 1 : 0;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error);
    process.exitCode = 2;
  },
);
