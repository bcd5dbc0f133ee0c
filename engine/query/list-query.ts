/** What a request wants, with every name already resolved against the Model. */
import type { OperatorName } from '../field-types/field-type.ts';
import type { JsonValue } from '../json.ts';
import type { Field, RecordType, Relation, Variant } from '../model/model.ts';

/** What of a record is shown: own fields and, for each relation that is shown, a view of the related type. */
export interface View {
  /** The same view has the same key; different views of a type have different keys. */
  readonly key: string;
  readonly type: RecordType;
  /** The one that was asked for; in a related record its type's default. */
  readonly variant: Variant;
  /** In the order of the descriptor. The identifier is shown besides. */
  readonly fields: readonly Field[];
  /** Whether keys that no field names are shown (open types). */
  readonly openKeys: boolean;
  readonly relations: readonly { readonly relation: Relation; readonly view: View }[];
  /** The parameter that chose the relations; undefined where they are those that are shown unasked. */
  readonly chosenBy?: 'include' | 'fields';
}

/** A value of a record, possibly behind to-one relations; `field` undefined stands for the identifier. */
export interface Path {
  /** The one spelling of this path: `author.name`, `author.author_id`. The same path has the same name. */
  readonly name: string;
  readonly relations: readonly Relation[];
  readonly type: RecordType;
  readonly field: Field | undefined;
}

export interface OrderBy {
  readonly path: Path;
  readonly descending: boolean;
}

/** `value` is what the operator wants: one value, a list for `in`, a boolean for `null`. Decimals are strings. */
export interface Filter {
  readonly path: Path;
  readonly operator: OperatorName;
  readonly value: JsonValue;
}

/** A place between two records of an ordered list. `values` are those of `order`, the identifier last. */
export interface Cursor {
  readonly direction: 'after' | 'before';
  readonly values: readonly JsonValue[];
}

export interface ListQuery {
  readonly view: View;
  readonly filters: readonly Filter[];
  /** What the client asked for or the type's default; always ends with the identifier. */
  readonly order: readonly OrderBy[];
  readonly offset: number;
  /** undefined: the whole list, streamed. */
  readonly limit: number | undefined;
  readonly cursor: Cursor | undefined;
}

/** How much one request may ask for. */
export interface QueryLimits {
  /** Filters of a list. */
  readonly maxFilters: number;
  /** Relations that are shown, at all levels: each is a part of the statement that is built for it. */
  readonly maxIncludes: number;
}
