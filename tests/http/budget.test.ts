/** The budget of memory: what it gives, what it takes back, and who is cut off first. */
import { createBudget } from '../../engine/budget.ts';
import { Problem } from '../../engine/problem.ts';
import { automaticLimit, readSettings } from '../../engine/settings.ts';

test('gives bytes until there are none left, and then refuses with 503', () => {
  const budget = createBudget(100);
  const share = budget.take(60);
  expect([budget.used, share.bytes]).toEqual([60, 60]);
  expect(() => budget.take(41)).toThrow(expect.objectContaining({ code: 'overloaded', status: 503 }));
  expect(budget.take(40).bytes).toBe(40);
  expect(budget.used).toBe(100);
});

test('what would not fit if nothing else were there is refused with 413, which says how to go on', () => {
  const budget = createBudget(1024 ** 2);
  const most = (7 / 8) * 1024 ** 2;
  const share = budget.take(most - 10);
  expect(() => share.grow(11)).toThrow(expect.objectContaining({ code: 'content-too-large', status: 413 }));
  expect(() => share.grow(11)).toThrow('Send fewer records at once');
  expect(() => budget.take(most)).toThrow(expect.objectContaining({ code: 'overloaded', status: 503 }));
  share.release();
  expect(budget.take(most).bytes).toBe(most);
});

test('a share grows, and keeps what it has if it cannot', () => {
  const budget = createBudget(100);
  const share = budget.take(10);
  share.grow(80);
  expect(() => share.grow(11)).toThrow(Problem);
  expect([share.bytes, budget.used]).toEqual([90, 90]);
});

test('a share is given back once', () => {
  const budget = createBudget(100);
  const [one, other] = [budget.take(30), budget.take(30)];
  one.release();
  one.release();
  expect([budget.used, one.bytes, other.bytes]).toEqual([30, 0, 30]);
  one.grow(10);
  expect(budget.used).toBe(30);
});

test('a share gives back what it has beyond a number of bytes', () => {
  const budget = createBudget(100);
  const share = budget.take(60);
  share.shrink(20);
  expect([budget.used, share.bytes]).toEqual([20, 20]);
  share.shrink(40);
  expect(budget.used).toBe(20);
  share.release();
  share.shrink(0);
  expect(budget.used).toBe(0);
});

test('answers that have waited longest are cut off before anybody is refused', () => {
  const budget = createBudget(100);
  const cut: string[] = [];
  for (const name of ['first', 'second', 'third']) budget.keep(30, () => cut.push(name));
  budget.take(30);
  expect([cut, budget.used]).toEqual([['first'], 90]);
  expect(() => budget.take(80)).toThrow(Problem);
  expect(cut).toEqual(['first']);
  budget.take(70);
  expect([cut, budget.used]).toEqual([['first', 'second', 'third'], 100]);
});

test('an answer that does not fit makes room for itself, or is cut off', () => {
  const budget = createBudget(100);
  const cut: string[] = [];
  budget.keep(60, () => cut.push('old'));
  budget.keep(50, () => cut.push('new'));
  expect([cut, budget.used]).toEqual([['old'], 50]);
  budget.keep(200, () => cut.push('too large'));
  expect([cut, budget.used]).toEqual([['old', 'new', 'too large'], 0]);
});

test('an answer that grows is cut off rather than refused', () => {
  const budget = createBudget(100);
  const cut: string[] = [];
  const share = budget.keep(60, () => cut.push('old'));
  share.grow(60);
  share.grow(60);
  expect([cut, share.bytes, budget.used]).toEqual([['old'], 0, 0]);
});

test('an answer that was taken is not cut off', () => {
  const budget = createBudget(100);
  const cutOff = jest.fn();
  budget.keep(60, cutOff).release();
  budget.take(100);
  expect(cutOff).not.toHaveBeenCalled();
});

test('the last eighth is for shares that stay small', () => {
  const budget = createBudget(8_000_000);
  const large = budget.take(7_000_000);
  expect(() => large.grow(1)).toThrow(Problem);
  expect(() => budget.take(100_000)).toThrow(Problem);
  const small = budget.take(60_000);
  expect(() => small.grow(10_000)).toThrow(Problem);
  expect([small.bytes, budget.used]).toEqual([60_000, 7_060_000]);
});

describe('MEMORY_LIMIT', () => {
  const GIB = 1024 ** 3;

  test.each([
    ['a quarter of the heap', 0.5 * GIB, 16 * GIB, 0.125 * GIB],
    ['an eighth of a machine that has little', 4 * GIB, 2 * GIB, 0.25 * GIB],
    ['never less than a service needs', 0.01 * GIB, 16 * GIB, 16 * 1024 ** 2],
  ])('auto is %s', (_, heap, memory, limit) => {
    expect(automaticLimit(heap, memory)).toBe(limit);
  });

  test('auto is found out at start, and a number is taken as it is', () => {
    expect(readSettings({}).memoryLimit).toBeGreaterThanOrEqual(16 * 1024 ** 2);
    expect(readSettings({ MEMORY_LIMIT: '33554432' }).memoryLimit).toBe(33_554_432);
    expect(() => readSettings({ MEMORY_LIMIT: '1' })).toThrow('MEMORY_LIMIT is "1"; expected auto, or bytes from');
  });
});
