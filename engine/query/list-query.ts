/** Parsed queries, with every name resolved against the Model. */
import type { AggregateName } from '../field-types/field-type.ts';
import type { PeriodName } from '../field-types/periods.ts';
import type { JsonValue } from '../json/json.ts';
import type { Filter, Path } from '../model/filters.ts';
import type { Identifier } from '../model/identifier.ts';
import type { Field, RecordType, Relation, Variant, UniqueMembers } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import type { Fault } from '../problem.ts';
import type { Parameter, WriteCondition } from './parameters.ts';

export type * from '../model/filters.ts';

export interface View {
  readonly key: string;
  readonly type: RecordType;
  /** The requested variant; for related records, the default. */
  readonly variant: Variant;
  readonly fields: readonly Field[];
  readonly openKeys: boolean;
  readonly relations: readonly { readonly relation: Relation; readonly view: View }[];
  /** The rights of the client that the view was made for; reads keep to them. */
  readonly rights: Rights;
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

export interface OrderBy {
  readonly path: Path;
  readonly descending: boolean;
}

export interface Cursor {
  readonly direction: 'after' | 'before';
  readonly values: readonly JsonValue[];
  /** Has the values if they are too long for the cursor: `values` are a place before it, for when it has changed. */
  readonly record?: { readonly identifier: Identifier; readonly digest: string };
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
  /** The time zone of periods; undefined: UTC. */
  readonly zone: string | undefined;
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

export interface SummaryQuery extends Pick<ListQuery, 'filters' | 'offset' | 'limit' | 'shared'> {
  readonly type: RecordType;
  readonly rights: Rights;
  readonly keys: readonly GroupKey[];
  readonly measures: readonly Measure[];
  readonly order: readonly SummaryOrder[];
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

/** A page of the log of changes. `view`: what shows that a record may be read. */
export interface LogQuery {
  readonly view: View;
  readonly limit: number;
  /** A cursor. */
  readonly after: string | undefined;
}

export interface ChangesQuery extends Omit<LogQuery, 'view'> {
  /** Names of types; undefined for all. */
  readonly types: readonly string[] | undefined;
  readonly values: boolean;
}
