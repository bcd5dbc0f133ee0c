/** The texts of values in a body that are stored as they were written. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import type { RecordType } from '../model/model.ts';
import {
  NO_RAW_VALUES,
  type RawMember,
  type RawReading,
  type RawValues,
  readingOf,
  readItems,
  readMembers,
  skipValue,
  takeValue,
} from '../raw-json.ts';

interface RawBody {
  readonly values: RawValues;
  /** How many keys the text names. */
  readonly keys: number;
}

interface Scan extends RawReading {
  readonly values: Map<JsonObject, Map<string, RawMember>>;
}

/** `recordAt`: the value of a record; of one that is no item of an array, its index is 0. */
type ReadRaw = (text: string, isArray: boolean, recordAt: (index: number) => JsonObject | undefined) => RawBody;

/** Reads the texts in a body of the type, which is valid JSON. Types that cannot hold such values are skipped. */
export function rawReader(type: RecordType): ReadRaw {
  let keeps: boolean | undefined;
  return (text, isArray, recordAt) => {
    keeps ??= mayKeep(type);
    const reading = readingOf(text);
    if (!keeps) {
      skipValue(reading);
      return { values: NO_RAW_VALUES, keys: reading.keys };
    }
    const scan: Scan = Object.assign(reading, { values: new Map() });
    const read = (index: number): void => readRelated(scan, type, recordAt(index));
    if (isArray) readItems(scan, read);
    else read(0);
    return scan;
  };
}

/** Whether a body of the type can hold such a value, itself or in nested records. */
function mayKeep(root: RecordType): boolean {
  const types = new Set([root]);
  for (const { open, fields, relations } of types) {
    if (open || [...fields.values()].some((field) => field.type.keepsText)) return true;
    for (const { target } of relations.values()) types.add(target);
  }
  return false;
}

function readRecord(scan: Scan, type: RecordType, record: JsonObject): void {
  readMembers(scan, (key, name) => {
    const relation = type.relations.get(key);
    if (relation) readRelated(scan, relation.target, record[key]);
    else if (keepsText(type, key) && key !== ITEM_TAG) keep(scan, record, key, name);
    else skipValue(scan);
  });
}

/** A field that keeps text, or a key of an open type that is not a field. */
function keepsText(type: RecordType, key: string): boolean {
  const field = type.fields.get(key);
  if (field) return field.type.keepsText === true;
  return type.open && !(type.identifier.inRecord && key === type.identifier.name);
}

function keep(scan: Scan, record: JsonObject, key: string, name: string): void {
  const members = scan.values.get(record) ?? new Map<string, RawMember>();
  scan.values.set(record, members);
  members.set(key, { name, text: takeValue(scan) });
}

/** Any value other than a record or a set of records is refused by the validator. */
function readRelated(scan: Scan, type: RecordType, value: JsonValue | undefined): void {
  const first = scan.text[scan.at];
  if (first === '{' && isObject(value)) readRecord(scan, type, value);
  else if (first === '[' && Array.isArray(value)) readItems(scan, (index) => readRelated(scan, type, value[index]));
  else skipValue(scan);
}

/** Whether the value at the steps of a pointer is kept as text. */
export function isKept(type: RecordType, [key = '', ...rest]: readonly string[]): boolean {
  const relation = type.relations.get(key);
  if (!relation) return keepsText(type, key);
  return isKept(relation.target, relation.toMany ? rest.slice(1) : rest);
}
