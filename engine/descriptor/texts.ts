/** Formats of the JSON Schema: names, paths, items of an order, patterns. */
import { patternFault } from '../field-types/patterns.ts';
import type { DiagnosticCode } from '../diagnostic.ts';
import type { JsonObject } from '../json/json.ts';

export interface TextFault {
  readonly code: DiagnosticCode;
  readonly message: string;
}

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const MAX_NAME_BYTES = 60;
const PATH = /^[a-z0-9][A-Za-z0-9_-]*$/;
/** Keys of requests, reserved in this case only; then words reserved in any case, such as PostgreSQL's system columns. */
const RESERVED = /^(limit|orderBy|__proto__)$/;
const RESERVED_ANY_CASE = /^(_open|asc|desc|xmin|xmax|cmin|cmax|ctid|tableoid)$/i;
/** Every JavaScript object has these properties, even without such a field. */
const INHERITED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype));
/** A database would refuse such a table, or the table would shadow an internal one. */
const RESERVED_TABLE = /^(_records_|sqlite_|pg_|pragma_|(json_each|json_tree|dbstat)$)/i;

const fault = (code: DiagnosticCode, message: string): TextFault => ({ code, message });

/** Why a name is not valid; undefined if it is. */
export function nameFault(text: string): TextFault | undefined {
  const quoted = JSON.stringify(text);
  if (RESERVED.test(text) || RESERVED_ANY_CASE.test(text))
    return fault('reserved-name', `${quoted} is reserved; choose another name`);
  if (INHERITED.has(text))
    return fault('reserved-name', `${quoted} is a property of every JavaScript object; choose another name`);
  const composed = text.normalize('NFC');
  if (text !== composed)
    return fault('bad-name', `${quoted} must be written in Unicode form NFC: ${JSON.stringify(composed)}`);
  if (!NAME.test(text))
    return fault('bad-name', `${quoted} is not a valid name; expected a letter or "_", then letters, digits and "_"`);
  const bytes = Buffer.byteLength(text);
  return bytes <= MAX_NAME_BYTES
    ? undefined
    : fault('bad-name', `${quoted} has ${bytes} bytes; a name can have at most ${MAX_NAME_BYTES}`);
}

export function tableFault(text: string): TextFault | undefined {
  if (!RESERVED_TABLE.test(text)) return nameFault(text);
  return fault(
    'reserved-name',
    `${JSON.stringify(text)} is a name, or starts with a prefix, that is reserved for the engine or a database; choose another name`,
  );
}

export function pathFault(text: string): TextFault | undefined {
  if (PATH.test(text)) return undefined;
  return fault(
    'bad-path',
    `${JSON.stringify(text)} is not a valid path; expected a lowercase letter or digit, then letters, digits, "-" and "_"`,
  );
}

/** The field of `position desc`; undefined if malformed. */
export const orderField = (item: string): string | undefined => /^([^ ]+)(?: (?:asc|desc))?$/.exec(item)?.[1];

function orderFault(text: string): TextFault | undefined {
  if (NAME.test(orderField(text) ?? '')) return undefined;
  return fault('bad-order', `${JSON.stringify(text)} must be a field, optionally followed by "asc" or "desc"`);
}

function regexFault(text: string): TextFault | undefined {
  const reason = patternFault(text);
  return reason === undefined ? undefined : fault('bad-pattern', `this pattern is not supported: ${reason}`);
}

export const textFaults: Readonly<Record<string, (text: string) => TextFault | undefined>> = {
  name: nameFault,
  table: tableFault,
  path: pathFault,
  order: orderFault,
  regex: regexFault,
};

// The booleans of YAML 1.1.
const TRUE = /^(yes|on|true|y)$/i;
const FALSE = /^(no|off|false|n)$/i;

/** A suggestion that ends a message about an invalid value; may be empty. */
export function hint({ type, minimum, maximum }: JsonObject, value: unknown): string {
  if (typeof value !== 'string') return '';
  if (type === 'array') return `; write [${value}]`;
  if (type === 'boolean' && TRUE.test(value)) return '; write true';
  if (type === 'boolean' && FALSE.test(value)) return '; write false';
  const number = value.trim() === '' ? NaN : Number(value);
  const isRight =
    (type === 'integer' ? Number.isSafeInteger(number) : type === 'number' && Number.isFinite(number)) &&
    !(number < Number(minimum) || number > Number(maximum));
  return isRight ? `; write it without quotes: ${number}` : '';
}
