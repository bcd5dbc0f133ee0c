/** What the benchmarks refuse, and what the gate makes of its figures. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import { holds } from '../../bench/checks.ts';
import { limits } from '../../bench/gate/limits.ts';
import { verdict, verdictsText } from '../../bench/gate/verdict.ts';
import { rotated } from '../../bench/lane.ts';
import { readOptions, UsageError } from '../../bench/options.ts';
import { DEFAULT_COMMAND, optionMeanings, USAGE, usages } from '../../bench/usage.ts';
import { work } from '../../bench/work.ts';

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
    expect(text).toMatch(/^\| get +\| +30.0 \| +30.0 \| +1.00 \| +1.50 \| +ok \|$/m);
    expect(text).toMatch(/^\| list 20 +\| .* \| too dear \|$/m);
    expect(text).toContain(`list 20 costs 3.00 times what it costs node; at most ${limits['list 20']}`);
    expect(text).not.toMatch(/^get costs/m);
  });

  it('has a limit for work that there is', () => {
    expect(work.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(limits)));
  });
});

describe('the README', () => {
  const readme = readFileSync('bench/README.md', 'utf8');

  it('has each command, and no other', () => {
    const named = [...readme.matchAll(/`npm run bench(?: -- ([a-z]+))?`/g)].map(([, name]) => name ?? DEFAULT_COMMAND);
    expect([...new Set(named)].toSorted()).toEqual(Object.keys(usages).toSorted());
  });
});
