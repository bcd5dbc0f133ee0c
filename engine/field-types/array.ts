/** A JSON array with items of any type, stored as it was sent. */
import { document, RAW_TEXTS } from './document.ts';
import { boundsFault, type FieldType, numeric, pick } from './field-type.ts';

const count = (description: string) => ({ type: 'integer', minimum: 0, description });

export const array: FieldType = {
  ...document,
  name: 'array',
  description:
    'A JSON array with items of any type, stored as the text that was sent, so that numbers and the order of keys are preserved.',
  keywords: { minItems: count('Minimum number of items.'), maxItems: count('Maximum number of items.') },
  schema: (shape) => ({ type: 'array', items: {}, ...shape.constraints }),
  expected: () => 'an array',
  faults: (shape) => boundsFault(shape, 'minItems', 'maxItems'),
  good: (shape, seed) => Array.from({ length: Math.max(1, numeric(shape, 'minItems', 1)) }, (_, index) => seed + index),
  edges: (shape) =>
    [
      Array.from({ length: numeric(shape, 'minItems', 0) }, () => null),
      Array.from(
        { length: Math.min(5, numeric(shape, 'maxItems', 5)) },
        (_, index) => [{ b: index, a: null }, 'é', 1.5, true][index % 4] ?? null,
      ),
    ].filter((value) => value.length >= numeric(shape, 'minItems', 0)),
  texts: (shape) => {
    const length = Math.min(numeric(shape, 'maxItems', Infinity), Math.max(3, numeric(shape, 'minItems', 0)));
    return [`[${Array.from({ length }, (_, index) => pick(RAW_TEXTS, index)).join(',')}]`];
  },
  bad: (shape) => [
    'x',
    0,
    true,
    {},
    ...(numeric(shape, 'minItems', 0) > 0 ? [[]] : []),
    ...(shape.constraints['maxItems'] === undefined
      ? []
      : [Array.from({ length: numeric(shape, 'maxItems', 0) + 1 }, () => 0)]),
  ],
};
