/** `bench -- scale`: what the same work costs with more rows, and with more record types. */
import { chooseCores } from '../cores.ts';
import type { Options } from '../options.ts';
import { createProgress } from '../report/progress.ts';
import type { Report } from '../report/report.ts';
import { growthChart } from './chart.ts';
import { axesText } from './report.ts';
import { rowsSteps, scaleRows } from './rows.ts';
import { scaleTypes, typesSteps } from './types.ts';

export async function scale({ rows, types, rounds, seconds, ...options }: Options): Promise<Report> {
  const cores = chooseCores();
  const [connections = 1] = options.connections;
  const plan = { rounds, seconds };
  const progress = createProgress(rowsSteps(rows, plan) + typesSteps(types, plan));
  const effort = { connections, plan, progress };
  const axes = [await scaleRows(rows, cores, effort), await scaleTypes(types, cores, effort)];
  progress.end();
  return { text: axesText(axes), data: axes, chart: growthChart(axes) };
}
