/** If-Match, If-None-Match and entity tags (RFC 9110, 13 and 8.8.3). */
import { hash } from 'node:crypto';
import type { Preconditions as Mode } from '../descriptor/descriptor.ts';
import type { JsonValue } from '../json/json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import type { Precondition } from '../storage/store.ts';

/** If-Match and If-None-Match: each an entity tag, a list of them, or `*`. */
export interface Preconditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Whether the client already has this representation. Throws if it expects another one. */
export function isKnown(given: Preconditions, tag: string): boolean {
  requireMatch(expectedBy(given), tag);
  return isNamed(given.ifNoneMatch, tag);
}

/** `*`, or tags separated by commas. */
const MATCHABLE = /^(?:\s*\*\s*|[\s,]*(?:(?:W\/)?"[^"]*"(?:[\s,]+|$))+)$/;

/** If-Match, once it is clear that it holds tags. Without quotes it would never match, and nobody would know why. */
function expectedBy({ ifMatch }: Preconditions): string | undefined {
  if (ifMatch === undefined || MATCHABLE.test(ifMatch)) return ifMatch;
  const message = 'If-Match must hold an entity tag in its quotes, exactly as ETag has it: If-Match: "TAG"';
  throw faultyRequest('invalid-header', [{ header: 'If-Match', code: 'invalid-value', message }]);
}

/** The condition that the store checks inside the transaction of a write. */
export function preconditionOf(given: Preconditions, mode: Mode): Precondition | undefined {
  const expected = mode === 'off' ? undefined : expectedBy(given);
  const known = given.ifNoneMatch;
  // A write that only creates changes nothing that is there.
  const onlyCreates = known !== undefined && isAny(known);
  if (expected === undefined && mode === 'required' && !onlyCreates) return requireIfMatch;
  // Any record will do, and there must be one anyway.
  if (known === undefined && (expected === undefined || isAny(expected))) return undefined;
  return (current) => {
    const tag = entityTag(current);
    requireMatch(expected, tag);
    if (onlyCreates) throw there();
    if (mode !== 'off' && isNamed(known, tag)) throw present();
  };
}

/** A collection cannot be compared: the new record changes it anyway. */
export function refuseIfMatch(given: Preconditions, mode: Mode): void {
  const expected = mode === 'off' ? undefined : expectedBy(given);
  if (expected === undefined || isAny(expected)) return;
  throw failed('If-Match', 'A new record does not have an entity tag yet; leave If-Match out');
}

/** For requests about several records. */
export function refusePreconditions({ ifMatch, ifNoneMatch }: Preconditions, mode: Mode, cure: string): void {
  const given = [['If-Match', mode === 'off' ? undefined : ifMatch] as const, ['If-None-Match', ifNoneMatch] as const];
  const errors = given.flatMap(([header, value]) => {
    if (value === undefined) return [];
    const message = `${header} is about one record, and this request about several; ${cure}`;
    return [{ header, code: 'not-for-several', message }];
  });
  if (errors.length > 0) throw faultyRequest('invalid-header', errors);
}

/** The same as `If-Match` for an item, whose tag stands at the pointer. */
export function preconditionAt(pointer: string, tag: string | undefined, mode: Mode): Precondition | undefined {
  if (tag === undefined) {
    if (mode !== 'required') return undefined;
    const message = 'This record can only be changed with its tag: send the ETag that GET of it returned as "@etag"';
    return () => {
      throw faultyRequest('precondition-required', [{ pointer, code: 'required', message }]);
    };
  }
  if (mode === 'off' || isAny(tag)) return undefined;
  return (current) => {
    if (matchesStrongly(tag, entityTag(current))) return;
    const message = '"@etag" is not the current entity tag of this record; read it again';
    throw faultyRequest('precondition-failed', [{ pointer, code: 'precondition-failed', message }]);
  };
}

/** One strong entity tag (RFC 9110, 8.8.3), or `*` for any. */
const ONE_TAG = /^(?:\*|"[^"]*")$/;

/** The fault of the tag of an item. */
export function wrongTag(pointer: string, tag: JsonValue | undefined): readonly Fault[] {
  if (tag === undefined || (typeof tag === 'string' && ONE_TAG.test(tag))) return [];
  const message = `"${ITEM_TAG}" must be a string: the ETag that GET of the record answered, with its quotes, or "*"`;
  return [{ pointer: `${pointer}/${ITEM_TAG}`, code: 'format', message }];
}

/** For a record that is not there: no tag is its own (RFC 9110, 13.1.1). */
export function refuseAnyMatch({ ifMatch }: Preconditions, mode: Mode): void {
  if (mode === 'off' || ifMatch === undefined) return;
  throw failed('If-Match', 'There is no record with these values; leave If-Match out to create it');
}

function requireMatch(expected: string | undefined, tag: string): void {
  if (expected !== undefined && !isAny(expected) && !matchesStrongly(expected, tag))
    throw WEAK.test(expected) ? weakened() : changed();
}

const isNamed = (known: string | undefined, tag: string): boolean =>
  known !== undefined && (isAny(known) || matchesWeakly(known, tag));

const isAny = (header: string): boolean => header.trim() === '*';

function requireIfMatch(): never {
  const message = 'This record can only be changed with If-Match: send the ETag that GET of the same URL returned';
  const errors = [{ header: 'If-Match', code: 'required', message }];
  throw new Problem('precondition-required', message, { errors });
}

const changed = (): Problem =>
  failed('If-Match', 'If-Match does not name the current entity tag of this URL; read it again');
/** The service sends strong tags only. */
const WEAK = /(?:^|[\s,])W\/"/;
const weakened = (): Problem =>
  failed(
    'If-Match',
    'If-Match compares strong entity tags only (RFC 9110, 13.1.1), and this one is weak: a proxy has put W/ in front of it, as those do that compress or change responses. Turn that off there for this service, which compresses by itself (nginx: "gzip off;"), and read the record again',
  );
const there = (): Problem =>
  failed('If-None-Match', 'There is such a record, and If-None-Match: * says that there must be none; leave it out');
const present = (): Problem => failed('If-None-Match', 'If-None-Match names the current entity tag of this URL');

function failed(header: string, message: string): Problem {
  return new Problem('precondition-failed', message, { errors: [{ header, code: 'precondition-failed', message }] });
}

// Strong entity tags: hashes of representations, and how tags are compared (RFC 9110, 8.8.3).

/** The tag of a text. That of a list covers what changes with other records as well. */
export const entityTag = (text: string): string => `"${hash('sha1', text, 'base64url')}"`;

/** In the order in which they are preferred. */
export const CODING_NAMES = ['br', 'gzip'] as const;

/** The tag of the compressed bytes, which are another representation. */
export const codedTag = (tag: string, coding: string): string => tag.replace(/"$/, `-${coding}"`);

/** `If-Match` of one tag or a list: only strong tags count (RFC 9110, 13.1.1). */
function matchesStrongly(header: string, tag: string): boolean {
  return header === tag || tags(header).includes(tag);
}

/** `If-None-Match` of one tag or a list: weak tags count as well (RFC 9110, 13.1.2). */
function matchesWeakly(header: string, tag: string): boolean {
  return header === tag || tags(header).some((candidate) => candidate === tag || candidate === `W/${tag}`);
}

/** The tag as the client names it, with the coding that it got it with. */
export function asNamed(header: string, tag: string): string {
  const named = header.match(TAG)?.find((candidate) => candidate.replace(CODING, '"') === tag);
  return named ?? tag;
}

const TAG = /"[^"]*"/g;
const CODING = new RegExp(`-(?:${CODING_NAMES.join('|')})"$`);

/** Without the coding: the record is the same. */
const tags = (header: string): readonly string[] =>
  (header.match(/(?:W\/)?"[^"]*"/g) ?? []).flatMap((tag) => [tag, tag.replace(CODING, '"')]);
