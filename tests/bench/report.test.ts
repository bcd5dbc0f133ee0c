/** What the benchmarks make of their figures: statistics, tables, bars, pictures. */
import { describe, expect, it, test } from '@jest/globals';
import type { Measured } from '../../bench/measure.ts';
import { decades, linear, logarithmic, ticks } from '../../bench/report/axis.ts';
import { comparison } from '../../bench/report/comparison.ts';
import { comparisonChart } from '../../bench/report/comparison-chart.ts';
import { bar, createProgress } from '../../bench/report/progress.ts';
import { element, polyline, text } from '../../bench/report/svg.ts';
import { figure, table } from '../../bench/report/table.ts';
import { takenReport } from '../../bench/start/report.ts';
import { median, percentile, spread, summary } from '../../bench/statistics.ts';

describe('statistics', () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[7], 7],
    [[10, 9], 9.5],
    [[], Number.NaN],
  ])('the median of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test.each([
    [0.5, 51],
    [0.99, 100],
    [0, 1],
    [1, 100],
  ])('below percentile %d of 1 to 100 lies %d', (part, expected) => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(values, part)).toBe(expected);
  });

  it('sums up in three values, and leaves what it is given in its order', () => {
    const values = [30, 10, 20];
    expect(summary(values)).toEqual({ median: 20, least: 10, greatest: 30 });
    expect(spread(summary(values))).toBe(0.5);
    expect(values).toEqual([30, 10, 20]);
  });
});

test.each([
  [1234.5, '1,235'],
  [100, '100'],
  [42, '42.0'],
  [1.234, '1.23'],
  [0.1234, '0.12'],
  [Number.NaN, '-'],
  [Infinity, '-'],
])('%d is shown as %s', (value, shown) => {
  expect(figure(value)).toBe(shown);
});

test('the columns of a table are aligned, figures to the right', () => {
  const rows = [
    ['get', '1'],
    ['a longer name', '1,000'],
  ];
  expect(table(['work', 'µs'], rows).split('\n')).toEqual([
    '| work          |    µs |',
    '| ------------- | ----: |',
    '| get           |     1 |',
    '| a longer name | 1,000 |',
  ]);
});

describe('progress', () => {
  const written = (isTTY: boolean, steps: number): readonly string[] => {
    const pieces: string[] = [];
    const progress = createProgress(steps, { isTTY, columns: 40, write: (piece) => pieces.push(piece) });
    for (let step = 1; step <= steps; step += 1) progress.step(`step ${step} of a name that is long`);
    progress.end();
    return pieces;
  };

  it('is a bar', () => {
    expect(bar(1, 4)).toBe('[######------------------]  25 %');
    expect(bar(9, 4)).toBe('[########################] 100 %');
    expect(bar(0, 0)).toBe('[------------------------]   0 %');
  });

  it('is drawn again in its line on a terminal, never wider, and gone at the end', () => {
    const pieces = written(true, 3);
    expect(pieces).toHaveLength(4);
    expect(pieces.every((piece) => piece.startsWith('\r\u001B[K') && !piece.includes('\n'))).toBe(true);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(40 + '\r\u001B[K'.length);
    expect(pieces.at(-1)).toBe('\r\u001B[K');
  });

  it('is a line for each tenth in a log', () => {
    const pieces = written(false, 40);
    expect(pieces).toHaveLength(10);
    expect(pieces[4]).toBe('[############------------]  50 % step 20 of a name that is long\n');
    expect(written(false, 3)).toHaveLength(3);
  });
});

describe('pictures', () => {
  it('escape what is written into them', () => {
    expect(text(1, 2.345, 'a < b & "c"', { class: 'end' })).toBe(
      '<text x="1" y="2.3" class="end">a &lt; b &amp; &quot;c&quot;</text>',
    );
    expect(element('g', { title: '"' }, '<b/>')).toBe('<g title="&quot;"><b/></g>');
    expect(polyline([{ x: 1, y: 2 }])).toBe('<polyline points="1,2"/>');
  });

  test.each([
    [6, 6, [0, 1, 2, 3, 4, 5, 6]],
    [100, 5, [0, 20, 40, 60, 80, 100]],
    [0.7, 5, [0, 0.2, 0.4, 0.6]],
    [7, 5, [0, 2, 4, 6]],
  ])('an axis to %d has its values at round places', (greatest, wanted, expected) => {
    expect(ticks(greatest, wanted).map((value) => Number(value.toFixed(9)))).toEqual(expected);
  });

  it('place values', () => {
    expect(linear({ from: 0, to: 10 }, { from: 100, to: 200 })(5)).toBe(150);
    expect(logarithmic({ from: 1, to: 100 }, { from: 0, to: 10 })(10)).toBeCloseTo(5);
    expect(decades({ from: 0.05, to: 1000 })).toEqual([0.1, 1, 10, 100, 1000]);
  });
});

const measured = (contender: string, name: string, cpu: number, connections = 16): Measured => ({
  contender,
  work: name,
  connections,
  cpu: { median: cpu, least: cpu * 0.9, greatest: cpu * 1.1 },
  databaseCpu: undefined,
  rate: { median: 1e6 / cpu, least: 1, greatest: 2 },
  p50: 1,
  p99: 2,
});
const all = [
  measured('engine', 'get', 40),
  measured('node', 'get', 20),
  measured('json-server', 'get', 4000),
  measured('engine', 'nested create', 50),
  measured('node', 'nested create', 100),
];

const cellsOf = (row: string): readonly string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

describe('a comparison', () => {
  it('shows each cost, its spread, and how many times the cost of the engine it is', () => {
    const [, , header = '', , ...rows] = comparison(all).split('\n').slice(0, 6);
    expect([header, ...rows].map(cellsOf)).toEqual([
      ['work', 'engine', 'node', 'json-server'],
      ['get', '40.0 ±10 %', '20.0 ±10 %  ×0.50', '4,000 ±10 %  ×100'],
      ['nested create', '50.0 ±10 %', '100 ±10 %  ×2.00', '-'],
    ]);
  });

  it('has tables for each number of connections', () => {
    const text64 = comparison([...all, measured('engine', 'get', 30, 1)]);
    expect(text64.match(/^### .*/gm)?.map((title) => title.split(', ').at(-1))).toEqual(
      [16, 16, 16, 16, 1, 1, 1, 1].map((count) => (count === 1 ? '1 connection' : `${count} connections`)),
    );
  });

  it('shows the cheapest rounds, and what a database with processes of its own costs', () => {
    const onServer = (cpu: number): Measured['databaseCpu'] => ({ median: cpu, least: cpu, greatest: cpu });
    const tables = comparison([
      { ...measured('engine', 'get', 40), databaseCpu: onServer(50) },
      { ...measured('node', 'get', 20), databaseCpu: onServer(150) },
      measured('json-server', 'get', 400),
    ]).split('### ');
    const rowOf = (title: string): readonly string[] =>
      cellsOf(
        tables
          .find((one) => one.includes(title))
          ?.split('\n')
          .at(4) ?? '',
      );
    expect(rowOf('cheapest round')).toEqual(['get', '36.0', '18.0  ×0.50', '360  ×10.0']);
    expect(rowOf("database's CPU")).toEqual(['get', '50.0', '150  ×3.00', '-']);
  });

  it('is drawn as bars, the longest of them cut', () => {
    const svg = comparisonChart(all);
    const widths = [...svg.matchAll(/width="([\d.]+)" height="12" class="bar/g)].map(([, width]) => Number(width));
    const [engine = 0, node = 0, slowest = 0, again, other = 0] = widths;
    expect(widths).toHaveLength(all.length);
    expect(node / engine).toBeCloseTo(0.5, 1);
    expect(slowest / engine).toBeCloseTo(6, 1);
    expect(again).toBe(engine);
    expect(other / engine).toBeCloseTo(2, 1);
    expect(svg).toContain('×100 · 4,000 µs');
    expect(svg).toContain('not offered');
  });
});

test('what starts take is held against what is asked of them', () => {
  const { text: shown } = takenReport([
    { what: 'listening', unit: 'ms', values: [300, 900, 400], limit: 500 },
    { what: 'memory', unit: 'MiB', values: [130, 121, 125], limit: 120 },
    { what: 'check', unit: 'ms', values: [200, 200, 200] },
  ]);
  const [, , ...rows] = shown.split('\n');
  expect(rows.map(cellsOf)).toEqual([
    ['listening, ms', '400 ±75 %', '≤ 500', 'met'],
    ['memory, MiB', '125 ±4 %', '≤ 120', 'missed'],
    ['check, ms', '200 ±0 %', '', ''],
  ]);
});
