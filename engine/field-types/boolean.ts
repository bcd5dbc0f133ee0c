/** The values true and false. */
import { plainColumn } from './columns.ts';
import { type FieldType, parseTruth } from './field-type.ts';

const asBit = (value: unknown): number => (value === true ? 1 : 0);
const asLetter = (value: unknown): string => (value === true ? 't' : 'f');

export const boolean: FieldType = {
  name: 'boolean',
  operators: ['eq', 'ne', 'in', 'null'],
  schema: () => ({ type: 'boolean' }),
  expected: () => 'true or false',
  faults: () => [],
  parse: parseTruth,
  equal: (a, b) => a === b,
  compare: (a, b) => Number(a) - Number(b),
  columns: {
    sqlite: {
      ...plainColumn,
      sqlType: 'integer',
      encode: asBit,
      decode: (value) => value === 1,
      json: (column) => `case ${column} when 1 then 'true' when 0 then 'false' end`,
      operand: asBit,
    },
    postgres: {
      ...plainColumn,
      sqlType: 'boolean',
      encode: asLetter,
      decode: (value) => value === 't',
      json: (column) => `${column}::boolean::text`,
      operand: asLetter,
      extracted: (document, path) => `(${document} ->> ${path})::boolean`,
    },
  },
  good: (_shape, seed) => seed % 2 === 1,
  edges: () => [false, true],
  bad: () => ['true', '', 0, 1, [], {}],
};
