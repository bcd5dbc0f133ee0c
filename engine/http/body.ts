/** From bytes to an object that may be validated: JSON in UTF-8, each key once, not too deep, clean strings. */
import { isObject, type JsonObject } from '../json.ts';
import { faultyRequest, Problem } from '../problem.ts';
import { type BodyLimits, refuseTooMuch } from './body-limits.ts';
import type { Content } from './content.ts';
import { inspect } from './inspect.ts';
import { textFault } from './json-fault.ts';
import { stringEnd } from './json-string.ts';

export function parseBody(content: Content, limits: BodyLimits): JsonObject {
  return 'parsed' in content ? inspected(content.parsed, true, limits).value : parseText(decode(content), limits);
}

function parseText(text: string, limits: BodyLimits): JsonObject {
  const parsed = parse(text, limits);
  // Only an escape can bring a lone surrogate or U+0000 into a string: neither is UTF-8, or JSON, as it stands.
  const { value, keys } = inspected(parsed, text.includes('\\u'), limits);
  if (keys !== countKeys(text)) throw textProblem(text, limits);
  return value;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  if (bytes.length === 0) throw jsonProblem('The body is empty; expected a JSON object');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw jsonProblem('The body is not valid UTF-8');
  }
}

function parse(text: string, limits: BodyLimits): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw textProblem(text, limits);
  }
}

function inspected(
  parsed: unknown,
  checkStrings: boolean,
  limits: BodyLimits,
): { readonly value: JsonObject; readonly keys: number } {
  const { faults, keys, items, tooDeep } = inspect(parsed, checkStrings, limits.bodyDepth);
  if (tooDeep) throw jsonProblem(`The body is nested deeper than ${limits.bodyDepth} levels`);
  refuseTooMuch({ bodyKeys: keys, bodyItems: items }, limits);
  if (faults.length > 0) throw faultyRequest('invalid-body', faults);
  if (isObject(parsed)) return { value: parsed, keys };
  const message = `The body must be a JSON object, not ${kindOf(parsed)}`;
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;

const QUOTE = 0x22;
const COLON = 0x3a;

/** How many keys a valid JSON text names: the colons outside of strings. JSON.parse keeps one of two equal keys. */
function countKeys(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at);
    else if (code === COLON) count += 1;
  }
  return count;
}

function textProblem(text: string, { bodyDepth }: BodyLimits): Problem {
  const fault = textFault(text, bodyDepth);
  return fault === undefined
    ? jsonProblem('The body is not valid JSON')
    : jsonProblem(`The body is not valid JSON: ${fault.message}`, fault.pointer);
}

const jsonProblem = (message: string, pointer = ''): Problem =>
  new Problem('invalid-json', message, { errors: [{ pointer, code: 'invalid-json', message }] });
