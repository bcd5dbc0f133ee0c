/**
 * The name of a test file says whether it is quick: `npm run test:quick` runs those that are not named `.slow.test.ts`.
 * Slow is what starts processes, or takes more than four seconds of a core.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What starts processes, with its own build or that of all tests. */
const STARTS = ['bench', 'cluster', 'compiled', 'fleet'].map((name) => `tests/support/${name}.ts`);

/** The files of tests/ that come with this one. */
function closure(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import(?! type)|\}) .*from '(\.[^']+)';$/gm)) {
    const imported = join(dirname(file), path);
    if (imported.startsWith('tests/')) closure(imported, seen);
  }
  return seen;
}

// Without a server those of PostgreSQL are skipped.
const quick = globSync('tests/**/*.test.ts', { exclude: ['**/node_modules'] }).filter(
  (file) => !/\.slow\.test|^tests\/(tools|postgres)\//.test(file),
);

test.each(quick)('%s starts no process', (file) => {
  expect(readFileSync(file, 'utf8')).not.toMatch(/process\.execPath|\bfork\(/);
  expect(STARTS.filter((helper) => closure(file).has(helper))).toEqual([]);
});
