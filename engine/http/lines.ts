/** Bodies with a record on each line: NDJSON, and what NDJSON and CSV share. */
import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject } from '../json/json.ts';
import { decode, kindOf, NO_RAW_VALUES, type RawMember } from '../json/tokenizer.ts';
import type { RecordType } from '../model/model.ts';
import { type Body, type BodyLimits, itemOf, parseJson, type ParsedRecord, tooManyItems } from '../operations/body.ts';
import { CSV_TYPE } from '../operations/table.ts';
import { type Fault, faultyRequest, Problem, type ProblemCode } from '../problem.ts';

export const atLine = (fault: Fault, line: number): Fault => ({
  ...fault,
  line,
  message: `Line ${line}: ${fault.message}`,
});

/** Adds the number of its line to each fault of the write of a body. */
export async function onLines<T>(lines: readonly number[], written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (error) {
    if (!(error instanceof Problem) || error.errors.length === 0) throw error;
    throw error.withErrors(error.errors.map((fault) => located(fault, lines)));
  }
}

function located(fault: Fault, lines: readonly number[]): Fault {
  const [, index] = ('pointer' in fault && /^\/(\d+)/.exec(fault.pointer)) || [];
  const line = index === undefined ? undefined : lines[Number(index)];
  return line === undefined ? fault : atLine(fault, line);
}

/** The text of a body; a byte that is not UTF-8 is reported with its line. */
export function textOfLines(bytes: Buffer, mediaType: string): string {
  if (bytes.length === 0) return '';
  if (isUtf8(bytes)) return decode(bytes);
  let line = 1;
  let from = 0;
  for (let end = bytes.indexOf('\n'); end !== -1 && isUtf8(bytes.subarray(from, end)); line += 1) {
    from = end + 1;
    end = bytes.indexOf('\n', from);
  }
  const message =
    'The text is not valid UTF-8; save the file as UTF-8 (spreadsheets call it "CSV UTF-8" or "Unicode (UTF-8)")';
  const code = mediaType === CSV_TYPE ? 'invalid-csv' : 'invalid-json';
  throw faultyRequest(code, [atLine({ pointer: '', code, message }, line)]);
}

interface LineFault {
  readonly code: ProblemCode;
  readonly fault: Fault;
  readonly line: number;
}

/** After a syntax fault the other lines may be misread: it is reported alone. */
const UNREADABLE: readonly ProblemCode[] = ['invalid-csv', 'invalid-json'];

/** Gathers the records of lines. All faults of a body are reported at once. */
export class LineReader {
  readonly #limits: BodyLimits;
  readonly #records: ParsedRecord[] = [];
  readonly #lines: number[] = [];
  readonly #raw = new Map<JsonObject, ReadonlyMap<string, RawMember>>();
  readonly #faults: LineFault[] = [];
  #keys = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** The JSON Pointer of the next record. */
  get pointer(): string {
    return `/${this.#records.length}`;
  }

  add(line: number, { body, tag }: Pick<ParsedRecord, 'body' | 'tag'>): void {
    this.#records.push({ body, tag, pointer: this.pointer });
    this.#lines.push(line);
    if (this.#records.length > this.#limits.batchLimit) throw tooManyItems(this.#limits.batchLimit);
  }

  /** Counts keys inside values; those of the records themselves only where the lines have them. */
  countKeys(keys: number): void {
    this.#keys += keys;
  }

  keepTexts(body: JsonObject, members: ReadonlyMap<string, RawMember>): void {
    this.#raw.set(body, members);
  }

  refuse(line: number, code: ProblemCode, fault: Fault): void {
    this.#faults.push({ code, fault, line });
  }

  /** Runs the reading of a value of the next record, of which faults have pointers from `pointer` on. */
  attempt(line: number, pointer: string, read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof Problem) || error.errors.length === 0) throw error;
      for (const fault of error.errors)
        this.refuse(line, error.code, 'pointer' in fault ? { ...fault, pointer: pointer + fault.pointer } : fault);
    }
  }

  body(): Body {
    const unreadable = UNREADABLE.find((one) => this.#faults.some(({ code }) => code === one));
    if (unreadable !== undefined) {
      const faults = this.#faults.filter(({ code }) => code === unreadable);
      throw faultyRequest(
        unreadable,
        faults.map(({ fault, line }) => atLine(fault, line)),
      );
    }
    if (this.#keys > this.#limits.bodyKeys)
      throw new Problem('content-too-large', `The body has more than ${this.#limits.bodyKeys} keys; send it in parts`);
    return {
      records: this.#records,
      lines: this.#lines,
      raw: this.#raw.size === 0 ? NO_RAW_VALUES : this.#raw,
      isArray: true,
      faults: this.#faults.map(({ fault }) => fault),
    };
  }
}

export function readNdjson(text: string, type: RecordType, limits: BodyLimits): Body {
  const reader = new LineReader(limits);
  for (let line = 1, from = 0; from < text.length; line += 1) {
    const found = text.indexOf('\n', from);
    const end = found === -1 ? text.length : found;
    const content = text.slice(from, end);
    from = end + 1;
    if (content.trim() === '') continue;
    let record: Pick<ParsedRecord, 'body' | 'tag'> = { body: {}, tag: undefined };
    reader.attempt(line, reader.pointer, () => {
      const { value, raw, keys, faults } = parseJson(content, type, limits, 'The line');
      if (!isObject(value)) {
        const message = `Each line must be a JSON object, not ${kindOf(value)}`;
        throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
      }
      record = itemOf(value, '');
      for (const [body, members] of raw) reader.keepTexts(body, members);
      reader.countKeys(keys);
      if (faults.length > 0) throw faultyRequest('invalid-body', faults);
    });
    reader.add(line, record);
  }
  return reader.body();
}
