/** If-Match, If-None-Match and entity tags (RFC 9110, 13 and 8.8.3). */
import { hash } from 'node:crypto';
import type { Preconditions as Mode } from '../descriptor/descriptor.ts';
import type { JsonValue } from '../json/json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { type Fault, faultyRequest, type Problem } from '../problem.ts';
import type { Precondition } from '../storage/store.ts';

/** If-Match and If-None-Match: each an entity tag, a list of them, or `*`. */
export interface Preconditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

const failed = (header: string, message: string): Problem =>
  faultyRequest('precondition-failed', [{ header, code: 'precondition-failed', message }]);

/** Whether the client already has this representation. Throws if it expects another one. */
export function isKnown({ ifMatch, ifNoneMatch }: Preconditions, tag: string): boolean {
  requireMatch(expectedBy(ifMatch), tag);
  return isNamed(ifNoneMatch, tag);
}

/** `*`, or tags separated by commas. */
const MATCHABLE = /^(?:\s*\*\s*|[\s,]*(?:(?:W\/)?"[^"]*"(?:[\s,]+|$))+)$/;

/** Refuses tags without quotes: they would never match, and nobody would know why. */
function expectedBy(ifMatch: string | undefined): string | undefined {
  if (ifMatch === undefined || MATCHABLE.test(ifMatch)) return ifMatch;
  const message = 'If-Match must hold an entity tag in its quotes, exactly as ETag has it: If-Match: "TAG"';
  throw faultyRequest('invalid-header', [{ header: 'If-Match', code: 'invalid-value', message }]);
}

/** The condition that the store checks inside the transaction of a write. */
export function preconditionOf({ ifMatch, ifNoneMatch: known }: Preconditions, mode: Mode): Precondition | undefined {
  const expected = mode === 'off' ? undefined : expectedBy(ifMatch);
  // A write that only creates changes nothing that is there.
  const onlyCreates = known !== undefined && isAny(known);
  if (expected === undefined && mode === 'required' && !onlyCreates)
    return () => {
      const message = 'This record can only be changed with If-Match: send the ETag that GET of the same URL returned';
      throw faultyRequest('precondition-required', [{ header: 'If-Match', code: 'required', message }]);
    };
  // Any record will do, and there must be one anyway.
  if (known === undefined && (expected === undefined || isAny(expected))) return undefined;
  return (current) => {
    const tag = entityTag(current);
    requireMatch(expected, tag);
    if (onlyCreates)
      throw failed(
        'If-None-Match',
        'There is such a record, and If-None-Match: * says that there must be none; leave it out',
      );
    if (mode !== 'off' && isNamed(known, tag))
      throw failed('If-None-Match', 'If-None-Match names the current entity tag of this URL');
  };
}

/** A collection cannot be compared: the new record changes it anyway. */
export function refuseIfMatch({ ifMatch }: Preconditions, mode: Mode): void {
  const expected = mode === 'off' ? undefined : expectedBy(ifMatch);
  if (expected === undefined || isAny(expected)) return;
  throw failed('If-Match', 'A new record does not have an entity tag yet; leave If-Match out');
}

/** Refuses the headers of requests about several records. */
export function refusePreconditions({ ifMatch, ifNoneMatch }: Preconditions, mode: Mode, cure: string): void {
  const given = { 'If-Match': mode === 'off' ? undefined : ifMatch, 'If-None-Match': ifNoneMatch };
  const errors = Object.entries(given).flatMap(([header, value]) => {
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

/** Refuses a tag of an item that is neither one strong entity tag (RFC 9110, 8.8.3) nor `*`. */
export function wrongTag(pointer: string, tag: JsonValue | undefined): readonly Fault[] {
  if (tag === undefined || (typeof tag === 'string' && /^(?:\*|"[^"]*")$/.test(tag))) return [];
  const message = `"${ITEM_TAG}" must be a string: the ETag that GET of the record answered, with its quotes, or "*"`;
  return [{ pointer: `${pointer}/${ITEM_TAG}`, code: 'format', message }];
}

/** Refuses tags for a record that is not there: it has none (RFC 9110, 13.1.1). */
export function refuseAnyMatch({ ifMatch }: Preconditions, mode: Mode): void {
  if (mode === 'off' || ifMatch === undefined) return;
  throw failed('If-Match', 'There is no record with these values; leave If-Match out to create it');
}

function requireMatch(expected: string | undefined, tag: string): void {
  if (expected === undefined || isAny(expected) || matchesStrongly(expected, tag)) return;
  const isWeak = /(?:^|[\s,])W\/"/.test(expected);
  throw failed(
    'If-Match',
    isWeak
      ? 'If-Match compares strong entity tags only (RFC 9110, 13.1.1), and this one is weak: a proxy has put W/ in front of it, as those do that compress or change responses. Turn that off there for this service, which compresses by itself (nginx: "gzip off;"), and read the record again'
      : 'If-Match does not name the current entity tag of this URL; read it again',
  );
}

// Strong entity tags: hashes of representations, and how tags are compared (RFC 9110, 8.8.3).

/** The tag of a text. That of a list covers what changes with other records as well. */
export const entityTag = (text: string): string => `"${hash('sha1', text, 'base64url')}"`;

/** In the order in which they are preferred. */
export const CODING_NAMES = ['br', 'gzip'] as const;

/** The tag of the compressed bytes, which are another representation. */
export const codedTag = (tag: string, coding: string): string => tag.replace(/"$/, `-${coding}"`);

const CODING = new RegExp(`-(?:${CODING_NAMES.join('|')})"$`);

/** The tags in a header, each also without its coding: the record is the same. */
const tagsIn = (header: string): readonly string[] =>
  (header.match(/(?:W\/)?"[^"]*"/g) ?? []).flatMap((tag) => [tag, tag.replace(CODING, '"')]);

const isAny = (header: string): boolean => header.trim() === '*';

/** `If-Match`: only strong tags count (RFC 9110, 13.1.1). */
const matchesStrongly = (header: string, tag: string): boolean => header === tag || tagsIn(header).includes(tag);

/** `If-None-Match`: weak tags count as well (RFC 9110, 13.1.2). */
const isNamed = (known: string | undefined, tag: string): boolean =>
  known !== undefined && (isAny(known) || tagsIn(known).some((one) => one === tag || one === `W/${tag}`));

/** The tag as the client names it, with the coding that it got it with. */
export const asNamed = (header: string, tag: string): string =>
  header.match(/"[^"]*"/g)?.find((candidate) => candidate.replace(CODING, '"') === tag) ?? tag;
