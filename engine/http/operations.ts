/** Adapters: each builds the arguments of an operation from a request, and renders its result as an answer. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RecordType } from '../model/model.ts';
import { can } from '../model/rights.ts';
import { NO_BODY } from '../operations/body.ts';
import { create } from '../operations/write.ts';
import { deleteFound, deleteOne } from '../operations/write.ts';
import { get, type RecordResult } from '../operations/read.ts';
import {
  type BodyArguments,
  type OneArguments,
  onceOf,
  type OperationContext,
  parseIdentifier,
  type WriteResult,
} from '../operations/operation.ts';
import { JSON_TYPE, type OperationEntry, type OperationName } from '../operations/table.ts';
import { patch, update, updateMany } from '../operations/write.ts';
import { upsert } from '../operations/upsert.ts';
import { faultyRequest, Problem } from '../problem.ts';
import { ON } from '../query/resolve.ts';
import { type Answer, readAnswer, writeAnswer } from './answer.ts';
import { type Content, NO_CONTENT, refuseContent } from './content.ts';
import { linkedList, summaryServer } from './lists.ts';
import { onLines } from './lines.ts';
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
    const creating = writing(service, entry, service.queries.write, create);
    const upserting = writing(service, entry, service.queries.upsert, upsert);
    return (exchange) => {
      const { query } = exchange.target;
      if (query === '' || !new URLSearchParams(query).has(ON)) return creating(exchange);
      if (!mayUpdate(service)) throw notUpdatable(service.type);
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

export const creating: Server = (service, entry) => writing(service, entry, service.queries.write, create);

/** An operation that writes, over HTTP: what is wrong with the head of a request is refused before its body is parsed. */
function writing<Q>(
  service: Service,
  entry: OperationEntry,
  parseQuery: (search: string) => Q,
  operation: (context: OperationContext, given: AllArguments<Q>) => Promise<WriteResult>,
): ServeOperation {
  const { path, rights, readContent, parsers } = service;
  const { body: taken, path: kind } = entry;
  const bodyTypes = bodyTypesOf(entry);
  const isLimited = entry.headers.includes('Prefer: max-affected');
  return async (exchange) => {
    const { request, caller, target } = exchange;
    const content = taken ? await readContent(exchange, bodyTypes) : await noContent(request);
    const once = onceOf(keyOf(request), service, () => requestHash(exchange, content));
    const id = kind === 'item' ? parseIdentifier(exchange.identifier) : 0;
    const query = parseQuery(target.query);
    const body = taken ? parsers[taken.shape](content, exchange) : NO_BODY;
    const { minimal, most, applied } = writePreferences(request.headers.prefer, isLimited);
    const given = { id, query, body, caller, once, minimal, most, preconditions: preconditionsOf(request) };
    const written = operation(service, given);
    const result = await (body.lines ? onLines(body.lines, written) : written);
    return writeAnswer(result, target.base + path, applied, rights);
  };
}

async function noContent(request: IncomingMessage): Promise<Content> {
  await refuseContent(request);
  return NO_CONTENT;
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const given = headers['idempotency-key'];
  return given === undefined ? undefined : String(given);
}

/** A retry has the same hash, another request another. */
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

const mayUpdate = ({ type, rights }: Service): boolean => type.operations.has('update') && can(rights, type, 'update');

function notUpdatable({ name, operations }: RecordType): Problem {
  if (operations.has('update'))
    return new Problem('forbidden', `The token does not allow updates of ${name}, which ${ON}= asks for; leave it out`);
  const message = `${name} does not offer updates, which "${ON}" asks for; leave it out`;
  return faultyRequest('invalid-query', [{ parameter: ON, code: 'not-offered', message }]);
}
