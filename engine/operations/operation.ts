/** Read operations, and the arguments and results of all operations. */
import { createHash } from 'node:crypto';
import type { CountMode } from '../descriptor/descriptor.ts';
import type { Caller } from '../edge/caller.ts';
import type { RecordType } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import { faultyRequest, Problem } from '../problem.ts';
import type { ListQuery, View } from '../query/list-query.ts';
import { encodeCursor } from '../query/paging.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type { Once, Store, WriteEffect } from '../storage/store.ts';
import { Outdated } from '../storage/unavailable.ts';
import type { TypeValidators } from '../validation/compile.ts';
import type { Body, BodyLimits } from './body.ts';
import { type Preconditions, tagOf } from './preconditions.ts';

/** A record type, and the rights of the client to it. */
export interface OperationContext {
  readonly type: RecordType;
  readonly rights: Rights;
  readonly store: Store;
  readonly queries: TypeQueries;
  readonly validators: TypeValidators;
  readonly limits: BodyLimits & { readonly bodyLimit: number };
  /** The name of the client's token; null without tokens. */
  readonly author: string | null;
  readonly idempotencyHours: number;
}

/** The arguments of an operation that writes; `Q` is its parsed query. */
export interface WriteArguments<Q> {
  /** 0 for a collection. */
  readonly id: number;
  readonly query: Q;
  readonly body: Body;
  readonly caller: Caller;
  readonly preconditions: Preconditions;
  /** undefined if the client sends no idempotency key. */
  readonly once: Once | undefined;
  /** The client requests no records in the response. */
  readonly minimal: boolean;
  /** Maximum records that a deletion by filters may delete or unlink. */
  readonly maxAffected: number;
}

export type WriteOperation<Q> = (context: OperationContext, given: WriteArguments<Q>) => Promise<WriteResult>;

export interface WriteResult {
  readonly status: 200 | 201 | 204;
  /** JSON of the record, array of records, or counts; undefined if not requested, or if no record is left. */
  readonly json: string | undefined;
  readonly tag?: string | undefined;
  /** The identifier of a single created record. */
  readonly created?: number | undefined;
  readonly effects?: readonly WriteEffect[] | undefined;
}

/** Retries the work with the new model if the tables have changed meanwhile. */
export function withCurrentModel<T>(work: () => T | Promise<T>): T | Promise<T> {
  try {
    const result = work();
    return result instanceof Promise ? result.catch((error: unknown) => retried(error, work)) : result;
  } catch (error) {
    return retried(error, work);
  }
}

function retried<T>(error: unknown, work: () => T): T {
  if (error instanceof Outdated) return work();
  throw error;
}

export function parseIdentifier(text: string): number {
  const identifier = Number(text);
  if (/^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(identifier)) return identifier;
  const message = `"${text.slice(0, 40)}" is not an identifier; expected an integer from 1 to ${Number.MAX_SAFE_INTEGER}`;
  throw faultyRequest('invalid-identifier', [{ parameter: 'id', code: 'invalid-identifier', message }]);
}

/** Throws `invalid-header`. `hashed`: the parts of the request that a retry must repeat. */
export function onceOf(
  given: string | undefined,
  { author, idempotencyHours: hours }: Pick<OperationContext, 'author' | 'idempotencyHours'>,
  hashed: () => readonly (string | Buffer)[],
  name = 'Idempotency-Key',
): Once | undefined {
  if (given === undefined) return undefined;
  // The draft standard quotes the key, most clients do not: accepts both.
  const key = given.replace(/^"(.*)"$/, '$1');
  if (!/^[!-~]{1,255}$/.test(key)) {
    const message = `${name} must have 1 to 255 visible ASCII characters, such as a UUID`;
    throw faultyRequest('invalid-header', [{ header: 'Idempotency-Key', code: 'invalid-value', message }]);
  }
  const sum = createHash('sha256');
  for (const part of hashed()) sum.update(part);
  return { identity: author ?? '', key, hash: sum.digest('base64url'), hours };
}

export interface RecordResult {
  readonly json: string;
  /** undefined if the type has no tags. */
  readonly tag: string | undefined;
}

/** Fails with `record-not-found`. SQLite returns no promise, to speed up the most frequent requests. */
export function get(
  { type, store }: OperationContext,
  id: number,
  query: View,
  caller: Caller,
): RecordResult | Promise<RecordResult> {
  const json = store.get(query, id, caller);
  return json instanceof Promise ? json.then((text) => found(type, id, text)) : found(type, id, json);
}

function found(type: RecordType, id: number, json: string | undefined): RecordResult {
  if (json === undefined) throw new Problem('record-not-found', `There is no ${type.name} ${id}`);
  return { json, tag: tagOf(type, json) };
}

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
