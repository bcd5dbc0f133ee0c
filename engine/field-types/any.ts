/** Any JSON value, kept as it comes. */
import { document } from './document.ts';
import { type FieldType, pick } from './field-type.ts';

export const any: FieldType = {
  ...document,
  name: 'any',
  description: 'Any JSON value, kept as it was written.',
  schema: () => ({}),
  expected: () => 'any JSON value',
  good: (_shape, seed) => pick([{ z: seed, a: [seed, null] }, [seed], `text ${seed}`, seed], seed),
  edges: () => [0, '', false, [], {}, { b: { c: [] }, a: 'é' }],
  bad: () => [],
};
