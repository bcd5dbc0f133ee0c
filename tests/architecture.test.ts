/** The shape of engine/: imports point one way, files stay small, and nothing knows a record type of a deployment. */
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
    'memo.ts',
    'diagnostic.ts',
    'problem.ts',
    'budget.ts',
    'document-order.ts',
    'start-error.ts',
    'files.ts',
    'terminal.ts',
    'settings.ts',
    'log.ts',
    'package.ts',
    'awaitable.ts',
    'node-version.ts',
    'caller.ts',
    'settled.ts',
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
  ['server', 'index.ts'],
  ['commands'],
  ['cli.ts'],
];

const files = readdirSync(ENGINE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(ENGINE, file));

const stageOf = (file: string): string => relative(ENGINE, file).split(sep)[0] ?? '';
const rankOf = (file: string): number => RANKS.findIndex((stages) => stages.includes(stageOf(file)));

function importsOf(file: string): readonly string[] {
  const specifiers = [...readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g)].map(
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

  it('has files that can be read at one go', () => {
    const long = files.filter((file) => readFileSync(file, 'utf8').split('\n').length > 350);
    expect(long).toEqual([]);
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
