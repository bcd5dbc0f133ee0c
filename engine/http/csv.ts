/** CSV (RFC 4180): a line of names, then one for each record. An empty cell is null, "" the empty text. */
import type { View } from '../query/list-query.ts';
import { membersOf } from '../raw-json.ts';

const END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

export const csvNames = ({ type: { identifier }, fields }: View): readonly string[] => [
  ...(identifier.inRecord ? [identifier.name] : []),
  ...fields.map(({ name }) => name),
];

export const csvHead = (names: readonly string[]): string => names.map(quoted).join(',') + END;

/** `record` is JSON text. Numbers, and what is kept as JSON, stand as they are written there. */
export function csvLine(record: string, names: readonly string[]): string {
  const members = membersOf(record);
  return names.map((name) => cell(members.get(name)?.text ?? 'null')).join(',') + END;
}

function cell(text: string): string {
  if (text === 'null') return '';
  return quoted(text.startsWith('"') ? String(JSON.parse(text)) : text);
}

const quoted = (text: string): string => (NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
