/** The media types of lists: how each is made from the JSON texts of the records. */
import { Problem } from '../problem.ts';
import type { ListQuery, View } from '../query/list-query.ts';
import { ownFields } from '../query/view.ts';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from './negotiation.ts';
import { membersOf } from '../raw-json.ts';

export interface ListFormat {
  /** As `Content-Type` says it. */
  readonly contentType: string;
  /** What is asked of the store; `search` is the query string that the client sent. */
  query(asked: ListQuery, search: string): ListQuery;
  whole(records: readonly string[], view: View): string;
  pieces(list: AsyncIterable<readonly string[]>, view: View): AsyncIterable<string>;
}

const json: ListFormat = {
  contentType: JSON_TYPE,
  query: (asked) => asked,
  whole: (records) => (records.length === 0 ? '[]' : joined('[', records, ']')),
  pieces: async function* (list) {
    let before = '[';
    for await (const records of list) {
      yield joined(before, records);
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  },
};

/** What stands around goes to the first and the last text: one that is joined at once is in memory once. */
function joined(before: string, records: readonly string[], after = ''): string {
  const texts = [...records];
  texts[0] = before + texts[0];
  texts[texts.length - 1] += after;
  return texts.join(',');
}

/** `head` first, then `line` of each record. */
const lines = (
  contentType: string,
  query: ListFormat['query'],
  head: (view: View) => string,
  lineOf: (view: View) => (record: string) => string,
): ListFormat => ({
  contentType,
  query,
  whole: (records, view) => head(view) + records.map(lineOf(view)).join(''),
  pieces: async function* (list, view) {
    const line = lineOf(view);
    yield head(view);
    for await (const records of list) yield records.map(line).join('');
  },
});

const ndjson = lines(
  NDJSON_TYPE,
  (asked) => asked,
  () => '',
  () => (record) => `${record}\n`,
);

const csv = lines(
  `${CSV_TYPE}; charset=utf-8; header=present`,
  withOwnFields,
  (view) => csvHead(csvNames(view)),
  (view) => {
    const names = csvNames(view);
    return (record) => csvLine(record, names);
  },
);

/** In the order in which they are preferred. */
export const LIST_FORMATS: ReadonlyMap<string, ListFormat> = new Map([
  [JSON_TYPE, json],
  [NDJSON_TYPE, ndjson],
  [CSV_TYPE, csv],
]);

/** Relations that the client names have no place in a table; those of the default view are left out. */
function withOwnFields(asked: ListQuery, search: string): ListQuery {
  const named = ['include', 'fields'].find((name) => new URLSearchParams(search).has(name));
  if (asked.view.relations.length > 0 && named !== undefined) throw noRelations(named);
  return { ...asked, view: ownFields(asked.view) };
}

function noRelations(parameter: string): Problem {
  const message = `${CSV_TYPE} holds a record's own fields; "${parameter}" names a relation. Take ${NDJSON_TYPE} for records with relations`;
  return new Problem('invalid-query', message, { errors: [{ parameter, code: 'relation-in-table', message }] });
}

// CSV (RFC 4180): a line of names, then one for each record. An empty cell is null, "" the empty text.

const END = '\r\n';
const NEEDS_QUOTES = /[",\r\n]|^$|^\s|\s$/;

const csvNames = ({ type: { identifier }, fields }: View): readonly string[] => [
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
