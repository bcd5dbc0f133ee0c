/** The order of the folders of engine/, and that imports form no circle, those of types included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';

const ENGINE = 'engine';

/** A stage may import those before it, and itself. Files of engine/ itself are ranked by their names. */
const RANKS: readonly (readonly string[])[] = [
  ['names.ts', 'memo.ts', 'diagnostic.ts', 'problem.ts', 'files.ts', 'process.ts'],
  ['edge'],
  ['json'],
  ['settings'],
  ['log.ts'],
  ['field-types'],
  ['descriptor'],
  ['model'],
  ['query'],
  ['storage', 'validation', 'diff', 'describe'],
  ['operations', 'metrics.ts'],
  ['suite'],
  ['openapi'],
  ['access'],
  ['http'],
  ['clients.ts'],
  ['engine.ts'],
  ['pages'],
  ['embed'],
  ['mcp'],
  ['server'],
  ['index.ts'],
  ['commands'],
  ['cli.ts'],
];

const files = readdirSync(ENGINE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(ENGINE, file));

const stageOf = (file: string): string => relative(ENGINE, file).split(sep)[0] ?? '';
const rankOf = (file: string): number => RANKS.findIndex((stages) => stages.includes(stageOf(file)));
const isFolder = (file: string): boolean => !stageOf(file).endsWith('.ts');

const importsOf = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, specifier = '']) =>
    normalize(join(dirname(file), specifier)),
  );

test('each stage of engine/ has a rank', () => {
  expect(files.filter((file) => rankOf(file) < 0)).toEqual([]);
});

test.each(files)('%s imports stages of a lower rank only', (file) => {
  const upward = importsOf(file)
    .filter((imported) => imported.startsWith(ENGINE))
    .filter(
      (imported) =>
        rankOf(imported) > rankOf(file) ||
        (rankOf(imported) === rankOf(file) && stageOf(imported) !== stageOf(file) && isFolder(file)),
    );
  expect(upward).toEqual([]);
});

test('engine/ imports nothing from tests/', () => {
  const importing = files.filter((file) => importsOf(file).some((imported) => imported.startsWith('tests')));
  expect(importing).toEqual([]);
});

test('no imports of engine/ form a circle', () => {
  const graph = new Map(files.map((file) => [file, importsOf(file).filter((imported) => files.includes(imported))]));
  // Files that import nothing but files without circles are in none.
  for (let count = -1; count !== graph.size;) {
    count = graph.size;
    for (const [file, imported] of graph) if (!imported.some((one) => graph.has(one))) graph.delete(file);
  }
  expect([...graph.keys()].filter((file) => isOnCircle(file, graph))).toEqual([]);
});

function isOnCircle(start: string, graph: ReadonlyMap<string, readonly string[]>): boolean {
  const reached = new Set(graph.get(start));
  for (const file of reached) for (const next of graph.get(file) ?? []) reached.add(next);
  return reached.has(start);
}
