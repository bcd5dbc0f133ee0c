/** The shape of engine/: where things are, what may import what, and that nothing knows a record type of a deployment. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { isShipped } from './support/shipped.ts';

const ENGINE = 'engine';

/** A stage may import those before it, and itself. What stands in engine/ itself is ranked by its name. */
const RANKS: readonly (readonly string[])[] = [
  [
    'json.ts',
    'raw-json.ts',
    'names.ts',
    'append.ts',
    'memo.ts',
    'diagnostic.ts',
    'problem.ts',
    'budget.ts',
    'pace.ts',
    'document-order.ts',
    'start-error.ts',
    'files.ts',
    'terminal.ts',
    'setting-values.ts',
    'settings.ts',
    'log.ts',
    'package.ts',
    'awaitable.ts',
    'node-version.ts',
    'caller.ts',
    'settled.ts',
    'worker.ts',
  ],
  ['patterns'],
  ['field-types'],
  ['descriptor'],
  ['model'],
  ['query'],
  ['storage', 'validation', 'suite', 'diff', 'describe'],
  ['check.ts', 'openapi'],
  ['http'],
  ['access', 'metrics.ts'],
  ['pages'],
  ['engine.ts'],
  ['embed'],
  ['mcp'],
  ['server'],
  ['index.ts'],
  ['commands'],
  ['cli.ts'],
];

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .map((file) => join(folder, file));

const files = filesBelow(ENGINE);

/** Files that are loaded by their name, and one for each field type and each command. */
const ENTRIES: ReadonlySet<string> = new Set([
  'index.ts',
  'cli.ts',
  'node-version.ts',
  'descriptor/write-grammar.ts',
  'storage/sqlite/reader-program.ts',
]);
const isEntry = (file: string): boolean =>
  ENTRIES.has(relative(ENGINE, file)) || ['commands', 'field-types'].includes(stageOf(file));

const linesOf = (file: string): number => readFileSync(file, 'utf8').trimEnd().split('\n').length;
const hasWord = (text: string, word: string): boolean => new RegExp(`\\b${word}\\b`).test(text);

const TYPE = /^(?:export )?(?:interface|type|abstract class|class) (\w+)/gm;
const typesIn = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(TYPE)].map(([, name = '']) => name);

const EXPORT = /^export (?:interface|type|abstract class|class|const|async function\*?|function\*?) (\w+)/gm;
const exportsOf = (file: string): readonly string[] =>
  [...readFileSync(file, 'utf8').matchAll(EXPORT)].map(([, name = '']) => name);

const stageOf = (file: string): string => relative(ENGINE, file).split(sep)[0] ?? '';
const rankOf = (file: string): number => RANKS.findIndex((stages) => stages.includes(stageOf(file)));

function importsOf(file: string): readonly string[] {
  const specifiers = [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(
    ([, specifier]) => specifier ?? '',
  );
  return specifiers.map((specifier) => normalize(join(dirname(file), specifier)));
}

describe('engine/', () => {
  it('has a rank for every stage', () => {
    expect(files.filter((file) => rankOf(file) < 0)).toEqual([]);
  });

  it('imports one way', () => {
    const upward = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => imported.startsWith(ENGINE))
        .filter(
          (imported) =>
            rankOf(imported) > rankOf(file) ||
            (rankOf(imported) === rankOf(file) && stageOf(imported) !== stageOf(file) && isFolder(file)),
        )
        .map((imported) => `${file} imports ${imported}`),
    );
    expect(upward).toEqual([]);
  });

  it('keeps its suites apart from the code that they test', () => {
    const forbidden = new Set(['query', 'storage', 'validation', 'http']);
    const borrowed = files
      .filter((file) => stageOf(file) === 'suite')
      .flatMap((file) => importsOf(file).filter((imported) => forbidden.has(stageOf(imported))));
    expect(borrowed.filter((imported) => imported !== join(ENGINE, 'query/operators.ts'))).toEqual([]);
  });

  it('names no record type of the shipped schema, and no field or relation of one that is no common word', () => {
    const words = new Set(shippedNames());
    const known = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/[\p{L}_][\p{L}\p{N}_-]*/gu)]
        .map(([word]) => word)
        .filter((word) => words.has(word))
        .map((word) => `${file}: ${word}`),
    );
    expect(known).toEqual([]);
  });

  it('writes for people in one place', () => {
    const elsewhere = files.filter((file) => /\bconsole\./.test(readFileSync(file, 'utf8')));
    expect(elsewhere).toEqual([join(ENGINE, 'terminal.ts')]);
  });

  it('passes no list on the stack, which many faults of a body would overflow', () => {
    expect(
      files.filter((file) => /\.(?:push|unshift)\(\.\.\.|\.splice\([^;{[]*\.\.\./.test(readFileSync(file, 'utf8'))),
    ).toEqual([]);
  });

  it('has its stages in the order of the table in its README', () => {
    const [, table = ''] = readFileSync(join(ENGINE, 'README.md'), 'utf8').split('| folder ');
    const told = [...table.matchAll(/^\| \[([\w-]+)\]\(\1\)/gm)].map(([, folder = '']) => folder);
    const folders = new Set(files.filter(isFolder).map(stageOf));
    expect(new Set(told)).toEqual(folders);
    const ranks = told.map((folder) => RANKS.findIndex((stages) => stages.includes(folder)));
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
  });

  it('has folders at most two deep, and files of at most 350 lines', () => {
    const astray = files.filter((file) => file.split(sep).length > 4 || linesOf(file) > 350);
    expect(astray).toEqual([]);
  });

  it('has no file that one other file alone imports, unless it has sixty lines', () => {
    const importers = Map.groupBy(
      [...files, 'server.ts'].flatMap((file) => importsOf(file).map((imported) => ({ file, imported }))),
      ({ imported }) => imported,
    );
    const small = files.filter(
      (file) => !isEntry(file) && linesOf(file) < 60 && (importers.get(file)?.length ?? 0) < 2,
    );
    expect(small).toEqual([]);
  });

  it('declares each type name once', () => {
    const declared = files.flatMap((file) => typesIn(file).map((name) => ({ file, name })));
    const twice = [...Map.groupBy(declared, ({ name }) => name).values()].filter((same) => same.length > 1);
    expect(twice).toEqual([]);
  });

  it('exports each name once in its folder', () => {
    const exported = files.flatMap((file) => exportsOf(file).map((name) => ({ file, name })));
    const twice = [...Map.groupBy(exported, ({ file, name }) => `${dirname(file)} ${name}`).values()];
    expect(twice.filter((same) => same.length > 1)).toEqual([]);
  });

  it('exports nothing that nobody imports', () => {
    const users = [...files, 'server.ts', ...['deploy', 'tests', 'bench'].flatMap(filesBelow)].map((file) => ({
      file,
      text: readFileSync(file, 'utf8'),
    }));
    const unused = files
      .filter((file) => file !== join(ENGINE, 'index.ts'))
      .flatMap((file) =>
        exportsOf(file)
          .filter((name) => !users.some((user) => user.file !== file && hasWord(user.text, name)))
          .map((name) => `${file}: ${name}`),
      );
    expect(unused).toEqual([]);
  });
});

describe('studio/', () => {
  const sources = readdirSync('studio', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'))
    .map((file) => join('studio', file));

  it('names no record type of the shipped schema, and no field or relation of one that is no common word', () => {
    const words = new Set(shippedNames());
    const known = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/[\p{L}_][\p{L}\p{N}_-]*/gu)]
        .map(([word]) => word)
        .filter((word) => words.has(word))
        .map((word) => `${file}: ${word}`),
    );
    expect(known).toEqual([]);
  });

  it('has folders one deep, and files of at most 350 lines', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.filter((file) => file.split(sep).length > 3 || linesOf(file) > 350)).toEqual([]);
  });

  it('says nothing but what its texts say', () => {
    const said = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:aria-label|label|title|helperText|placeholder)="([^"]+)"/g)].map(
        ([, text]) => `${file}: ${text}`,
      ),
    );
    expect(said).toEqual([]);
  });
});

function isFolder(file: string): boolean {
  return !stageOf(file).endsWith('.ts');
}

/** Names that could only come from the deployment: those of types and paths, and compound names of fields and relations. */
function shippedNames(): readonly string[] {
  const descriptors = readdirSync('schema', { recursive: true, encoding: 'utf8' })
    .filter((file) => isShipped(join('schema', file)))
    .map(
      (file) =>
        parse(readFileSync(join('schema', file), 'utf8')) as { type: string; fields?: object; relations?: object },
    );
  const compound = (name: string): boolean => /_|[a-z][A-Z]/.test(name);
  return descriptors.flatMap(({ type, fields, relations }) => [
    ...(compound(type) ? [type] : []),
    ...Object.keys({ ...fields, ...relations }).filter(compound),
  ]);
}
