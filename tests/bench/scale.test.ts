/** What the benchmarks of growth and of waiting make of their figures. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { latencyChart } from '../../bench/latency/chart.ts';
import { latencies } from '../../bench/latency/report.ts';
import type { Waited } from '../../bench/latency/waits.ts';
import { readOptions } from '../../bench/options.ts';
import { firstByName, identifiers, itemOf } from '../../bench/records.ts';
import { growthChart } from '../../bench/scale/chart.ts';
import { type Axis, factor, type Growth, isMet, type Target } from '../../bench/scale/growth.ts';
import { axisTable } from '../../bench/scale/report.ts';
import { rowsWork } from '../../bench/scale/rows-work.ts';
import { rowsTargets, typesTargets } from '../../bench/scale/targets.ts';
import { descriptorOf, pathOf, typesWork } from '../../bench/scale/types-work.ts';
import { checkSchema } from '../../engine/check.ts';

const growth = (name: string, ...values: readonly number[]): Growth => ({ name, unit: 'µs', values });
const times = (limit: number): Target => ({ of: 'growth', limit });
const atMost = (limit: number): Target => ({ of: 'greatest', limit });

describe('a verdict', () => {
  test.each([
    ['as dear at both ends', [50, 80, 50], times(1), true],
    ['just within', [100, 500, 120], times(1.2), true],
    ['just beyond', [100, 100, 121], times(1.2), false],
    ['cheaper', [100, 90], times(1.2), true],
    ['the last value, not its growth', [1, 60], atMost(64), true],
    ['the last value, above', [70, 65], atMost(64), false],
    ['nothing measured', [Number.NaN, 1], times(2), false],
    ['no sizes', [], atMost(64), false],
    ['one size', [70], times(1.2), undefined],
  ])('%s', (_, values, target, met) => {
    expect(isMet(growth('work', ...values), target)).toBe(met);
  });

  it('has a factor from the first to the last', () => {
    expect(factor(growth('work', 40, 10, 60))).toBe(1.5);
  });

  it('is asked for work that there is', () => {
    const measured = ['whole list, more memory', 'first start', 'start'];
    const names = [...rowsWork, ...typesWork].map(({ name }) => name).concat(measured);
    expect(names).toEqual(expect.arrayContaining(Object.keys({ ...rowsTargets, ...typesTargets })));
  });
});

const axis: Axis = {
  title: 'More rows',
  of: 'rows',
  sizes: [100, 10_000],
  growths: [growth('get', 40, 60), growth('list & page', 90, 90), { name: 'memory', unit: 'MiB', values: [80, 96] }],
  targets: { get: times(1.2), 'list & page': times(1.2), memory: atMost(120) },
};

test('the table of growth', () => {
  expect(axisTable(axis).split('\n')).toEqual([
    '| rows                |  100 | 10,000 | growth |    target |        |',
    '| ------------------- | ---: | -----: | -----: | --------: | -----: |',
    '| get, µs CPU         | 40.0 |   60.0 |  ×1.50 |   ≤ ×1.20 | missed |',
    '| list & page, µs CPU | 90.0 |   90.0 |  ×1.00 |   ≤ ×1.20 |    met |',
    '| memory, MiB         | 80.0 |   96.0 |  ×1.20 | ≤ 120 MiB |    met |',
  ]);
});

describe('the picture of growth', () => {
  const heights = (svg: string): readonly (readonly number[])[] =>
    [...svg.matchAll(/points="([^"]+)"/g)].map(([, points = '']) =>
      points.split(' ').map((point) => Number(point.split(',')[1])),
    );

  it('has a line for each cost, higher where it grows', () => {
    const [get, list, memory] = heights(growthChart([axis]));
    expect(get?.[1]).toBeLessThan(get?.[0] ?? 0);
    expect(list?.[1]).toBe(list?.[0]);
    expect(get?.[0]).toBe(memory?.[0]);
    expect(get?.[1]).toBeLessThan(memory?.[1] ?? 0);
  });

  it('leaves out what has one size, and is a picture even then', () => {
    const single = { ...axis, sizes: [8], growths: [growth('start', 0.5)] };
    expect(heights(growthChart([axis, single]))).toHaveLength(axis.growths.length);
    expect(growthChart([single])).toMatch(/^<svg .*<\/svg>\n$/s);
  });

  it('escapes names', () => {
    expect(growthChart([axis])).toContain('list &amp; page');
  });
});

describe('descriptors of many types', () => {
  const TYPES = 12;
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'types-'));
    for (const type of identifiers(TYPES)) writeFileSync(join(folder, `${pathOf(type)}.yaml`), descriptorOf(type));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('have no faults, and each refers to the one before', () => {
    const { schema, diagnostics } = checkSchema(folder);
    expect(diagnostics).toEqual([]);
    const types = [...(schema?.model.types.values() ?? [])];
    expect(types).toHaveLength(TYPES);
    const relations = types.flatMap(({ name, relations: own }) =>
      [...own.values()].map(({ target }) => `${name} ${target.name}`),
    );
    expect(relations).toHaveLength(TYPES - 1);
    expect(relations).toContain('Kind12 Kind11');
  });
});

test.each([
  [10, 3],
  [500, 500],
  [2000, 40],
])('of %d items in order of their names, the first and the last %d', (rows, count) => {
  const sorted = identifiers(rows).toSorted((a, b) => (itemOf(a).name < itemOf(b).name ? -1 : 1));
  expect(firstByName(rows, count)).toEqual(sorted.slice(0, count));
  expect(firstByName(rows, count, true)).toEqual(sorted.toReversed().slice(0, count));
});

describe('waiting', () => {
  const waited = (situation: string, cores: string, p99: number): Waited => ({
    contender: 'engine',
    situation,
    cores,
    beside: '-',
    p50: 0.5,
    p99,
    max: 2 * p99,
  });
  const all = [waited('alone', 'one core', 2), waited('writes', 'one core', 5), waited('alone', 'all cores', 1)];

  it('is compared with the same server alone on as many cores', () => {
    const rows = latencies(all, 1000, 250).text.split('\n').slice(4);
    expect(rows).toEqual([
      '| alone  |  one core |           - |   0.50 |   2.00 |   4.00 |        1.00 |',
      '| writes |  one core |           - |   0.50 |   5.00 |   10.0 |        2.50 |',
      '| alone  | all cores |           - |   0.50 |   1.00 |   2.00 |        1.00 |',
    ]);
  });

  it('has a bar for each measurement, as long as it took', () => {
    const widths = [...latencyChart(all).matchAll(/width="([\d.]+)" height="10" class="bar"/g)].map(([, width]) =>
      Number(width),
    );
    const [alone = 0, aloneOnAll = 0, writes = 0] = widths;
    expect(widths).toHaveLength(all.length);
    expect(alone / aloneOnAll).toBeCloseTo(2, 1);
    expect(writes / aloneOnAll).toBeCloseTo(5, 1);
  });
});

test('a contender on PostgreSQL is refused where there is no server', () => {
  const url = process.env['TEST_POSTGRES_URL'];
  delete process.env['TEST_POSTGRES_URL'];
  try {
    expect(() => readOptions(['--with', 'fastify-postgres'])).toThrow(/fastify-postgres needs a PostgreSQL server/);
  } finally {
    if (url !== undefined) process.env['TEST_POSTGRES_URL'] = url;
  }
});
