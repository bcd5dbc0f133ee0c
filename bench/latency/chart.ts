/** The 99th percentiles as bars: for each server and what it does beside, one for each part of the machine that it had. */
import { linear, type Scale, ticks } from '../report/axis.ts';
import { element, line, picture, rect, seriesClass, text } from '../report/svg.ts';
import { figure } from '../report/table.ts';
import type { Waited } from './waits.ts';

const WIDTH = 760;
const PLOT = { left: 320, right: 690, top: 84 } as const;
const BAR = 12;
const GROUP_GAP = 12;
const TITLE = 'Get by id: milliseconds until the answer, 99th percentile';

interface Group {
  readonly label: string;
  readonly waited: readonly Waited[];
}

function groupsOf(all: readonly Waited[]): readonly Group[] {
  const label = ({ contender, situation }: Waited): string => `${contender}: ${situation}`;
  return [...new Set(all.map(label))].map((one) => ({ label: one, waited: all.filter((each) => label(each) === one) }));
}

export function latencyChart(all: readonly Waited[]): string {
  const cores = [...new Set(all.map((one) => one.cores))];
  const greatest = Math.max(...all.map(({ p99 }) => p99));
  const marks = ticks(greatest);
  const x = linear({ from: 0, to: greatest }, { from: PLOT.left, to: PLOT.right });
  const groups = groupsOf(all);
  const step = cores.length * BAR + GROUP_GAP;
  const bottom = PLOT.top + groups.length * step;
  const rules = marks.flatMap((mark) => [
    line({ x: x(mark), y: PLOT.top - 6 }, { x: x(mark), y: bottom }, { class: 'rule' }),
    text(x(mark), bottom + 16, String(mark), { class: 'middle faint' }),
  ]);
  const legend = cores.map((name, index) =>
    element(
      'g',
      { class: seriesClass(index) },
      rect(16 + index * 180, 44, BAR, BAR, { class: 'bar' }) + text(34 + index * 180, 54, `server on ${name}`),
    ),
  );
  const bars = groups.map((group, index) => drawn(group, cores, PLOT.top + index * step, x));
  const content = [text(16, 28, TITLE, { class: 'title' }), ...legend, ...rules, ...bars];
  return picture(WIDTH, bottom + 32, TITLE, content);
}

function drawn({ label, waited }: Group, cores: readonly string[], top: number, x: Scale): string {
  const bars = waited.map(({ cores: name, p99 }) => {
    const series = cores.indexOf(name);
    const y = top + series * BAR;
    const bar = rect(PLOT.left, y, x(p99) - PLOT.left, BAR - 2, { class: 'bar' });
    return element('g', { class: seriesClass(series) }, bar) + text(x(p99) + 5, y + BAR - 3, figure(p99));
  });
  return text(PLOT.left - 8, top + (cores.length * BAR) / 2 + 3, label, { class: 'end' }) + bars.join('');
}
