/** CSV (RFC 4180): a line of names, then one for each record. An empty cell is null, "" the empty text. */
import { isObject, type JsonValue } from '../json.ts';
import type { View } from '../query/list-query.ts';

const END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

export const csvNames = ({ type: { identifier }, fields }: View): readonly string[] => [
  ...(identifier.inRecord ? [identifier.name] : []),
  ...fields.map(({ name }) => name),
];

export const csvHead = (names: readonly string[]): string => names.map(quoted).join(',') + END;

/** `record` is JSON text. */
export function csvLine(record: string, names: readonly string[]): string {
  const values: unknown = JSON.parse(record);
  return isObject(values) ? names.map((name) => cell(values[name] ?? null)).join(',') + END : '';
}

function cell(value: JsonValue): string {
  if (value === null) return '';
  return quoted(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

const quoted = (text: string): string => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
