/** The media types of lists: how each is made of the JSON text that the store answers. */
import { Problem } from '../problem.ts';
import type { ListQuery, View } from '../query/list-query.ts';
import { ownFields } from '../query/view.ts';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from './answer.ts';
import { csvHead, csvLine, csvNames } from './csv.ts';
import { recordTexts, splitRecords } from './record-texts.ts';

export interface ListFormat {
  /** As `Content-Type` says it. */
  readonly contentType: string;
  /** What is asked of the store; `search` is the query string that the client sent. */
  query(asked: ListQuery, search: string): ListQuery;
  whole(list: string, view: View): string;
  pieces(list: AsyncIterable<string>, view: View): AsyncIterable<string>;
}

const json: ListFormat = {
  contentType: JSON_TYPE,
  query: (asked) => asked,
  whole: (list) => list,
  pieces: (list) => list,
};

/** `head` first, then `line` of each record. */
const lines = (
  contentType: string,
  query: ListFormat['query'],
  head: (view: View) => string,
  lineOf: (view: View) => (record: string) => string,
): ListFormat => ({
  contentType,
  query,
  whole: (list, view) => head(view) + splitRecords(list).records.map(lineOf(view)).join(''),
  pieces: async function* (list, view) {
    const line = lineOf(view);
    yield head(view);
    for await (const records of recordTexts(list)) yield records.map(line).join('');
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
