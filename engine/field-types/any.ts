/** Any JSON value, stored as it was sent. */
import { boolean } from './boolean.ts';
import { date } from './date.ts';
import { decimal } from './decimal.ts';
import { document, RAW_TEXTS } from './document.ts';
import { type FieldType, pick } from './field-type.ts';
import { integer } from './integer.ts';
import { number } from './number.ts';
import { string } from './string.ts';
import { asIs } from './text.ts';
import { timestamp } from './timestamp.ts';

const others = [string, integer, number, boolean, decimal, date, timestamp];

export const any: FieldType = {
  ...document,
  name: 'any',
  schema: () => ({}),
  expected: () => 'any JSON value',
  good: (_shape, seed) => pick([{ z: seed, a: [seed, null] }, [seed], `text ${seed}`, seed], seed),
  edges: () => [0, '', false, [], {}, { b: { c: [] }, a: 'é' }],
  texts: () => RAW_TEXTS,
  bad: () => [],
  columns: {
    sqlite: {
      ...document.columns.sqlite,
      takes: {
        array: asIs,
        ...Object.fromEntries(others.map(({ name, columns }) => [name, columns.sqlite.json])),
      },
    },
    postgres: {
      ...document.columns.postgres,
      takes: {
        array: asIs,
        ...Object.fromEntries(
          others.map(({ name, columns: { postgres } }) => [name, (column) => `(${postgres.json(column)})::json`]),
        ),
      },
    },
  },
};
