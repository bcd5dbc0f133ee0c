/** What reads of the oracle answer: which records, in which order, which fields and relations of them. */
import type { OperatorName } from '../../engine/field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../../engine/json/json.ts';
import { type Field, MAX_DEEP_RECORDS, type RecordType, type Relation } from '../../engine/model/model.ts';
import { refuse, Unreachable } from './refusal.ts';
import { compareValues, requireKnown, type ValueOrder } from './values.ts';
import { asCompared, type Id, idValue, related, type RecordRow, rowsOf, type World } from './world.ts';

export interface ViewRequest {
  readonly include?: readonly string[];
  readonly fields?: readonly string[];
  readonly variant?: string;
}

/** A dotted name: through to-one relations to a field, to the identifier, or to a relation for its identifier. */
export interface FilterRequest {
  readonly path: string;
  readonly operator: OperatorName;
  /** A list for `in`, a boolean for `null`. Identifiers are given as `ids`. */
  readonly value?: JsonValue;
  readonly ids?: readonly Id[];
}

export interface GroupRequest {
  readonly group: '$any' | '$all' | '$none';
  readonly items: readonly (readonly ConditionRequest[])[];
}

/** For some, no or every record of a set all conditions hold; `path` is dotted, through to-one relations. */
interface SetRequest {
  readonly path: string;
  readonly quantifier: '$some' | '$none' | '$every';
  readonly conditions: readonly ConditionRequest[];
}

interface CountRequest {
  readonly path: string;
  readonly counted: OperatorName;
  readonly value: JsonValue;
}

export type ConditionRequest = FilterRequest | GroupRequest | SetRequest | CountRequest;

export interface OrderRequest {
  readonly path: string;
  readonly descending: boolean;
}

export interface ListRequest {
  readonly filters?: readonly ConditionRequest[];
  readonly order?: readonly OrderRequest[];
  readonly offset?: number;
  readonly limit?: number;
}

export interface Shown {
  readonly fields: readonly Field[];
  readonly openKeys: boolean;
  readonly relations: ReadonlyMap<Relation, Shown>;
}

/** The part of dotted names behind `name.`. */
const below = (paths: readonly string[], name: string): readonly string[] =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));

const isNamed = (names: readonly string[], { name }: Relation): boolean =>
  names.some((path) => path === name || path.startsWith(`${name}.`));

/** A related record shows the fields that its relation names; open keys only where it names no selection. */
function included(type: RecordType, paths: readonly string[]): ReadonlyMap<Relation, Shown> {
  const relations = [...type.relations.values()].filter((relation) => isNamed(paths, relation));
  const shown = (relation: Relation): Shown => ({
    fields: relation.fields,
    openKeys: relation.target.open && relation.fields.length === relation.target.defaultVariant.fields.length,
    relations: included(relation.target, below(paths, relation.name)),
  });
  return new Map(relations.map((relation) => [relation, shown(relation)]));
}

/** Only what `names` names. A relation that is named itself shows all its fields, and of its relations those behind it. */
function selected({ fields, relations, openKeys }: Shown, names: readonly string[], whole = false): Shown {
  const inner = [...relations]
    .filter(([relation]) => whole || isNamed(names, relation))
    .map(([relation, view]) => {
      const [behind, named] = [below(names, relation.name), names.includes(relation.name)];
      return [relation, whole && !isNamed(names, relation) ? view : selected(view, behind, named)] as const;
    });
  return {
    fields: whole ? fields : fields.filter(({ name }) => names.includes(name)),
    openKeys: whole && openKeys,
    relations: new Map(inner),
  };
}

/** What a request shows of a record; without parameters the relations that are shown unasked, one level deep. */
export function shownBy(type: RecordType, { include, fields, variant }: ViewRequest): Shown {
  const own = type.variants.get(variant ?? '') ?? type.defaultVariant;
  const unasked = [...type.relations.values()].filter(({ shown }) => shown).map(({ name }) => name);
  const shown = { fields: own.fields, openKeys: type.open, relations: included(type, include ?? fields ?? unasked) };
  return fields === undefined ? shown : selected(shown, fields);
}

const openKeys = ({ open }: RecordRow): JsonObject => ({
  ...Object.fromEntries(open),
  ...(open.size > 1 ? { $keys: [...open.keys()] } : {}),
});

/** A record as an answer shows it, its new identifiers as variables. */
export function represent(world: World, type: RecordType, row: RecordRow, shown: Shown): JsonObject {
  const { name, inRecord } = type.identifier;
  return {
    ...(inRecord ? { [name]: idValue(row.id) } : {}),
    ...Object.fromEntries(shown.fields.map((field) => [field.name, row.values.get(field) ?? null])),
    ...(shown.openKeys ? openKeys(row) : {}),
    ...Object.fromEntries([...shown.relations].map((entry) => [entry[0].name, representRelated(world, row, ...entry)])),
  };
}

function representRelated(world: World, row: RecordRow, relation: Relation, view: Shown): JsonValue {
  const order = relation.target.order.map(({ field, descending }) => ({ path: field?.name ?? '', descending }));
  const records = sorted(world, relation.target, related(world, relation, row), order);
  const bodies = records.map((record) => represent(world, relation.target, record, view));
  return relation.toMany ? bodies : (bodies[0] ?? null);
}

function deepRecords(world: World, row: RecordRow, { relations }: Shown, level = 1): number {
  let count = 0;
  for (const [relation, view] of relations)
    for (const record of related(world, relation, row))
      count += Number(level > 1) + deepRecords(world, record, view, level + 1);
  return count;
}

/** The records as one answer shows them; refused if it would hold too many. */
export function representAll(
  world: World,
  type: RecordType,
  rows: readonly RecordRow[],
  view: ViewRequest,
): readonly JsonObject[] {
  const shown = shownBy(type, view);
  const isDeep = [...shown.relations.values()].some(({ relations }) => relations.size > 0);
  if (isDeep && rows.reduce((sum, row) => sum + deepRecords(world, row, shown), 0) > MAX_DEEP_RECORDS)
    refuse('too-many-related', { parameters: ['include'] });
  return rows.map((row) => represent(world, type, row, shown));
}

export type Found =
  | { readonly field: Field; readonly value: JsonValue }
  | { readonly field: undefined; readonly id?: Id };

export function follow(
  world: World,
  type: RecordType,
  row: RecordRow | undefined,
  [name = '', ...rest]: readonly string[],
): Found {
  const field = type.fields.get(name);
  if (field) return { field, value: row?.values.get(field) ?? null };
  const relation = type.relations.get(name);
  if (!relation) return { field: undefined, ...(row ? { id: row.id } : {}) };
  return follow(world, relation.target, row && related(world, relation, row)[0], rest);
}

const lower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** `*` stands for any run; ASCII letters are alike in both cases. */
function isLike(text: string, pattern: string): boolean {
  const parts = lower(pattern)
    .split('*')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 'su').test(lower(text));
}

/** The same of a field, which may ignore the case of all letters. */
export const isLikeIn = (field: Pick<Field, 'caseless'>, text: JsonValue, pattern: JsonValue): boolean =>
  isLike(String(asCompared(field, text)), String(asCompared(field, pattern)));

const sure = (order: number): ValueOrder => ({ order, isSure: true });

function compareOrNull(field: Field, a: JsonValue, b: JsonValue): ValueOrder {
  requireKnown(field, a, b);
  if (a === null || b === null) return sure(Number(a !== null) - Number(b !== null));
  return compareValues(field, a, b);
}

/** Where both may be the same. */
function certain({ order, isSure }: ValueOrder): number {
  if (!isSure) throw new Unreachable('only the service knows which time is later');
  return order;
}

function compareIds(world: World, a: Id, b: Id): number {
  const [first, second] = [world.rank(a), world.rank(b)];
  return first < second ? -1 : Number(first > second);
}

/** By the sign of the comparison with the operand; `ne` includes null. */
const HOLDS: Partial<Record<OperatorName, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
};

export const comparesAs = (operator: OperatorName, order: number): boolean =>
  (HOLDS[operator] ?? HOLDS.eq)?.(order) ?? false;

function matches(world: World, type: RecordType, row: RecordRow, condition: ConditionRequest): boolean {
  if ('group' in condition) {
    const holds = (item: readonly ConditionRequest[]): boolean => item.every((one) => matches(world, type, row, one));
    const { group, items } = condition;
    return group === '$all' ? items.every(holds) : items.some(holds) === (group === '$any');
  }
  if ('operator' in condition) return matchesValue(world, type, row, condition);
  const { target, records } = setAt(world, type, row, condition.path.split('.'));
  if ('counted' in condition) return isCount(records.length, condition);
  const { quantifier, conditions } = condition;
  const holds = (record: RecordRow): boolean => conditions.every((one) => matches(world, target, record, one));
  return quantifier === '$every' ? records.every(holds) : records.some(holds) === (quantifier === '$some');
}

/** A path through a set is for some record of it. */
function matchesValue(world: World, type: RecordType, row: RecordRow, filter: FilterRequest): boolean {
  const [name = '', ...rest] = filter.path.split('.');
  const relation = type.relations.get(name);
  if (!relation || rest.length === 0) return compares(world, type, row, filter);
  const inner = { ...filter, path: rest.join('.') };
  const records = related(world, relation, row);
  if (relation.toMany) return records.some((one) => matchesValue(world, relation.target, one, inner));
  return records[0] ? matchesValue(world, relation.target, records[0], inner) : compares(world, type, row, filter);
}

const isCount = (size: number, { counted, value }: CountRequest): boolean =>
  counted === 'in' ? [value].flat().includes(size) : comparesAs(counted, size - Number(value));

interface RelatedRows {
  readonly target: RecordType;
  readonly records: readonly RecordRow[];
}

/** The records that the last relation of a path leads to, from those that the others lead to. */
function setAt(world: World, type: RecordType, row: RecordRow, path: readonly string[]): RelatedRows {
  let found: RelatedRows = { target: type, records: [row] };
  for (const name of path) {
    const relation = found.target.relations.get(name);
    if (!relation) throw new Error(`${found.target.name} has no relation ${name}`);
    found = { target: relation.target, records: found.records.flatMap((one) => related(world, relation, one)) };
  }
  return found;
}

function compares(
  world: World,
  type: RecordType,
  row: RecordRow,
  { path, operator, value = null, ids = [] }: FilterRequest,
): boolean {
  const found = follow(world, type, row, path.split('.'));
  if (found.field) requireKnown(found.field, found.value);
  const isNull = found.field ? found.value === null : found.id === undefined;
  if (operator === 'null') return isNull === value;
  if (isNull) return operator === 'ne';
  const compare = (operand: JsonValue | Id): number =>
    found.field
      ? certain(compareOrNull(found.field, found.value, operand))
      : compareIds(world, found.id ?? 0, operand as Id);
  const operands: readonly (JsonValue | Id)[] = found.field ? [value].flat() : ids;
  if (operator === 'like') return found.field !== undefined && isLikeIn(found.field, found.value, value);
  if (operator === 'in') return operands.some((operand) => comparesAs('eq', compare(operand)));
  return comparesAs(operator, compare(operands[0] ?? null));
}

function compareFound(world: World, a: Found, b: Found): ValueOrder {
  if (a.field && b.field) return compareOrNull(a.field, a.value, b.value);
  const [first, second] = [a, b].map((one) => (one.field ? undefined : one.id));
  if (first === undefined || second === undefined)
    return sure(Number(first !== undefined) - Number(second !== undefined));
  return sure(compareIds(world, first, second));
}

/** By the terms, nulls first, then by identifier in the direction of the last term. */
function sorted(
  world: World,
  type: RecordType,
  rows: readonly RecordRow[],
  order: readonly OrderRequest[],
): readonly RecordRow[] {
  const all = [...order, { path: '', descending: order.at(-1)?.descending ?? false }];
  return rows.toSorted((a, b) => {
    let likely = 0;
    for (const { path, descending } of all) {
      const steps = path.split('.');
      const { order: up, isSure } = compareFound(world, follow(world, type, a, steps), follow(world, type, b, steps));
      const compared = descending ? -up : up;
      if (compared === 0) continue;
      // If they are the same after all, the next one decides.
      if (likely !== 0 && compared !== likely) return certain({ order: likely, isSure: false });
      if (isSure) return compared;
      likely = compared;
    }
    return 0;
  });
}

interface Listed {
  readonly rows: readonly RecordRow[];
  readonly total: number;
  readonly from: number;
  readonly to: number;
}

export function listed(
  world: World,
  type: RecordType,
  { filters = [], order, offset = 0, limit = Infinity }: ListRequest,
): Listed {
  const own = type.order.map(({ field, descending }) => ({ path: field?.name ?? '', descending }));
  const rows = [...rowsOf(world, type).values()].filter((row) =>
    filters.every((filter) => matches(world, type, row, filter)),
  );
  const shown = sorted(world, type, rows, order ?? own).slice(offset, offset + limit);
  return { rows: shown, total: rows.length, from: offset, to: offset + limit };
}
