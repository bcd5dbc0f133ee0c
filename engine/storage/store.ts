/** Records as the rest of the engine sees them: JSON text comes out, checked bodies go in. No SQL above, no HTTP below. */
import type { Caller } from '../caller.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { OwnChildOf, RecordType } from '../model/model.ts';
import type { RawValues } from '../raw-json.ts';
import type { Fault } from '../problem.ts';
import { unavailable } from './unavailable.ts';
import type { ListQuery, View } from '../query/list-query.ts';
import type { Awaitable } from './driver.ts';

export interface Page {
  /** The records as JSON text. */
  readonly records: readonly string[];
  /** How many records match the filters, whatever the page; undefined where it was not asked for. */
  readonly total: number | undefined;
  /** The order values of the first and the last record; undefined on an empty page. */
  readonly first: readonly JsonValue[] | undefined;
  readonly last: readonly JsonValue[] | undefined;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

export interface Stream {
  readonly total: number | undefined;
  /** The records as JSON text, one or more at a time. Ending early, by return or by throw, frees the snapshot. */
  readonly records: AsyncIterable<readonly string[]>;
}

/** Throws a Problem where the record, as GET of the same view answers it, is not what the client expects. */
export type Precondition = (current: string) => void;

export interface WriteRequest {
  readonly type: RecordType;
  readonly body: JsonObject;
  /** What of the body is kept as it was written. A value without a text is written as JSON.stringify does. */
  readonly raw?: RawValues;
  /** What the type's validator finds wrong with it. Where there is a fault, only the other faults are looked for. */
  readonly faults?: readonly Fault[];
  /** Where the body contradicts itself, once it is known which child an owner has that the body does not name. */
  readonly disagreements?: (ownChildOf: OwnChildOf) => readonly Fault[];
  /** RFC 7396 inside `any` values and open keys: null removes, objects merge. */
  readonly mergePatch: boolean;
  /** What of the written record is answered. */
  readonly view: View;
  /** Who waits for it; it is not begun once that one has left. */
  readonly caller?: Caller;
}

export type CreateRequest = WriteRequest & {
  /** Throws a Problem where the client expects what no new record can be. Asked once the body is without fault. */
  readonly precondition?: () => void;
};

export interface Written {
  readonly identifier: number;
  /** The record as JSON text. */
  readonly body: string;
}

/** A request that may come again, under a key that the client has made for it. */
export interface Once {
  readonly key: string;
  /** The same for the same request. */
  readonly hash: string;
  readonly now: Date;
  /** What was kept before is forgotten. */
  readonly keptSince: Date;
}

/** What is answered to such a request, the first time and again. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * Each call sees one snapshot; each write is one transaction. Problems: `invalid-body`, `record-not-found`, `invalid-reference`,
 * `link-conflict`, `unique-conflict`, `identifier-conflict`, `restrict-conflict`, `too-many-related`,
 * `storage-busy`, `statement-timeout`, `storage-full`, and what a precondition throws. Work for a caller who has left ends
 * with CallerGone.
 */
export interface Store {
  /** The record as JSON text, or undefined where there is none. */
  get(view: View, identifier: number, caller?: Caller): Awaitable<string | undefined>;
  /** A page: `query.limit` is given. `counted` false leaves the total out. */
  page(query: ListQuery, counted: boolean, caller?: Caller): Awaitable<Page>;
  /** The whole list from `query.offset` on: `query.limit` is not given. */
  stream(query: ListQuery, counted: boolean, caller?: Caller): Awaitable<Stream>;
  /** How many records match the filters. */
  count(query: ListQuery): Awaitable<number>;
  create(request: CreateRequest): Promise<Written>;
  /** The same, where it was not done before; `answer` says what is to be kept. Problem: `idempotency-conflict`. */
  createOnce(request: CreateRequest, once: Once, answer: (written: Written) => KeptAnswer): Promise<KeptAnswer>;
  update(
    request: WriteRequest & { readonly identifier: number; readonly precondition?: Precondition },
  ): Promise<Written>;
  /** Answers the record as it was. */
  delete(request: {
    readonly view: View;
    readonly identifier: number;
    readonly precondition?: Precondition;
    readonly caller?: Caller;
  }): Promise<Written>;
  /** Rejects where records cannot be read. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

// Long lists that are under way at the same time: each holds a snapshot, and with it a connection.

export function limitStreams(store: Store, most: number): Store {
  let open = 0;
  async function* untilTheirEnd(records: Stream['records']): AsyncGenerator<readonly string[]> {
    try {
      yield* records;
    } finally {
      open -= 1;
    }
  }
  const stream: Store['stream'] = async (query, counted, caller): Promise<Stream> => {
    // Before it is opened: pieces that nobody begins to read do not end.
    if (open >= most) throw unavailable('streaming');
    open += 1;
    try {
      const { total, records } = await store.stream(query, counted, caller);
      return { total, records: untilTheirEnd(records) };
    } catch (error) {
      open -= 1;
      throw error;
    }
  };
  return { ...store, stream };
}
