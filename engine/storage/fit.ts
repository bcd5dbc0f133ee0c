/** Whether the tables are still those that a service was started for: the one place that decides it. */
import { isDeepStrictEqual } from 'node:util';
import type { AppliedIndex, AppliedJoin, AppliedModel, AppliedReference, AppliedType } from './applied-model.ts';

export interface Fit {
  /** Tables that the service cannot use any more. What was added to the others does not concern it. */
  readonly unfit: readonly string[];
  /** Whether the database was made for exactly this model. */
  readonly isSame: boolean;
}

/** `own` is what the service was started for, `found` what the database has now. */
export function fitOf(own: AppliedModel, found: AppliedModel): Fit {
  if (isDeepStrictEqual(own, found)) return { unfit: [], isSame: true };
  const tables = new Map(Object.entries(found.types).map(([name, type]) => [type.table, { name, type }]));
  const joins = new Map(found.joins.map((join) => [join.table, join]));
  const types = Object.values(own.types).filter((type) => !isUsable(type, tables.get(type.table)?.type, own, found));
  const others = own.joins.filter((join) => !isSameJoin(join, joins.get(join.table), own, found));
  return { unfit: [...types, ...others].map(({ table }) => table), isSame: false };
}

function isUsable(type: AppliedType, now: AppliedType | undefined, own: AppliedModel, found: AppliedModel): boolean {
  return (
    now !== undefined &&
    now.identifier === type.identifier &&
    (now.open || !type.open) &&
    hasFields(type, now) &&
    type.references.every((reference) => now.references.some((one) => isUsableLink(reference, one, own, found))) &&
    Object.values(type.indexes).every((index) => !index.unique || hasIndex(index, now))
  );
}

/** A value may be refused that was taken before, which the database says; none may be of another kind. */
function hasFields(type: AppliedType, now: AppliedType): boolean {
  const columns = new Map(Object.values(now.fields).map((field) => [field.column, field]));
  return Object.values(type.fields).every(({ column, type: kind, nullable }) => {
    const field = columns.get(column);
    return field !== undefined && field.type === kind && (nullable || !field.nullable);
  });
}

const isUsableLink = (
  reference: AppliedReference,
  now: AppliedReference,
  own: AppliedModel,
  found: AppliedModel,
): boolean =>
  now.column === reference.column &&
  tableOf(now.target, found) === tableOf(reference.target, own) &&
  now.onDelete === reference.onDelete &&
  (now.required || !reference.required) &&
  (now.unique || !reference.unique);

const hasIndex = (index: AppliedIndex, { indexes }: AppliedType): boolean =>
  Object.values(indexes).some((one) => one.unique && isDeepStrictEqual(one.members, index.members));

const isSameJoin = (
  join: AppliedJoin,
  now: AppliedJoin | undefined,
  own: AppliedModel,
  found: AppliedModel,
): boolean => {
  if (now === undefined) return false;
  const sides = ({ left, right }: AppliedJoin, model: AppliedModel): readonly unknown[] =>
    [left, right].map(({ column, type }) => [column, tableOf(type, model)]);
  return isDeepStrictEqual(sides(join, own), sides(now, found));
};

/** A type may have been given another name. */
const tableOf = (type: string, { types }: AppliedModel): string | undefined => types[type]?.table;
