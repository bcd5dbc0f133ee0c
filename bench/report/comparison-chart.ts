/** What was measured -> bars: the CPU of each request as a multiple of the subject's, a column for each number of connections. */
import type { Measured } from '../measure.ts';
import { linear, type Range, type Scale, ticks } from './axis.ts';
import { at, connectionCounts, plural, SUBJECT } from './comparison.ts';
import { element, line, picture, rect, seriesClass, text } from './svg.ts';
import { figure } from './table.ts';

const TITLE = 'CPU per request, as a multiple of what it costs this engine: shorter is cheaper';
const MARGIN = 16;
const FIGURES = 112;
/** Within a column: names to the left of the bars, figures to the right of their ends. */
const LETTER = 7;
const BARS = 176;
const TOP = 92;
const BAR = 12;
const BAR_STEP = 18;
const HEADLINE = 26;
const GAP = 14;
/** Longer bars would leave the others no room; they end in a gap and a stump. */
const GREATEST = 6;
const CUT = 8;

interface Layout {
  readonly all: readonly Measured[];
  readonly works: readonly string[];
  readonly names: readonly string[];
  readonly subject: string;
  /** The greatest ratio on the axis. */
  readonly greatest: number;
  readonly bars: Range;
  readonly scale: Scale;
  /** From one work to the next. */
  readonly step: number;
}

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

function layoutOf(all: readonly Measured[], subject: string): Layout {
  const names = distinct(all.map(({ contender }) => contender));
  const works = distinct(all.map(({ work }) => work));
  const ratios = all.map((one) => ratioOf(one, all, subject)).filter(Number.isFinite);
  const greatest = Math.min(GREATEST, Math.max(2, ...ratios));
  const left = 16 + LETTER * Math.max(...names.map(({ length }) => length));
  const places = { from: left, to: left + BARS };
  const scale = linear({ from: 0, to: greatest }, places);
  return { all, works, names, subject, greatest, bars: places, scale, step: HEADLINE + names.length * BAR_STEP + GAP };
}

export function comparisonChart(all: readonly Measured[], subject = SUBJECT): string {
  const layout = layoutOf(all, subject);
  const counts = connectionCounts(all);
  const width = layout.bars.to + FIGURES;
  const height = TOP + layout.works.length * layout.step;
  const columns = counts.map((connections, index) =>
    group(MARGIN + index * width, 0, column(layout, connections, height - GAP)),
  );
  const title = text(MARGIN, 28, TITLE, { class: 'title' });
  return picture(2 * MARGIN + Math.max(2, counts.length) * width, height, TITLE, [title, ...columns]);
}

const column = (layout: Layout, connections: number, bottom: number): readonly string[] => [
  text(0, 60, plural(connections), { class: 'head' }),
  ...axis(layout, bottom),
  ...layout.works.map((work, row) => group(0, TOP + row * layout.step, bars(layout, work, connections))),
];

const group = (x: number, y: number, content: readonly string[]): string =>
  element('g', { transform: `translate(${x} ${y})` }, content.join('\n'));

function ratioOf(one: Measured, all: readonly Measured[], subject: string): number {
  const other = at(all, one.work, subject, one.connections);
  return other ? one.cpu.median / other.cpu.median : Number.NaN;
}

const axis = ({ scale, greatest }: Layout, bottom: number): readonly string[] =>
  ticks(greatest, GREATEST).flatMap((value) => [
    text(scale(value), TOP - 10, `×${value}`, { class: 'middle faint' }),
    line({ x: scale(value), y: TOP }, { x: scale(value), y: bottom }, { class: value === 1 ? 'mark' : 'rule' }),
  ]);

function bars(layout: Layout, work: string, connections: number): readonly string[] {
  const { all, names, bars: places } = layout;
  const rows = names.map((name, index) => {
    const one = at(all, work, name, connections);
    const label = text(places.from - 8, BAR - 2, name, { class: 'end' });
    const content = one ? bar(one, layout) : [text(places.from + 6, BAR - 2, 'not offered', { class: 'faint over' })];
    return group(0, HEADLINE + index * BAR_STEP, [label, ...content]);
  });
  return [text(0, 14, work, { class: 'head' }), ...rows];
}

function bar(one: Measured, { all, names, subject, bars: places, scale }: Layout): readonly string[] {
  const ratio = ratioOf(one, all, subject);
  const end = Number.isNaN(ratio) ? places.from : Math.min(places.to, scale(ratio));
  const isCut = scale(ratio) > places.to + 1;
  const words = `${Number.isNaN(ratio) ? '' : `×${figure(ratio)} · `}${figure(one.cpu.median)} µs`;
  return [
    rect(places.from, 0, end - places.from, BAR, { class: `bar ${seriesClass(names.indexOf(one.contender))}` }),
    ...(isCut ? [rect(end - 2 * CUT, -1, CUT / 2, BAR + 2, { class: 'ground' })] : []),
    text(end + 6, BAR - 2, words, { class: one.contender === subject ? 'head over' : 'over' }),
  ];
}
