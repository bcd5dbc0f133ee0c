/** Bodies with a record on each line: what has been read, and faults with the numbers of their lines. */
import type { JsonObject } from '../json/json.ts';
import { NO_RAW_VALUES, type RawMember } from '../json/tokenizer.ts';
import { type Body, type BodyLimits, type ParsedRecord, tooManyItems } from '../operations/body.ts';
import { type Fault, faultyRequest, MAX_ERRORS, Problem, type ProblemCode } from '../problem.ts';

export const atLine = (fault: Fault, line: number): Fault => ({
  ...fault,
  line,
  message: `Line ${line}: ${fault.message}`,
});

/** The result of the write of a body. A fault of one of its records is reported with the number of its line. */
export async function onLines<T>(lines: readonly number[], written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (error) {
    throw error instanceof Problem ? withLines(error, lines) : error;
  }
}

const RECORD_PLACE = /^\/(\d+)/;

function withLines(problem: Problem, lines: readonly number[]): Problem {
  const { code, errors, headers, retryAfter, message, cause } = problem;
  const located = errors.map((fault, at) => {
    // The others are only counted.
    if (at >= MAX_ERRORS) return fault;
    const [, index] = ('pointer' in fault && RECORD_PLACE.exec(fault.pointer)) || [];
    const line = index === undefined ? undefined : lines[Number(index)];
    return line === undefined ? fault : atLine(fault, line);
  });
  const [before, after] = [errors[0], located[0]];
  const isFirst = before && after && message.startsWith(before.message);
  const detail = isFirst ? after.message + message.slice(before.message.length) : message;
  return new Problem(code, detail, {
    errors: located,
    headers,
    cause,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

// All faults of a body are reported at once.

export interface ReadRecords {
  readonly records: ParsedRecord[];
  readonly lines: number[];
  readonly raw: Map<JsonObject, Map<string, RawMember>>;
  readonly faults: { readonly code: ProblemCode; readonly fault: Fault; readonly line: number }[];
  /** In values, without those of the records themselves if columns name them. */
  keys: number;
}

export const noRecords = (): ReadRecords => ({ records: [], lines: [], raw: new Map(), faults: [], keys: 0 });

/** Runs the reading of one record, whose faults are those of its line. */
export function attempt({ faults }: ReadRecords, line: number, place: string, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Problem) || error.errors.length === 0) throw error;
    for (const { ...fault } of error.errors) {
      const within = 'pointer' in fault ? { pointer: place + fault.pointer } : {};
      faults.push({ code: error.code, fault: { ...fault, ...within }, line });
    }
  }
}

export function accept(gathered: ReadRecords, record: ParsedRecord, line: number, { batchLimit }: BodyLimits): void {
  gathered.records.push(record);
  gathered.lines.push(line);
  if (gathered.records.length > batchLimit) throw tooManyItems(batchLimit);
}

/** A syntax fault is reported alone: behind it, the other lines may be misread. */
const UNREADABLE: readonly ProblemCode[] = ['invalid-csv', 'invalid-json'];

export function bodyOf({ records, lines, raw, faults, keys }: ReadRecords, limits: BodyLimits): Body {
  const code = UNREADABLE.find((one) => faults.some((refused) => refused.code === one));
  if (code !== undefined)
    throw faultyRequest(
      code,
      faults.flatMap((refused) => (refused.code === code ? [atLine(refused.fault, refused.line)] : [])),
    );
  if (keys > limits.bodyKeys)
    throw new Problem('content-too-large', `The body has more than ${limits.bodyKeys} keys; send it in parts`);
  return {
    records,
    lines,
    raw: raw.size === 0 ? NO_RAW_VALUES : raw,
    isArray: true,
    faults: faults.map(({ fault }) => fault),
  };
}
