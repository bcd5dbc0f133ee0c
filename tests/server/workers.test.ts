/** The number of workers, and the warning where there cannot be as many. */
import { availableParallelism } from 'node:os';
import { countWorkers } from '../../engine/server/workers.ts';
import { readSettings } from '../../engine/settings/settings.ts';

const POSTGRES = 'postgres://records@localhost/records';

const counted = (workers: string, databaseUrl = POSTGRES): number =>
  countWorkers(readSettings({ WORKERS: workers, DATABASE_URL: databaseUrl }));

test.each([
  ['', 1],
  ['1', 1],
  ['3', 3],
  ['auto', Math.min(availableParallelism(), 10)],
])('WORKERS=%s: %i', (workers, count) => {
  expect(counted(workers)).toBe(count);
});

test('auto is at most one for each connection', () => {
  expect(counted('auto', `${POSTGRES}?pool=1`)).toBe(1);
});

test.each(['2', 'auto'])('WORKERS=%s on SQLite is refused', (workers) => {
  expect(() => counted(workers, 'sqlite:data/records.db')).toThrow(
    `WORKERS is ${workers}, but one process serves an SQLite file. Leave WORKERS at 1, or use PostgreSQL`,
  );
});

test('WORKERS=1 is for SQLite, too', () => {
  expect(counted('1', 'sqlite:data/records.db')).toBe(1);
});

test('more workers than connections', () => {
  expect(() => counted('5', `${POSTGRES}?pool=4`)).toThrow(
    'WORKERS is 5, more than the 4 connections that they share; give DATABASE_URL a larger pool',
  );
});

test.each(['0', '257', 'all', '1.5'])('WORKERS=%s is not a setting', (workers) => {
  expect(() => counted(workers)).toThrow(`WORKERS is "${workers}"; expected auto, or an integer from 1 to 256`);
});
