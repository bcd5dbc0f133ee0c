/** The records of a body, from its JSON text. They are not validated yet. */
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type RawValues, invalidJson, type KeptMembers, kindOf, readJson, type TextLimits } from '../json/tokenizer.ts';
import { memoized } from '../memo.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import type { RecordType } from '../model/model.ts';
import { type Fault, faultyRequest, type Problem, reasonOf } from '../problem.ts';
import type { BodyShape } from './table.ts';

export interface ParsedRecord {
  readonly body: JsonObject;
  readonly pointer: string;
  /** The value of an item of an array under ITEM_TAG. */
  readonly tag: JsonValue | undefined;
}

export interface Body {
  readonly records: readonly ParsedRecord[];
  readonly isArray: boolean;
  readonly raw: RawValues;
  /** Faults so far; the rest is still checked. An item that is not a record is one without keys. */
  readonly faults: readonly Fault[];
  /** Of records on lines: the number of the line of each, from 1. */
  readonly lines?: readonly number[];
}

export const NO_BODY: Body = Object.freeze({ records: [], isArray: false, raw: new Map(), faults: [] });

export interface BodyLimits extends TextLimits {
  /** Records of an array that is written at once. */
  readonly batchLimit: number;
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
const TOO_LARGE = rawJSON('1e999');

export function textOf(value: unknown): string {
  try {
    // JSON.parse makes Infinity of a number that is too large.
    return (
      JSON.stringify(value, (_, inner: unknown) => (inner === Infinity || inner === -Infinity ? TOO_LARGE : inner)) ??
      'null'
    );
  } catch (error) {
    if (error instanceof RangeError) throw invalidJson('The body is nested too deep');
    throw invalidJson(`The body cannot be written as JSON: ${reasonOf(error)}`);
  }
}

export const parseJson = (
  text: string,
  type: RecordType,
  limits: TextLimits,
  what?: string,
): ReturnType<typeof readJson> =>
  readJson(text, { limits, kept: keptMembers(type), ...(what === undefined ? {} : { what }) });

/** Reads a JSON text as a body of this shape. */
export function readBody(text: string, shape: BodyShape, type: RecordType, limits: BodyLimits): Body {
  const { value, raw, faults } = parseJson(text, type, limits);
  if (Array.isArray(value) && shape !== 'record') {
    const { records, faults: strange } = itemsOf(value, limits.batchLimit);
    return { records, isArray: true, raw, faults: [...strange, ...faults] };
  }
  if (isObject(value) && shape !== 'records')
    return { records: [{ body: value, pointer: '', tag: undefined }], isArray: false, raw, faults };
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

function itemsOf(values: readonly JsonValue[], most: number): Pick<Body, 'records' | 'faults'> {
  if (values.length > most) throw tooManyItems(most, values.length);
  const faults: Fault[] = [];
  const records = values.map((value, index): ParsedRecord => {
    const pointer = `/${index}`;
    if (isObject(value)) return itemOf(value, pointer);
    faults.push({ pointer, code: 'type', message: `Item ${index} must be a JSON object, not ${kindOf(value)}` });
    return { body: {}, pointer, tag: undefined };
  });
  return { records, faults };
}

export function itemOf(value: JsonObject, pointer: string): ParsedRecord {
  if (!Object.hasOwn(value, ITEM_TAG)) return { body: value, pointer, tag: undefined };
  const tag = value[ITEM_TAG];
  // The object itself is kept: its raw texts are found by it.
  Reflect.deleteProperty(value, ITEM_TAG);
  return { body: value, pointer, tag };
}

/** `count` is undefined for lines: those that are too many are not read. */
export function tooManyItems(most: number, count?: number): Problem {
  const found = count === undefined ? `The body has more than ${most} records` : `The array has ${count} records`;
  const message = `${found}; at most ${most} are written at once. Send it in parts`;
  return faultyRequest('batch-too-large', [{ pointer: '', code: 'batch-too-large', message }]);
}

// Values that are stored as they are written: those of fields that keep text, and unknown keys of open types.

/** undefined if the bodies of the type hold none, themselves or in nested records. */
const keptMembers = memoized((type: RecordType): KeptMembers | undefined =>
  mayKeep(type) ? membersOf(type) : undefined,
);

const membersOf = memoized((type: RecordType): KeptMembers => ({
  of: (key) => {
    const relation = type.relations.get(key);
    return relation ? membersOf(relation.target) : keepsText(type, key) ? 'text' : undefined;
  },
}));

function mayKeep(root: RecordType): boolean {
  const types = new Set([root]);
  for (const { open, fields, relations } of types) {
    if (open || [...fields.values()].some((field) => field.type.keepsText)) return true;
    for (const { target } of relations.values()) types.add(target);
  }
  return false;
}

function keepsText({ fields, open, identifier }: RecordType, key: string): boolean {
  const field = fields.get(key);
  if (field) return field.type.keepsText === true;
  return open && key !== ITEM_TAG && key !== '__proto__' && !(identifier.inRecord && key === identifier.name);
}
