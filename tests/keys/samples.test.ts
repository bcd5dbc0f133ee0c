/** Samples of text identifiers, which generated suites send: they match the pattern, and differ as far as it allows. */
import { identifierKinds } from '../../engine/field-types/identifiers.ts';

const SEEDS = [0, 1, 2, 25, 26, 1000, 50_193_540, 50_193_541, 2 ** 40 + 7];

test.each<[pattern: string, example: string, differing: number]>([
  ['^[A-Z]+$', 'EUR', 8],
  ['^INV-20\\d\\d-\\d{4}$', 'INV-2024-0001', 8],
  ['^[A-C]{1,3}$', 'A', 3],
  ['^(de|fr|it)$', 'de', 1],
])('%s', (pattern, example, differing) => {
  const shape = { constraints: { pattern }, examples: [example] };
  const samples = SEEDS.map((seed) => String(identifierKinds.get('string')?.sample(shape, seed)));
  expect(samples.filter((sample) => !new RegExp(pattern, 'u').test(sample))).toEqual([]);
  expect(new Set(samples).size).toBeGreaterThanOrEqual(differing);
});

test.each<[constraints: object, examples: readonly string[], sample: string]>([
  [{}, ['A B'], 'A B'],
  [{}, [], 'sample-0'],
  [{ maxLength: 2 }, [], 'x0'],
  [{ maxLength: 1 }, [], '0'],
])('with %j and the examples %j: %j', (constraints, examples, sample) => {
  expect(identifierKinds.get('string')?.sample({ constraints: { ...constraints }, examples }, 0)).toBe(sample);
});
