/** A request as the engine sees it: its URL, its client, and what is told of it when it is over. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Budget, Share } from '../edge/budget.ts';
import type { Caller } from '../edge/caller.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { Preconditions } from '../operations/preconditions.ts';
import type { OperationEntry } from '../operations/table.ts';
import type { ProblemCode } from '../problem.ts';
import type { Answer } from './answer.ts';
import type { BodyParsers } from './bodies.ts';
import type { ReadContent } from './content.ts';
import type { AddressOf } from '../edge/client-address.ts';
import { problemAnswered } from './problems.ts';

/** A request on its way through an operation. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly target: Target;
  /** The identifier as the path writes it; the empty string for a collection. */
  readonly identifier: string;
  /** The media type of the answer. */
  readonly mediaType: string;
}

export type ServeOperation = (exchange: Exchange) => Answer | Promise<Answer>;

/** The context of an operation, with what HTTP adds. */
export interface Service extends OperationContext {
  /** The path of the collection, as URLs write it. */
  readonly path: string;
  readonly readContent: ReadContent;
  readonly parsers: BodyParsers;
}

/** Makes the adapter of an operation. */
export type Server = (service: Service, entry: OperationEntry) => ServeOperation;

export const preconditionsOf = ({ headers }: IncomingMessage): Preconditions => ({
  ifMatch: headers['if-match'],
  ifNoneMatch: headers['if-none-match'],
});

/** The URL of a request, taken apart once. */
export interface Target {
  /** The path under which the handler is mounted, which the host application has stripped from the URL. */
  readonly base: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

export function targetOf(request: IncomingMessage): Target {
  const url = originForm(request.url ?? '/');
  const mark = url.indexOf('?');
  const base = 'baseUrl' in request && typeof request.baseUrl === 'string' ? request.baseUrl : '';
  if (mark === -1) return { base, path: url, query: '' };
  return { base, path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** The path as the client sees it. */
export const fullPath = ({ base, path }: Target): string => base + path;

/** `GET http://host/path` is as good as `GET /path` (RFC 9112, 3.2.2). `*` stays: it is about the service as a whole. */
export function originForm(url: string): string {
  if (url.startsWith('/') || url === '*') return url;
  const rest = absoluteForm(url)?.rest ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

interface AbsoluteForm {
  readonly scheme: string;
  readonly authority: string;
  /** Path and query. */
  readonly rest: string;
}

const ABSOLUTE = /^(?<scheme>https?):\/\/(?<authority>[^/?]+)(?<rest>.*)$/i;

/** undefined if the URL does not name a scheme and a host. */
export function absoluteForm(url: string): AbsoluteForm | undefined {
  const { scheme, authority, rest } = ABSOLUTE.exec(url)?.groups ?? {};
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, rest };
}

// Log and metrics of finished requests.

/** Which operation of which type: made at boot. */
export interface Label {
  readonly type: string;
  readonly operation: string;
}

export interface Observed {
  readonly method: string;
  /** Without the query string, which may hold values of records. */
  readonly path: string;
  readonly status: number;
  /** Whether the client left before the end. */
  readonly aborted: boolean;
  readonly milliseconds: number;
  readonly asked: AskedFor;
  /** undefined if no operation was found. */
  readonly label: Label | undefined;
  /** The code of the problem that it was answered with. */
  readonly problem: ProblemCode | undefined;
}

/** Identifies a request in the lines of the log that belong to it. */
export interface AskedFor {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** Of the client: not known any more once the connection is closed. */
  readonly address: string;
  /** The trace that the request belongs to (W3C Trace Context). */
  readonly traceparent: string | undefined;
  /** Once the operation is known. */
  label: Label | undefined;
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

export function askedFor(request: IncomingMessage, requestId: string, address: string): AskedFor {
  const trace = String(request.headers['traceparent'] ?? '');
  return { request, requestId, address, traceparent: TRACEPARENT.test(trace) ? trace : undefined, label: undefined };
}

export type Observe = (observed: Observed) => void;

/** Of a query string in the log. */
const MAX_SHOWN = 1000;
const WITH_NAMES = /^(_cnd\[orderBy\]|include$|fields$)/;
const NAMES = /^[\p{L}\p{N}_.,\s-]*$/u;

/** The query string without values of records: names, operators and the order stay. undefined if there is none. */
export function shownQuery(search: string): string | undefined {
  if (search === '') return undefined;
  const shown = [...new URLSearchParams(search)].map(
    ([key, value]) => `${key}=${WITH_NAMES.test(key) && NAMES.test(value) ? value : '…'}`,
  );
  return shown.join('&').slice(0, MAX_SHOWN);
}

export function watchRequest(asked: AskedFor, response: ServerResponse, observe: Observe): void {
  const { request } = asked;
  const started = performance.now();
  // Mounted routers strip the path while they run.
  const path = fullPath(targetOf(request));
  response.once('close', () =>
    observe({
      method: request.method ?? '',
      path,
      status: response.statusCode,
      aborted: !response.writableFinished,
      milliseconds: performance.now() - started,
      asked,
      label: asked.label,
      problem: problemAnswered(request),
    }),
  );
}

/** The client of a request. It has left when its connection is closed. */
export class HttpCaller implements Caller {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #budget: Budget;
  readonly #addressOf: AddressOf;
  #share: Share | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, budget: Budget, addressOf: AddressOf) {
    this.#request = request;
    this.#addressOf = addressOf;
    this.#response = response;
    this.#budget = budget;
  }

  get most(): number {
    return Math.min(MAX_PAGE, this.#budget.limit / 8);
  }

  take(bytes: number): void {
    this.#share ??= this.#budget.take(0);
    this.#share.grow(bytes);
  }

  drawing(): () => void {
    const before = this.#share?.bytes ?? 0;
    return () => this.#share?.shrink(before);
  }

  /** The request is answered: from now on the connection counts what its client has not read. */
  release(): void {
    this.#share?.release();
  }

  /** `X-Position`, as an answer to a write had it. */
  get position(): string | undefined {
    const position = this.#request.headers['x-position'];
    return position === undefined ? undefined : String(position);
  }

  /** The position in the log of the database after the write, for the answer. */
  written: string | undefined;

  wrote(position: string): void {
    this.written = position;
  }

  get isGone(): boolean {
    return this.#request.socket.destroyed;
  }

  get origin(): string {
    return this.#addressOf(this.#request);
  }

  onGone(listener: () => void): () => void {
    this.#response.once('close', listener);
    if (this.isGone) listener();
    return () => this.#response.off('close', listener);
  }
}

/** Bytes: a page is read at once, and no other client is served meanwhile. */
const MAX_PAGE = 16 * 1024 ** 2;
