/** Conditions of roles: read from YAML as parameters of a list filter, which then means what it means in a query string. */
import { GROUPS, operandHint } from '../descriptor/conditions.ts';
import { type Finding, finding, quoted } from '../descriptor/report.ts';
import type { YamlPath } from '../descriptor/source.ts';
import { listed } from '../field-types/field-type.ts';
import { isObject, type JsonObject, type JsonValue, textFault } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { Filter } from '../model/filters.ts';
import type { Model, RecordType } from '../model/model.ts';
import { revised } from '../model/resolve.ts';
import { ALL_RIGHTS } from '../model/rights.ts';
import type { Fault } from '../problem.ts';
import { type FilterReading, resolveFilters } from '../query/filters.ts';
import type { Parameter } from '../query/parameters.ts';
import { namesOf } from '../query/paths.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** The Model in conditions of roles: its table names, such as `orders$`, stand for all data. */
export const wholeData = memoized((model: Model): Model => {
  const tables = [...model.types.values()].map((type) => [type, { table: dollar(type.table) }] as const);
  const joins = model.joinTables.map((join) => [join, { name: dollar(join.name) }] as const);
  return revised(model, new Map<object, object>([...tables, ...joins]));
});

const dollar = (table: string): string => `${table}$`;

const CLAIM = 'claim';
const NOW = 'now';
const SETS = new Set(['$some', '$none', '$every']);
/** Texts that no request can send. */
const ANY_VALUE = '\0any';
const TIME = '\0now';

/** An operand: a literal, `{ claim: name }` or `{ now: true }`. */
export const claimOf = (operand: JsonValue): readonly string[] | undefined => {
  if (!isObject(operand) || !Object.hasOwn(operand, CLAIM)) return undefined;
  const path = operand[CLAIM];
  return (Array.isArray(path) ? path : [path]).map(String);
};

export const isNow = (operand: JsonValue): boolean => isObject(operand) && operand[NOW] === true;

const isOperand = (value: JsonValue): boolean => !isObject(value) || claimOf(value) !== undefined || isNow(value);

/** Why an operand is none; undefined if it is one. */
export function operandFault(operand: JsonValue): string | undefined {
  if (!isObject(operand)) return undefined;
  const [key, ...others] = Object.keys(operand);
  const path = operand[CLAIM];
  const isPath = typeof path === 'string' || (Array.isArray(path) && path.length > 0 && path.every(isText));
  if (others.length === 0 && ((key === CLAIM && isPath) || (key === NOW && operand[NOW] === true))) return undefined;
  return 'expected a value, { claim: name }, { claim: [outer, inner] } or { now: true }';
}

const isText = (step: unknown): boolean => typeof step === 'string';

/** A comparison of a condition. */
interface Leaf {
  readonly steps: readonly string[];
  readonly operand: JsonValue;
  readonly path: YamlPath;
}

/** `refuse` is called for what cannot be a condition. */
function* leavesOf(
  conditions: JsonObject,
  refuse: (path: YamlPath, message: string) => void,
  path: YamlPath = [],
  steps: readonly string[] = [],
): Generator<Leaf, void> {
  for (const [key, value = null] of Object.entries(conditions)) {
    const at = [...path, key];
    const named = [...steps, key];
    if (GROUPS.has(key)) yield* itemsOf(value, refuse, at, named);
    else if (Array.isArray(value) || value === null)
      refuse(at, `${quoted(key)} needs a value${operandHint('', value)}`);
    else if (isOperand(value)) yield { steps: [...named, 'eq'], operand: value, path: at };
    else if (isObject(value)) yield* comparisonsOf(value, refuse, at, named);
  }
}

function* comparisonsOf(
  value: JsonObject,
  refuse: (path: YamlPath, message: string) => void,
  path: YamlPath,
  steps: readonly string[],
): Generator<Leaf, void> {
  for (const [word, operand = null] of Object.entries(value)) {
    const [at, named] = [
      [...path, word],
      [...steps, word],
    ];
    if (SETS.has(word)) yield* itemsOf(operand, refuse, at, named);
    else if (word === '$count' && isObject(operand) && !isOperand(operand))
      yield* comparisonsOf(operand, refuse, at, named);
    else if (word === '$count') yield { steps: [...named, 'eq'], operand, path: at };
    else if (operand === null || (Array.isArray(operand) && word !== 'in'))
      refuse(at, `${quoted(word)} needs a value${operandHint(word, operand)}`);
    else yield { steps: named, operand, path: at };
  }
}

function* itemsOf(
  value: JsonValue,
  refuse: (path: YamlPath, message: string) => void,
  path: YamlPath,
  steps: readonly string[],
): Generator<Leaf, void> {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  if (items.length === 0) refuse(path, 'a list of conditions needs at least one item');
  for (const [index, item] of items.entries()) {
    const at = Array.isArray(value) ? [...path, index] : path;
    if (isObject(item) && Object.keys(item).length > 0) yield* leavesOf(item, refuse, at, [...steps, String(index)]);
    else refuse(at, 'expected conditions, such as { state: open }');
  }
}

/** Names a claim that an entry needs, and that is missing or has no value of the field. */
export class MissingClaim extends Error {}

interface Binding {
  readonly claims: Claims;
  readonly now: Date;
}

function parametersOf({ steps, path }: Leaf, texts: readonly string[]): readonly Parameter[] {
  const key = JSON.stringify(path);
  const isList = steps.at(-1) === 'in';
  return texts.map((value, index) => ({ key, steps: isList ? [...steps, String(index)] : steps, value }));
}

/** The texts of an operand, as they would stand in a query string. */
function textsOf(operand: JsonValue, isList: boolean, { claims }: Binding): readonly string[] {
  if (isNow(operand)) return [TIME];
  const path = claimOf(operand);
  if (path === undefined) return (Array.isArray(operand) ? operand : [operand]).map(String);
  return textsOfClaim(path, isList, claims);
}

export function claimAt(claims: Claims, path: readonly string[]): unknown {
  let found: unknown = claims;
  for (const step of path)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, step) ? Reflect.get(found, step) : undefined;
  return found;
}

function textsOfClaim(path: readonly string[], isList: boolean, claims: Claims): readonly string[] {
  const found = claimAt(claims, path);
  const values: readonly unknown[] = Array.isArray(found) ? found : [found];
  const isFit = values.length > 0 && (isList || !Array.isArray(found)) && values.every(isScalar);
  const texts = values.map(String);
  if (!isFit || texts.some((text) => textFault(text, '') !== undefined)) throw new MissingClaim(path.join('.'));
  return texts;
}

const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));

function reading(type: RecordType, filters: readonly Parameter[], faults: Fault[], now?: Date): FilterReading {
  const variant = { name: '', fields: [...type.fields.values()] };
  return {
    names: namesOf(type, variant, ALL_RIGHTS),
    filters,
    faults,
    limits: { maxFilters: Infinity },
    written: (steps, value) => `${steps.join('.')}${value === undefined ? '' : `: ${value}`}`,
    parse: (fieldType, text, field) => {
      if (text === TIME) return fieldType.now?.(now ?? new Date());
      if (text !== ANY_VALUE) return fieldType.parse(text);
      return (field && listed(field)?.[0]) ?? fieldType.good(field ?? { constraints: {}, examples: [] }, 0);
    },
  };
}

/** Throws MissingClaim. `type`: of `wholeData`. */
export function bindConditions(conditions: JsonObject, type: RecordType, binding: Binding): readonly Filter[] {
  const faults: Fault[] = [];
  const leaves = [...leavesOf(conditions, () => undefined)];
  const parameters = leaves.flatMap((leaf) =>
    parametersOf(leaf, textsOf(leaf.operand, leaf.steps.at(-1) === 'in', binding)),
  );
  const filters = resolveFilters(reading(type, parameters, faults, binding.now));
  if (faults.length === 0) return filters;
  const keys = new Set(faults.map((fault) => ('parameter' in fault ? fault.parameter : '')));
  const claims = leaves.flatMap(({ path, operand }) =>
    keys.has(JSON.stringify(path)) ? (claimOf(operand) ?? []) : [],
  );
  throw new MissingClaim(claims.join('.'));
}

/** The faults of conditions as written. `at`: their place in the file. */
export function conditionFaults(conditions: JsonObject, type: RecordType, at: YamlPath): readonly Finding[] {
  const findings: Finding[] = [];
  const refuse = (path: YamlPath, message: string, where: 'key' | 'value' = 'value'): void =>
    void findings.push(finding('bad-condition', [...at, ...path], message, where));
  for (const leaf of leavesOf(conditions, refuse)) {
    const { steps, operand, path } = leaf;
    const isList = steps.at(-1) === 'in';
    const values = isList && Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];
    const strange = values.map(operandFault).find((fault) => fault !== undefined);
    if (strange !== undefined) {
      refuse(path, strange);
      continue;
    }
    if (isList && !Array.isArray(operand) && claimOf(operand) === undefined) {
      refuse(path, '"in" takes a list of values, or a claim');
      continue;
    }
    const isLiteral = !isObject(operand);
    const texts = isLiteral ? values.map(String) : [isNow(operand) ? TIME : ANY_VALUE];
    const faults: Fault[] = [];
    const found = resolveFilters(reading(type, parametersOf(leaf, texts), faults));
    for (const { code, message } of faults) {
      const isName = code.startsWith('unknown') || code === 'to-many' || code === 'not-filterable';
      refuse(path, message.replaceAll(JSON.stringify(TIME), 'the time'), isName ? 'key' : 'value');
    }
    const kinds = faults.length > 0 || !isLiteral ? [] : valuesIn(found);
    const other = values.find((value, index) => kinds.length > 0 && typeof value !== typeof (kinds[index] ?? kinds[0]));
    if (other !== undefined)
      refuse(path, `${quoted(other)} is not written as a value of this field is; write ${quoted(kinds[0])}`);
  }
  return findings;
}

/** The operands of the innermost comparison. */
function valuesIn([filter]: readonly Filter[]): readonly JsonValue[] {
  if (filter === undefined) return [];
  if ('items' in filter) return valuesIn(filter.items[0] ?? []);
  if ('conditions' in filter) return valuesIn(filter.conditions);
  return Array.isArray(filter.value) ? filter.value : [filter.value];
}

/** A value of `set`, as in a body: a relation's is the identifier of its record. Throws MissingClaim. */
export function boundValue(operand: JsonValue, name: string, type: RecordType, binding: Binding): JsonValue {
  const [relation, field] = [type.relations.get(name), type.fields.get(name)];
  const path = claimOf(operand);
  if (relation) {
    if (operand === null || (isObject(operand) && path === undefined)) return operand;
    const [filter] = bindConditions({ [name]: operand }, type, binding);
    return { [relation.target.identifier.name]: filter && 'value' in filter ? filter.value : null };
  }
  if (isNow(operand)) return field?.type.now?.(binding.now) ?? null;
  if (path === undefined) return operand;
  const [text = ''] = textsOfClaim(path, false, binding.claims);
  const value = field?.type.parse(text);
  if (value === undefined || (field && listed(field)?.includes(value) === false))
    throw new MissingClaim(path.join('.'));
  return value;
}
