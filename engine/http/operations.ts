/** Adapters: each makes the arguments of an operation from a request, and an answer from its result. */
import { createHash } from 'node:crypto';
import { decode } from '../json/tokenizer.ts';
import { can } from '../model/rights.ts';
import { type Body, NO_BODY, readBody, textOf } from '../operations/body.ts';
import {
  type BodyArguments,
  type OneArguments,
  onceOf,
  type OperationContext,
  parseIdentifier,
  type WriteResult,
} from '../operations/operation.ts';
import { get, type RecordResult } from '../operations/read.ts';
import {
  type BodyShape,
  CSV_TYPE,
  JSON_TYPE,
  NDJSON_TYPE,
  type OperationEntry,
  type OperationName,
} from '../operations/table.ts';
import { upsert } from '../operations/upsert.ts';
import { create, deleteFound, deleteOne, patch, update, updateMany } from '../operations/write.ts';
import { faultyRequest, Problem } from '../problem.ts';
import { ON } from '../query/resolve.ts';
import { type Answer, readAnswer, writeAnswer } from './answer.ts';
import { type Content, NO_CONTENT, refuseContent } from './content.ts';
import { readCsv } from './csv.ts';
import { onLines, readNdjson, textOfLines } from './lines.ts';
import { linkedList, summaryServer } from './lists.ts';
import { bodyTypeOf, bodyTypesOf, writePreferences } from './negotiation.ts';
import { type Exchange, fullPath, preconditionsOf, type ServeOperation, type Server, type Service } from './request.ts';

type AllArguments<Q> = OneArguments<Q> & BodyArguments<Q> & { readonly most: number };

export const SERVERS: Readonly<Record<OperationName, Server>> = {
  list: linkedList,
  summary: summaryServer,
  get: (service) => (exchange) => {
    const id = parseIdentifier(exchange.identifier);
    const query = service.queries.view(exchange.target.query);
    const given = preconditionsOf(exchange.request);
    const answer = ({ json, tag }: RecordResult): Answer => readAnswer(given, json, tag);
    const result = get(service, { id, query, caller: exchange.caller });
    return result instanceof Promise ? result.then(answer) : answer(result);
  },
  create: (service, entry) => {
    const creating = createServer(service, entry);
    const upserting = writing(service, entry, service.queries.upsert, upsert);
    return (exchange) => {
      const { query } = exchange.target;
      if (query === '' || !new URLSearchParams(query).has(ON)) return creating(exchange);
      requireUpdates(service);
      return upserting(exchange);
    };
  },
  upsert: (service, entry) => writing(service, entry, service.queries.upsert, upsert),
  updateMany: (service, entry) => writing(service, entry, service.queries.write, updateMany),
  deleteFound: (service, entry) => writing(service, entry, service.queries.remove, deleteFound),
  update: (service, entry) => writing(service, entry, service.queries.write, update),
  patch: (service, entry) => writing(service, entry, service.queries.write, patch),
  delete: (service, entry) => writing(service, entry, service.queries.write, deleteOne),
};

/** Creates, and never updates. */
export const createServer: Server = (service, entry) => writing(service, entry, service.queries.write, create);

/** An operation that writes. What is wrong with the head of a request is refused before its body is parsed. */
function writing<Q>(
  service: Service,
  entry: OperationEntry,
  parseQuery: (search: string) => Q,
  operation: (context: OperationContext, given: AllArguments<Q>) => Promise<WriteResult>,
): ServeOperation {
  const { path, rights, readContent } = service;
  const { body: taken, path: kind } = entry;
  const bodyTypes = bodyTypesOf(entry);
  const isLimited = entry.headers.includes('Prefer: max-affected');
  return async (exchange) => {
    const { request, caller, target, identifier } = exchange;
    if (!taken) await refuseContent(request);
    const content = taken ? await readContent(request, caller, bodyTypes) : NO_CONTENT;
    const key = request.headers['idempotency-key'];
    const once = onceOf(key === undefined ? key : String(key), service, () => requestHash(exchange, content));
    const id = kind === 'item' ? parseIdentifier(identifier) : 0;
    const query = parseQuery(target.query);
    const body = taken ? bodyIn(content, taken.shape, bodyTypeOf(request), service, identifier) : NO_BODY;
    const { minimal, most, applied } = writePreferences(request.headers.prefer, isLimited);
    const given = { id, query, body, caller, once, minimal, most, preconditions: preconditionsOf(request) };
    const written = operation(service, given);
    const result = await (body.lines ? onLines(body.lines, written) : written);
    return writeAnswer(result, target.base + path, applied, rights);
  };
}

function bodyIn(
  content: Content,
  shape: BodyShape,
  mediaType: string,
  { type, limits, rights, translate }: Service,
  identifier: string,
): Body {
  if (!('parsed' in content)) {
    if (mediaType === NDJSON_TYPE) return readNdjson(textOfLines(content, mediaType), type, limits);
    if (mediaType === CSV_TYPE) return readCsv(textOfLines(content, mediaType), type, limits, rights);
  }
  const body = readBody('parsed' in content ? textOf(content.parsed) : decode(content), shape, type, limits);
  return translate ? translate(body, identifier) : body;
}

/** A retry has the same hash, another request another. */
function requestHash({ request, target }: Pick<Exchange, 'request' | 'target'>, content: Content): string {
  const mediaType = bodyTypeOf(request);
  return createHash('sha256')
    .update(`${request.method ?? ''} ${fullPath(target)}?${target.query}\n`)
    .update(mediaType === JSON_TYPE ? '' : `${mediaType}\n`)
    .update('parsed' in content ? JSON.stringify(content.parsed) : content)
    .digest('base64url');
}

function requireUpdates({ type, rights }: Service): void {
  const { name, operations } = type;
  if (!operations.has('update')) {
    const message = `${name} does not offer updates, which "${ON}" asks for; leave it out`;
    throw faultyRequest('invalid-query', [{ parameter: ON, code: 'not-offered', message }]);
  }
  if (!can(rights, type, 'update'))
    throw new Problem('forbidden', `The token does not allow updates of ${name}, which ${ON}= asks for; leave it out`);
}
