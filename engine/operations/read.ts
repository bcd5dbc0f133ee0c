/** Reads records and lists. */
import type { CountMode } from '../descriptor/descriptor.ts';
import type { Caller } from '../edge/caller.ts';
import type { Identifier } from '../model/identifier.ts';
import type { RecordType } from '../model/model.ts';
import type { ListQuery, LogQuery, View } from '../query/list-query.ts';
import { encodeCursor } from '../query/paging.ts';
import { notFound } from '../storage/read/reads.ts';
import type { LogPage } from '../storage/store.ts';
import { type OperationContext, parseIdentifier, tagOf } from './operation.ts';

export interface RecordResult {
  readonly json: string;
  /** undefined if the type has no tags. */
  readonly tag: string | undefined;
}

/** Fails with `record-not-found`. SQLite returns no promise, to speed up the most frequent requests. */
export function get(
  { type, store }: OperationContext,
  id: Identifier,
  query: View,
  caller: Caller,
): RecordResult | Promise<RecordResult> {
  const json = store.get(query, id, caller);
  return json instanceof Promise ? json.then((text) => found(type, id, text)) : found(type, id, json);
}

function found(type: RecordType, id: Identifier, json: string | undefined): RecordResult {
  return json === undefined ? notFound(type, id) : { json, tag: tagOf(type, json) };
}

/** Reading and sending so many rows takes half a millisecond; more wait for a turn of long work. */
const QUICK_ROWS = 100;

/** Waits if the page may be long; without a limit, it is the whole list. */
export async function turnOf({ limit = Infinity }: Pick<ListQuery, 'limit'>, caller: Caller): Promise<void> {
  if (limit > QUICK_ROWS) await caller.turn();
}

/** Reads a page of the log. */
export type LogRead = (context: OperationContext, query: LogQuery, id: string, caller: Caller) => Promise<LogPage>;

/** Fails with `record-not-found` for a record that is not there and has no entries. */
export const history: LogRead = async ({ type, store }, query, identifier, caller) => {
  const id = parseIdentifier(identifier, type);
  await turnOf(query, caller);
  return (await store.history(query, id, caller)) ?? notFound(type, id);
};

export const deleted: LogRead = async ({ store }, query, _, caller) => {
  await turnOf(query, caller);
  return store.deleted(query, caller);
};

/** One page, or the whole list, streamed from the database. */
export type ListResult = {
  /** undefined if not counted. */
  readonly total: number | undefined;
} & (
  | {
      readonly rows: readonly string[];
      readonly hasNext: boolean;
      /** Cursors for `after` and `before`. */
      readonly next: string | undefined;
      readonly previous: string | undefined;
    }
  | { readonly stream: AsyncIterable<readonly string[]> }
);

export async function list(
  { store }: OperationContext,
  query: ListQuery,
  count: CountMode,
  caller: Caller,
): Promise<ListResult> {
  await turnOf(query, caller);
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
