/** true or false. */
import { byNumber, type FieldType, parseTruth, SHORT } from './field-type.ts';

export const boolean: FieldType = {
  name: 'boolean',
  operators: ['eq', 'ne', 'in', 'null'],
  hasNoCommas: true,
  longest: () => SHORT,
  fewValues: [false, true],
  schema: () => ({ type: 'boolean' }),
  expected: () => 'true or false',
  faults: () => [],
  parse: parseTruth,
  equal: (a, b) => a === b,
  compare: byNumber,
  columns: {
    sqlite: {
      sqlType: 'integer',
      encode: (value) => (value === true ? 1 : 0),
      decode: (value) => value === 1,
      json: (column) => `case ${column} when 1 then 'true' when 0 then 'false' end`,
      comparable: (column) => column,
      operand: (value) => (value === true ? 1 : 0),
      extracted: (document, path) => `${document} ->> ${path}`,
    },
    postgres: {
      sqlType: 'boolean',
      // As PostgreSQL writes it.
      encode: (value) => (value === true ? 't' : 'f'),
      decode: (value) => value === 't',
      json: (column) => `${column}::text`,
      comparable: (column) => column,
      operand: (value) => (value === true ? 't' : 'f'),
      extracted: (document, path) => `(${document} ->> ${path})::boolean`,
    },
  },
  good: (_shape, seed) => seed % 2 === 1,
  edges: () => [false, true],
  bad: () => ['true', '', 0, 1, [], {}],
};
