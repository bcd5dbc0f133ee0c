/** Bodies before validation: the records in JSON, and how it is read. */
import type { ItemShape } from '../field-types/field-type.ts';
import { escapeStep, isObject, type JsonObject, type JsonValue, kindOf, invalidJson } from '../json/json.ts';
import {
  type JsonPath,
  type KeptMembers,
  type RawMembers,
  type RawValues,
  readJson,
  type TextLimits,
} from '../json/tokenizer.ts';
import { memoized } from '../memo.ts';
import { type BodyRecord, ITEM_TAG, type RecordType, withRelated } from '../model/model.ts';
import { shortened } from '../names.ts';
import { type Fault, faultyRequest, type Problem, reasonOf } from '../problem.ts';
import type { BodyShape } from './table.ts';

export interface ParsedRecord extends Omit<BodyRecord, 'identifier'> {
  /** The value of ITEM_TAG, allowed only in items of an array. */
  readonly tag: JsonValue | undefined;
}

export interface Body {
  readonly records: readonly ParsedRecord[];
  readonly isArray: boolean;
  readonly raw: RawValues;
  /** Faults of the JSON. Items that are no objects become `{}`, so that the others can be checked. */
  readonly faults: readonly Fault[];
  /** Adds lines and columns to faults, if the body has one record per line. */
  readonly reworded?: (fault: Fault) => Fault;
}

export const NO_BODY: Body = Object.freeze({ records: [], isArray: false, raw: new Map(), faults: [] });

export interface BodyLimits extends TextLimits {
  readonly batchLimit: number;
}

/** Refuses what JSON.stringify would turn into null or `{}`, or leave out; keys other than tags may be undefined. */
export function textOf(value: unknown): string {
  const faults: Fault[] = [];
  const pointers = new Map<unknown, string>();
  function checked(this: Readonly<Record<string, unknown>>, key: string, inner: unknown): unknown {
    const outer = pointers.get(this);
    const pointer = outer === undefined ? '' : `${outer}/${escapeStep(key)}`;
    const kind =
      inner === undefined && !Array.isArray(this) && key !== ITEM_TAG ? undefined : unsupportedKind(this[key], inner);
    if (kind === undefined) {
      if (typeof inner === 'object') pointers.set(inner, pointer);
      return inner;
    }
    const name = outer === undefined ? 'The body' : Array.isArray(this) ? `Item ${key}` : `"${shortened(key)}"`;
    // JSON.parse turns too large numbers into Infinity.
    const fault = kind.endsWith('Infinity')
      ? { code: 'number-range', message: 'The number is too large' }
      : { code: 'type', message: `${name} must be a value that JSON has, not ${kind}` };
    faults.push({ pointer, ...fault });
    return null;
  }
  const text = stringified(value, checked);
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  return text;
}

/** The kind of a value that JSON lacks, else undefined. `written`: the result of its toJSON. */
function unsupportedKind(value: unknown, written: unknown): string | undefined {
  if (typeof written === 'number') return Number.isFinite(written) ? undefined : String(written);
  if (typeof written === 'string' || typeof written === 'boolean') return undefined;
  if (written === null) return value instanceof Date ? 'an invalid date' : undefined;
  if (typeof written !== 'object') return written === undefined ? 'undefined' : `a ${typeof written}`;
  const tag = Object.prototype.toString.call(written).slice('[object '.length, -1);
  return Array.isArray(written) || tag === 'Object' ? undefined : `an instance of ${tag}`;
}

function stringified(value: unknown, replacer: (key: string, value: unknown) => unknown): string {
  try {
    return JSON.stringify(value, replacer) ?? 'null';
  } catch (error) {
    if (error instanceof RangeError) throw invalidJson('The body is nested too deep');
    throw invalidJson(`The body cannot be written as JSON: ${reasonOf(error)}`);
  }
}

/** The limits of a batch: each of its records may have all keys of its type, and link a record at each relation. */
export const batchLimits = ({ fields, relations }: RecordType, limits: BodyLimits): BodyLimits => ({
  ...limits,
  bodyKeys: limits.bodyKeys + limits.batchLimit * (fields.size + 2 * relations.size + OWN_KEYS),
});

/** The identifier and ITEM_TAG. */
const OWN_KEYS = 2;

const ARRAY = /^\s*\[/;

export function readBody(text: string, shape: BodyShape, type: RecordType, limits: BodyLimits): Body {
  const own = shape !== 'record' && ARRAY.test(text) ? batchLimits(type, limits) : limits;
  const { value, raw, faults } = readJson(text, { limits: own, ...bodyReading(type) });
  if (isObject(value) && shape !== 'records')
    return { records: [{ body: value, pointer: '', tag: undefined }], isArray: false, raw, faults };
  if (!Array.isArray(value) || shape === 'record') {
    const { name } = type.identifier;
    const expected = {
      record: 'The body must be a JSON object',
      records: `The body must be an array of records, each with its "${name}"`,
      either: 'The body must be a JSON object, or an array of them',
    }[shape];
    const cure = ` (one record is changed by PATCH of its own path, with its ${name} at the end)`;
    const message = `${expected}, not ${kindOf(value)}${isObject(value) ? cure : ''}`;
    throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
  }
  if (value.length > limits.batchLimit) throw tooManyItems(limits.batchLimit, `The array has ${value.length} records`);
  const strange: Fault[] = [];
  const records = value.map((item: JsonValue, index): ParsedRecord => {
    const pointer = `/${index}`;
    if (isObject(item)) return itemOf(item, pointer, raw);
    strange.push({ pointer, code: 'type', message: `Item ${index} must be a JSON object, not ${kindOf(item)}` });
    return { body: {}, pointer, tag: undefined };
  });
  return { records, isArray: true, raw, faults: [...strange, ...faults] };
}

/** Takes the tag out of an item. `raw`: the raw values of objects, which this one keeps. */
export function itemOf(value: JsonObject, pointer: string, raw: Map<JsonObject, RawMembers>): ParsedRecord {
  if (!Object.hasOwn(value, ITEM_TAG)) return { body: value, pointer, tag: undefined };
  const { [ITEM_TAG]: tag, ...body } = value;
  const members = raw.get(value);
  if (members) raw.set(body, members);
  return { body, pointer, tag };
}

export function tooManyItems(most: number, cause: string): Problem {
  const message = `${cause}; at most ${most} are written at once. Send it in parts`;
  return faultyRequest('batch-too-large', [{ pointer: '', code: 'batch-too-large', message }]);
}

/** Which values of a body are stored as raw JSON, undefined if none in the type and nested types, and which are integers. */
export const bodyReading = memoized((type: RecordType) => ({
  kept: mayKeep(type) ? membersOf(type) : undefined,
  takesInteger: (path: JsonPath) => takesInteger(type, path),
}));

function takesInteger(root: RecordType, path: JsonPath): boolean {
  const names = path.filter((step) => typeof step === 'string');
  const key = names.pop() ?? '';
  const type = names.reduce<RecordType | undefined>((at, name) => at?.relations.get(name)?.target, root);
  if (type?.identifier.inRecord && key === type.identifier.name) return true;
  let value: ItemShape | undefined = type?.fields.get(key);
  for (let indexes = path.length - 1 - path.lastIndexOf(key); indexes > 0; indexes -= 1)
    value = value?.type.item?.(value);
  return value?.type.schema(value)['type'] === 'integer';
}

const membersOf = memoized((type: RecordType): KeptMembers => ({
  of: (key) => {
    const relation = type.relations.get(key);
    return relation ? membersOf(relation.target) : keepsText(type, key) ? 'text' : undefined;
  },
}));

const mayKeep = (root: RecordType): boolean =>
  [...withRelated(root)].some(({ open, fields }) => open || [...fields.values()].some(({ type }) => type.keepsText));

function keepsText({ fields, open, identifier }: RecordType, key: string): boolean {
  const field = fields.get(key);
  if (field) return field.type.keepsText === true;
  return open && key !== ITEM_TAG && key !== '__proto__' && !(identifier.inRecord && key === identifier.name);
}
