/** Query strings as clients write them. */
import type { FilterRequest, OrderRequest } from './reference/lists.ts';
import type { ListRequest } from './reference/reference.ts';
import type { ViewRequest } from './reference/views.ts';
import type { Id } from './reference/world.ts';

/** Parts of a query string: `key=value`, already encoded. */
export type Query = readonly string[];

/** The variable as a path holds it. */
export const idText = (id: Id): string => (typeof id === 'string' ? `{${id}}` : String(id));

export const parameter = (key: string, value: string): string => `${key}=${encodeURIComponent(value)}`;

/** `_cnd[limit]` with each step encoded but the brackets raw, as most clients send it. */
export const cnd = (...steps: readonly string[]): string =>
  `_cnd${steps.map((step) => `[${encodeURIComponent(step)}]`).join('')}`;

export const search = (query: Query): string => (query.length === 0 ? '' : `?${query.join('&')}`);

export const viewQuery = ({ include, fields, variant }: ViewRequest): string[] => [
  ...(include === undefined ? [] : [parameter('include', include.join(','))]),
  ...(fields === undefined ? [] : [parameter('fields', fields.join(','))]),
  ...(variant === undefined ? [] : [parameter('variant', variant)]),
];

export function filterQuery({ path, operator, value, ids }: FilterRequest): string[] {
  const key = operator === 'eq' ? cnd(path) : cnd(path, operator);
  if (ids) return ids.map((id) => `${key}=${idText(id)}`);
  const values = Array.isArray(value) ? value : [value];
  return values.map((one: unknown) => parameter(key, String(one)));
}

export const orderQuery = (order: readonly OrderRequest[]): string[] =>
  order.flatMap(({ path, descending }) => [
    parameter(cnd('orderBy'), path),
    ...(descending ? [parameter(cnd('orderBy'), 'desc')] : []),
  ]);

const limitQuery = (offset: number | undefined, limit: number | undefined): string[] => [
  ...(offset === undefined ? [] : [parameter(cnd('limit', '0'), String(offset))]),
  ...(limit === undefined ? [] : [parameter(cnd('limit', '1'), String(limit))]),
];

export const listQuery = ({ filters = [], order = [], offset, limit, view = {} }: ListRequest): string[] => [
  ...filters.flatMap(filterQuery),
  ...orderQuery(order),
  ...limitQuery(offset, limit),
  ...viewQuery(view),
];
