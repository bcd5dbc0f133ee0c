/** What some contenders need before they can be started. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Contender, inWorkers, onPostgres, peers, ROOT } from './contenders.ts';
import { postgresUrl } from './postgres.ts';

interface Need {
  readonly of: readonly Contender[];
  isMet(): boolean;
  readonly words: string;
}

const NEEDS: readonly Need[] = [
  {
    of: [...onPostgres, ...inWorkers],
    isMet: () => postgresUrl() !== '',
    words: 'a PostgreSQL server: set TEST_POSTGRES_URL, or let ".ci/postgres with npm run bench -- postgres" start one',
  },
  {
    of: peers,
    isMet: () => existsSync(join(ROOT, 'bench', 'peers', 'node_modules')),
    words: 'packages of its own: npm ci --prefix bench/peers',
  },
];

/** In words, for the first of the names where something is missing. */
export function missing(names: readonly string[]): string | undefined {
  for (const { of, isMet, words } of NEEDS) {
    const needing = names.find((name) => of.some((one) => one.name === name));
    if (needing !== undefined && !isMet()) return `${needing} needs ${words}`;
  }
  return undefined;
}
