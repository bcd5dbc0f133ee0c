/** Conditions of roles: read from YAML as parameters of a list filter, which then means what it means in a query string. */
import { GROUPS } from '../descriptor/conditions.ts';
import { type Finding, finding, quoted } from '../descriptor/report.ts';
import type { YamlPath } from '../descriptor/source.ts';
import { listed } from '../field-types/field-type.ts';
import { isObject, type JsonObject, type JsonValue, textFault } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { Filter } from '../model/filters.ts';
import type { Model, RecordType } from '../model/model.ts';
import { revised } from '../model/resolve.ts';
import { ALL_RIGHTS, dataOf } from '../model/rights.ts';
import type { Fault } from '../problem.ts';
import { COUNT, QUANTIFIERS, resolveFilters } from '../query/filters.ts';
import { operators } from '../query/operators.ts';
import type { Operand, Parameter } from '../query/parameters.ts';
import { namesOf } from '../query/paths.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** The Model in conditions of roles: its table names, such as `orders$`, stand for all data. */
export const wholeData = memoized((model: Model): Model => {
  const tables = [...model.types.values()].map((type) => [type, { table: dataOf(type.table) }] as const);
  const joins = model.joinTables.map((join) => [join, { name: dataOf(join.name) }] as const);
  return revised(model, new Map<object, object>([...tables, ...joins]));
});

/** The steps to a claim, if the operand is one. */
export const claimOf = (operand: JsonValue): readonly string[] | undefined =>
  isObject(operand) && Object.hasOwn(operand, 'claim') ? [operand['claim'] ?? ''].flat().map(String) : undefined;

export const isNow = (operand: JsonValue): boolean => isObject(operand) && operand['now'] === true;

/** A literal, `{ claim: name }` or `{ now: true }`. */
export const isOperand = (value: JsonValue): boolean =>
  !isObject(value) || claimOf(value) !== undefined || isNow(value);

/** A comparison of a condition. */
interface Leaf {
  readonly path: YamlPath;
  readonly steps: YamlPath;
  readonly operand: JsonValue;
}

/** The comparisons of conditions, which fit the grammar of roles. */
const leavesOf = (conditions: JsonValue, path: YamlPath = []): readonly Leaf[] =>
  entriesIn(conditions).flatMap(([key, value]) =>
    (typeof key === 'number' || GROUPS.has(key) ? leavesOf : comparisonsOf)(value, [...path, key]),
  );

function comparisonsOf(value: JsonValue, path: YamlPath): readonly Leaf[] {
  if (isOperand(value)) return [{ path, steps: [...path, operators.eq.name], operand: value }];
  return entriesIn(value).flatMap(([word, operand]) => {
    const at = [...path, word];
    if (word === COUNT) return comparisonsOf(operand, at);
    return QUANTIFIERS.has(String(word)) ? leavesOf(operand, at) : [{ path: at, steps: at, operand }];
  });
}

const entriesIn = (value: JsonValue): readonly (readonly [string | number, JsonValue])[] =>
  Array.isArray(value) ? [...value.entries()] : Object.entries(value as JsonObject);

/** Names a claim that an entry needs, and that is missing or has no value of the field. */
export class MissingClaim extends Error {}

export interface Binding {
  readonly claims: Claims;
  readonly now: Date;
}

const timeAt = (now: Date): Operand => ({ value: 'now', shown: 'the time', read: (type) => type.now?.(now) });

const ANY_CLAIM: Operand = {
  value: 'claim',
  read: (type, field) => (field && listed(field)?.[0]) ?? type.good(field ?? { constraints: {}, examples: [] }, 0),
};

/** `operands`: as they would stand in a query string. */
function parametersOf({ steps, operand }: Leaf, operands: readonly Operand[]): readonly Parameter[] {
  const written = steps.map(String);
  const isList = written.at(-1) === operators.in.name;
  const key = claimOf(operand)?.join('.') ?? '';
  return operands.map((one, index) => ({ ...one, key, steps: isList ? [...written, String(index)] : written }));
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

function filtersOf(type: RecordType, filters: readonly Parameter[]) {
  const faults: Fault[] = [];
  const variant = { name: '', fields: [...type.fields.values()] };
  const found = resolveFilters({
    names: namesOf(type, variant, ALL_RIGHTS),
    filters,
    faults,
    limits: { maxFilters: Infinity },
    written: (steps, value) => `${steps.join('.')}${value === undefined ? '' : `: ${value}`}`,
  });
  return { found, faults };
}

/** Throws MissingClaim. `type`: of `wholeData`. */
export function bindConditions(conditions: JsonObject, type: RecordType, { claims, now }: Binding): readonly Filter[] {
  const parameters = leavesOf(conditions).flatMap((leaf) => {
    const { operand, steps } = leaf;
    if (isNow(operand)) return parametersOf(leaf, [timeAt(now)]);
    const path = claimOf(operand);
    const isList = steps.at(-1) === operators.in.name;
    const texts = path ? textsOfClaim(path, isList, claims) : [operand].flat().map(String);
    const operands = texts.map((value) => ({ value }));
    return parametersOf(leaf, operands);
  });
  const { found, faults } = filtersOf(type, parameters);
  for (const fault of faults) throw new MissingClaim('parameter' in fault ? fault.parameter : '');
  return found;
}

/** The faults of conditions as written. `at`: their place in the file. */
export function conditionFaults(conditions: JsonObject, type: RecordType, at: YamlPath): readonly Finding[] {
  return leavesOf(conditions).flatMap((leaf) => {
    const { path, operand } = leaf;
    const findings: Finding[] = [];
    const refuse = (message: string, where: 'key' | 'value' = 'value'): void =>
      void findings.push(finding('bad-condition', [...at, ...path], message, where));
    const literal = (given: JsonValue): Operand => ({
      value: String(given),
      read: (fieldType) => {
        const value = fieldType.parse(String(given));
        if (value !== undefined && typeof given !== typeof value)
          refuse(`${quoted(given)} is not written as a value of this field is; write ${quoted(value)}`);
        return value;
      },
    });
    const special = isNow(operand) ? timeAt(new Date()) : ANY_CLAIM;
    const operands = isObject(operand) ? [special] : [operand].flat().map(literal);
    for (const { code, message } of filtersOf(type, parametersOf(leaf, operands)).faults) {
      const isName = code.startsWith('unknown') || code === 'to-many' || code === 'not-filterable';
      refuse(message, isName ? 'key' : 'value');
    }
    return findings;
  });
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
