/** What an error of Ajv means to somebody who edits a descriptor. */
import type { ErrorObject } from 'ajv';
import { isObject } from '../json.ts';
import { didYouMean } from '../names.ts';
import { anyOf, type Finding, finding, quoted } from './finding.ts';
import { fieldWords } from './grammar-fields.ts';
import { relationWords } from './grammar-relations.ts';
import { hint } from './hint.ts';
import type { Path } from './source.ts';
import { textFaults } from './texts.ts';

export interface GrammarFinding extends Finding {
  /** The key that is not there. */
  readonly missing?: string;
}

type Explain = (error: ErrorObject, path: Path) => GrammarFinding | undefined;

/** undefined for an error that only repeats others. */
export function explain(error: ErrorObject, path: Path): GrammarFinding | undefined {
  return textFinding(error, path) ?? explanations[error.keyword]?.(error, path);
}

function textFinding(
  { keyword, data, parentSchema, propertyName }: ErrorObject,
  path: Path,
): GrammarFinding | undefined {
  if (keyword === 'type' || typeof data !== 'string') return undefined;
  const fault = textFaults[String(parentSchema?.['format'])]?.(data);
  if (!fault) return undefined;
  if (propertyName === undefined) return finding(fault.code, path, 'value', fault.message);
  return finding(fault.code, [...path, propertyName], 'key', fault.message);
}

/** How a value is named by its key: an item by the list that it stands in. */
function subject(path: Path): string {
  const key = path.findLast((step) => typeof step === 'string');
  if (key === undefined) return 'the descriptor';
  return key === path.at(-1) ? quoted(key) : `an item of ${quoted(key)}`;
}

/** A bound that a value does not keep. */
const refused =
  (says: (bound: string) => string): Explain =>
  ({ params, keyword }, path) =>
    finding('bad-value', path, 'value', `${subject(path)} ${says(String(params['limit'] ?? params[keyword]))}`);

const explanations: Readonly<Record<string, Explain>> = {
  additionalProperties: ({ params, parentSchema }, path) =>
    unknownKey(String(params['additionalProperty']), Object.keys(parentSchema?.['properties'] ?? {}), path),
  required: ({ params }, path) => {
    const missing = String(params['missingProperty']);
    return {
      ...finding(
        'missing-key',
        path,
        path.length === 0 ? 'value' : 'key',
        `${owner(path)} needs the key ${quoted(missing)}`,
      ),
      missing,
    };
  },
  type: ({ params, data }, path) =>
    finding(
      'wrong-type',
      path,
      'value',
      `${subject(path)} must be ${kind(String(params['type']))}, not ${found(data)}${hint(String(params['type']), data)}`,
    ),
  enum: ({ params, data }, path) => {
    const values: readonly unknown[] = Array.isArray(params['allowedValues']) ? params['allowedValues'] : [];
    return finding(
      'unknown-value',
      path,
      'value',
      `${found(data)} is not known here; expected ${anyOf(values.map(String))}${didYouMean(String(data), values.map(String))}`,
    );
  },
  uniqueItems: ({ params, data }, path) => {
    const index = Math.max(Number(params['i']), Number(params['j']));
    return finding(
      'repeated-item',
      [...path, index],
      'value',
      `${quoted(Array.isArray(data) ? data[index] : undefined)} stands in ${quoted(path.at(-1))} twice`,
    );
  },
  minimum: refused((limit) => `must be at least ${limit}`),
  maximum: refused((limit) => `must be at most ${limit}`),
  minLength: refused((limit) => `needs at least ${limit} characters`),
  minItems: refused((limit) => `needs at least ${limit} item`),
  minProperties: refused((limit) => `needs at least ${limit} key`),
  maxItems: refused((limit) => `takes at most ${limit} items`),
  maxProperties: refused((limit) => `takes at most ${limit} keys`),
  pattern: refused((pattern) => `must match ${pattern}`),
};

/** What a path leads to, in a message. */
function owner(path: Path): string {
  const [section, name] = path;
  if (section === undefined) return 'a descriptor';
  const word = { fields: 'field', relations: 'relation' }[String(section)];
  return word === undefined || name === undefined ? quoted(path.at(-1)) : `${word} ${quoted(name)}`;
}

const wordOwners: Readonly<Record<string, ReadonlyMap<string, readonly string[]>>> = {
  fields: fieldWords,
  relations: relationWords,
};

function unknownKey(key: string, known: readonly string[], path: Path): GrammarFinding {
  const at = [...path, key];
  const elsewhere = path.length === 2 ? wordOwners[String(path[0])]?.get(key) : undefined;
  if (elsewhere)
    return finding(
      'misplaced-key',
      at,
      'key',
      `${owner(path)} takes no ${quoted(key)}: that is for ${anyOf(elsewhere)}`,
    );
  const near = didYouMean(key, known);
  const section = near === '' ? ofAnother(key, path) : undefined;
  if (section !== undefined)
    return finding('misplaced-key', at, 'key', `${owner(path)} takes no ${quoted(key)}: that is for ${section}`);
  const suggestion = near || `; known keys: ${known.join(', ')}`;
  return finding('unknown-key', at, 'key', `${owner(path)} has no key ${quoted(key)}${suggestion}`);
}

/** The section whose members have this word, where those of the path's own do not. */
const ofAnother = (key: string, [own]: Path): string | undefined =>
  Object.keys(wordOwners).find((section) => section !== own && wordOwners[section]?.has(key));

const kinds: Readonly<Record<string, string>> = {
  object: 'a mapping (keys with values)',
  array: 'a list',
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

const kind = (type: string): string => kinds[type] ?? type;

function found(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'a mapping';
  return typeof value === 'string' ? `the text ${quoted(value)}` : quoted(value);
}
