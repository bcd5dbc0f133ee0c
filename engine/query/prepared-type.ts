/** What the requests to one type have in common, made at boot. */
import type { RecordType, Variant } from '../model/model.ts';
import { type BoundedCache, createBoundedCache } from './bounded-cache.ts';
import type { QueryLimits } from './limits.ts';
import type { ListQuery, OrderBy, View } from './list-query.ts';
import { WHOLE } from './resolve-limit.ts';
import { defaultOrder } from './resolve-order.ts';
import { type Names, namesOf } from './resolve-path.ts';
import { type Accepted, acceptedByLists } from './sort-parameters.ts';
import { defaultView } from './view.ts';

export interface PreparedType {
  readonly type: RecordType;
  readonly variants: ReadonlyMap<string, PreparedVariant>;
  readonly defaultVariant: PreparedVariant;
  readonly order: readonly OrderBy[];
  /** That of a list request without parameters. */
  readonly query: ListQuery;
  /** Those that were asked for lately, by their query string: clients repeat themselves. */
  readonly queries: BoundedCache<ListQuery>;
  readonly accepted: Accepted;
  readonly limits: QueryLimits;
}

export interface PreparedVariant extends Names {
  /** That of a request without `include` and `fields`. */
  readonly view: View;
  /** Others that were asked for lately. */
  readonly views: BoundedCache<View>;
  readonly limits: QueryLimits;
}

/** Kept for each type, or variant; texts longer than this are read anew each time. */
const MAX_KEPT = 64;
const MAX_TEXT = 500;

export function prepareType(type: RecordType, limits: QueryLimits): PreparedType {
  const prepared = (variant: Variant): PreparedVariant => prepareVariant(type, variant, limits);
  const variants = new Map([...type.variants].map(([name, variant]) => [name, prepared(variant)]));
  const defaultVariant = variants.get(type.defaultVariant.name) ?? prepared(type.defaultVariant);
  const order = Object.freeze(defaultOrder(type));
  const query = Object.freeze({
    view: defaultVariant.view,
    filters: Object.freeze([]),
    order,
    ...WHOLE,
    cursor: undefined,
  });
  const queries = createBoundedCache<ListQuery>(MAX_KEPT, MAX_TEXT);
  return { type, variants, defaultVariant, order, query, queries, accepted: acceptedByLists(type), limits };
}

export function prepareVariant(type: RecordType, variant: Variant, limits: QueryLimits): PreparedVariant {
  const views = createBoundedCache<View>(MAX_KEPT, MAX_TEXT);
  return { ...namesOf(type, variant), view: defaultView(type, variant), views, limits };
}
