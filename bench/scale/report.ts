/** How costs grow -> tables, with what was asked for and whether it is reached. */
import { figure, table } from '../report/table.ts';
import { type Axis, factor, type Growth, isMet, type Target } from './growth.ts';

const UNITS: Readonly<Record<Growth['unit'], string>> = { µs: 'µs CPU', s: 's', MiB: 'MiB' };

const words = ({ of, limit }: Target, unit: string): string =>
  of === 'growth' ? `≤ ×${figure(limit)}` : `≤ ${figure(limit)} ${unit}`;

function verdict(growth: Growth, target: Target | undefined): readonly [asked: string, met: string] {
  const met = target && isMet(growth, target);
  return target && met !== undefined ? [words(target, growth.unit), met ? 'met' : 'missed'] : ['', ''];
}

const row = (growth: Growth, target: Target | undefined): readonly string[] => [
  `${growth.name}, ${UNITS[growth.unit]}`,
  ...growth.values.map(figure),
  growth.values.length > 1 ? `×${figure(factor(growth))}` : '',
  ...verdict(growth, target),
];

/** `growth` is how many times the first value the last one is. */
export const axisTable = ({ of, sizes, growths, targets }: Axis): string =>
  table(
    [of, ...sizes.map((size) => size.toLocaleString('en-US')), 'growth', 'target', ''],
    growths.map((growth) => row(growth, targets[growth.name])),
  );

export const axesText = (axes: readonly Axis[]): string =>
  axes.map((axis) => `### ${axis.title}\n\n${axisTable(axis)}`).join('\n\n');
