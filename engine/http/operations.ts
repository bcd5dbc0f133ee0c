/** The operations on one record, each readable from top to bottom: create, get, update, remove. */
import { createHash } from 'node:crypto';
import { andThen } from '../awaitable.ts';
import type { Model, RecordType } from '../model/model.ts';
import { faultyRequest, Problem } from '../problem.ts';
import type { TypeQueries } from '../query/resolve.ts';
import type { Once, Store, WriteRequest, Written } from '../storage/store.ts';
import { disagreementsKnowing } from '../validation/agreement.ts';
import type { TypeValidators, Validator } from '../validation/compile.ts';
import { asksStored, mentionsIn } from '../validation/mentions.ts';
import { readAnswer, tagHeader, type Whole, writeAnswer } from './answer.ts';
import { type Body, type BodyLimits, bodyParser } from './body.ts';
import { entityTag, preconditionOf, refuseIfMatch } from './conditions.ts';
import { dryRunAnswer } from './dry-run.ts';
import { type Content, isLarge, type ReadContent } from './content.ts';
import { PATCH_BODY, RECORD_BODY } from './negotiation.ts';
import { type Exchange, fullPath, type ServeOperation, type Target } from './request.ts';
import type { Turns } from './turns.ts';

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
  /** Large bodies are worked on in turns: one to parse them, one to validate them. */
  readonly largeTurn: Turns;
  readonly limits: BodyLimits;
  /** Separates the idempotency keys of clients with different rights. */
  readonly scope: string;
  /** How long the answer to a create is kept for its retries. */
  readonly idempotencyHours: number;
  /** The name of the token that the service is for; null without tokens. */
  readonly author: string | null;
}

/** POST of a new record; under an Idempotency-Key once, however often it is sent. */
export function create(service: Service): ServeOperation {
  const { type, store, queries, validators, readContent, largeTurn, limits, author } = service;
  const parse = bodyParser(type, limits);
  return async (exchange) => {
    const { request, caller, target } = exchange;
    const content = await readContent(exchange, RECORD_BODY);
    const once = onceOf(exchange, content, service);
    const { view, dryRun } = queries.write(target.query);
    const { body, raw } = parse(content);
    if (isLarge(content)) await largeTurn();
    const { faults, disagreements } = faultsIn(service, validators.create(view.variant), { body, raw });
    const precondition = (): void => refuseIfMatch(request);
    const wanted = {
      type,
      body,
      raw,
      faults,
      disagreements,
      mergePatch: false,
      view,
      author,
      caller,
      dryRun,
      precondition,
    };
    if (once !== undefined && !dryRun && faults.length === 0)
      return store.createOnce(wanted, once, (written) => created(service, exchange, written));
    return created(service, exchange, await store.create(wanted));
  };
}

function created(service: Service, { request, target }: Exchange, { identifier, body, effects }: Written): Whole {
  const Location = `${target.base}${service.path}/${identifier}`;
  const answer = writeAnswer(request, 201, body, { Location, ...tagHeader(service.type, body) });
  return effects ? dryRunAnswer(201, answer, effects, service.seen) : answer;
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
  const { type, store, queries, validators, readContent, largeTurn, limits, author } = service;
  const mergePatch = method === 'PATCH';
  const parse = bodyParser(type, limits);
  const bodyTypes = mergePatch ? PATCH_BODY : RECORD_BODY;
  return async (exchange) => {
    const { request, caller, target, identifier: text } = exchange;
    const content = await readContent(exchange, bodyTypes);
    const identifier = parseIdentifier(text);
    const { view, dryRun } = queries.write(target.query);
    const { body, raw } = parse(content);
    if (isLarge(content)) await largeTurn();
    const { faults, disagreements } = faultsIn(service, validators.update(view.variant), { body, raw }, identifier);
    const precondition = preconditionOf(request, type.preconditions);
    const written = await store.update({
      type,
      identifier,
      body,
      raw,
      faults,
      disagreements,
      mergePatch,
      view,
      author,
      caller,
      dryRun,
      ...precondition,
    });
    const answer = writeAnswer(request, 200, written.body, tagHeader(type, written.body));
    return written.effects ? dryRunAnswer(200, answer, written.effects, service.seen) : answer;
  };
}

/** DELETE of one record: the answer is the record as it was, which no longer has a tag. */
export function remove({ type, store, queries, author, seen }: Service): ServeOperation {
  return async ({ request, caller, target, identifier: text }) => {
    const identifier = parseIdentifier(text);
    const { view, dryRun } = queries.write(target.query);
    const precondition = preconditionOf(request, type.preconditions);
    const written = await store.delete({ identifier, view, author, caller, dryRun, ...precondition });
    const answer = writeAnswer(request, 200, written.body, {});
    return written.effects ? dryRunAnswer(200, answer, written.effects, seen) : answer;
  };
}

/** The faults of a body. They are thrown at once unless only the database knows whether there are more. */
function faultsIn(
  { type }: Pick<Service, 'type'>,
  validator: Validator,
  { body, raw }: Pick<Body, 'body' | 'raw'>,
  identifier?: number,
): Required<Pick<WriteRequest, 'faults' | 'disagreements'>> {
  const mentions = mentionsIn(type, body, identifier);
  const faults = validator(body, identifier, raw, mentions);
  if (faults.length > 0 && !asksStored(mentions)) throw faultyRequest('invalid-body', faults);
  return { faults, disagreements: disagreementsKnowing(type, body, identifier, raw) };
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

// `Idempotency-Key`: the client's name for a request, so that a retry is recognized.

/** Visible ASCII. The draft standard puts quotes around it; most clients do not. */
const KEY = /^[!-~]{1,255}$/;
const HOUR = 3_600_000;

type Scope = Pick<Service, 'scope' | 'idempotencyHours'>;

/** undefined if the client sends no key. */
function onceOf({ request, target }: Exchange, content: Content, { scope, idempotencyHours }: Scope): Once | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) throw badKey();
  const now = new Date();
  const keptSince = new Date(now.getTime() - idempotencyHours * HOUR);
  return { key: scope + key, hash: requestHash(request.method ?? '', target, content), now, keptSince };
}

function badKey(): Problem {
  const message = 'Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID';
  return new Problem('invalid-header', message, {
    errors: [{ header: 'Idempotency-Key', code: 'invalid-value', message }],
  });
}

/** The hash of what a request asks for: a retry has the same, another request another. */
function requestHash(method: string, target: Target, content: Content): string {
  const body = 'parsed' in content ? JSON.stringify(content.parsed) : content;
  return createHash('sha256')
    .update(`${method} ${fullPath(target)}?${target.query}\n`)
    .update(body)
    .digest('base64url');
}
