/** What was measured -> bars: the CPU of each request as a multiple of the subject's, a column for each number of connections. */
import type { Measured } from '../measure.ts';
import { linear, type Scale, ticks } from './axis.ts';
import { at, connectionCounts, plural, SUBJECT } from './comparison.ts';
import { element, line, picture, rect, seriesClass, text } from './svg.ts';
import { figure } from './table.ts';

const MARGIN = 16;
const COLUMN = 370;
/** Within a column: names to the left of the bars, figures to the right of their ends. */
const BARS = { from: 84, to: 260 } as const;
const TOP = 92;
const BAR = 12;
const BAR_STEP = 18;
const HEADLINE = 26;
const GAP = 14;
/** Longer bars would leave the others no room; they end in a gap and a stump. */
const GREATEST = 6;
const CUT = 8;

interface Panel {
  readonly all: readonly Measured[];
  readonly names: readonly string[];
  readonly subject: string;
  readonly scale: Scale;
}

export function comparisonChart(all: readonly Measured[], subject = SUBJECT): string {
  const names = [...new Set(all.map(({ contender }) => contender))];
  const works = [...new Set(all.map(({ work }) => work))];
  const ratios = all.map((one) => ratioOf(one, all, subject)).filter(Number.isFinite);
  const greatest = Math.min(GREATEST, Math.max(2, ...ratios));
  const panel = { all, names, subject, scale: linear({ from: 0, to: greatest }, BARS) };
  const rowHeight = HEADLINE + names.length * BAR_STEP + GAP;
  const height = TOP + works.length * rowHeight;
  const columns = connectionCounts(all).map((connections, index) =>
    group(MARGIN + index * COLUMN, 0, [
      text(0, 60, plural(connections), { class: 'head' }),
      ...axis(panel.scale, greatest, height - GAP),
      ...works.map((work, row) => group(0, TOP + row * rowHeight, bars(panel, work, connections))),
    ]),
  );
  const title = `CPU per request, as a multiple of what it costs this engine (${subject}): shorter is cheaper`;
  const width = 2 * MARGIN + Math.max(2, columns.length) * COLUMN;
  return picture(width, height, title, [text(MARGIN, 28, title, { class: 'title' }), ...columns]);
}

const group = (x: number, y: number, content: readonly string[]): string =>
  element('g', { transform: `translate(${x} ${y})` }, content.join('\n'));

function ratioOf(one: Measured, all: readonly Measured[], subject: string): number {
  const other = at(all, one.work, subject, one.connections);
  return other ? one.cpu.median / other.cpu.median : Number.NaN;
}

const axis = (scale: Scale, greatest: number, bottom: number): readonly string[] =>
  ticks(greatest, GREATEST).flatMap((value) => [
    text(scale(value), TOP - 10, `×${value}`, { class: 'middle faint' }),
    line({ x: scale(value), y: TOP }, { x: scale(value), y: bottom }, { class: value === 1 ? 'mark' : 'rule' }),
  ]);

function bars(panel: Panel, work: string, connections: number): readonly string[] {
  const { all, names } = panel;
  const rows = names.map((name, index) => {
    const one = at(all, work, name, connections);
    const content = [
      text(BARS.from - 8, BAR - 2, name, { class: 'end' }),
      ...(one ? bar(one, panel) : [text(BARS.from + 6, BAR - 2, 'not offered', { class: 'faint' })]),
    ];
    return group(0, HEADLINE + index * BAR_STEP, content);
  });
  return [text(0, 14, work, { class: 'head' }), ...rows];
}

function bar(one: Measured, { all, names, subject, scale }: Panel): readonly string[] {
  const ratio = ratioOf(one, all, subject);
  const end = Math.min(BARS.to, scale(Number.isNaN(ratio) ? 0 : ratio));
  const isCut = scale(ratio) > BARS.to + 1;
  const words = `${Number.isNaN(ratio) ? '' : `×${figure(ratio)}  `}${figure(one.cpu.median)} µs`;
  return [
    group(0, 0, [
      rect(BARS.from, 0, end - BARS.from, BAR, { class: `bar ${seriesClass(names.indexOf(one.contender))}` }),
      ...(isCut ? [rect(end - 2 * CUT, -1, CUT / 2, BAR + 2, { class: 'ground' })] : []),
    ]),
    text(end + 6, BAR - 2, words, { class: one.contender === subject ? 'head' : '' }),
  ];
}
