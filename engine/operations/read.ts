/** Reads one record, or a list of records. */
import type { CountMode } from '../descriptor/descriptor.ts';
import type { Caller } from '../edge/caller.ts';
import { Problem } from '../problem.ts';
import type { ListQuery, View } from '../query/list-query.ts';
import { encodeCursor } from '../query/paging.ts';
import { type OperationContext, tagOf } from './operation.ts';

export interface RecordResult {
  readonly json: string;
  /** undefined if the type goes without. */
  readonly tag: string | undefined;
}

/** On SQLite the record is there at once: reads by identifier are the most frequent requests, and need no promise. */
export function get(
  { type, store }: OperationContext,
  id: number,
  query: View,
  caller: Caller,
): RecordResult | Promise<RecordResult> {
  const resultOf = (json: string | undefined): RecordResult => {
    if (json === undefined) throw new Problem('record-not-found', `There is no ${type.name} ${id}`);
    return { json, tag: tagOf(type, json) };
  };
  const found = store.get(query, id, caller);
  return found instanceof Promise ? found.then(resultOf) : resultOf(found);
}

/** One page, whose records are all in memory, or the whole list, which is read as it is consumed. */
export type ListResult = {
  /** undefined if it was not counted. */
  readonly total: number | undefined;
} & (
  | {
      readonly rows: readonly string[];
      readonly hasNext: boolean;
      /** Cursors of the neighbouring pages, for `after` and `before`. */
      readonly next: string | undefined;
      readonly previous: string | undefined;
    }
  | { readonly stream: AsyncIterable<readonly string[]> }
);

/** A page if there is a limit, else the whole list. */
export async function list(
  { store }: OperationContext,
  query: ListQuery,
  count: CountMode,
  caller: Caller,
): Promise<ListResult> {
  if (query.limit === undefined) {
    const { total, records } = await store.stream(query, count, caller);
    return { stream: records, total };
  }
  const { records, total, hasNext, hasPrevious, first, last } = await store.page(query, count, caller);
  return {
    rows: records,
    total,
    hasNext,
    next: hasNext && last ? encodeCursor(query, last) : undefined,
    previous: hasPrevious && first ? encodeCursor(query, first) : undefined,
  };
}
