/** Lists of the reference model: which records match, in which order, how many in all. */
import type { OperatorName } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import { related } from './links.ts';
import { compareIds, compareValues } from './views.ts';
import { type Id, type Row, rowsOf, type World } from './world.ts';

/** A dotted name: through to-one relations to a field, to the identifier, or to a relation for its identifier. */
export interface FilterRequest {
  readonly path: string;
  readonly operator: OperatorName;
  /** A list for `in`, a boolean for `null`. Identifiers are given as `ids`. */
  readonly value?: JsonValue;
  readonly ids?: readonly Id[];
}

export interface OrderRequest {
  readonly path: string;
  readonly descending: boolean;
}

/** What a path leads to in one record. */
type Found =
  | { readonly field: Field; readonly value: JsonValue }
  | { readonly field: undefined; readonly id: Id | undefined };

function follow(world: World, type: RecordType, row: Row | undefined, path: readonly string[]): Found {
  const [name = '', ...rest] = path;
  const field = type.fields.get(name);
  if (field) return { field, value: row?.values.get(field) ?? null };
  const relation = type.relations.get(name);
  if (!relation) return { field: undefined, id: row?.id };
  const target = row && related(world, relation, row)[0];
  return follow(world, relation.target, target, rest.length > 0 ? rest : [relation.target.identifier.name]);
}

const lower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** `*` stands for any run; ASCII letters are alike in both cases. */
export function isLike(text: string, pattern: string): boolean {
  const parts = lower(pattern)
    .split('*')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 'su').test(lower(text));
}

type Test = (field: Field, value: JsonValue, operand: JsonValue) => boolean;

const compared =
  (holds: (order: number) => boolean): Test =>
  (field, value, operand) =>
    value !== null && holds(compareValues(field, value, operand));

const tests: Readonly<Record<OperatorName, Test>> = {
  eq: compared((order) => order === 0),
  ne: (field, value, operand) => value === null || compareValues(field, value, operand) !== 0,
  lt: compared((order) => order < 0),
  lte: compared((order) => order <= 0),
  gt: compared((order) => order > 0),
  gte: compared((order) => order >= 0),
  in: (field, value, operands) =>
    value !== null &&
    Array.isArray(operands) &&
    operands.some((one: JsonValue) => compareValues(field, value, one) === 0),
  like: (_field, value, pattern) => typeof value === 'string' && isLike(value, String(pattern)),
  null: (_field, value, wanted) => (value === null) === wanted,
};

function idMatches(world: World, id: Id | undefined, { operator, ids = [], value }: FilterRequest): boolean {
  const [operand] = ids;
  if (operator === 'null') return (id === undefined) === value;
  if (operator === 'ne') return id !== operand;
  if (id === undefined || operand === undefined) return false;
  const order = compareIds(world, id, operand);
  const holds = {
    eq: order === 0,
    lt: order < 0,
    lte: order <= 0,
    gt: order > 0,
    gte: order >= 0,
    in: ids.includes(id),
    like: false,
  };
  return holds[operator];
}

export function matches(world: World, type: RecordType, row: Row, filter: FilterRequest): boolean {
  const found = follow(world, type, row, filter.path.split('.'));
  if (found.field === undefined) return idMatches(world, found.id, filter);
  return tests[filter.operator](found.field, found.value, filter.value ?? null);
}

function compareFound(world: World, a: Found, b: Found): number {
  if (a.field && b.field) return compareValues(a.field, a.value, b.value);
  const [first, second] = [a, b].map((one) => (one.field ? undefined : one.id));
  if (first === undefined || second === undefined) return Number(first !== undefined) - Number(second !== undefined);
  return compareIds(world, first, second);
}

/** Every record that matches, in order: nulls first, the identifier last and in the direction of the last term. */
export function listed(
  world: World,
  type: RecordType,
  filters: readonly FilterRequest[],
  order: readonly OrderRequest[] | undefined,
): Row[] {
  const own = type.order.map(({ field, descending }) => ({ path: field?.name ?? type.identifier.name, descending }));
  const terms = order ?? own;
  const all = [...terms, { path: type.identifier.name, descending: terms.at(-1)?.descending ?? false }];
  const rows = [...rowsOf(world, type).values()].filter((row) =>
    filters.every((filter) => matches(world, type, row, filter)),
  );
  return rows.toSorted((a, b) => {
    for (const { path, descending } of all) {
      const steps = path.split('.');
      const compare = compareFound(world, follow(world, type, a, steps), follow(world, type, b, steps));
      if (compare !== 0) return descending ? -compare : compare;
    }
    return 0;
  });
}
