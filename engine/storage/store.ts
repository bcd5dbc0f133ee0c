/** The interface of storage: returns records as JSON, takes validated bodies. No SQL above, no HTTP below. */
import type { CountMode } from '../descriptor/descriptor.ts';
import type { Caller } from '../edge/caller.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { RawValues } from '../json/tokenizer.ts';
import type { Identifier } from '../model/identifier.ts';
import type { BodyRecord, RecordType, UniqueMembers } from '../model/model.ts';
import type { Action, Rights } from '../model/rights.ts';
import type { Fault } from '../problem.ts';
import type { ListQuery, LogQuery, SummaryQuery, View } from '../query/list-query.ts';
import type { Awaitable, ServerUsage } from './driver.ts';

export interface Page {
  readonly records: readonly string[];
  readonly total: number | undefined;
  /** The order values of the first and the last record, if a page precedes or follows. */
  readonly first: readonly JsonValue[] | undefined;
  readonly last: readonly JsonValue[] | undefined;
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

interface Stream {
  readonly total: number | undefined;
  /** Stopping early frees the snapshot. */
  readonly records: AsyncIterable<readonly string[]>;
}

export interface Summary {
  /** JSON: `{"by":{…},"measures":{…}}`. */
  readonly groups: readonly string[];
  readonly total: number | undefined;
  readonly hasNext: boolean;
}

/** Throws a Problem if the client does not expect this record, as GET with the same view returns it. */
export type Precondition = (current: string) => void;

export type WriteItem = BodyRecord & { readonly precondition?: Precondition | undefined };

interface Write {
  /** The name of the client's token; null without tokens. */
  readonly author: string | null;
  readonly rights?: Rights;
  readonly caller?: Caller;
  readonly dryRun?: boolean;
}

export interface WriteRequest extends Write {
  readonly type: RecordType;
  readonly items: readonly WriteItem[];
  /** The raw JSON of values that are stored as sent. Missing raw JSON comes from JSON.stringify. */
  readonly raw?: RawValues;
  /** Faults of the validator: if there is one, the write only looks for further faults. */
  readonly faults?: readonly Fault[];
  /** RFC 7396 inside `any` values and open keys: null removes, objects merge. */
  readonly mergePatch: boolean;
  readonly view: View;
  readonly unread?: boolean;
  /** Throws a Problem if a new record cannot meet the client's precondition. Called if the body has no fault. */
  readonly precondition?: (() => void) | undefined;
}

export type EffectKind = 'created' | 'changed' | 'linked' | 'unlinked' | 'deleted';

export interface WriteEffect {
  readonly kind: EffectKind;
  readonly type: string;
  readonly relation: string | undefined;
  readonly keys: readonly string[];
  readonly count: number;
  /** Ascending, and limited. */
  readonly identifiers: readonly Identifier[];
}

interface Outcome {
  readonly effects?: readonly WriteEffect[];
}

export interface Written extends Outcome {
  readonly identifier: Identifier;
  readonly body: string;
}

export interface WrittenRecords extends Outcome {
  readonly records: readonly Written[];
}

export interface DeletedRecords extends Outcome {
  readonly deleted: number;
  readonly affected: number;
}

/** A record identified by unique values in its body, which are present, well-formed and not null. */
export interface UpsertItem extends Omit<WriteItem, 'identifier'> {
  /** The body with the values that the client's role sets. */
  readonly key?: JsonObject;
  /** Throws a Problem if the client expects an existing record. */
  readonly absent: () => void;
}

export interface UpsertRequest extends Omit<WriteRequest, 'items' | 'faults' | 'mergePatch' | 'precondition'> {
  readonly items: readonly UpsertItem[];
  readonly unique: UniqueMembers;
  /** Validates the bodies once existing records have their identifiers. Throws if no further check needs the database. */
  readonly faultsIn: (items: readonly WriteItem[]) => readonly Fault[];
}

export interface Upserted extends WrittenRecords {
  readonly made: number;
}

export interface RecordDeletion extends Write {
  readonly type: RecordType;
  readonly view: View;
  readonly identifier: Identifier;
  readonly precondition?: Precondition | undefined;
}

export type RecordRestoration = Omit<RecordDeletion, 'precondition'>;

export interface DeleteFoundRequest extends Write {
  readonly query: ListQuery;
  readonly most: number;
}

/** A write that a client may send again under the same key. */
export interface Once {
  /** The name of the token, whose keys are its own; empty without tokens. */
  readonly identity: string;
  readonly key: string;
  readonly hash: string;
  readonly hours: number;
}

export interface KeptAnswer {
  readonly status: number;
}

/** An earlier write with the same key: identifiers of its records, and current bodies of those that still exist. */
export interface Retried extends KeptAnswer {
  readonly identifiers: readonly Identifier[];
  readonly bodies: readonly string[];
}

/** Writes, and answers what was written; a retry under a key does nothing, and gets the answer of `again`. Problem: `idempotency-conflict`. */
export type WriteVerb<R, W> = <A extends KeptAnswer>(
  request: R,
  answer: (written: W) => A,
  keyed?: Once & { readonly again: (retried: Retried) => A },
) => Promise<A>;

/** Models are numbered in order of application: the database's newest model, and this instance's model. */
export interface ModelNumbers {
  readonly database: number;
  readonly serves: number;
}

/** The newest first. */
export interface LogPage {
  /** JSON. */
  readonly entries: readonly string[];
  /** A cursor; undefined if nothing follows. */
  readonly next: string | undefined;
}

/** Each call sees one snapshot; each write is one transaction. Calls throw a Problem, or CallerGone if the caller has left. */
export interface Store {
  /** Creates the records without identifiers, and changes the others. */
  readonly write: WriteVerb<WriteRequest, WrittenRecords>;
  readonly upsert: WriteVerb<UpsertRequest, Upserted>;
  readonly delete: WriteVerb<RecordDeletion, Written>;
  readonly restore: WriteVerb<RecordRestoration, WrittenRecords>;
  /** Deletes all records that match the query, or none. Problem: `too-many-affected`. */
  readonly deleteFound: WriteVerb<DeleteFoundRequest, DeletedRecords>;
  /** Whether the role's conditions on the record allow it; those of the owner of a part are not asked. */
  may(action: Action, type: RecordType, identifier: Identifier, rights: Rights, caller: Caller): Awaitable<boolean>;
  get(view: View, identifier: Identifier, caller?: Caller): Awaitable<string | undefined>;
  page(query: ListQuery, count: CountMode, caller?: Caller): Awaitable<Page>;
  /** Reads the list from the offset on. */
  stream(query: ListQuery, count: CountMode, caller?: Caller): Awaitable<Stream>;
  /** Problem: `too-many-groups`. */
  summary(query: SummaryQuery, count: CountMode, caller?: Caller): Awaitable<Summary>;
  /** The entries of a record and its parts; undefined if there are neither the record nor entries. Problem: `cursor-expired`. */
  history(query: LogQuery, identifier: Identifier, caller?: Caller): Awaitable<LogPage | undefined>;
  /** The records that are not there any more. Problem: `cursor-expired`. */
  deleted(query: LogQuery, caller?: Caller): Awaitable<LogPage>;
  forgetKeys(hours: number): Promise<void>;
  ready(): Promise<ModelNumbers>;
  usage(): readonly ServerUsage[];
  close(): Promise<void>;
}
