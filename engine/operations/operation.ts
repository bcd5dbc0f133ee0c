/** The arguments and results of operations, with their preconditions and entity tags. */
import { createHash, hash } from 'node:crypto';
import type { Preconditions as Mode } from '../descriptor/descriptor.ts';
import type { Caller } from '../edge/caller.ts';
import type { JsonValue } from '../json/json.ts';
import { expectedOf, type Identifier, parserOf } from '../model/identifier.ts';
import { ITEM_TAG, type RecordType } from '../model/model.ts';
import type { Rights } from '../model/rights.ts';
import { shortened } from '../names.ts';
import { type Fault, type FaultPlace, faultyRequest, type Problem } from '../problem.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type { Once, Precondition, Store, WriteEffect } from '../storage/store.ts';
import { Unavailable } from '../storage/unavailable.ts';
import type { TypeValidators } from '../validation/compile.ts';
import type { Body, BodyLimits } from './body.ts';

/** A record type, and the rights of the client to it. */
export interface OperationContext {
  readonly type: RecordType;
  /** The type as the client sees it. */
  readonly seen: RecordType;
  readonly rights: Rights;
  readonly store: Store;
  readonly queries: TypeQueries;
  readonly validators: TypeValidators;
  readonly limits: BodyLimits & { readonly bodyLimit: number };
  /** The name of the client's token; null without tokens. */
  readonly author: string | null;
  /** Whose idempotency keys the client uses; empty without tokens. */
  readonly identity: string;
  readonly idempotencyHours: number;
}

/** The arguments of an operation that writes; `Q` is its parsed query. */
export interface WriteArguments<Q> {
  /** 0 for a collection. */
  readonly id: Identifier;
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

export type WriteOperation<Q> = (context: OperationContext, args: WriteArguments<Q>) => Promise<WriteResult>;

export interface WriteResult {
  readonly status: 200 | 201 | 204;
  /** JSON of the record, array of records, or counts; undefined if not requested, or if no record is left. */
  readonly json: string | undefined;
  readonly tag?: string | undefined;
  /** The identifier of a single created record. */
  readonly created?: Identifier | undefined;
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
  if (error instanceof Unavailable && error.reason === 'outdated') return work();
  throw error;
}

export function parseIdentifier(text: string, type: RecordType): Identifier {
  const found = parserOf(type.identifier)(text);
  if (found !== undefined) return found;
  throw invalidIdentifier(text, 'an identifier', type);
}

/** `wanted`: what the text is not. */
export function invalidIdentifier(text: string, wanted: string, { identifier }: RecordType): Problem {
  const message = `${JSON.stringify(shortened(text, 40))} is not ${wanted}; expected ${expectedOf(identifier)}`;
  return faultyRequest('invalid-identifier', [{ parameter: 'id', code: 'invalid-identifier', message }]);
}

/** Throws `invalid-header`. `hashed`: the parts of the request that a retry must repeat. */
export function onceOf(
  header: string | undefined,
  { identity, idempotencyHours: hours }: Pick<OperationContext, 'identity' | 'idempotencyHours'>,
  hashed: () => readonly (string | Buffer)[],
  name = 'Idempotency-Key',
): Once | undefined {
  if (header === undefined) return undefined;
  // The draft standard quotes the key, most clients do not: accepts both.
  const key = header.replace(/^"(.*)"$/, '$1');
  if (!/^[!-~]{1,255}$/.test(key)) {
    const message = `${name} must have 1 to 255 visible ASCII characters, such as a UUID`;
    throw faultyRequest('invalid-header', [{ header: 'Idempotency-Key', code: 'invalid-value', message }]);
  }
  const sum = createHash('sha256');
  for (const part of hashed()) sum.update(part);
  return { identity, key, hash: sum.digest('base64url'), hours };
}

// If-Match, If-None-Match and entity tags (RFC 9110, 13 and 8.8.3).

export interface Preconditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** The name of `ifMatch` in messages to the client; default: the header. */
  readonly name?: string | undefined;
}

export const preconditionFailed = (location: FaultPlace, message: string): Problem =>
  faultyRequest('precondition-failed', [{ ...location, code: 'precondition-failed', message }]);

const preconditionRequired = (location: FaultPlace, message: string): Problem =>
  faultyRequest('precondition-required', [{ ...location, code: 'required', message }]);

const IF_MATCH = { header: 'If-Match' };
const IF_NONE_MATCH = { header: 'If-None-Match' };

/** Whether the client has this representation already. Throws if If-Match names another. */
export function isKnown(preconditions: Preconditions, tag: string): boolean {
  requireMatch(expectedBy(preconditions), tag);
  return isNamed(preconditions.ifNoneMatch, tag);
}

const MATCHABLE = /^(?:\s*\*\s*|[\s,]*(?:(?:W\/)?"[^"]*"(?:[\s,]+|$))+)$/;

/** Refuses unquoted tags: they would never match, for no visible reason. */
function expectedBy({ ifMatch, name = IF_MATCH.header }: Preconditions): string | undefined {
  if (ifMatch === undefined || MATCHABLE.test(ifMatch)) return ifMatch;
  const message = `${name} must hold an entity tag in its quotes, exactly as ETag has it: ${name}: "TAG"`;
  throw faultyRequest('invalid-header', [{ ...IF_MATCH, code: 'invalid-value', message }]);
}

/** The condition that the store checks inside the transaction of a write. */
export function preconditionOf(preconditions: Preconditions, mode: Mode): Precondition | undefined {
  const { ifNoneMatch: known, name = IF_MATCH.header } = preconditions;
  const expected = mode === 'off' ? undefined : expectedBy(preconditions);
  // `*` allows only creates, which need no If-Match.
  const onlyCreates = known !== undefined && isAny(known);
  if (expected === undefined && mode === 'required' && !onlyCreates)
    return () => {
      const message = `This record can only be changed with ${name}: send the entity tag that it had when you read it`;
      throw preconditionRequired(IF_MATCH, message);
    };
  // `If-Match: *` only requires that the record exists, as each write does anyway.
  if (known === undefined && (expected === undefined || isAny(expected))) return undefined;
  return (current) => {
    const tag = entityTag(current);
    requireMatch(expected, tag, name);
    const isThere = 'There is such a record, and If-None-Match: * says that there must be none; leave it out';
    if (onlyCreates) throw preconditionFailed(IF_NONE_MATCH, isThere);
    if (mode !== 'off' && isNamed(known, tag))
      throw preconditionFailed(IF_NONE_MATCH, 'If-None-Match names the current entity tag of this URL');
  };
}

/** Refuses If-Match for a record that is not there yet. */
export function refuseIfMatch(preconditions: Preconditions, mode: Mode): void {
  const expected = mode === 'off' ? undefined : expectedBy(preconditions);
  if (expected === undefined || isAny(expected)) return;
  throw preconditionFailed(IF_MATCH, 'A record that is not there yet has no entity tag; leave If-Match out');
}

/** A record that does not exist has no tags (RFC 9110, 13.1.1). */
export function refuseAnyMatch({ ifMatch }: Preconditions, mode: Mode): void {
  if (mode === 'off' || ifMatch === undefined) return;
  throw preconditionFailed(IF_MATCH, 'There is no record with these values; leave If-Match out to create it');
}

export function refusePreconditions({ ifMatch, ifNoneMatch }: Preconditions, mode: Mode, cure: string): void {
  const sent = { 'If-Match': mode === 'off' ? undefined : ifMatch, 'If-None-Match': ifNoneMatch };
  const errors = Object.entries(sent).flatMap(([header, value]) => {
    if (value === undefined) return [];
    const message = `${header} is about one record, and this request about several; ${cure}`;
    return [{ header, code: 'not-for-several', message }];
  });
  if (errors.length > 0) throw faultyRequest('invalid-header', errors);
}

export const tagAt = (pointer: string): string => `${pointer}/${ITEM_TAG}`;

interface TaggedItem {
  readonly pointer: string;
  readonly tag: JsonValue | undefined;
}

/** The precondition of an item of a body, which its tag states as If-Match does. */
export function preconditionOfItem({ pointer: at, tag }: TaggedItem, mode: Mode): Precondition | undefined {
  if (mode === 'off' || (typeof tag === 'string' ? isAny(tag) : mode !== 'required')) return undefined;
  const pointer = tagAt(at);
  return (current) => {
    if (typeof tag !== 'string') {
      const message = 'This record can only be changed with its tag: send the ETag that GET of it returned as "@etag"';
      throw preconditionRequired({ pointer }, message);
    }
    if (matchesStrongly(tag, entityTag(current))) return;
    throw preconditionFailed({ pointer }, '"@etag" is not the current entity tag of this record; read it again');
  };
}

/** Refuses item tags other than a strong entity tag or `*`. */
export function wrongTag({ pointer, tag }: TaggedItem): readonly Fault[] {
  if (tag === undefined || (typeof tag === 'string' && /^(?:\*|"[^"]*")$/.test(tag))) return [];
  const message = `"${ITEM_TAG}" must be a string: the ETag that GET of the record answered, with its quotes, or "*"`;
  return [{ pointer: tagAt(pointer), code: 'format', message }];
}

const NO_MATCH = ' does not name the current entity tag; read it again';
const WEAK =
  ' compares strong entity tags only (RFC 9110, 13.1.1), and this one is weak: a proxy has put W/ in front of it, as those do that compress or change responses. Turn that off there for this service, which compresses by itself (nginx: "gzip off;"), and read the record again';

function requireMatch(expected: string | undefined, tag: string, name = IF_MATCH.header): void {
  if (expected === undefined || isAny(expected) || matchesStrongly(expected, tag)) return;
  throw preconditionFailed(IF_MATCH, name + (/(?:^|[\s,])W\/"/.test(expected) ? WEAK : NO_MATCH));
}

/** The strong tag of a representation. For lists, `text` includes total and links. */
export const entityTag = (text: string | Buffer): string => `"${hash('sha1', text, 'base64url')}"`;

export const tagOf = ({ preconditions }: RecordType, json: string): string | undefined =>
  preconditions === 'off' ? undefined : entityTag(json);

/** Content codings, the preferred one first. */
export const CODING_NAMES = ['br', 'gzip'] as const;

const CODING = new RegExp(`-(?:${CODING_NAMES.join('|')})"$`);

/** The tags in a header, with and without coding suffix: the record is the same. */
const tagsIn = (header: string): readonly string[] =>
  (header.match(/(?:W\/)?"[^"]*"/g) ?? []).flatMap((tag) => [tag, tag.replace(CODING, '"')]);

const isAny = (header: string): boolean => header.trim() === '*';

/** If-Match accepts only strong tags (RFC 9110, 13.1.1). */
const matchesStrongly = (header: string, tag: string): boolean => header === tag || tagsIn(header).includes(tag);

/** If-None-Match also accepts weak tags (RFC 9110, 13.1.2). */
const isNamed = (known: string | undefined, tag: string): boolean =>
  known !== undefined && (isAny(known) || tagsIn(known).some((one) => one === tag || one === `W/${tag}`));

/** The tag as in the header, perhaps with a coding suffix. */
export const asNamed = (header: string, tag: string): string =>
  header.match(/"[^"]*"/g)?.find((candidate) => candidate.replace(CODING, '"') === tag) ?? tag;
