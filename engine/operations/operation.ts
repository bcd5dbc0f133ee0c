/** Shared by all operations: their arguments and results, and writes that are done once. */
import type { Caller } from '../edge/caller.ts';
import type { RawValues } from '../json/tokenizer.ts';
import type { RecordType } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type {
  CheckedBody,
  DoneOnce,
  Once,
  Retried,
  Store,
  WriteEffect,
  WriteItem,
  WriteRequest,
  WrittenRecords,
} from '../storage/store.ts';
import { Outdated } from '../storage/unavailable.ts';
import { disagreementsKnowing } from '../validation/agreement.ts';
import type { TypeValidators, Validator } from '../validation/compile.ts';
import { asksStored, mentionsIn } from '../validation/mentions.ts';
import { validatedFor } from '../validation/rights.ts';
import type { Body, BodyLimits } from './body.ts';
import { entityTag, type Preconditions } from './preconditions.ts';

/** A record type, as a client with some rights may use it. Put together at boot, or at the first request of a token. */
export interface OperationContext {
  readonly type: RecordType;
  /** The rights of the client. */
  readonly rights: Rights;
  readonly store: Store;
  readonly queries: TypeQueries;
  readonly validators: TypeValidators;
  readonly limits: BodyLimits;
  /** The name of the client's token; null without tokens. */
  readonly author: string | null;
  /** Hours for which an idempotency key is kept. */
  readonly idempotencyHours: number;
}

/** The arguments of an operation that writes. `Q` is its parsed query. */
export interface WriteArguments<Q> {
  readonly query: Q;
  readonly caller: Caller;
  readonly preconditions: Preconditions;
  /** undefined if the client sends no idempotency key. */
  readonly once: Once | undefined;
  /** Whether the client wants no records in return. */
  readonly minimal: boolean;
}

export type OneArguments<Q> = WriteArguments<Q> & { readonly id: number };
export type BodyArguments<Q> = WriteArguments<Q> & { readonly body: Body };

export interface WriteResult {
  readonly status: 200 | 201 | 204;
  /** JSON text: the record, the array of the records, or the counts. undefined if none is wanted, or is left. */
  readonly json: string | undefined;
  /** The entity tag of one record; undefined if its type goes without. */
  readonly tag?: string | undefined;
  /** The identifier of the one record that was created. */
  readonly created?: number | undefined;
  /** The effects that a dry run found. */
  readonly effects?: readonly WriteEffect[] | undefined;
}

interface ResultOptions {
  readonly minimal: boolean;
  /** Whether an array of records is answered. */
  readonly several: boolean;
}

export const recordsResult = (
  type: RecordType,
  { records, effects }: WrittenRecords,
  { isNew, ...options }: ResultOptions & { readonly isNew: boolean },
): WriteResult => {
  const status = isNew ? 201 : options.minimal ? 204 : 200;
  const identifiers = records.map(({ identifier }) => identifier);
  const bodies = records.map(({ body }) => body);
  return { ...resultOf(type, { status, identifiers, bodies }, options), effects };
};

/** `bodies` are the records that are still there: a retry is answered with the records as they are now. */
function resultOf(
  type: RecordType,
  { status, identifiers, bodies }: Retried,
  { minimal, several }: ResultOptions,
): WriteResult {
  const isGone = identifiers.length > 0 && bodies.length === 0;
  const json = several && !isGone ? `[${bodies.join(',')}]` : bodies[0];
  return {
    status: status as WriteResult['status'],
    json: minimal || status === 204 ? undefined : json,
    tag: several || json === undefined ? undefined : tagOf(type, json),
    created: several || status !== 201 ? undefined : identifiers[0],
  };
}

export const tagOf = ({ preconditions }: RecordType, json: string): string | undefined =>
  preconditions === 'off' ? undefined : entityTag(json);

/** Runs the work once more if the tables have changed meanwhile: the second time it finds the new model. */
export function withCurrentModel<T>(work: () => T | Promise<T>): T | Promise<T> {
  const again = (error: unknown): T | Promise<T> => {
    if (error instanceof Outdated) return work();
    throw error;
  };
  try {
    const result = work();
    return result instanceof Promise ? result.catch(again) : result;
  } catch (error) {
    return again(error);
  }
}

interface Verb<R, W> {
  readonly write: (request: R) => Promise<W>;
  readonly writeOnce: DoneOnce<R, W>;
  readonly answer: (written: W) => WriteResult;
  /** Whether an array of records is answered. */
  readonly several?: boolean;
}

/** Writes; under an idempotency key, once. A dry run, or a body with faults, keeps no key. */
export async function done<R extends Pick<WriteRequest, 'dryRun'> & Partial<Pick<WriteRequest, 'faults'>>, W>(
  { type }: OperationContext,
  { once, minimal }: Pick<WriteArguments<unknown>, 'once' | 'minimal'>,
  request: R,
  { write, writeOnce, answer, several = false }: Verb<R, W>,
): Promise<WriteResult> {
  const { dryRun = false, faults = [] } = request;
  if (once === undefined || dryRun || faults.length > 0) return answer(await write(request));
  return writeOnce(request, once, answer, (retried) => resultOf(type, retried, { minimal, several }));
}

/** The faults of a body; `known`: those of items. They are thrown at once unless only the database knows whether there are more. */
export function faultsIn(
  { type, rights }: Pick<OperationContext, 'type' | 'rights'>,
  validator: Validator,
  items: readonly WriteItem[],
  raw: RawValues,
  known: readonly Fault[] = [],
): CheckedBody {
  const mentions = mentionsIn(type, items);
  const validate = (some: readonly WriteItem[], others: readonly Fault[]): readonly Fault[] =>
    validator(some, raw, { faults: others, ...(some === items ? { mentions } : {}) });
  const { faults, isHidden } = validatedFor(rights, type, validate, items, known);
  if (known.length > 0 || isHidden) throw faultyRequest('invalid-body', faults);
  if (faults.length > 0 && !asksStored(mentions)) throw faultyRequest('invalid-body', faults);
  return { faults, disagreements: disagreementsKnowing(type, items, raw) };
}

// Arguments that clients write as text.

export function parseIdentifier(text: string): number {
  const identifier = Number(text);
  if (/^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(identifier)) return identifier;
  const message = `"${text.slice(0, 40)}" is not an identifier; expected an integer from 1 to ${Number.MAX_SAFE_INTEGER}`;
  throw faultyRequest('invalid-identifier', [{ parameter: 'id', code: 'invalid-identifier', message }]);
}

/** `hash` is that of all that the request asks for. */
export function onceOf(
  given: string | undefined,
  { author, idempotencyHours: hours }: Pick<OperationContext, 'author' | 'idempotencyHours'>,
  hash: () => string,
): Once | undefined {
  if (given === undefined) return undefined;
  // The draft standard puts quotes around the key; most clients do not, and both mean the same.
  const key = given.replace(/^"(.*)"$/, '$1');
  if (/^[!-~]{1,255}$/.test(key)) return { identity: author ?? '', key, hash: hash(), hours };
  const message = 'Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID';
  throw faultyRequest('invalid-header', [{ header: 'Idempotency-Key', code: 'invalid-value', message }]);
}
