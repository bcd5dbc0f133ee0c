/** What the benchmarks refuse, what the gate finds, and small runs of those that end within seconds. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { holds } from '../bench/checks.ts';
import { limits } from '../bench/gate/limits.ts';
import { type Verdict, verdict, verdictsText } from '../bench/gate/verdict.ts';
import { rotated } from '../bench/lane.ts';
import type { Measured } from '../bench/measure.ts';
import { readOptions, UsageError } from '../bench/options.ts';
import { DEFAULT_COMMAND, optionMeanings, USAGE, usages } from '../bench/usage.ts';
import { work } from '../bench/work.ts';
import { type Bench, compileBench } from './support/bench.ts';

describe('options', () => {
  test.each([
    ['gat', 'There is no "gat"; did you mean "gate"?'],
    ['toString', 'There is no "toString"'],
    ['gate now', '"now" is one word too many'],
    ['--wrok get', "Unknown option '--wrok'"],
    ['--work', "Option '--work <value>' argument missing"],
    ['--work gte', '--work: there is no "gte"; did you mean "get"?'],
    ['--work get,', '--work is "get,"; expected a list such as "a,b"'],
    ['--with engine', '--with: there is no "engine"'],
    ['--with fastfy', '--with: there is no "fastfy"; did you mean "fastify"?'],
    ['--connections 0', '--connections is "0"; expected a whole number above 0'],
    ['--connections 1,x', '--connections is "x"; expected a whole number above 0'],
    ['--rounds 1.5', '--rounds is "1.5"; expected a whole number above 0'],
    ['--rounds 1,2', '--rounds is "1,2"; expected a whole number above 0'],
    ['--seconds=-1', '--seconds is "-1"; expected a number above 0'],
    ['--seconds=Infinity', '--seconds is "Infinity"; expected a number above 0'],
    ['--rows 1e3', '--rows is "1e3"; expected a whole number above 0'],
    ['scale --work get', 'scale has no --work'],
    ['gate --rows 5', 'gate has no --rows'],
    ['--json=yes', "Option '--json' does not take an argument"],
  ])('%s', (line, message) => {
    const read = (): unknown => readOptions(line.split(' '));
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });

  it('are those of the command where none is given', () => {
    expect(readOptions([])).toMatchObject({ command: 'compare', connections: [1, 16, 64], rounds: 5, seconds: 1 });
    expect(readOptions(['scale'])).toMatchObject({ rows: [10_000, 100_000, 1_000_000], types: [8, 100, 500] });
    expect(readOptions(['gate'])).toMatchObject({ work: Object.keys(limits), rows: [], subject: '' });
  });

  it('are taken as they are given', () => {
    const line = [
      '--work',
      'get, list 20',
      '--with',
      'node',
      '--seconds',
      '0.2',
      '--rows',
      '50',
      '--json',
      '--chart',
      'a.svg',
    ];
    expect(readOptions(line)).toMatchObject({
      work: ['get', 'list 20'],
      contenders: ['engine', 'node'],
      seconds: 0.2,
      rows: [50],
      json: true,
      chart: 'a.svg',
    });
  });

  it('are all explained, with the commands', () => {
    const commands = Object.keys(usages).filter((name) => name !== DEFAULT_COMMAND);
    for (const name of commands) expect(USAGE).toContain(`npm run bench -- ${name}`);
    for (const name of Object.keys(optionMeanings)) expect(USAGE).toContain(`\n  --${name} `);
    const taken = new Set(Object.values(usages).flatMap(({ defaults }) => Object.keys(defaults)));
    expect([...taken].toSorted()).toEqual(Object.keys(optionMeanings).toSorted());
  });
});

describe('an answer', () => {
  test.each([
    ['the same', { id: 1, name: 'a' }, { id: 1, name: 'a' }, true],
    ['with an identifier that nobody could know', { id: 7, name: 'a' }, { name: 'a' }, true],
    ['with another value', { id: 1, name: 'b' }, { id: 1, name: 'a' }, false],
    ['of another type', { price: 1.5 }, { price: '1.5' }, false],
    ['without a field', { id: 1 }, { id: 1, name: 'a' }, false],
    ['with a field too many', { id: 1, name: 'a', secret: 1 }, { id: 1, name: 'a' }, false],
    ['with null for a record', null, { id: 1 }, false],
    ['a list of other length', [{ id: 1 }, { id: 2 }], [{ id: 1 }], false],
    ['a list in another order', [{ id: 2 }, { id: 1 }], [{ id: 1 }, { id: 2 }], false],
    ['a related record, made', { customer: { id: 9, name: 'c' } }, { customer: { name: 'c' } }, true],
    ['a related record, another', { customer: { id: 9, name: 'd' } }, { customer: { name: 'c' } }, false],
  ])('%s', (_, actual, expected, right) => {
    expect(holds(actual, expected)).toBe(right);
  });
});

test('in rounds each is first in its turn', () => {
  expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
});

describe('a verdict', () => {
  const limit = limits['get'] ?? Number.NaN;

  test.each([
    ['cheaper', [40, 30], [60, 50], true],
    ['at the limit', [100 * limit], [100], true],
    ['just above', [100 * limit + 1], [100], false],
    ['a noisy round that was not the only one', [1000, 40], [50, 900], true],
    ['noise that hides nothing', [400, 410], [900, 100], false],
    ['nothing measured', [], [], false],
  ])('%s', (_, engine, reference, passed) => {
    expect(verdict('get', [engine, reference]).passed).toBe(passed);
  });

  it('is never good for work without a limit', () => {
    expect(verdict('whistle', [[1], [1]]).passed).toBe(false);
  });

  it('says which work is too dear, and by how much', () => {
    const verdicts = [verdict('get', [[30], [30]]), verdict('list 20', [[300], [100]])];
    const text = verdictsText(verdicts, 'node');
    expect(text).toMatch(/^\| get +\| +30.0 \| +30.0 \| +1.00 \| +1.60 \| +ok \|$/m);
    expect(text).toMatch(/^\| list 20 +\| .* \| too dear \|$/m);
    expect(text).toMatch(/^list 20 costs 3.00 times what it costs node; at most 1.25$/m);
    expect(text).not.toMatch(/^get costs/m);
  });

  it('has a limit for work that there is', () => {
    expect(work.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(limits)));
  });
});

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
