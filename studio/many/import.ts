/** A file of records -> requests that create or change them, each as large as the service takes. */
import { randomText } from '../data/attempts.ts';
import {
  isValueList,
  isValueObject,
  parseJson,
  textOf,
  type Value,
  type ValueObject,
  writeJson,
} from '../data/json.ts';
import {
  can,
  type FieldInfo,
  firstParts,
  identifierOf,
  identifierValue,
  isIdentifier,
  nameOf,
  type RelationInfo,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from '../data/model.ts';
import { throughPaths } from '../data/list-request.ts';
import { type Fault, Problem, problemOf } from '../data/problem.ts';
import { openResponse } from '../data/request.ts';
import { limited, textOfWhere, type Where } from '../data/where.ts';
import { isWritable } from '../presentations/field-draft.ts';
import type { Member } from '../fields/member-value.tsx';
import { CellFault, type Customs, OpenCell, plainCell, valueIn } from './cells.ts';
import { inParts, readList } from './chosen.ts';
import type { Cell, Table } from './table.ts';

/** A record of the file, and the line where it stands. */
export interface FileRecord {
  readonly line: number;
  /** As JSON. */
  readonly text: string;
}

/** Records that are written in one transaction. */
export interface Batch {
  readonly text: string;
  readonly records: readonly FileRecord[];
  /** Sent again with the same key, it is written once. */
  readonly key: string;
}

/** What a column of a table can be. */
export const membersOf = ({ identifier, fields, relations }: TypeInfo): readonly Member[] => [
  ...(identifier.inRecord
    ? [{ name: identifier.name, title: identifier.title, field: identifierField(identifier) }]
    : []),
  ...fields.filter(isWritable).map((field) => ({ name: field.name, title: field.title, field })),
  ...relations
    .filter(({ kind, readOnly }) => kind === 'belongsTo' && !readOnly)
    .map((relation) => ({ name: relation.name, title: relation.title, relation })),
];

const identifierField = (identifier: TypeInfo['identifier']): FieldInfo => ({
  ...identifier,
  type: identifier.type === 'integer' ? 'integer' : 'string',
});

/** By its name or its title; undefined: it is left out. */
export function memberFor(type: TypeInfo, head: string): Member | undefined {
  const small = head.toLowerCase();
  const members = membersOf(type);
  const name = small.split('.')[0];
  return (
    members.find((one) => one.name.toLowerCase() === small || one.title.toLowerCase() === small) ??
    members.find((one) => one.relation && one.name.toLowerCase() === name)
  );
}

/** A fault at a line of the file. */
export interface LineFault {
  readonly line: number;
  /** The column, or what the fault is about within it. */
  readonly place: string;
  readonly message: string;
  /** What stands there. */
  readonly text?: string;
  readonly isOpen?: boolean;
}

export interface ReadRecords {
  readonly records: readonly FileRecord[];
  readonly values: readonly ValueObject[];
  readonly faults: readonly LineFault[];
}

interface ReadingTable extends Customs {
  readonly model: StudioModel;
  readonly type: TypeInfo;
  readonly signal: AbortSignal;
  /** Whether stored records are changed: an empty cell then empties their value. */
  readonly isChanging: boolean;
}

/** `members`: of each column. */
export async function readRecords(
  table: Table,
  members: readonly (Member | undefined)[],
  reading: ReadingTable,
): Promise<ReadRecords> {
  const { model, say, isChanging } = reading;
  const faults: LineFault[] = [];
  const found = await Promise.all(
    members.map((member, at) => member?.relation && findLabels(table, at, member.relation, reading)),
  );
  const values = table.rows.map(({ line, cells }) => {
    const record: Record<string, Value> = {};
    for (const [at, member] of members.entries()) {
      const cell = cells[at] ?? null;
      if (member === undefined) continue;
      try {
        const value = member.field
          ? valueIn(member.field, cell, reading)
          : linkIn(model, member.relation, cell, found[at], say);
        if (value !== null || isChanging) record[member.name] = value;
      } catch (fault) {
        if (!(fault instanceof CellFault)) throw fault;
        const isOpen = fault instanceof OpenCell;
        faults.push({ line, place: member.name, message: fault.message, text: plainCell(cell), isOpen });
      }
    }
    return record;
  });
  const records = values.map((record, index) => ({ line: table.rows[index]?.line ?? 0, text: writeJson(record) }));
  return { records, values, faults };
}

type Labels = ReadonlyMap<string, readonly string[]>;

const MOST = 50;

/** The identifiers of the records with these labels. */
async function findLabels(
  table: Table,
  at: number,
  { type: name, label, labelPaths }: RelationInfo,
  { model, signal }: ReadingTable,
): Promise<Labels> {
  const type = typeNamed(model, name);
  const labels = [...new Set(table.rows.map(({ cells }) => plainCell(cells[at] ?? null).trim()))].filter(Boolean);
  const found = new Map<string, string[]>();
  const [first] = labelPaths;
  if (first === undefined || !can(type, 'list')) return found;
  for (const some of inParts(labels, MOST)) {
    const where: Where = [
      ['fields', labelPaths.join(',')],
      ['include', throughPaths(labelPaths).join(',')],
      ...some.flatMap((text) => firstParts(type, text)).map((text) => [`_cnd[${first}][in]`, text] as const),
      ...limited(type.list.maxLimit),
    ];
    for (const values of await readList(`${type.path}?${textOfWhere(where)}`, signal)) {
      // By the whole label, or by its first field alone.
      for (const text of new Set([nameOf(type, values, label), textOf(values[first])]))
        found.set(text, [...(found.get(text) ?? []), identifierOf(type, values)]);
    }
  }
  return found;
}

function linkIn(
  model: StudioModel,
  relation: RelationInfo,
  cell: Cell,
  labels: Labels | undefined,
  say: Customs['say'],
): Value {
  const text = plainCell(cell).trim();
  if (text === '') return null;
  const type = typeNamed(model, relation.type);
  const ids = labels?.get(text) ?? (isIdentifier(type, text) ? [text] : []);
  const [id, other] = ids;
  if (id === undefined) throw new CellFault(say('fault.no_record', { name: text }));
  if (other !== undefined) throw new CellFault(say('fault.several_records', { name: text }));
  return { [type.identifier.name]: identifierValue(type, id) };
}

export function batchesOf(records: readonly FileRecord[], { limits }: StudioModel): readonly Batch[] {
  const most = Math.min(limits.batchLimit, limits.bodyItems, limits.writeRows);
  return batched(records, most, limits.bodyLimit).map((some) => ({
    text: some.map(({ text }) => text).join('\n'),
    records: some,
    key: randomText(),
  }));
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

/** The values by which a record of the file matches a stored one: none, or those of a unique set. */
export const matchingOf = (type: TypeInfo): readonly (readonly string[])[] =>
  can(type, 'update')
    ? [
        ...(type.identifier.inRecord ? [[type.identifier.name]] : []),
        ...type.fields.filter(({ unique }) => unique === true).map(({ name }) => [name]),
        ...type.unique,
      ]
    : [];

export interface BatchResult {
  readonly created: number;
  readonly changed: number;
}

interface Sending {
  readonly type: TypeInfo;
  readonly on: readonly string[] | undefined;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
}

/** Throws a Problem if the batch was not accepted. */
export async function sendBatch(batch: Batch, { type, on, isDryRun, signal }: Sending): Promise<BatchResult> {
  const parameters = [
    ...(on ? [`on=${on.map(encodeURIComponent).join(',')}`] : []),
    ...(isDryRun ? ['dryRun=true'] : []),
  ];
  const headers = {
    'Content-Type': 'application/x-ndjson',
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

/** A value of a stored record, and what the file makes of it. */
export interface CellChange {
  readonly name: string;
  readonly member: Member;
  readonly was: Value | undefined;
  readonly will: Value;
}

const MOST_COMPARED = 200;

/** What changes in the first of the records that are matched by one field. */
export async function changesOf(
  { model, type, signal }: Pick<ReadingTable, 'model' | 'type' | 'signal'>,
  on: string,
  records: readonly ValueObject[],
): Promise<readonly CellChange[]> {
  const members = membersOf(type);
  const changes: CellChange[] = [];
  for (const some of inParts(records.slice(0, MOST_COMPARED), MOST)) {
    const where: Where = [
      ['include', members.flatMap(({ relation }) => relation?.name ?? []).join(',')],
      ...some.map((record): [string, string] => [`_cnd[${on}][in]`, textOf(record[on])]),
      ...limited(MOST),
    ];
    const found = await readList(`${type.path}?${textOfWhere(where)}`, signal);
    const stored = new Map(found.map((one) => [textOf(one[on]), one]));
    for (const record of some) {
      const before = stored.get(textOf(record[on]));
      if (before === undefined) continue;
      for (const member of members) {
        const [was, will] = [before[member.name], record[member.name]];
        if (will === undefined || isAlike(model, member, was, will)) continue;
        changes.push({ name: textOf(record[on]), member, was, will });
      }
    }
  }
  return changes;
}

/** Whether it is the same value, however it is written. */
export function isAlike(model: StudioModel, { relation, field }: Member, was: Value | undefined, will: Value): boolean {
  if (relation) {
    const [one, other] = [was, will].map((value) =>
      isValueObject(value) ? identifierOf(typeNamed(model, relation.type), value) : '',
    );
    return one === other;
  }
  if (field?.type === 'decimal' && typeof was === 'string' && typeof will === 'string')
    return Number(was) === Number(will);
  if (field?.type === 'timestamp') return Date.parse(textOf(was)) === Date.parse(textOf(will));
  return writeJson(was ?? null) === writeJson(will);
}

const IN_BATCH = /^\/(\d+)(?:\/(.*))?$/;

/** Undefined if the problem is not about records of the file. */
export function faultsIn(error: unknown, batch: Batch): readonly LineFault[] | undefined {
  const { status, errors } = problemOf(error);
  if (!(error instanceof Problem) || status < 400 || status >= 500 || errors.length === 0) return undefined;
  const faults = errors.map((fault) => atLine(fault, batch));
  return faults.every((fault) => fault !== undefined) ? faults : undefined;
}

function atLine({ pointer = '', message, line }: Fault, { records }: Batch): LineFault | undefined {
  const [, index, place = ''] = IN_BATCH.exec(pointer) ?? [];
  const record = records[index === undefined ? (line ?? 0) - 1 : Number(index)];
  return record && { line: record.line, place, message: message.replace(/^Line \d+: /, '') };
}
