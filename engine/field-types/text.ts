/** Shared by the field types that are strings in JSON: a TEXT column, and values compared as text. */
import type { ColumnType, FieldType } from './field-type.ts';

export const textColumn: ColumnType = {
  sqlType: 'text',
  encode: String,
  decode: (value) => value,
  json: (column) => `json_quote(${column})`,
  comparable: (column) => column,
  operand: String,
  extracted: (document, path) => `${document} ->> ${path}`,
};

export const postgresText: ColumnType = {
  ...textColumn,
  // Orders by code point, whatever the collation of the database.
  sqlType: 'text collate "C"',
  json: (column) => `to_json(${column})::text`,
};

/** Conversions of columns in SQLite. */
export const asIs = (column: string): string => column;
export const asText = (column: string): string => `cast(${column} as text)`;
/** The same in PostgreSQL. */
export const toText = (column: string): string => `${column}::text`;

/** UTF-8 sorts by code point; UTF-16, which `<` compares, does not. */
export const asWritten: Pick<FieldType, 'equal' | 'compare'> = {
  equal: (a, b) => a === b,
  compare: (a, b) => Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))),
};

/** Values that are not strings. */
export const NOT_STRINGS = [0, true, [], {}] as const;
