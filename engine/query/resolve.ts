/** Query strings -> what they want of a type. Every fault of a request is reported at once. */
import type { Model, RecordType } from '../model/model.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { complainAbout } from './faults.ts';
import type { ListQuery, View } from './list-query.ts';
import { refuseManyRelations } from './joined-relations.ts';
import { type PreparedType, prepareType } from './prepared-type.ts';
import { resolveCursor } from './resolve-cursor.ts';
import { resolveFilters } from './resolve-filters.ts';
import { resolveLimit } from './resolve-limit.ts';
import { resolveOrder } from './resolve-order.ts';
import { resolveVariant, resolveView } from './resolve-view.ts';
import { ACCEPTED_BY_VIEWS, sortParameters } from './sort-parameters.ts';

/** What the query strings of requests to one type want. Both throw a Problem, `invalid-query`. */
export interface TypeQueries {
  /** `search` is what stands after the `?`, as it came. */
  list(search: string): ListQuery;
  /** For requests to one record, and for create. */
  view(search: string): View;
}

/** Answers the queries of each type of the model. */
export function createQueryResolver(model: Model): (type: RecordType) => TypeQueries {
  const all = new Map([...model.types.values()].map((type) => [type, queriesOf(type)]));
  return (type) => all.get(type) ?? queriesOf(type);
}

function queriesOf(type: RecordType): TypeQueries {
  const prepared = prepareType(type);
  return {
    list: (search) => (search === '' ? prepared.query : readList(prepared, search)),
    view: (search) => (search === '' ? prepared.defaultVariant.view : readView(prepared, search)),
  };
}

function readList(prepared: PreparedType, search: string): ListQuery {
  const faults: Fault[] = [];
  const { limit, orderBy, filters, plain } = sortParameters(search, prepared.accepted, faults);
  const names = resolveVariant(prepared, plain.get('variant'), faults);
  const query = {
    view: resolveView(names, plain, faults),
    filters: resolveFilters(filters, names, faults),
    order: orderBy.length === 0 ? prepared.order : resolveOrder(orderBy, names, faults),
    ...resolveLimit(limit, prepared.type.maxLimit, faults),
  };
  refuseManyRelations(
    [...query.filters, ...query.order].map(({ path }) => path),
    complainAbout(faults, '_cnd'),
  );
  const cursor = resolveCursor(query, plain, faults);
  return accepted({ ...query, cursor }, faults);
}

function readView(prepared: PreparedType, search: string): View {
  const faults: Fault[] = [];
  const { plain } = sortParameters(search, ACCEPTED_BY_VIEWS, faults);
  const names = resolveVariant(prepared, plain.get('variant'), faults);
  return accepted(resolveView(names, plain, faults), faults);
}

function accepted<T>(wanted: T, faults: readonly Fault[]): T {
  if (faults.length > 0) throw faultyRequest('invalid-query', faults);
  return wanted;
}
