/** The log lines of a fault that lasts until somebody mends the database. */
import { problemFor } from '../../engine/http/answer.ts';
import type { Log } from '../../engine/log.ts';
import { Problem } from '../../engine/problem.ts';
import { MissingObject } from '../../engine/storage/unavailable.ts';

afterEach(() => void jest.useRealTimers());

test('a missing table and a missing privilege are told once a minute each, whatever number of requests fails', () => {
  jest.useFakeTimers();
  const told: unknown[] = [];
  const log = { error: ({ requestId }: { requestId: string }) => void told.push(requestId) } as unknown as Log;
  const failures = [
    () => new MissingObject(new Error('no such table: things')),
    () => new MissingObject(new Error('no such table: owners')),
    () => new Problem('missing-privilege', 'No', { cause: new Error('permission denied for table things') }),
  ];
  const fail = (id: string): void => {
    for (const [at, failure] of failures.entries())
      expect(problemFor(failure(), `${id}${at}`, log)).toMatchObject({ status: 503 });
  };
  fail('a');
  fail('b');
  expect(told).toEqual(['a0', 'a1', 'a2']);
  jest.advanceTimersByTime(61_000);
  fail('c');
  fail('d');
  expect(told).toEqual(['a0', 'a1', 'a2', 'c0', 'c1', 'c2']);
  // Another service of this process has a log of its own.
  problemFor(failures[0]?.(), 'e', { ...log });
  expect(told.at(-1)).toBe('e');
});
