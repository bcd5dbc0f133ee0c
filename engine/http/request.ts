/** A request as the engine sees it: its URL, its client, what it accepts and prefers, and the service that it is for. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { Budget } from '../edge/budget.ts';
import type { Caller, Position } from '../edge/caller.ts';
import type { AddressOf } from '../edge/admission.ts';
import { shortened } from '../names.ts';
import type { Body } from '../operations/body.ts';
import type { OperationContext, Preconditions } from '../operations/operation.ts';
import { JSON_TYPE, type OperationEntry } from '../operations/table.ts';
import { Problem, type ProblemCode } from '../problem.ts';
import type { Answer, HeaderMap } from './answer.ts';
import type { ReadContent } from './content.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly target: Target;
  /** The identifier as the path writes it; the empty string for a collection. */
  readonly identifier: string;
  readonly mediaType: string;
}

export type ServeOperation = (exchange: Exchange) => Answer | Promise<Answer>;

/** The context of an operation, with what HTTP adds. */
export interface Service extends OperationContext {
  /** The path of the collection, as URLs write it. */
  readonly path: string;
  readonly readContent: ReadContent;
  /** Translates a body of a dialect to that of `/api`. `identifier` is that of the path. */
  readonly translate?: (body: Body, identifier: string) => Body;
}

export type Server = (service: Service, entry: OperationEntry) => ServeOperation;

export const preconditionsOf = ({ headers }: IncomingMessage): Preconditions => ({
  ifMatch: headers['if-match'],
  ifNoneMatch: headers['if-none-match'],
});

// URLs.

export interface Target {
  /** The path under which the handler is mounted, which the host application has stripped from the URL. */
  readonly base: string;
  readonly path: string;
  readonly query: string;
}

export function targetOf(request: IncomingMessage): Target {
  const { url = '/' } = request;
  const mark = url.indexOf('?');
  const base = 'baseUrl' in request && typeof request.baseUrl === 'string' ? request.baseUrl : '';
  if (mark === -1) return { base, path: url, query: '' };
  return { base, path: url.slice(0, mark), query: url.slice(mark + 1) };
}

export const fullPath = ({ base, path }: Target): string => base + path;

// Clients.

/** Bytes: a page is read at once, and no other client is served meanwhile. */
const MAX_PAGE = 16 * 1024 ** 2;

/** The client of a request has left when its connection is closed. `seen` is the position in the log of the database. */
export const httpCaller = (
  request: IncomingMessage,
  response: ServerResponse,
  budget: Budget,
  addressOf: AddressOf,
  seen: Position,
): ReturnType<typeof budgetCaller> =>
  budgetCaller(budget, seen, {
    most: MAX_PAGE,
    get isGone() {
      return request.socket.destroyed;
    },
    get origin() {
      return addressOf(request);
    },
    onGone: (listener) => {
      response.once('close', listener);
      if (request.socket.destroyed) listener();
      return () => response.off('close', listener);
    },
  });

/** A client that draws on the memory budget. The positions of its writes are kept in `seen`. */
export function budgetCaller(
  budget: Budget,
  seen: Position,
  client: Pick<Caller, 'most' | 'isGone' | 'origin' | 'onGone'>,
): Caller & { readonly release: () => void } {
  const share = budget.take(0);
  return {
    most: Math.min(client.most, budget.limit / 8),
    get isGone() {
      return client.isGone;
    },
    get origin() {
      return client.origin;
    },
    onGone: client.onGone,
    get position() {
      return seen.last;
    },
    wrote: (position) => void (seen.last = position),
    take: (bytes) => share.grow(bytes),
    drawing: () => {
      const before = share.bytes;
      return () => share.shrink(before);
    },
    // After the answer was written, the connection counts what its client has not read.
    release: () => share.release(),
  };
}

// Negotiation.

export const inHeader = (
  problem: ProblemCode,
  header: string,
  code: string,
  message: string,
  headers: HeaderMap = {},
): Problem => new Problem(problem, message, { errors: [{ header, code, message }], headers });

/** The media type of the answer: of those that are offered, the one that the client likes best. */
export function acceptedType(accept: string | undefined, offered: readonly string[]): string {
  const [first = JSON_TYPE] = offered;
  if (accept === undefined || accept === '*/*' || accept === first) return first;
  // A range with a parameter takes only types that have it: texts are in UTF-8, and may be asked for as such.
  const variants = offered.flatMap((type) => [type, `${type}; charset=utf-8`]);
  // Ranges by the thousand would take milliseconds.
  const headers = { accept: accept.slice(0, 1024) };
  const [best] = new Negotiator({ headers }).mediaType(variants)?.split(';') ?? [];
  if (best !== undefined) return best;
  const message = `Accept is "${shortened(accept)}"; this can be answered as ${offered.join(', ')}`;
  throw inHeader('not-acceptable', 'Accept', 'not-acceptable', message);
}

type PreferHeader = IncomingMessage['headers'][string];

/** Preferences (RFC 7240), of which the first mention counts. Unknown ones are for other servers. */
function preferencesIn(header: PreferHeader = ''): ReadonlyMap<string, string> {
  const pairs = String(header)
    .split(',')
    .map((text): [string, string] => {
      const [name = '', value = ''] = (text.split(';', 1)[0] ?? '').split('=');
      return [name.trim().toLowerCase(), value.trim().replaceAll('"', '').toLowerCase()];
    });
  return new Map(pairs.toReversed());
}

const applying = (...names: readonly string[]): HeaderMap =>
  names.length === 0 ? {} : { 'Preference-Applied': names.join(', ') };

/**
 * `return=minimal` asks for no record; `max-affected=N` says how many records may be deleted or unlinked, and is required
 * if the operation `isLimited`.
 */
export function writePreferences(header: PreferHeader, isLimited: boolean) {
  if (header === undefined && !isLimited) return { minimal: false, most: 0, applied: {} };
  const known = preferencesIn(header);
  const value = ['minimal', 'representation'].find((one) => one === known.get('return'));
  const most = isLimited ? maxAffected(known.get('max-affected')) : 0;
  const limit = isLimited ? [`max-affected=${most}`] : [];
  const applied = applying(...limit, ...(value === undefined ? [] : [`return=${value}`]));
  return { minimal: value === 'minimal', most, applied };
}

/** The number is required: a filter that is too wide could empty a table. */
function maxAffected(text: string | undefined): number {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  const given = text === undefined ? 'is missing' : `is "${shortened(text)}"`;
  const message = `Prefer: max-affected=N must say how many records may be deleted or unlinked at most; it ${given}`;
  throw inHeader('invalid-header', 'Prefer', text === undefined ? 'required' : 'invalid-value', message);
}

/** How to count a list. Without a preference the descriptor decides; a client must be able to tell an estimate. */
export function countPreference(header: PreferHeader, usual: CountMode) {
  const asked = header === undefined ? undefined : preferencesIn(header).get('count');
  const value = COUNT_MODES.find((known) => known === asked);
  const count = value ?? usual;
  return { count, applied: value !== undefined || count === 'estimated' ? applying(`count=${count}`) : {} };
}
