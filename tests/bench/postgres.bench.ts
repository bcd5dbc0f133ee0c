/** The contenders of the benchmarks that PostgreSQL serves: a small run checks their answers and measures them. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Measured } from '../../bench/measure.ts';
import { type Bench, compileBench } from '../support/bench.ts';
import { connectTo, POSTGRES_URL } from '../support/databases.ts';
import { onServer } from '../support/postgres.ts';

const WORK = ['get', 'filtered list', 'update', 'delete', 'nested create'];

onServer('a small run of the benchmarks', () => {
  let bench: Bench;
  beforeAll(async () => void (bench = await compileBench()), 120_000);
  afterAll(() => bench.remove());

  it('measures every work on both databases', async () => {
    const args = ['--work', WORK.join(), '--rows', '200', '--connections', '4', '--rounds', '1', '--seconds', '0.05'];
    const { results } = JSON.parse(await bench.run(['postgres', ...args, '--json'])) as {
      results: readonly Measured[];
    };
    const contenders = new Set(results.map(({ contender }) => contender));
    expect([...contenders].toSorted()).toEqual(['engine', 'engine-postgres', 'fastify', 'fastify-postgres']);
    expect(results).toHaveLength(contenders.size * WORK.length);
    for (const { cpu } of results) expect(cpu.median).toBeGreaterThan(0);
    for (const { contender, databaseCpu } of results)
      expect([contender, databaseCpu !== undefined && databaseCpu.median > 0]).toEqual([
        contender,
        contender.endsWith('-postgres'),
      ]);
  }, 240_000);

  it('measures workers beside one process', async () => {
    const args = ['--work', 'get', '--rows', '200', '--connections', '4', '--rounds', '1', '--seconds', '0.05'];
    const { results } = JSON.parse(await bench.run(['workers', ...args, '--json'])) as {
      results: readonly Measured[];
    };
    expect(results.map(({ contender }) => contender)).toEqual([
      'engine-postgres',
      'engine-workers',
      'engine-all-cores',
    ]);
  }, 240_000);

  it('leaves no database behind', async () => {
    const client = await connectTo(POSTGRES_URL);
    const { rows } = await client.query(String.raw`select datname from pg_database where datname like 'bench\_%'`);
    await client.end();
    expect(rows).toEqual([]);
  });
});
