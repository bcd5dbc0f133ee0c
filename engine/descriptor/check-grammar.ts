/** Checks one file against the grammar, and rewrites Ajv's errors as one message for each mistake. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { createAjv } from '../field-types/ajv-keywords.ts';
import { isObject, type JsonObject, type JsonValue, pointer, unescapedSteps } from '../json/json.ts';
import { memoized } from '../memo.ts';
import { didYouMean, nearest } from '../names.ts';
import { anyOf, type Finding, finding, inQuotes, quoted } from './report.ts';
import {
  fieldWords,
  generatedBy,
  grammar,
  itemWords,
  relationKinds,
  relationWords,
  suggested,
  wordMeant,
} from './grammar.ts';
import type { YamlPath } from './source.ts';
import { hint, textFaults } from './texts.ts';
import { rangeOf } from '../field-types/field-type.ts';
import { GROUPS, operandHint } from './conditions.ts';
import { fieldTypes } from '../field-types/registry.ts';

/** A file with more errors than this is not a descriptor. */
const MAX_ERRORS = 1_000;

const compiledTo = memoized((schema: JsonObject): ValidateFunction => {
  // Optimizing the code would take longer than it saves.
  const ajv = createAjv({ verbose: true, code: { optimize: false } });
  for (const [name, fault] of Object.entries(textFaults))
    ajv.addFormat(name, (text: string) => fault(text) === undefined);
  return ajv.compile(schema);
});

/** Returns none if the value is a Descriptor, or what another grammar describes. */
export function checkGrammar(value: JsonValue, schema: JsonObject = grammar): readonly Finding[] {
  const compiled = compiledTo(schema);
  if (compiled(value)) return [];
  const errors = (compiled.errors ?? []).slice(0, MAX_ERRORS);
  const findings = errors.flatMap((error) => {
    const path = pathOf(error);
    return textFinding(error, path) ?? explanations[error.keyword]?.(error, path, value) ?? [];
  });
  return withoutEchoes(withDisplaced(findings, value));
}

/** Reports only the wrong section of a misplaced member. */
function withDisplaced(findings: readonly GrammarFinding[], value: JsonValue): readonly GrammarFinding[] {
  const members = displaced(value);
  const paths = new Set(members.map(({ path }) => pointer(path)));
  return [...members, ...findings.filter(({ path }) => !paths.has(pointer(path.slice(0, 2))))];
}

function displaced(value: JsonValue): readonly Finding[] {
  return (['fields', 'relations'] as const).flatMap((section) => {
    const members = isObject(value) ? value[section] : {};
    return Object.entries(isObject(members) ? members : {}).flatMap(([name, member]) => {
      if (!isObject(member)) return [];
      const isRelation = Object.hasOwn(member, 'kind');
      const isField = !isRelation && fieldTypes.has(String(member['type']));
      const message = {
        fields: isRelation && 'has a "kind" like a relation; move it to "relations"',
        relations: isField && 'has the type of a field; move it to "fields"',
      }[section];
      return message ? [finding('misplaced-key', [section, name], `${quoted(name)} ${message}`, 'key')] : [];
    });
  });
}

/** No name begins with a digit, so steps of digits are list indices. */
const pathOf = ({ instancePath }: ErrorObject): YamlPath =>
  unescapedSteps(instancePath).map((step) => (/^\d+$/.test(step) ? Number(step) : step));

/** Reports one fault for each key or value, and a misspelt key not as missing too. */
function withoutEchoes(findings: readonly GrammarFinding[]): readonly Finding[] {
  const first = new Map<string, GrammarFinding>();
  const unknown = new Map<string, string[]>();
  for (const one of findings) {
    const key = JSON.stringify([one.path, one.at, one.missing]);
    if (!first.has(key)) first.set(key, one);
    if (one.code !== 'unknown-key') continue;
    const parent = JSON.stringify(one.path.slice(0, -1));
    unknown.set(parent, [...(unknown.get(parent) ?? []), String(one.path.at(-1))]);
  }
  return [...first.values()].filter(
    ({ missing, path }) => !missing || !isMisspelt(missing, unknown.get(JSON.stringify(path)) ?? []),
  );
}

const isMisspelt = (missing: string, unknown: readonly string[]): boolean =>
  nearest(missing, unknown) !== undefined || unknown.some((key) => wordMeant(key, [missing]) !== undefined);

interface GrammarFinding extends Finding {
  readonly missing?: string;
}

type Explain = (error: ErrorObject, path: YamlPath, descriptor: JsonValue) => GrammarFinding | undefined;

function textFinding(
  { keyword, data, parentSchema, propertyName }: ErrorObject,
  path: YamlPath,
): GrammarFinding | undefined {
  if (keyword === 'type' || typeof data !== 'string') return undefined;
  const fault = textFaults[String(parentSchema?.['format'])]?.(data);
  if (!fault) return undefined;
  if (propertyName === undefined) return finding(fault.code, path, fault.message);
  return finding(fault.code, [...path, propertyName], fault.message, 'key');
}

/** The subject of a message: a key, or an item of the list at a key. */
function subject(path: YamlPath): string {
  const key = path.findLast((step) => typeof step === 'string');
  if (key === undefined) return 'the descriptor';
  return key === path.at(-1) ? quoted(key) : `an item of ${quoted(key)}`;
}

const refused =
  (rule: (bound: string) => string): Explain =>
  ({ params, keyword }, path) =>
    finding('bad-value', path, `${subject(path)} ${rule(String(params['limit'] ?? params[keyword]))}`);

const explanations: Readonly<Record<string, Explain>> = {
  additionalProperties: ({ params, parentSchema }, path) =>
    unknownKey(String(params['additionalProperty']), Object.keys(parentSchema?.['properties'] ?? {}), path),
  'false schema': (_, path) => {
    const advice = didYouMean(String(path.at(-1)), GROUPS.keys());
    const message = `${subject(path)} is not a group; there are ${[...GROUPS.keys()].join(', ')}${advice}`;
    return finding('unknown-key', path, message, 'key');
  },
  required: ({ params }, path) => {
    const missing = String(params['missingProperty']);
    const message = `${owner(path)} needs the key ${quoted(missing)}`;
    return { ...finding('missing-key', path, message, path.length === 0 ? 'value' : 'key'), missing };
  },
  type: ({ params, data, parentSchema = {} }, path, descriptor) => {
    const types: unknown = params['type'];
    const isOperand = Array.isArray(types) && types.includes('number');
    const advice = isOperand
      ? operandHint(path.at(-1), data)
      : memberMeant(path, data, descriptor) || hint(parentSchema, data);
    const message = `${subject(path)} must be ${kindsOf(types)}${rangeOf(parentSchema)}, not ${found(data)}${advice}`;
    const pattern = new RegExp(String(parentSchema['pattern'] ?? ''), 'u');
    return finding(
      'wrong-type',
      path,
      message,
      'value',
      inQuotes(types, data, (text) => pattern.test(text)),
    );
  },
  enum: ({ params, data }, path) => {
    const values: readonly unknown[] = Array.isArray(params['allowedValues']) ? params['allowedValues'] : [];
    const others = path.at(-1) === 'generated' ? generatedBy.get(String(data)) : undefined;
    const advice = others
      ? `; ${quoted(data)} is for fields of type ${others.join(' or ')}`
      : suggested(String(data), values.map(String)) || kindMeant(path, data);
    const message = `${found(data)} is not allowed here; expected ${anyOf(values.map(String))}${advice}`;
    return finding('unknown-value', path, message);
  },
  uniqueItems: ({ params, data }, path) => {
    const index = Math.max(Number(params['i']), Number(params['j']));
    const message = `${quoted(Array.isArray(data) ? data[index] : undefined)} is listed twice in ${quoted(path.at(-1))}`;
    return finding('repeated-item', [...path, index], message);
  },
  minimum: refused((limit) => `must be at least ${limit}`),
  maximum: refused((limit) => `must be at most ${limit}`),
  minLength: refused((limit) => `needs at least ${limit} character${limit === '1' ? '' : 's'}`),
  minItems: refused((limit) => `needs at least ${limit} item`),
  minProperties: refused((limit) => `needs at least ${limit} key`),
  maxItems: refused((limit) => `takes at most ${limit} items`),
  maxProperties: refused((limit) => `takes at most ${limit} keys`),
  pattern: refused((pattern) => `must match ${pattern}`),
};

function owner(path: YamlPath): string {
  const [section, name] = path;
  if (section === undefined) return 'a descriptor';
  const word = { fields: 'field', relations: 'relation' }[String(section)];
  if (word === undefined || name === undefined)
    return typeof path.at(-1) === 'number' ? subject(path) : quoted(path.at(-1));
  return `${path.length > 2 ? `${quoted(path.at(-1))} of ` : ''}${word} ${quoted(name)}`;
}

const wordOwners: Readonly<Record<string, ReadonlyMap<string, readonly string[]>>> = {
  fields: fieldWords,
  relations: relationWords,
};

function unknownKey(key: string, known: readonly string[], path: YamlPath): GrammarFinding {
  const [own, ...within] = path;
  const words = path.length === 2 ? wordOwners[String(own)] : path.at(-1) === 'items' ? itemWords : undefined;
  const elsewhere = words?.get(key);
  const near = elsewhere ? '' : suggested(key, known);
  const sections = Object.keys(wordOwners).filter(
    (section) => (section !== own || within.length > 1) && wordOwners[section]?.has(key),
  );
  const takers = elsewhere ? anyOf(elsewhere) : near === '' ? sections.join(' and ') : '';
  const misplaced = `${owner(path)} does not take ${quoted(key)}, which is for ${takers}`;
  if (takers !== '') return finding('misplaced-key', [...path, key], misplaced, 'key');
  const message = `${owner(path)} has no key ${quoted(key)}${near || `; known keys: ${known.join(', ')}`}`;
  return finding('unknown-key', [...path, key], message, 'key');
}

/** Advice for a field or items written as only their type, and for groups without inner brackets. */
function memberMeant(path: YamlPath, given: unknown, descriptor: JsonValue): string {
  const [section, ...steps] = path;
  if (typeof given !== 'string') return '';
  if (steps.length === 1 && (section === 'unique' || section === 'indexes')) {
    const group = isObject(descriptor) ? descriptor[section] : undefined;
    return Array.isArray(group) && group.every((one) => typeof one === 'string')
      ? `; write [[${group.join(', ')}]]`
      : '';
  }
  const isField = section === 'fields' && (steps.length === 1 || steps.at(-1) === 'items');
  const type = isField ? wordMeant(given, [...fieldTypes.keys()]) : undefined;
  return type === undefined ? '' : `; write { type: ${type} }`;
}

/** Advice for a field whose type is the kind of a relation. */
function kindMeant([section]: YamlPath, type: unknown): string {
  const kind = section === 'fields' ? wordMeant(String(type), relationKinds) : undefined;
  return kind === undefined ? '' : `; a relation stands under "relations", with kind: ${kind}`;
}

const kinds: Readonly<Record<string, string>> = {
  object: 'a mapping (keys and values)',
  array: 'a list',
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

const kindsOf = (types: unknown): string =>
  [types]
    .flat()
    .map((type) => kinds[String(type)] ?? String(type))
    .join(' or ');

function found(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'a mapping';
  return typeof value === 'string' ? `the text ${quoted(value)}` : quoted(value);
}
