/** A file of records -> requests that create or change them, each as large as the service takes. */
import { isValueList, isValueObject, parseJson, textOf, type ValueObject } from '../data/json.ts';
import { can, type StudioModel, type TypeInfo } from '../data/model.ts';
import { type Fault, Problem, problemOf } from '../data/problem.ts';
import { openResponse } from '../data/request.ts';
import { type FileRecord, recordsOf } from './csv.ts';
import { type Format, FORMATS } from './export.ts';

/** Records that are written in one transaction. */
export interface Batch {
  /** The line that names the columns, if there is one. */
  readonly head: string;
  readonly text: string;
  readonly records: readonly FileRecord[];
  /** Sent again with the same key, it is written once. */
  readonly key: string;
}

export interface ImportFile {
  readonly name: string;
  readonly format: Format;
  readonly batches: readonly Batch[];
  readonly count: number;
}

export const formatOf = (name: string): Format => (/\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv');

/** Throws a TypeError if the bytes are not UTF-8. */
export function readFile(name: string, bytes: ArrayBuffer, { limits }: StudioModel): ImportFile {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  const format = formatOf(name);
  const all = recordsOf(text, format === 'csv');
  const head = format === 'csv' ? `${all[0]?.text ?? ''}\n` : '';
  const records = format === 'csv' ? all.slice(1) : all;
  const most = Math.min(limits.batchLimit, limits.bodyItems, limits.writeRows);
  const batches = batched(records, most, limits.bodyLimit - bytesOf(head));
  return {
    name,
    format,
    count: records.length,
    batches: batches.map((some) => ({
      head,
      text: head + some.map((record) => record.text).join('\n'),
      records: some,
      key: keyFor(),
    })),
  };
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

function batched(records: readonly FileRecord[], most: number, bytes: number): readonly (readonly FileRecord[])[] {
  const batches: FileRecord[][] = [];
  let [left, last]: [number, FileRecord[] | undefined] = [0, undefined];
  for (const record of records) {
    const size = bytesOf(record.text) + 1;
    if (last === undefined || last.length === most || size > left) {
      [left, last] = [bytes, []];
      batches.push(last);
    }
    left -= size;
    last.push(record);
  }
  return batches;
}

/** Without a secure context, `randomUUID` is not there. */
const keyFor = (): string => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-');

/** The values by which a record of the file matches a stored one: none, or those of a unique set. */
export const matchingOf = (type: TypeInfo): readonly (readonly string[])[] =>
  can(type, 'update')
    ? [...type.fields.filter(({ unique }) => unique === true).map(({ name }) => [name]), ...type.unique]
    : [];

/** A fault at a line of the file. */
export interface LineFault {
  readonly line: number;
  /** The column, or what the fault is about within it. */
  readonly place: string;
  readonly message: string;
}

export interface BatchResult {
  readonly created: number;
  readonly changed: number;
}

interface Sending {
  readonly type: TypeInfo;
  readonly format: Format;
  readonly on: readonly string[] | undefined;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
}

/** Throws a Problem if the batch was not accepted. */
export async function sendBatch(batch: Batch, { type, format, on, isDryRun, signal }: Sending): Promise<BatchResult> {
  const parameters = [
    ...(on ? [`on=${on.map(encodeURIComponent).join(',')}`] : []),
    ...(isDryRun ? ['dryRun=true'] : []),
  ];
  const headers = {
    'Content-Type': FORMATS[format].mediaType,
    Prefer: 'return=minimal',
    ...(isDryRun ? {} : { 'Idempotency-Key': batch.key }),
  };
  const target = `${type.path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
  const response = await openResponse({ method: 'POST', target, headers }, signal, batch.text);
  const text = await response.text();
  const effects = isDryRun ? parseJson(text) : null;
  const list = isValueObject(effects) ? effects['effects'] : null;
  const counted = (effect: string): number =>
    (isValueList(list) ? list : [])
      .filter((one): one is ValueObject => isValueObject(one))
      .filter((one) => one['effect'] === effect && one['type'] === type.type)
      .reduce((sum, one) => sum + Number(textOf(one['count'])), 0);
  return { created: counted('created'), changed: counted('changed') };
}

const IN_BATCH = /^\/(\d+)(?:\/(.*))?$/;

/** Undefined if the problem is not about records of the file. */
export function faultsIn(error: unknown, batch: Batch): readonly LineFault[] | undefined {
  const { status, errors } = problemOf(error);
  if (!(error instanceof Problem) || status < 400 || status >= 500 || errors.length === 0) return undefined;
  const faults = errors.map((fault) => atLine(fault, batch));
  return faults.every((fault) => fault !== undefined) ? faults : undefined;
}

function atLine({ pointer = '', message, line }: Fault, batch: Batch): LineFault | undefined {
  const [, index, place = ''] = IN_BATCH.exec(pointer) ?? [];
  const record = batch.records[Number(index ?? Number.NaN)];
  const said = message.replace(/^Line \d+: /, '');
  if (record) return { line: record.line, place, message: said };
  return line === undefined ? undefined : { line: lineIn(batch, line), place, message: said };
}

const breaksIn = (text: string): number => text.split('\n').length - 1;

/** The line of the file that is this one of what was sent. */
function lineIn({ head, records }: Batch, sent: number): number {
  let first = 1 + breaksIn(head);
  if (sent < first) return 1;
  for (const { line, text } of records) {
    const next = first + breaksIn(text) + 1;
    if (sent < next) return line + sent - first;
    first = next;
  }
  return records.at(-1)?.line ?? 1;
}
