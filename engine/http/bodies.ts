/** Bodies of requests: JSON, or new records on the lines of NDJSON and CSV. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { isObject } from '../json/json.ts';
import { decode, kindOf } from '../json/tokenizer.ts';
import type { RecordType } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import {
  type Body,
  type BodyLimits,
  bodyReaders,
  itemOf,
  jsonParser,
  type ParsedRecord,
  textOf,
} from '../operations/body.ts';
import { type BodyShape, CSV_TYPE, NDJSON_TYPE } from '../operations/table.ts';
import { faultyRequest } from '../problem.ts';
import type { Content } from './content.ts';
import { csvReader } from './csv.ts';
import { accept, atLine, attempt, bodyOf, noRecords } from './lines.ts';
import { bodyTypeOf } from './negotiation.ts';

type ReadLines = (text: string) => Body;

export type ParseBody = (
  content: Content,
  exchange: { readonly request: IncomingMessage; readonly identifier: string },
) => Body;

/** Parsers of the bodies of a type, by shape. */
export type BodyParsers = Readonly<Record<BodyShape, ParseBody>>;

export function bodyParsers(type: RecordType, limits: BodyLimits, rights: Rights): BodyParsers {
  const readers = bodyReaders(type, limits);
  const lines = new Map<string, ReadLines>([
    [NDJSON_TYPE, ndjsonReader(type, limits)],
    [CSV_TYPE, csvReader(type, limits, rights)],
  ]);
  const json =
    (shape: BodyShape): ParseBody =>
    (content) =>
      readers[shape]('parsed' in content ? textOf(content.parsed) : decode(content));
  const either = json('either');
  return {
    record: json('record'),
    records: json('records'),
    either: (content, exchange) => {
      const mediaType = bodyTypeOf(exchange.request);
      const read = lines.get(mediaType);
      if (read === undefined || 'parsed' in content) return either(content, exchange);
      return read(content.length === 0 ? '' : decoded(content, mediaType));
    },
  };
}

function decoded(bytes: Buffer, mediaType: string): string {
  if (isUtf8(bytes)) return decode(bytes);
  let line = 1;
  let from = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1 && isUtf8(bytes.subarray(from, end)); line += 1) {
    from = end + 1;
    end = bytes.indexOf(NEWLINE, from);
  }
  const message =
    'The text is not valid UTF-8; save the file as UTF-8 (spreadsheets call it "CSV UTF-8" or "Unicode (UTF-8)")';
  const code = mediaType === CSV_TYPE ? 'invalid-csv' : 'invalid-json';
  throw faultyRequest(code, [atLine({ pointer: '', code, message }, line)]);
}

const NEWLINE = 0x0a;

// NDJSON.

function ndjsonReader(type: RecordType, limits: BodyLimits): ReadLines {
  const parse = jsonParser(
    type,
    limits,
    (value) => {
      if (isObject(value)) return { records: [itemOf(value, '')], isArray: false, faults: [] };
      const message = `Each line must be a JSON object, not ${kindOf(value)}`;
      throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
    },
    'The line',
  );
  return (text) => {
    const gathered = noRecords();
    for (const { line, content } of linesOf(text)) {
      const place = `/${gathered.records.length}`;
      let record: ParsedRecord = { body: {}, pointer: place, tag: undefined };
      attempt(gathered, line, place, () => {
        const { records, raw, keys, faults } = parse(content);
        for (const [body, members] of raw) gathered.raw.set(body, new Map(members));
        for (const { body, tag } of records) record = { body, tag, pointer: place };
        gathered.keys += keys;
        if (faults.length > 0) throw faultyRequest('invalid-body', faults);
      });
      accept(gathered, record, line, limits);
    }
    return bodyOf(gathered, limits);
  };
}

function* linesOf(text: string): Generator<{ readonly line: number; readonly content: string }> {
  for (let line = 1, from = 0; from < text.length; line += 1) {
    const found = text.indexOf('\n', from);
    const end = found === -1 ? text.length : found;
    const content = text.slice(from, end);
    if (content.trim() !== '') yield { line, content };
    from = end + 1;
  }
}
