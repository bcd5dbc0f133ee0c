/** Small runs of the benchmarks: every work, at every size, in every situation. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Waited } from '../../bench/latency/waits.ts';
import type { Axis } from '../../bench/scale/growth.ts';
import { rowsWork } from '../../bench/scale/rows-work.ts';
import type { Measured } from '../../bench/measure.ts';
import { shippedWork } from '../../bench/shipped/work.ts';
import { typesWork } from '../../bench/scale/types-work.ts';
import { type Bench, compileBench } from '../support/bench.ts';

describe('a small run', () => {
  let bench: Bench;
  beforeAll(async () => void (bench = await compileBench()), 120_000);
  afterAll(() => bench.remove());

  it('of the shipped types measures all of their work, by both servers', async () => {
    const size = ['--rows', '200', '--rounds', '1', '--seconds', '0.05', '--connections', '4'];
    const { results } = JSON.parse(await bench.run(['shipped', ...size, '--json'])) as { results: readonly Measured[] };
    expect(results.map(({ work, contender }) => `${work}, ${contender}`)).toEqual(
      shippedWork.flatMap(({ name }) => [`${name}, engine`, `${name}, fastify`]),
    );
  }, 240_000);

  it('of scale measures everything at every size', async () => {
    const chart = join(bench.directory, 'scale.svg');
    const sizes = ['--rows', '100,200', '--types', '2,4', '--rounds', '1', '--seconds', '0.05', '--connections', '4'];
    const { results } = JSON.parse(await bench.run(['scale', ...sizes, '--json', '--chart', chart])) as {
      results: readonly Axis[];
    };
    expect(results.map(({ of, sizes: [...found] }) => [of, ...found])).toEqual([
      ['rows', 100, 200],
      ['types', 2, 4],
    ]);
    for (const { sizes: measured, growths } of results)
      for (const { name, values } of growths) {
        expect([name, values.length]).toEqual([name, measured.length]);
        expect([name, values.every((value) => value >= 0)]).toEqual([name, true]);
      }
    const [rows, types] = results.map(({ growths }) => growths.map(({ name }) => name));
    expect(rows).toEqual(expect.arrayContaining(rowsWork.map(({ name }) => name)));
    expect(types).toEqual(expect.arrayContaining(typesWork.map(({ name }) => name)));
    expect(readFileSync(chart, 'utf8')).toContain('More record types');
  }, 240_000);

  it('of latency waits in every situation', async () => {
    const args = ['latency', '--rows', '1500', '--seconds', '0.2', '--with', 'node', '--json'];
    const { results } = JSON.parse(await bench.run(args)) as { results: readonly Waited[] };
    const situations = new Set(results.map(({ contender, situation }) => `${contender}: ${situation}`));
    expect([...situations]).toEqual([
      'engine: alone',
      'engine: whole list streams',
      'engine: … in an order without an index',
      'engine: 16 connections create',
      'node: alone',
      'node: 16 connections create',
    ]);
    for (const { situation, beside, p50, p99, max } of results) {
      expect(p50).toBeGreaterThan(0);
      expect(p99).toBeLessThanOrEqual(max);
      expect([situation, beside]).toEqual([situation, situation === 'alone' ? '-' : expect.stringMatching(/^[1-9]/)]);
    }
  }, 240_000);
});
