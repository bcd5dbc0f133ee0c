/** Decodes a query string into keys, split at brackets, and values. Does not check names. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { FieldType } from '../field-types/field-type.ts';
import type { JsonValue } from '../json/json.ts';
import type { Field } from '../model/model.ts';
import { shortened } from '../names.ts';
import { attempted, type Fault, MAX_ERRORS } from '../problem.ts';

/** The value of a parameter. `read` and `shown`: of a condition that is in no URL, how it is read, and named in messages. */
export interface Operand {
  readonly value: string;
  readonly read?: (type: FieldType, field: Field | undefined) => JsonValue | undefined;
  readonly shown?: string;
}

export interface Parameter extends Operand {
  readonly key: string;
  /** `['limit', '0']` for `_cnd[limit][0]`; undefined for other keys. */
  readonly steps: readonly string[] | undefined;
}

/** How a client writes a condition, for messages. */
export type WriteCondition = (steps: readonly string[], value?: string) => string;

export const inUrl: WriteCondition = (steps, value) =>
  `_cnd[${steps.join('][')}]${value === undefined ? '' : `=${value}`}`;

export interface Parameters {
  readonly all: readonly Parameter[];
  readonly faults: readonly Fault[];
  /** Default: `inUrl`. */
  readonly written?: WriteCondition;
  /** The query string without paging, for links to other pages. */
  readonly shared?: string;
}

const PREFIX = '_cnd[';
const BRACKETS = /^_cnd(?:\[[^[\]]*\])+$/;

export function parseParameters(search: string): Parameters {
  const all: Parameter[] = [];
  const faults: Fault[] = [];
  for (const piece of unpacked(search).split('&')) {
    if (piece === '') continue;
    const [name = '', ...rest] = piece.split('=');
    const key = decode(name);
    const value = decode(rest.join('='));
    if (key === undefined || value === undefined) faults.push(undecodable(key ?? name, piece));
    else all.push({ key, steps: BRACKETS.test(key) ? key.slice(PREFIX.length, -1).split('][') : undefined, value });
    if (faults.length === MAX_ERRORS) break;
  }
  return { all, faults, shared: sharedByPages(all) };
}

/** undefined for malformed percent-encoding, invalid UTF-8, and U+0000, which is never stored. */
function decode(text: string): string | undefined {
  // curl sends UTF-8 unencoded; Node turns each byte into a character.
  const encoded = text
    .replaceAll('+', ' ')
    .replace(/[\u0080-\u00ff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  const decoded = attempted(() => decodeURIComponent(encoded));
  return decoded?.includes('\0') || !decoded?.isWellFormed() ? undefined : decoded;
}

const undecodable = (parameter: string, piece: string): Fault => ({
  parameter,
  code: 'malformed',
  message: `"${piece.slice(0, MAX_QUOTED)}" cannot be decoded: two hexadecimal digits must follow each %, and the bytes must be UTF-8 without U+0000`,
});

/** Encodes anew, since raw parameters could break the Link header. */
const sharedByPages = (all: readonly Parameter[]): string =>
  all
    .filter(({ key, steps }) => steps?.[0] !== 'limit' && key !== 'after' && key !== 'before')
    .map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}&`)
    .join('');

// Links repeat the query string in a header, which proxies and clients limit to a few kilobytes: long ones are compressed.

const MAX_PLAIN_LENGTH = 500;
const MAX_UNPACKED_LENGTH = 64 * 1024;
const PACKED = /^(?:\$|%24)query=(?<text>[\w-]+)&?/;

export const packed = (search: string): string =>
  search.length > MAX_PLAIN_LENGTH
    ? `$query=${deflateRawSync(search).toString('base64url')}${search.endsWith('&') ? '&' : ''}`
    : search;

export function unpacked(search: string): string {
  const [start, text] = PACKED.exec(search) ?? [];
  if (start === undefined || text === undefined) return search;
  const options = { maxOutputLength: MAX_UNPACKED_LENGTH };
  const bytes = attempted(() => inflateRawSync(Buffer.from(text, 'base64url'), options));
  return bytes === undefined ? search : bytes.toString() + search.slice(start.length);
}

/** Returns undefined, so that callers can return its result. `suggest`: ends the message. */
export type Report = (code: string, message: string, suggest?: () => string) => undefined;

export const reportOn =
  (faults: Fault[], parameter: string): Report =>
  (code, message, suggest) => {
    // Suggestions are expensive: skips them for faults that the response omits.
    const suggestion = suggest && faults.length < MAX_ERRORS ? suggest() : '';
    faults.push({ parameter, code, message: message + suggestion });
    return undefined;
  };

const MAX_QUOTED = 60;

export const quote = (text: string): string => JSON.stringify(shortened(text, MAX_QUOTED));

export const didYouMeanHint = (hint: string | undefined): string =>
  hint === undefined ? '' : `; did you mean "${shortened(hint)}"?`;

// Arrays: repeated keys, `[]` suffixes, indices in any order, or commas if items have none.

interface WireArray {
  readonly form: 'plain' | 'brackets' | 'indices';
  readonly items: ReadonlyMap<number, readonly Parameter[]>;
}

const INDEX = /^(?:0|[1-9]\d{0,5})$/;

function formOf(step: string | undefined): WireArray['form'] {
  if (step === '') return 'brackets';
  return step !== undefined && INDEX.test(step) ? 'indices' : 'plain';
}

/** Reads an array whose items are at step `at` of the keys. */
export function wireArray(parameters: readonly Parameter[], at: number, report: Report): WireArray | undefined {
  const [form = 'plain', ...others] = new Set(parameters.map(({ steps = [] }) => formOf(steps[at])));
  if (others.length > 0)
    return report('mixed-forms', 'Write all items in the same way: [0], [1] … in each key, or [] in each, or neither');
  if (form === 'plain') return { form, items: new Map([[0, parameters]]) };
  if (form === 'brackets') return { form, items: new Map(parameters.map((parameter, index) => [index, [parameter]])) };
  const items = Map.groupBy(parameters, ({ steps = [] }) => Number(steps[at]));
  return { form, items: new Map([...items].toSorted(([a], [b]) => a - b)) };
}

/** Reads an array of strings: the parameter of each item by its index. `joined`: whether commas separate items. */
export function textArray(parameters: readonly Parameter[], at: number, report: Report, joined = true) {
  const array = wireArray(parameters, at, report);
  if (!array) return undefined;
  const { form, items } = array;
  const other = parameters.find(({ steps = [] }) => steps.length > (form === 'plain' ? at : at + 1));
  if (other)
    return report(
      'malformed-array',
      `${quote(other.key)} is not an item of a list. Repeat the key, or append [] to each, or [0], [1] …`,
    );
  const [twice] = form === 'indices' ? ([...items.values()].find((same) => same.length > 1) ?? []) : [];
  if (twice) return report('repeated', `${quote(twice.key)} is given twice`);
  if (form === 'indices')
    return new Map([...items].flatMap(([index, same]) => same.map((one) => [index, one] as const)));
  const texts = joined
    ? parameters.flatMap((one) => one.value.split(',').map((value) => ({ ...one, value })))
    : parameters;
  return new Map(texts.entries());
}
