/** Conditions on records along paths, of list queries and of roles. */
import type { GroupKind } from '../descriptor/conditions.ts';
import type { OperatorName } from '../field-types/field-type.ts';
import type { JsonValue } from '../json/json.ts';
import type { IdentifierField } from './identifier.ts';
import type { Field, RecordType, Relation } from './model.ts';

/** A value of a record or, through to-one relations, of a related record; without `field`, the identifier. */
export interface Path {
  readonly name: string;
  readonly relations: readonly Relation[];
  readonly type: RecordType;
  readonly field: Field | undefined;
}

/** The field at the end of a path, or the identifier of the record there. */
export const valueAt = ({ field, type }: Path): Field | IdentifierField => field ?? type.identifier;

export interface SetPath {
  readonly name: string;
  readonly relations: readonly Relation[];
  readonly set: Relation;
}

/** A condition that a record meets or does not. Null satisfies only `ne` and `null`. */
export type Filter = ValueFilter | Group | SetFilter | SetCount;

/** `value` is the operand: one value, a list for `in`, a boolean for `null`. Decimals are strings. */
export interface ValueFilter {
  readonly kind: 'value';
  readonly path: Path;
  readonly operator: OperatorName;
  readonly value: JsonValue;
}

/** Any, all or none of the items match; an item matches if all its conditions do. */
export interface Group {
  readonly kind: GroupKind;
  readonly items: readonly (readonly Filter[])[];
}

/** All conditions match the same record of the set, no record, or each record. */
export interface SetFilter {
  readonly kind: 'some' | 'no' | 'every';
  readonly path: SetPath;
  readonly conditions: readonly Filter[];
}

export interface SetCount {
  readonly kind: 'count';
  readonly path: SetPath;
  readonly operator: OperatorName;
  readonly value: JsonValue;
}

/** The conditions on the record that a to-one relation leads to, as conditions on the record that has the link. */
export const prefixed = (relation: Relation, conditions: readonly Filter[]): readonly Filter[] =>
  conditions.map((condition): Filter => {
    if ('items' in condition) return { ...condition, items: condition.items.map((item) => prefixed(relation, item)) };
    const { path } = condition;
    const along = { name: `${relation.name}.${path.name}`, relations: [relation, ...path.relations] };
    if (condition.kind === 'value') return { ...condition, path: { ...condition.path, ...along } };
    return { ...condition, path: { ...condition.path, ...along } };
  });
