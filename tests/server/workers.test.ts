/** The number of workers, and the warning where there cannot be as many. */
import { availableParallelism } from 'node:os';
import { countWorkers } from '../../engine/server/workers.ts';
import { readSettings } from '../../engine/settings/settings.ts';

const [SQLITE, POSTGRES] = ['sqlite:data/records.db', 'postgres://records@localhost/records'];
const onSqlite = (workers: string): string =>
  `WORKERS is ${workers}, but one process serves an SQLite file. Leave WORKERS at 1, or use PostgreSQL`;

test.each<[workers: string, databaseUrl: string, expected: number | string]>([
  ['', POSTGRES, 1],
  ['1', POSTGRES, 1],
  ['1', SQLITE, 1],
  ['3', POSTGRES, 3],
  ['auto', POSTGRES, Math.min(availableParallelism(), 10)],
  ['auto', `${POSTGRES}?pool=1`, 1],
  ['2', SQLITE, onSqlite('2')],
  ['auto', SQLITE, onSqlite('auto')],
  [
    '5',
    `${POSTGRES}?pool=4`,
    'WORKERS is 5, more than the 4 connections that they share; give DATABASE_URL a larger pool',
  ],
  ...['0', '257', 'all', '1.5'].map((workers): [string, string, string] => {
    return [workers, POSTGRES, `WORKERS is "${workers}"; expected auto, or an integer from 1 to 256`];
  }),
])('WORKERS=%s DATABASE_URL=%s: %s', (workers, databaseUrl, expected) => {
  const count = (): number => countWorkers(readSettings({ WORKERS: workers, DATABASE_URL: databaseUrl }));
  if (typeof expected === 'string') expect(count).toThrow(expected);
  else expect(count()).toBe(expected);
});
