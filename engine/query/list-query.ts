/** Parsed queries, with every name resolved against the Model. */
import type { GroupKind } from '../descriptor/conditions.ts';
import type { AggregateName, OperatorName, PeriodName } from '../field-types/field-type.ts';
import type { JsonValue } from '../json/json.ts';
import type { Field, RecordType, Relation, Variant, UniqueMembers } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import type { Fault } from '../problem.ts';
import type { Parameter, WriteCondition } from './parameters.ts';

export interface View {
  readonly key: string;
  readonly type: RecordType;
  /** The requested variant; for related records, the default. */
  readonly variant: Variant;
  readonly fields: readonly Field[];
  readonly openKeys: boolean;
  readonly relations: readonly { readonly relation: Relation; readonly view: View }[];
  /** The parameter that chose the relations; undefined for the default relations. */
  readonly chosenBy?: 'include' | 'fields';
}

export interface WriteQuery {
  readonly view: View;
  readonly dryRun: boolean;
}

export interface UpsertQuery extends WriteQuery {
  readonly unique: UniqueMembers;
}

export interface DeleteQuery {
  readonly query: ListQuery;
  readonly dryRun: boolean;
}

/** A value of a record or, through to-one relations, of a related record; without `field`, the identifier. */
export interface Path {
  readonly name: string;
  readonly relations: readonly Relation[];
  readonly type: RecordType;
  readonly field: Field | undefined;
}

export interface SetPath {
  readonly name: string;
  readonly relations: readonly Relation[];
  readonly set: Relation;
}

export interface OrderBy {
  readonly path: Path;
  readonly descending: boolean;
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

export interface Cursor {
  readonly direction: 'after' | 'before';
  readonly values: readonly JsonValue[];
  /** Has the values if they are too long for the cursor: `values` are a place before it, for when it has changed. */
  readonly record?: { readonly identifier: number; readonly digest: string };
}

export interface ListQuery {
  readonly view: View;
  readonly filters: readonly Filter[];
  readonly order: readonly OrderBy[];
  readonly offset: number;
  readonly limit: number | undefined;
  readonly cursor: Cursor | undefined;
  readonly shared: string;
}

export interface GroupKey {
  readonly name: string;
  readonly path: Path;
  readonly period: PeriodName | undefined;
  readonly shown: View | undefined;
}

export interface Measure {
  readonly name: string;
  readonly aggregate: AggregateName | 'count';
  readonly path: Path | undefined;
}

export interface SummaryOrder {
  readonly column: number;
  readonly descending: boolean;
}

export interface SummaryQuery {
  readonly type: RecordType;
  readonly filters: readonly Filter[];
  readonly keys: readonly GroupKey[];
  readonly measures: readonly Measure[];
  readonly order: readonly SummaryOrder[];
  readonly offset: number;
  readonly limit: number | undefined;
  readonly shared: string;
}

export interface QueryLimits {
  readonly maxFilters: number;
  readonly maxIncludes: number;
  /** Maximum values in a filter by the records' own identifier; default: as for others. */
  readonly maxIdentifiers?: number | undefined;
}

export interface PathNames {
  readonly type: RecordType;
  readonly variant: Variant;
  readonly fields: ReadonlyMap<string, Field>;
  /** Hides relations to types that the client cannot read. */
  readonly rights: Rights;
}

export interface QueryReading {
  readonly names: PathNames;
  readonly view: View;
  readonly limits: QueryLimits;
  readonly limit: readonly Parameter[];
  readonly orderBy: readonly Parameter[];
  readonly filters: readonly Parameter[];
  readonly plain: ReadonlyMap<string, string>;
  readonly shared: string;
  readonly written: WriteCondition;
  readonly faults: Fault[];
}
