/** The kinds of identifiers, each on the field type of its name. Shared code never branches on the name of a kind. */
import { randomInt, randomUUID } from 'node:crypto';
import type { JsonObject } from '../json/json.ts';
import { type FieldType, pick, type Shape } from './field-type.ts';
import { integer } from './integer.ts';
import { compilePattern, ownPattern } from './patterns.ts';
import { string } from './string.ts';
import { uuid } from './uuid.ts';

export type Identifier = number | string;

/** Who makes identifiers: the service, unless a body brings one, or only clients. */
export type Maker = 'service' | 'client';

/** The largest integer that a client or a seed can choose; the sequence continues after it. */
export const MAX_GIVEN_IDENTIFIER = 2 ** 52;
export const MAX_IDENTIFIER_LENGTH = 200;

export interface IdentifierKind {
  /** Its SQL, values and operators, as for fields. */
  readonly type: FieldType;
  readonly by: Maker;
  /** The database counts identifiers up: a new record has none before its insert. */
  readonly isCounted?: true;
  /** Makes an identifier, if the service can before the insert. */
  next?(): Identifier;
  /** Constraints by default; `keywords`: those that descriptors may set. */
  readonly constraints: Shape['constraints'];
  readonly keywords: readonly string[];
  schema(shape: Shape, largest?: number): JsonObject;
  /** Completes "… must be": "an integer from 1 to 2^53-1". */
  expected(shape: Shape, largest?: number | string): string;
  /** Different by seed. */
  sample(shape: Shape, seed: number): Identifier;
}

const counted: IdentifierKind = {
  type: integer,
  by: 'service',
  isCounted: true,
  constraints: {},
  keywords: [],
  schema: (_, largest = Number.MAX_SAFE_INTEGER) => ({ type: 'integer', minimum: 1, maximum: largest }),
  expected: (_, largest = '2^53-1') => `an integer from 1 to ${largest}`,
  sample: (_, seed) => seed + 1,
};

let [time, count] = [0, 0];

/** Version 7 (RFC 9562, 6.2, method 1): ascends within the process, whatever the clock does. */
function nextUuid(): string {
  const now = Date.now();
  if (now > time) [time, count] = [now, randomInt(0x800)];
  else if (count < 0xfff) count += 1;
  else [time, count] = [time + 1, 0];
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${count.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`;
}

const unique: IdentifierKind = {
  type: uuid,
  by: 'service',
  next: nextUuid,
  constraints: {},
  keywords: [],
  schema: uuid.schema,
  expected: () => 'a UUID',
  sample: (shape, seed) => String(uuid.good(shape, seed)),
};

/** URL parsers drop segments of one or two dots. */
const USABLE = ownPattern('^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]*$');

const named: IdentifierKind = {
  type: string,
  by: 'client',
  constraints: { minLength: 1, maxLength: MAX_IDENTIFIER_LENGTH },
  keywords: ['minLength', 'maxLength', 'pattern', 'format'],
  schema: (shape) => ({ ...string.schema(shape), allOf: [{ pattern: USABLE }] }),
  expected: (shape) => `${string.expected(shape)} (no control characters, and not "." or "..")`,
  sample: sampleText,
};

function sampleText(shape: Shape, seed: number): string {
  const { examples, constraints } = shape;
  const { pattern } = constraints;
  if (examples[seed] !== undefined) return String(examples[seed]);
  if (typeof pattern !== 'string') return String(string.good(shape, seed)).replace(/^ /, 'x').replaceAll(' ', '-');
  const example = String(pick(examples, seed));
  const matcher = compilePattern(pattern);
  return SPANS.map((span) => varied(example, seed % span)).find((text) => matcher.test(text)) ?? example;
}

/** The less of an example changes, the more patterns still match. */
const SPANS = [Number.MAX_SAFE_INTEGER, 1e6, 1e4, 1000, 100, 26, 10, 3];

/** Counts digits up, or letters if there are none. */
function varied(text: string, seed: number): string {
  const signs = /\d/.test(text) ? '0123456789' : 'abcdefghijklmnopqrstuvwxyz';
  let left = seed;
  const codes = [...text].toReversed().map((sign) => {
    const at = signs.indexOf(sign.toLowerCase());
    if (at === -1) return sign;
    const next = signs[(at + left) % signs.length] ?? sign;
    left = Math.floor((at + left) / signs.length);
    return sign < 'a' ? next.toUpperCase() : next;
  });
  return codes.toReversed().join('');
}

export const identifierKinds: ReadonlyMap<string, IdentifierKind> = new Map(
  [counted, unique, named].map((kind) => [kind.type.name, Object.freeze(kind)]),
);
