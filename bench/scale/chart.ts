/** How costs grow, as lines: each cost as a multiple of what it is at the smallest size, both axes by powers of ten. */
import { decades, logarithmic, type Range, type Scale } from '../report/axis.ts';
import {
  type Attributes,
  COLOUR_COUNT,
  element,
  line,
  picture,
  type Point,
  polyline,
  seriesClass,
  text,
} from '../report/svg.ts';
import { figure } from '../report/table.ts';
import { type Axis, factor, type Growth } from './growth.ts';

const PANEL = 470;
const PLOT = { left: 52, right: 430, top: 84, bottom: 360 } as const;
const LEGEND_TOP = PLOT.bottom + 52;
const LEGEND_LINE = 18;
const TITLE = 'Cost of the same work, as a multiple of what it is at the smallest size';

/** Lines that lie together are no news; their range is not stretched. */
const LEAST_RANGE: Range = { from: 0.5, to: 2 };

const multiples = ({ values }: Growth): readonly number[] => values.map((value) => value / (values[0] ?? Number.NaN));

function rangeOf(axes: readonly Axis[]): Range {
  const all = axes.flatMap(({ growths }) => growths.flatMap(multiples)).filter((value) => value > 0);
  return {
    from: Math.min(LEAST_RANGE.from, ...all),
    to: Math.max(LEAST_RANGE.to, ...all),
  };
}

interface Look {
  readonly group: Attributes;
  readonly curve: Attributes;
}

/** Where the colours come again, lines are dashed. */
const lookOf = (index: number): Look => ({
  group: { class: seriesClass(index) },
  curve: { class: 'curve', ...(index < COLOUR_COUNT ? {} : { 'stroke-dasharray': '6 4' }) },
});

/** One size alone grows nowhere. */
export function growthChart(all: readonly Axis[]): string {
  const axes = all.filter(({ sizes }) => new Set(sizes).size > 1);
  const range = rangeOf(axes);
  const entries = Math.max(0, ...axes.map(({ growths }) => growths.length));
  const panels = axes.map((axis, index) =>
    element('g', { transform: `translate(${index * PANEL} 0)` }, panel(axis, range)),
  );
  const height = LEGEND_TOP + entries * LEGEND_LINE + 8;
  return picture(Math.max(1, axes.length) * PANEL, height, TITLE, [text(16, 28, TITLE, { class: 'title' }), ...panels]);
}

function panel({ title, of, sizes, growths }: Axis, range: Range): string {
  const x = logarithmic({ from: Math.min(...sizes), to: Math.max(...sizes) }, { from: PLOT.left, to: PLOT.right });
  const y = logarithmic(range, { from: PLOT.bottom, to: PLOT.top });
  const curves = growths.map((growth, index) => curve(growth, sizes, { x, y }, lookOf(index)));
  const legend = growths.map((growth, index) => entry(growth, LEGEND_TOP + index * LEGEND_LINE, lookOf(index)));
  const middle = (PLOT.left + PLOT.right) / 2;
  return [
    text(PLOT.left, PLOT.top - 18, title, { class: 'head' }),
    ...rules(y, range),
    ...sizes.map((size) => text(x(size), PLOT.bottom + 18, size.toLocaleString('en-US'), { class: 'middle faint' })),
    text(middle, PLOT.bottom + 34, of, { class: 'middle faint' }),
    ...curves,
    ...legend,
  ].join('');
}

function rules(y: Scale, range: Range): readonly string[] {
  return decades(range).flatMap((value) => [
    line({ x: PLOT.left, y: y(value) }, { x: PLOT.right, y: y(value) }, { class: value === 1 ? 'mark' : 'rule' }),
    text(PLOT.left - 6, y(value) + 4, `×${value}`, { class: 'end faint' }),
  ]);
}

function curve(
  growth: Growth,
  sizes: readonly number[],
  { x, y }: { readonly x: Scale; readonly y: Scale },
  look: Look,
): string {
  const points = multiples(growth).map((value, index): Point => ({ x: x(sizes[index] ?? 1), y: y(value) }));
  const dots = points.map((point) => element('circle', { cx: point.x, cy: point.y, r: 3, class: 'dot' }));
  return element('g', look.group, polyline(points, look.curve) + dots.join(''));
}

const entry = (growth: Growth, y: number, look: Look): string => {
  const stroke = line({ x: PLOT.left, y: y - 4 }, { x: PLOT.left + 20, y: y - 4 }, look.curve);
  return (
    element('g', look.group, stroke) +
    text(PLOT.left + 28, y, growth.name) +
    text(PLOT.right, y, `×${figure(factor(growth))}`, { class: 'end faint' })
  );
};
