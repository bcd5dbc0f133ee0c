/** The operations on one record, each readable from top to bottom: create, get, update, remove. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { andThen } from '../awaitable.ts';
import { escapeStep } from '../json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { identifierIn, type Model, type RecordType } from '../model/model.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type { RawValues } from '../json/texts.ts';
import type {
  CheckedBody,
  DoneOnce,
  Once,
  Retried,
  Store,
  WriteEffect,
  WriteItem,
  WriteRequest,
  Written,
  WrittenRecords,
} from '../storage/store.ts';
import { disagreementsKnowing } from '../validation/agreement.ts';
import type { TypeValidators, Validator } from '../validation/compile.ts';
import { asksStored, mentionsIn } from '../validation/mentions.ts';
import { readAnswer, tagHeader, type Whole, writeAnswer } from './answer.ts';
import { isMinimal, writePreferences } from './preferences.ts';
import type { ParsedRecord } from './body.ts';
import { entityTag, preconditionAt, preconditionOf, refuseConditions, refuseIfMatch } from './preconditions.ts';
import { dryRunAnswer } from './dry-run.ts';
import { type Content, NO_CONTENT, type ReadContent, refuseContent } from './content.ts';
import { onLines } from './lines.ts';
import { bodyTypeOf, JSON_TYPE, NEW_RECORDS, PATCH_BODY, RECORD_BODY, RECORDS_PATCH } from './negotiation.ts';
import type { BodyParsers } from './record-lines.ts';
import { type Exchange, fullPath, type ServeOperation } from './request.ts';

/** All that the operations of one record type need, put together at boot. */
export interface Service {
  readonly type: RecordType;
  /** All types that the client may read. */
  readonly seen: Model;
  /** The path of the collection, as URLs write it. */
  readonly path: string;
  readonly store: Store;
  readonly queries: TypeQueries;
  readonly validators: TypeValidators;
  readonly readContent: ReadContent;
  readonly parsers: BodyParsers;
  /** How long an idempotency key is kept. */
  readonly idempotencyHours: number;
  /** The name of the token that the service is for; null without tokens. */
  readonly author: string | null;
}

/** POST of a new record, or of an array of them. */
export function create(service: Service): ServeOperation {
  const { type, store, queries, validators, readContent, parsers, author } = service;
  return async (exchange) => {
    const { request, caller, target } = exchange;
    const content = await readContent(exchange, NEW_RECORDS);
    const once = onceOf(exchange, content, service);
    const { view, dryRun } = queries.write(target.query);
    const body = parsers.posted(content, exchange);
    const { records, isArray, raw, faults } = body;
    if (isArray) refuseConditions(request, type.preconditions, 'new records have no entity tags yet: leave it out');
    const items = records.map(({ body: record, pointer }) => ({ body: record, pointer, identifier: undefined }));
    const known = [...faults, ...records.flatMap(tagOfNew)];
    const write = async (): Promise<Whole> => {
      const checked = faultsIn(service, validators.create(view.variant), items, raw, known);
      const precondition = isArray ? undefined : (): void => refuseIfMatch(request, type.preconditions);
      const asked = { type, items, raw, ...checked, view, author, caller, dryRun, precondition };
      const wanted = { ...asked, mergePatch: false, unread: isArray && isMinimal(request) };
      const answer = isArray ? createdAll : created;
      const answered = (written: WrittenRecords): Whole => answer(service, exchange, written);
      return done(once, wanted, answered, retried(service, request, isArray), store.create, store.once.create);
    };
    return onLines(body, write);
  };
}

type WrittenAnswer = (service: Service, exchange: Exchange, written: WrittenRecords) => Whole;

export const created: WrittenAnswer = (service, { request, target }, { records, effects }) => {
  const { identifier, body } = only(records);
  const Location = `${target.base}${service.path}/${identifier}`;
  return reported(
    service,
    201,
    writeAnswer(request, 201, body, { Location, ...tagHeader(service.type, body) }),
    effects,
  );
};

const createdAll: WrittenAnswer = (service, { request }, { records, effects }) =>
  reported(service, 201, writeAnswer(request, 201, arrayOf(records), {}), effects);

/** The answer itself, or what a dry run reports in its place. */
export const reported = (
  { seen }: Pick<Service, 'seen'>,
  status: number,
  answer: Whole,
  effects: readonly WriteEffect[] | undefined,
): Whole => (effects ? dryRunAnswer(status, answer, effects, seen) : answer);

export const arrayOf = (written: readonly Written[]): string => `[${written.map(({ body }) => body).join(',')}]`;

export function only<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('one record was to be written');
  return first;
}

/** GET of one record. */
export function get({ type, store, queries }: Service): ServeOperation {
  const tagOf = type.preconditions === 'off' ? () => undefined : entityTag;
  return ({ request, caller, target, identifier: text }) => {
    const identifier = parseIdentifier(text);
    const view = queries.view(target.query);
    return andThen(store.get(view, identifier, caller), (found) => {
      const record = found ?? noSuchRecord(type, identifier);
      return readAnswer(request, record, tagOf(record));
    });
  };
}

/** PUT and PATCH of one record: keys that are left out stay as they are. */
export function update(service: Service, method: string): ServeOperation {
  const { type, store, queries, validators, readContent, parsers, author } = service;
  const mergePatch = method === 'PATCH';
  const bodyTypes = mergePatch ? PATCH_BODY : RECORD_BODY;
  return async (exchange) => {
    const { request, caller, target, identifier: text } = exchange;
    const content = await readContent(exchange, bodyTypes);
    const once = onceOf(exchange, content, service);
    const identifier = parseIdentifier(text);
    const { view, dryRun } = queries.write(target.query);
    const { records, raw, faults: known } = parsers.record(content, exchange);
    const { precondition } = preconditionOf(request, type.preconditions);
    const items = records.map(({ body, pointer }) => ({ body, pointer, identifier, precondition }));
    const validate = validators.update(view.variant);
    const { faults, disagreements } = faultsIn(service, validate, items, raw, known);
    const wanted = { type, items, raw, faults, disagreements, mergePatch, view, author, caller, dryRun };
    const answered = ({ records: written, effects }: WrittenRecords): Whole => {
      const { body } = only(written);
      return reported(service, 200, writeAnswer(request, 200, body, tagHeader(type, body)), effects);
    };
    return done(once, wanted, answered, retried(service, request), store.update, store.once.update);
  };
}

/** PATCH of an array of records, each with its identifier, and perhaps with the tag that it must have. */
export function updateMany(service: Service): ServeOperation {
  const { type, store, queries, validators, readContent, parsers, author } = service;
  return async (exchange) => {
    const { request, caller, target } = exchange;
    const content = await readContent(exchange, RECORDS_PATCH);
    const once = onceOf(exchange, content, service);
    const { view, dryRun } = queries.write(target.query);
    const { records, raw, faults: unread } = parsers.records(content, exchange);
    refuseConditions(request, type.preconditions, `send the tag of each record as its "${ITEM_TAG}"`);
    const items = records.map((record) => namedItem(type, record));
    const misnamed = records.flatMap((record, index) => misnamedIn(type, record, items[index]?.identifier));
    const known = [...unread, ...misnamed];
    const validate = validators.update(view.variant);
    const { faults, disagreements } = faultsIn(service, validate, items, raw, known);
    const asked = { type, items, raw, faults, disagreements, view, author, caller, dryRun };
    const wanted = { ...asked, mergePatch: true, unread: isMinimal(request) };
    const answered = ({ records: written, effects }: WrittenRecords): Whole =>
      reported(service, 200, writeAnswer(request, 200, arrayOf(written), {}), effects);
    return done(once, wanted, answered, retried(service, request, true), store.update, store.once.update);
  };
}

/** DELETE of one record: the answer is the record as it was, which no longer has a tag. */
export function remove(service: Service): ServeOperation {
  const { type, store, queries, author } = service;
  return async (exchange) => {
    const { request, caller, target, identifier: text } = exchange;
    await refuseContent(request);
    const once = onceOf(exchange, NO_CONTENT, service);
    const identifier = parseIdentifier(text);
    const { view, dryRun } = queries.write(target.query);
    const precondition = preconditionOf(request, type.preconditions);
    const wanted = { type, identifier, view, author, caller, dryRun, ...precondition };
    const answered = ({ body, effects }: Written): Whole =>
      reported(service, 200, writeAnswer(request, 200, body, {}), effects);
    return done(once, wanted, answered, retried(service, request), store.delete, store.once.delete);
  };
}

/** The faults of a body; `known`: those of items. They are thrown at once unless only the database knows whether there are more. */
export function faultsIn(
  { type }: Pick<Service, 'type'>,
  validator: Validator,
  items: readonly WriteItem[],
  raw: RawValues,
  known: readonly Fault[] = [],
): CheckedBody {
  const mentions = mentionsIn(type, items);
  const faults = validator(items, raw, { mentions, faults: known });
  if (known.length > 0) throw faultyRequest('invalid-body', faults);
  if (faults.length > 0 && !asksStored(mentions)) throw faultyRequest('invalid-body', faults);
  return { faults, disagreements: disagreementsKnowing(type, items, raw) };
}

// Items of an array.

/** Records that are to be made have no tags. */
function tagOfNew({ tag, pointer }: ParsedRecord): readonly Fault[] {
  const message = `"${ITEM_TAG}" is the tag of a record that is to be changed, and this one is to be made: leave it out`;
  return tag === undefined ? [] : [{ pointer: `${pointer}/${ITEM_TAG}`, code: 'reserved-key', message }];
}

function namedItem(type: RecordType, { body, pointer, tag }: ParsedRecord): WriteItem {
  const expected = typeof tag === 'string' ? tag : undefined;
  const precondition = preconditionAt(`${pointer}/${ITEM_TAG}`, expected, type.preconditions);
  return { body, pointer, identifier: identifierIn(body, type), precondition };
}

/** One strong entity tag (RFC 9110, 8.8.3), or `*` for any. */
const TAG = /^(?:\*|"[^"]*")$/;

/** What is wrong with the identifier of an item, which says what to change, and with its tag. */
function misnamedIn(
  { identifier: { name } }: RecordType,
  { body, pointer, tag }: ParsedRecord,
  identifier: number | undefined,
): readonly Fault[] {
  const faults: Fault[] = [];
  if (identifier === undefined) {
    const isMissing = (body[name] ?? null) === null;
    const message = isMissing
      ? `"${name}" is required: it says which record to change`
      : `"${name}" must be an identifier: an integer from 1 to 2^53-1`;
    faults.push({ pointer: `${pointer}/${escapeStep(name)}`, code: isMissing ? 'required' : 'type', message });
  }
  return [...faults, ...wrongTag({ pointer, tag })];
}

export function wrongTag({ pointer, tag }: Pick<ParsedRecord, 'pointer' | 'tag'>): readonly Fault[] {
  if (tag === undefined || (typeof tag === 'string' && TAG.test(tag))) return [];
  const message = `"${ITEM_TAG}" must be a string: the ETag that GET of the record answered, with its quotes, or "*"`;
  return [{ pointer: `${pointer}/${ITEM_TAG}`, code: 'format', message }];
}

function noSuchRecord(type: RecordType, identifier: number): never {
  throw new Problem('record-not-found', `There is no ${type.recordName} ${identifier}`);
}

// The identifier in a path.

const FORM = /^[1-9]\d{0,15}$/;

function parseIdentifier(text: string): number {
  const identifier = Number(text);
  if (FORM.test(text) && Number.isSafeInteger(identifier)) return identifier;
  const message = `"${text.slice(0, 40)}" is not an identifier; expected an integer from 1 to ${Number.MAX_SAFE_INTEGER}`;
  throw new Problem('invalid-identifier', message, {
    errors: [{ parameter: 'id', code: 'invalid-identifier', message }],
  });
}

// `Idempotency-Key`: the client's name for a write, so that a retry is recognized. What it does is done once.

/** Visible ASCII. The draft standard puts quotes around it; most clients do not, and both mean the same key. */
const KEY = /^[!-~]{1,255}$/;
const QUOTED = /^"(.*)"$/;

/** Does a write, under its key once: what is only tried, or refused for its body, keeps no answer. */
export async function done<R extends Pick<WriteRequest, 'dryRun'> & Partial<Pick<WriteRequest, 'faults'>>, W>(
  once: Once | undefined,
  request: R,
  answer: (written: W) => Whole,
  again: (retried: Retried) => Whole,
  write: (request: R) => Promise<W>,
  writeOnce: DoneOnce<R, W>,
): Promise<Whole> {
  const { dryRun = false, faults = [] } = request;
  const isKept = once !== undefined && !dryRun && faults.length === 0;
  return isKept ? writeOnce(request, once, answer, again) : answer(await write(request));
}

/** A retry: the same status and Location, with the records as they are now; without a body where they are gone. */
export const retried =
  ({ type }: Pick<Service, 'type'>, { headers }: IncomingMessage, isArray = false) =>
  ({ status, location, wrote, bodies }: Retried): Whole => {
    const { minimal, applied } = writePreferences(headers.prefer);
    const isGone = wrote > bodies.length && bodies.length === 0;
    const text = isArray && !isGone ? `[${bodies.join(',')}]` : bodies[0];
    const tag = isArray || text === undefined ? {} : tagHeader(type, text);
    const known = { ...(location === undefined ? {} : { Location: location }), ...tag, ...applied };
    if (status === 204) return { status, headers: known, body: undefined };
    if (minimal || text === undefined) return { status, headers: known, body: '' };
    return { status, headers: { 'Content-Type': JSON_TYPE, ...known }, body: text };
  };

/** undefined if the client sends no key. */
export function onceOf(
  { request, target }: Exchange,
  content: Content,
  { author, idempotencyHours: hours }: Pick<Service, 'author' | 'idempotencyHours'>,
): Once | undefined {
  const given = request.headers['idempotency-key'];
  if (given === undefined) return undefined;
  const key = String(given).replace(QUOTED, '$1');
  if (!KEY.test(key)) throw badKey();
  return { identity: author ?? '', key, hash: requestHash({ request, target }, content), hours };
}

function badKey(): Problem {
  const message = 'Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID';
  return new Problem('invalid-header', message, {
    errors: [{ header: 'Idempotency-Key', code: 'invalid-value', message }],
  });
}

/** The hash of what a request asks for: a retry has the same, another request another. */
function requestHash({ request, target }: Pick<Exchange, 'request' | 'target'>, content: Content): string {
  const body = 'parsed' in content ? JSON.stringify(content.parsed) : content;
  const mediaType = bodyTypeOf(request);
  return createHash('sha256')
    .update(
      `${request.method ?? ''} ${fullPath(target)}?${target.query}\n${mediaType === JSON_TYPE ? '' : `${mediaType}\n`}`,
    )
    .update(body)
    .digest('base64url');
}
