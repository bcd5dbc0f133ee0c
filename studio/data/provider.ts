/** The data provider: how react-admin's lists and forms reach the interface. */
import type { DataProvider, GetListParams, GetOneParams, RaRecord } from 'ra-core';
import { isValueList, isValueObject, type Value, type ValueObject } from './json.ts';
import { includesOf } from './includes.ts';
import { type Column, listQuery, type ListRequest, nextAfter } from './list-request.ts';
import { searchedWhere } from './search.ts';
import { sortKeys } from './sort.ts';
import { identifierOf, type StudioModel, type TypeInfo } from './model.ts';
import { send } from './request.ts';

/** A record as the studio keeps it: its keys are not mixed with those of the library. */
export interface StudioRecord extends RaRecord<string> {
  readonly values: ValueObject;
  /** Undefined in lists. */
  readonly etag: string | undefined;
}

/** The filters of a list: conditions as a query, and the words in its search box. */
export interface ListFilter {
  readonly where?: string;
  readonly q?: string;
}

/** The options of a list besides sort and page, as `meta`. */
export interface ListMeta {
  readonly columns: readonly Column[];
  readonly variant?: string | undefined;
}

const recordOf = (type: TypeInfo, values: Value, etag?: string | null): StudioRecord => {
  const object = isValueObject(values) ? values : {};
  return { id: identifierOf(type, object), values: object, etag: etag ?? undefined };
};

/** The query of a record's page: everything but the sets that have lists of their own. */
export function recordQuery(model: StudioModel, type: TypeInfo, variant?: string): string {
  const include = includesOf(model, type).join(',');
  const isDefault = variant === undefined || variant === type.variants?.default;
  return `include=${include}${isDefault ? '' : `&variant=${encodeURIComponent(variant)}`}`;
}

export function createProvider(model: StudioModel): DataProvider {
  const byPath = new Map([...model.types.values()].map((type) => [type.path, type]));
  const typeAt = (resource: string): TypeInfo => {
    const type = byPath.get(resource);
    if (type === undefined) throw new Error(`no type has the path ${resource}`);
    return type;
  };
  const after = createCursors();

  const read = async (resource: string, id: string, variant?: string): Promise<StudioRecord> => {
    const type = typeAt(resource);
    const target = `${resource}/${encodeURIComponent(id)}?${recordQuery(model, type, variant)}`;
    const { body, headers } = await send({ method: 'GET', target });
    return recordOf(type, body, headers.get('ETag'));
  };

  const provider = {
    supportAbortSignal: true,
    async getList(resource: string, params: GetListParams) {
      const type = typeAt(resource);
      const target = listTarget(model, type, params, after.get(resource, params));
      const { body, headers } = await send({ method: 'GET', target, headers: UNCOUNTED }, params.signal);
      const next = nextAfter(headers.get('Link'));
      after.keep(resource, params, next);
      const data = (isValueList(body) ? body : []).map((values) => recordOf(type, values));
      const { page = 1 } = params.pagination ?? {};
      return { data, pageInfo: { hasNextPage: next !== undefined, hasPreviousPage: page > 1 } };
    },
    getOne: async (resource: string, { id, meta }: GetOneParams) => ({
      data: await read(resource, String(id), (meta as Partial<ListMeta> | undefined)?.variant),
    }),
  };
  // Forms send their requests themselves: they need more of the answer than the library passes on.
  return provider as unknown as DataProvider;
}

/** Lists do not wait for their totals, which come by themselves. */
export const UNCOUNTED = { Prefer: 'count=none' } as const;

/** The request that a list sends. */
export const listTarget = (model: StudioModel, type: TypeInfo, params: GetListParams, after?: string): string =>
  `${type.path}?${listQuery(type, { ...requestOf(model, type, params), after })}`;

function requestOf(model: StudioModel, type: TypeInfo, { pagination, sort, filter, meta }: GetListParams): ListRequest {
  const { page = 1, perPage = 25 } = pagination ?? {};
  const { columns = [], variant } = (meta ?? {}) as Partial<ListMeta>;
  return {
    columns,
    variant,
    where: searchedWhere(model, type, (filter ?? {}) as ListFilter, variant).where,
    sort: sort === undefined ? [] : sortKeys(sort),
    offset: (page - 1) * perPage,
    limit: perPage,
  };
}

/**
 * Where each page begins that was reached from the one before it: records that come and go meanwhile move nothing. A page
 * that is opened by its address alone is found by counting.
 */
function createCursors() {
  const known = new Map<string, string>();
  const keyOf = (resource: string, { pagination, sort, filter, meta }: GetListParams, ahead: number): string =>
    JSON.stringify([resource, pagination?.perPage, (pagination?.page ?? 1) + ahead, sort, filter, meta]);
  return {
    get: (resource: string, params: GetListParams): string | undefined => known.get(keyOf(resource, params, 0)),
    keep(resource: string, params: GetListParams, next: string | undefined): void {
      const key = keyOf(resource, params, 1);
      if (next === undefined) known.delete(key);
      else known.set(key, next);
    },
  };
}
