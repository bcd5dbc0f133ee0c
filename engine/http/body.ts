/** From bytes to the records of a body, which may then be validated. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import type { RecordType } from '../model/model.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import type { RawValues } from '../json/texts.ts';
import { decode, invalidJson, kindOf, readJson, type TextLimits } from '../json/tokenizer.ts';
import type { Content } from './content.ts';
import { keptMembers } from './kept-members.ts';

/** A record in a body. */
export interface ParsedRecord {
  readonly body: JsonObject;
  /** Where it stands in the body. */
  readonly pointer: string;
  /** What an item of an array holds under ITEM_TAG. */
  readonly tag: JsonValue | undefined;
}

export interface Body {
  readonly records: readonly ParsedRecord[];
  readonly isArray: boolean;
  readonly raw: RawValues;
  /** What is wrong already, while the rest is still looked at. An item that is not a record is one without keys. */
  readonly faults: readonly Fault[];
  /** Of records that stand on lines: the number of the line of each, from 1. */
  readonly lines?: readonly number[];
}

export interface BodyLimits extends TextLimits {
  /** Records of an array that is written at once. */
  readonly batchLimit: number;
}

/** What a body may be. */
type BodyShape = 'record' | 'records' | 'either';

export function bodyParser(type: RecordType, limits: BodyLimits, shape: BodyShape): (content: Content) => Body {
  const parse = jsonParser(type, limits, acceptor(type, shape, limits));
  return (content) => parse('parsed' in content ? textOf(content.parsed) : decode(content));
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
const TOO_LARGE = rawJSON('1e999');

/** The text of what a body parser in front has left. */
function textOf(parsed: unknown): string {
  try {
    // JSON.parse makes Infinity of a number that is too large.
    return (
      JSON.stringify(parsed, (_, value: unknown) => (value === Infinity || value === -Infinity ? TOO_LARGE : value)) ??
      'null'
    );
  } catch {
    throw invalidJson('The body is nested too deep');
  }
}

/** Parses a JSON text that holds records. */
export function jsonParser(
  type: RecordType,
  limits: TextLimits,
  accept: (value: JsonValue) => Accepted,
  what?: string,
): (text: string) => Body & { readonly keys: number } {
  return (text) => {
    const { value, keys, raw, faults } = readJson(text, { limits, kept: keptMembers(type), ...(what && { what }) });
    const found = accept(value);
    return { ...found, raw, keys, faults: [...found.faults, ...faults] };
  };
}

const NO_FAULTS: readonly Fault[] = Object.freeze([]);

export type Accepted = Omit<Body, 'raw'>;

/** Refuses bodies of another shape. */
function acceptor(type: RecordType, shape: BodyShape, { batchLimit }: BodyLimits): (value: JsonValue) => Accepted {
  const { name } = type.identifier;
  const message = {
    record: 'The body must be a JSON object',
    records: `The body must be an array of records, each with its "${name}"`,
    either: 'The body must be a JSON object, or an array of them',
  }[shape];
  const cure = ` (one record is changed by PATCH of its own path, with its ${name} at the end)`;
  return (value) => {
    if (Array.isArray(value) && shape !== 'record') return itemsOf(value, batchLimit);
    if (isObject(value) && shape !== 'records')
      return { records: [{ body: value, pointer: '', tag: undefined }], isArray: false, faults: NO_FAULTS };
    const found = `${message}, not ${kindOf(value)}${isObject(value) ? cure : ''}`;
    throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message: found }]);
  };
}

function itemsOf(values: readonly JsonValue[], most: number): Accepted {
  if (values.length > most) throw tooManyItems(most, values.length);
  const faults: Fault[] = [];
  const records = values.map((value, index): ParsedRecord => {
    const place = `/${index}`;
    if (isObject(value)) return itemOf(value, place);
    faults.push({ pointer: place, code: 'type', message: `Item ${index} must be a JSON object, not ${kindOf(value)}` });
    return { body: {}, pointer: place, tag: undefined };
  });
  return { records, isArray: true, faults };
}

export function itemOf(value: JsonObject, place: string): ParsedRecord {
  if (!Object.hasOwn(value, ITEM_TAG)) return { body: value, pointer: place, tag: undefined };
  const tag = value[ITEM_TAG];
  // The object itself: its texts are found by it.
  Reflect.deleteProperty(value, ITEM_TAG);
  return { body: value, pointer: place, tag };
}

/** `count` is undefined for lines: those that are too many are not read. */
export function tooManyItems(most: number, count?: number): Problem {
  const found = count === undefined ? `The body has more than ${most} records` : `The array has ${count} records`;
  const message = `${found}; at most ${most} are written at once. Send it in parts`;
  return new Problem('batch-too-large', message, { errors: [{ pointer: '', code: 'batch-too-large', message }] });
}
