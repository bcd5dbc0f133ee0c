/** The media types of lists: how each is made from the JSON texts of the records. */
import { csvHead, csvLine } from './csv.ts';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../operations/table.ts';
import { membersOf } from '../json/texts.ts';

/** JSON texts as rows of a table. */
export interface Table {
  readonly names: readonly string[];
  /** The JSON texts of the cells of a row. */
  cells(row: string): readonly string[];
}

export interface ListFormat {
  /** As `Content-Type` says it. */
  readonly contentType: string;
  /** Whether the texts are rows of a table: relations have no place in it. */
  readonly isTable: boolean;
  whole(rows: readonly string[], table: () => Table): string;
  pieces(list: AsyncIterable<readonly string[]>, table: () => Table): AsyncIterable<string>;
}

const json: ListFormat = {
  contentType: JSON_TYPE,
  isTable: false,
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

const ndjson: ListFormat = {
  contentType: NDJSON_TYPE,
  isTable: false,
  whole: (rows) => rows.map(ended).join(''),
  pieces: async function* (list) {
    for await (const rows of list) yield rows.map(ended).join('');
  },
};

const ended = (row: string): string => `${row}\n`;

const csv: ListFormat = {
  contentType: `${CSV_TYPE}; charset=utf-8; header=present`,
  isTable: true,
  whole: (rows, table) => {
    const { names, cells } = table();
    return csvHead(names) + rows.map((row) => csvLine(cells(row))).join('');
  },
  pieces: async function* (list, table) {
    const { names, cells } = table();
    yield csvHead(names);
    for await (const rows of list) yield rows.map((row) => csvLine(cells(row))).join('');
  },
};

/** In the order in which they are preferred. */
export const LIST_FORMATS: ReadonlyMap<string, ListFormat> = new Map([
  [JSON_TYPE, json],
  [NDJSON_TYPE, ndjson],
  [CSV_TYPE, csv],
]);

/** The members of a JSON text that have these names. */
export function membersAt(names: readonly string[]): Table['cells'] {
  return (text) => {
    const members = membersOf(text);
    return names.map((name) => members.get(name)?.text ?? 'null');
  };
}
