/** Takes the JSON text of a list of records apart, as it comes: the texts of its records, exactly as they stand. */
import { stringEnd } from '../raw-json.ts';

const QUOTE = 0x22;
const OPEN = 0x7b;
const CLOSE = 0x7d;

export interface Split {
  readonly records: readonly string[];
  /** What was begun and is not yet ended. */
  readonly rest: string;
}

/** The records that lie whole in `text`; between them stand commas and the brackets of the list. */
export function splitRecords(text: string): Split {
  const records: string[] = [];
  let start = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at);
    if (at === -1) break;
    if (code === OPEN && depth++ === 0) start = at;
    if (code !== CLOSE || --depth > 0) continue;
    records.push(text.slice(start, at + 1));
    start = at + 1;
  }
  return { records, rest: depth > 0 ? text.slice(start) : '' };
}

/** Each piece's records that were not whole before it came. */
export async function* recordTexts(pieces: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let begun = '';
  for await (const piece of pieces) {
    const { records, rest } = splitRecords(begun + piece);
    begun = rest;
    if (records.length > 0) yield records;
  }
}
