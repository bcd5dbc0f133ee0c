/** Small runs of the comparison and of the gate: who is right is measured, who is wrong is refused, who is dear is found. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Verdict } from '../../bench/gate/verdict.ts';
import type { Measured } from '../../bench/measure.ts';
import { requestsWork } from '../../bench/requests/work.ts';
import { type Bench, compileBench } from '../support/bench.ts';

describe('a small run', () => {
  let bench: Bench;
  beforeAll(async () => void (bench = await compileBench()), 120_000);
  afterAll(() => bench.remove());

  /** A program that is this engine after some words of its own. */
  const engineAfter = (name: string, words: string): string => {
    const file = join(bench.directory, `${name}.cjs`);
    writeFileSync(file, `${words}\nrequire(${JSON.stringify(join(bench.directory, 'dist', 'server.js'))});\n`);
    return file;
  };

  it('compares, as JSON and as a picture', async () => {
    const chart = join(bench.directory, 'compare.svg');
    const size = ['--rounds', '2', '--seconds', '0.05', '--rows', '200', '--connections', '2'];
    const chosen = ['--work', 'get,nested create,delete', '--with', 'node,express'];
    const { results } = JSON.parse(await bench.run([...chosen, ...size, '--json', '--chart', chart])) as {
      results: readonly Measured[];
    };
    const contenders = ['engine', 'node', 'express'];
    expect(results.map(({ work: name, contender }) => `${name}, ${contender}`)).toEqual(
      ['get', 'delete', 'nested create'].flatMap((name) => contenders.map((contender) => `${name}, ${contender}`)),
    );
    for (const { cpu, rate, p50, p99 } of results) {
      expect(cpu.least).toBeGreaterThan(0);
      expect(rate.least).toBeGreaterThan(0);
      expect(p99).toBeGreaterThanOrEqual(p50);
    }
    expect(readFileSync(chart, 'utf8')).toMatch(/^<svg .*<\/svg>\n$/s);
  }, 240_000);

  it('compares requests for many records at once, all of which answer the same', async () => {
    const size = ['--rounds', '1', '--seconds', '0.02', '--rows', '1000', '--connections', '2'];
    const { results } = JSON.parse(await bench.run(['requests', ...size, '--json'])) as {
      results: readonly Measured[];
    };
    expect(results.map(({ work: name, contender }) => `${name}, ${contender}`)).toEqual(
      requestsWork.flatMap(({ name }) => [`${name}, engine`, `${name}, fastify`]),
    );
  }, 240_000);

  it('refuses a contender whose answers are wrong', async () => {
    const lying = engineAfter(
      'lying',
      `const { ServerResponse } = require('node:http');
       const { end } = ServerResponse.prototype;
       ServerResponse.prototype.end = function (body, ...rest) {
         return end.call(this, typeof body === 'string' ? body.replace('category', 'kategory') : body, ...rest);
       };`,
    );
    const run = bench.run(['gate', '--work', 'get', '--subject', lying]);
    await expect(run).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/engine: GET \/api\/items\/\d+ answered/),
    });
  }, 120_000);

  it('refuses a contender that does not start', async () => {
    const run = bench.run(['gate', '--work', 'get', '--subject', engineAfter('ending', 'process.exit(3);')]);
    await expect(run).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('engine ended before it listened'),
    });
  }, 120_000);

  it('of the gate finds an engine that costs twice as much', async () => {
    const twice = join(bench.directory, 'dist', 'bench', 'gate', 'twice.js');
    const run = bench.run(['gate', '--work', 'get', '--rounds', '2', '--subject', twice, '--json']);
    const failed = await run.then(
      () => undefined,
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
    expect(failed?.code).toBe(1);
    const { results } = JSON.parse(failed?.stdout ?? '') as { results: readonly Verdict[] };
    expect(results).toMatchObject([{ work: 'get', passed: false }]);
  }, 240_000);
});
