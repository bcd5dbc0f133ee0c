/** Reads one record, a list of records, or a summary of them. */
import type { Caller } from '../edge/caller.ts';
import type { CountMode } from '../descriptor/descriptor.ts';
import { Problem } from '../problem.ts';
import { encodeCursor } from '../query/paging.ts';
import type { ListQuery, SummaryQuery, View } from '../query/list-query.ts';
import { type OperationContext, tagOf } from './operation.ts';

interface ReadArguments<Q> {
  readonly query: Q;
  readonly caller: Caller;
}

export interface RecordResult {
  /** JSON text. */
  readonly json: string;
  /** undefined if the type goes without. */
  readonly tag: string | undefined;
}

/** On SQLite the record is there at once: reads by identifier are the most frequent requests, and need no promise. */
export function get(
  { type, store }: OperationContext,
  { id, query, caller }: ReadArguments<View> & { readonly id: number },
): RecordResult | Promise<RecordResult> {
  const resultOf = (json: string | undefined): RecordResult => {
    if (json === undefined) throw new Problem('record-not-found', `There is no ${type.name} ${id}`);
    return { json, tag: tagOf(type, json) };
  };
  const found = store.get(query, id, caller);
  return found instanceof Promise ? found.then(resultOf) : resultOf(found);
}

type CountedArguments<Q> = ReadArguments<Q> & { readonly count: CountMode };

/** One page: all its records are in memory. */
export interface PageResult {
  /** JSON texts. */
  readonly rows: readonly string[];
  /** undefined if it was not counted. */
  readonly total: number | undefined;
  readonly hasNext: boolean;
  /** Cursors of the neighbouring pages, for `after` and `before`. */
  readonly next: string | undefined;
  readonly previous: string | undefined;
}

/** The whole list, which is read as it is consumed. */
interface WholeResult {
  readonly stream: AsyncIterable<readonly string[]>;
  readonly total: number | undefined;
}

export type ListResult = PageResult | WholeResult;

/** A page if there is a limit, else the whole list. */
export async function list(
  { store }: OperationContext,
  { query, count, caller }: CountedArguments<ListQuery>,
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

export interface SummaryResult {
  /** The groups as JSON texts. */
  readonly rows: readonly string[];
  /** The number of groups; undefined if they were not counted. */
  readonly total: number | undefined;
  readonly hasNext: boolean;
}

export async function summary(
  { store }: OperationContext,
  { query, count, caller }: CountedArguments<SummaryQuery>,
): Promise<SummaryResult> {
  const { groups, total, hasNext } = await store.summary(query, count, caller);
  return { rows: groups, total, hasNext };
}
