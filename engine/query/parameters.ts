/** Decodes a query string into keys, split at brackets, and values. Names are not checked here. */
import { type Fault, MAX_ERRORS } from '../problem.ts';
import type { Cursor } from './list-query.ts';
import { shortened } from '../names.ts';

export interface Parameter {
  /** The key as the client wrote it, decoded. */
  readonly key: string;
  /** `['limit', '0']` for `_cnd[limit][0]`; undefined for keys without this form. */
  readonly steps: readonly string[] | undefined;
  readonly value: string;
}

export interface Parameters {
  /** In the order of the query string. */
  readonly all: readonly Parameter[];
  /** Pieces that could not be decoded. */
  readonly faults: readonly Fault[];
}

/** Parsing stops after this many undecodable pieces. */
const MAX_MALFORMED = 100;
const NONE: Parameters = Object.freeze({ all: Object.freeze([]), faults: Object.freeze([]) });

/** `search` is the raw text after the `?`. */
export function parseParameters(search: string): Parameters {
  if (search === '') return NONE;
  const all: Parameter[] = [];
  const faults: Fault[] = [];
  for (const piece of search.split('&')) {
    if (piece === '') continue;
    const end = piece.indexOf('=');
    const key = decode(end < 0 ? piece : piece.slice(0, end));
    const value = end < 0 ? '' : decode(piece.slice(end + 1));
    if (key === undefined || value === undefined) faults.push(undecodable(piece, key));
    else all.push({ key, steps: bracketSteps(key), value });
    if (faults.length === MAX_MALFORMED) break;
  }
  return { all, faults };
}

const PREFIX = '_cnd[';
const BRACKETS = /^_cnd(?:\[[^[\]]*\])+$/;

function bracketSteps(key: string): readonly string[] | undefined {
  return key.startsWith(PREFIX) && BRACKETS.test(key) ? key.slice(PREFIX.length, -1).split('][') : undefined;
}

/** Characters that the URL standard percent-encodes, and those that encode others. */
const NEEDS_DECODING = /[^!-$&-*,-~]/;

/** undefined for a malformed percent sign, bytes that are no UTF-8, and U+0000, which no stored text has. */
function decode(text: string): string | undefined {
  if (!NEEDS_DECODING.test(text)) return text;
  try {
    const decoded = decodeURIComponent(rawBytes(text.replaceAll('+', ' ')));
    return decoded.includes('\0') || !decoded.isWellFormed() ? undefined : decoded;
  } catch {
    return undefined;
  }
}

/** curl sends `é` as it stands, and Node hands its two bytes on as two characters: they are UTF-8 like encoded ones. */
function rawBytes(text: string): string {
  return text.replace(/[\u0080-\u00ff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
}

function undecodable(piece: string, key: string | undefined): Fault {
  const parameter = key ?? piece.split('=', 1)[0] ?? piece;
  const message = `"${piece.slice(0, 60)}" cannot be decoded: two hexadecimal digits must follow each %, and the bytes must be UTF-8 without U+0000`;
  return { parameter, code: 'malformed', message };
}

// The query strings of neighbouring pages, for the links of a list.

/** The query string of the page at a cursor, or of the first page. */
type PageSearch = (direction?: Cursor['direction'], cursor?: string) => string;

export function pageSearches(search: string, limit: number): PageSearch {
  const first = offsetSearches(search, limit)(0);
  return (direction, cursor) => (direction && cursor !== undefined ? `${first}&${direction}=${cursor}` : first);
}

/**
 * The same of pages at an offset. Keeps the client's own parameters. All are encoded anew: what a client may send raw
 * could end a header's value.
 */
export function offsetSearches(search: string, limit: number): (offset: number) => string {
  const own = parseParameters(search).all.filter((parameter) => !isPlace(parameter));
  const kept = own.map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}&`).join('');
  return (offset) => `${kept}_cnd%5Blimit%5D=${offset}&_cnd%5Blimit%5D=${limit}`;
}

/** Whether the parameter sets the position of a page. */
const isPlace = ({ key, steps }: Parameter): boolean => steps?.[0] === 'limit' || key === 'after' || key === 'before';

// Reports faults in parameters.

/** Returns undefined, so that callers can return its result. `suggest` is called for the end of the message. */
export type Complain = (code: string, message: string, suggest?: () => string) => undefined;

export const complainAbout =
  (faults: Fault[], parameter: string): Complain =>
  (code, message, suggest) => {
    // Suggestions are expensive: skip them for faults that the response does not list.
    const suggestion = suggest && faults.length < MAX_ERRORS ? suggest() : '';
    faults.push({ parameter, code, message: message + suggestion });
    return undefined;
  };

const MAX_QUOTED = 60;

/** A client's text inside a message. */
export const quote = (text: string): string => JSON.stringify(shortened(text, MAX_QUOTED));

const MAX_HINT = 100;

/** The end of a message. */
export const didYouMeanHint = (hint: string | undefined): string =>
  hint === undefined ? '' : `; did you mean "${shortened(hint, MAX_HINT)}"?`;

// Arrays: a repeated key, `[]` after it, indices in any order, or commas where items have none.

export interface WireItem {
  readonly index: number;
  readonly parameter: Parameter;
}

interface WireArray {
  /** How the items are written; `plain`: without brackets of their own. */
  readonly form: 'plain' | 'brackets' | 'indices';
  /** The parameters of each item, sorted by index; one item if they are plain. */
  readonly items: readonly (readonly [index: number, parameters: readonly Parameter[]])[];
}

const INDEX = /^(?:0|[1-9]\d{0,5})$/;

function formOf(step: string | undefined): WireArray['form'] {
  if (step === '') return 'brackets';
  return step !== undefined && INDEX.test(step) ? 'indices' : 'plain';
}

/** Reads the notation of an array, whose items stand in the step `at` of the keys. */
export function wireArray(parameters: readonly Parameter[], at: number, complain: Complain): WireArray | undefined {
  const [form = 'plain', ...others] = new Set(parameters.map(({ steps = [] }) => formOf(steps[at])));
  if (others.length > 0)
    return complain(
      'mixed-forms',
      'Write all items in the same way: [0], [1] … in each key, or [] in each, or neither',
    );
  if (form === 'plain') return { form, items: [[0, parameters]] };
  if (form === 'brackets') return { form, items: parameters.map((parameter, index) => [index, [parameter]]) };
  const items = Map.groupBy(parameters, ({ steps = [] }) => Number(steps[at]));
  return { form, items: [...items].toSorted(([a], [b]) => a - b) };
}

/** An array of texts. `joined`: whether commas separate items that have no index. */
export function textArray(
  parameters: readonly Parameter[],
  at: number,
  complain: Complain,
  joined = true,
): { readonly indexed: boolean; readonly items: readonly WireItem[] } | undefined {
  const array = wireArray(parameters, at, complain);
  if (!array) return undefined;
  const indexed = array.form === 'indices';
  const length = array.form === 'plain' ? at : at + 1;
  const other = parameters.find(({ steps = [] }) => steps.length > length);
  if (other)
    return complain(
      'malformed-array',
      `${quote(other.key)} is not an item of a list. Repeat the key, or append [] to each, or [0], [1] …`,
    );
  if (indexed) {
    const twice = array.items.find(([, same]) => same.length > 1)?.[1][0];
    if (twice) return complain('repeated', `${quote(twice.key)} is given twice`);
    return { indexed, items: array.items.flatMap(([index, [parameter]]) => (parameter ? { index, parameter } : [])) };
  }
  const items = joined ? parameters.flatMap(splitAtCommas) : parameters;
  return { indexed, items: items.map((parameter, index) => ({ index, parameter })) };
}

const splitAtCommas = (parameter: Parameter): readonly Parameter[] =>
  parameter.value.includes(',') ? parameter.value.split(',').map((value) => ({ ...parameter, value })) : [parameter];
