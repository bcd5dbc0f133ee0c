/** Columns, conversions and samples that several field types share. */
import type { ColumnType, FieldType } from './field-type.ts';

export const asIs = (column: string): string => column;
export const asText = (column: string): string => `cast(${column} as text)`;
/** SQL for SQLite: JSON as it is, or as a string if other programs have made it invalid. */
export const validJson = (sql: string): string =>
  `case when json_valid(${sql}) = 0 then json_quote(${sql}) else ${sql} end`;
export const toText = (column: string): string => `${column}::text`;

/** A column whose values are returned and compared without conversion. */
export const plainColumn: Pick<ColumnType, 'decode' | 'comparable' | 'extracted'> = {
  decode: (value) => value,
  comparable: asIs,
  extracted: (document, path) => `${document} ->> ${path}`,
};

export const textColumn: ColumnType = {
  ...plainColumn,
  sqlType: 'text',
  encode: String,
  json: (column) => `json_quote(${column})`,
  operand: String,
};

export const postgresText: ColumnType = {
  ...textColumn,
  // Orders by code point, whatever the collation of the database.
  sqlType: 'text collate "C"',
  json: (column) => `to_json(${column})::text`,
};

/** UTF-8 sorts by code point; UTF-16, which `<` compares, does not. */
export const asWritten: Pick<FieldType, 'equal' | 'compare'> = {
  equal: (a, b) => a === b,
  compare: (a, b) => Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))),
};

export const NOT_STRINGS = [0, true, [], {}] as const;
