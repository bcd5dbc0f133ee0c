/** UUIDs (RFC 9562) of any version: accepted in either case, stored and returned in lower case. */
import { asWritten, NOT_STRINGS, plainColumn, textColumn } from './columns.ts';
import { COMPARING, type FieldType } from './field-type.ts';
import { formats } from './formats.ts';

const lower = (value: unknown): string => String(value).toLowerCase();

export const uuid: FieldType = {
  name: 'uuid',
  operators: COMPARING,
  schema: () => ({ type: 'string', format: 'uuid' }),
  expected: () => 'a UUID such as "01890a5d-ac96-774b-bcce-b302099a8057"',
  faults: () => [],
  parse: (text) => (formats['uuid']?.isValid(text) ? lower(text) : undefined),
  canonical: (value) => (typeof value === 'string' ? lower(value) : value),
  equal: (a, b) => a !== null && b !== null && lower(a) === lower(b),
  compare: (a, b) => asWritten.compare(lower(a), lower(b)),
  columns: {
    sqlite: {
      ...textColumn,
      encode: lower,
      operand: lower,
      extracted: (document, path) => `lower(${document} ->> ${path})`,
    },
    postgres: {
      ...plainColumn,
      sqlType: 'uuid',
      encode: lower,
      operand: lower,
      json: (column) => `'"' || ${column}::uuid::text || '"'`,
      extracted: (document, path) => `(${document} ->> ${path})::uuid`,
      // PostgreSQL has no min(uuid) before version 18.
      aggregates: {
        min: (column) => `min(${column}::text collate "C")`,
        max: (column) => `max(${column}::text collate "C")`,
      },
    },
  },
  temporary: (index) => `ffffffff-ffff-4fff-bfff-${index.toString(16).padStart(12, '0')}`,
  good: (_shape, seed) => formats['uuid']?.good(seed) ?? '',
  edges: () => ['00000000-0000-0000-0000-000000000000', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'],
  bad: () => [...NOT_STRINGS, '', 'x', '01890a5dac96774bbcceb302099a8057', '{01890a5d-ac96-774b-bcce-b302099a8057}'],
};
