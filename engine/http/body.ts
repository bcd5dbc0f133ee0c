/** From bytes to an object that may be validated: JSON in UTF-8, each key once, not too deep, clean strings. */
import { isObject, type JsonObject, unescapedSteps } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import { hasEscapedKey, NO_RAW_VALUES, parseValue, type RawValues, readingOf, skipValue } from '../raw-json.ts';
import { type BodyLimits, refuseTooMuch } from './body-limits.ts';
import type { Content } from './content.ts';
import { inspect } from './inspect.ts';
import { textFault } from './json-fault.ts';
import { isKept, rawReader } from './raw-values.ts';

export interface Body {
  readonly body: JsonObject;
  /** Empty where a body parser in front has left nothing but values. */
  readonly raw: RawValues;
}

export function bodyParser(type: RecordType, limits: BodyLimits): (content: Content) => Body {
  const readRaw = rawReader(type);
  const isFault = ({ code, ...fault }: Fault): boolean =>
    code !== 'number-range' || !('pointer' in fault) || !isKept(type, unescapedSteps(fault.pointer));
  return (content) => {
    if ('parsed' in content) return { body: inspected(content.parsed, true, limits).value, raw: NO_RAW_VALUES };
    const text = decode(content);
    const { value, keys } = readText(text, limits, isFault);
    const raw = readRaw(text, value);
    if (keys !== raw.keys) throw textProblem(text, limits);
    return { body: value, raw: raw.values };
  };
}

type IsFault = (fault: Fault) => boolean;

interface Inspected {
  readonly value: JsonObject;
  readonly keys: number;
}

function readText(text: string, limits: BodyLimits, isFault: IsFault, what = BODY): Inspected {
  const parsed = parse(text, limits, what);
  // Only an escape can bring a lone surrogate or U+0000 into a string: neither is UTF-8, or JSON, as it stands.
  return inspected(parsed, text.includes('\\u'), limits, isFault, what);
}

/** The object that a text holds which is not a body; `what` is what messages call it. */
export function parseText(text: string, limits: BodyLimits, isFault: IsFault, what: string): JsonObject {
  const { value, keys } = readText(text, limits, isFault, what);
  const reading = readingOf(text);
  skipValue(reading);
  if (keys !== reading.keys) throw textProblem(text, limits, what);
  return value;
}

const BODY = 'The body';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw jsonProblem('The body is empty; expected a JSON object');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw jsonProblem('The body is not valid UTF-8');
  }
}

function parse(text: string, limits: BodyLimits, what: string): unknown {
  const parsed = parseNatively(text, limits, what);
  if (!hasEscapedKey(text)) return parsed;
  if (textFault(text, limits.bodyDepth)) throw textProblem(text, limits, what);
  return parseValue(readingOf(text));
}

function parseNatively(text: string, limits: BodyLimits, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw textProblem(text, limits, what);
  }
}

function inspected(
  parsed: unknown,
  checkStrings: boolean,
  limits: BodyLimits,
  isFault: IsFault = () => true,
  what = BODY,
): Inspected {
  const { faults: found, keys, items, tooDeep } = inspect(parsed, checkStrings, limits.bodyDepth);
  if (tooDeep) throw jsonProblem(`${what} is nested deeper than ${limits.bodyDepth} levels`);
  refuseTooMuch({ bodyKeys: keys, bodyItems: items }, limits);
  const faults = found.filter(isFault);
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  if (isObject(parsed)) return { value: parsed, keys };
  const message = `${what} must be a JSON object, not ${kindOf(parsed)}`;
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;

function textProblem(text: string, { bodyDepth }: BodyLimits, what = BODY): Problem {
  const fault = textFault(text, bodyDepth);
  return fault === undefined
    ? jsonProblem(`${what} is not valid JSON`)
    : jsonProblem(`${what} is not valid JSON: ${fault.message}`, fault.pointer);
}

const jsonProblem = (message: string, pointer = ''): Problem =>
  new Problem('invalid-json', message, { errors: [{ pointer, code: 'invalid-json', message }] });
