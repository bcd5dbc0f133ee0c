/** A request as the engine sees it: its URL, its client, and the service that it is for. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Budget, Share } from '../edge/budget.ts';
import type { Caller, Position } from '../edge/caller.ts';
import type { AddressOf } from '../edge/clients.ts';
import type { Body } from '../operations/body.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { Preconditions } from '../operations/preconditions.ts';
import type { OperationEntry } from '../operations/table.ts';
import type { Answer } from './answer.ts';
import type { ReadContent } from './content.ts';

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
  /** Translates a body of a dialect to that of `/api`. `identifier` is that of the path. */
  readonly translate?: (body: Body, identifier: string) => Body;
}

/** Makes the adapter of an operation. */
export type Server = (service: Service, entry: OperationEntry) => ServeOperation;

export const preconditionsOf = ({ headers }: IncomingMessage): Preconditions => ({
  ifMatch: headers['if-match'],
  ifNoneMatch: headers['if-none-match'],
});

/** The URL of a request. */
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

/** undefined if the URL does not name a scheme and a host. */
export function absoluteForm(url: string): AbsoluteForm | undefined {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return undefined;
  return { scheme: scheme.toLowerCase(), authority, rest };
}

/** Bytes: a page is read at once, and no other client is served meanwhile. */
const MAX_PAGE = 16 * 1024 ** 2;

/** The client of a request. It has left when its connection is closed. */
export class HttpCaller implements Caller {
  readonly most: number;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #addressOf: AddressOf;
  readonly #share: Share;
  readonly #agents: Position | undefined;
  /** The position in the log of the database after a write, for the answer. */
  written: string | undefined;

  /** Agents do not send positions: those of their writes are kept in `agents`. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    budget: Budget,
    addressOf: AddressOf,
    agents?: Position,
  ) {
    this.#agents = agents;
    this.#request = request;
    this.#response = response;
    this.#addressOf = addressOf;
    this.#share = budget.take(0);
    this.most = Math.min(MAX_PAGE, budget.limit / 8);
  }

  take(bytes: number): void {
    this.#share.grow(bytes);
  }

  drawing(): () => void {
    const before = this.#share.bytes;
    return () => this.#share.shrink(before);
  }

  /** To be called when the answer was written: from then on the connection counts what its client has not read. */
  release(): void {
    this.#share.release();
  }

  /** `X-Position`, as an answer to a write had it. */
  get position(): string | undefined {
    const position = this.#agents?.last ?? this.#request.headers['x-position'];
    return position === undefined ? undefined : String(position);
  }

  wrote(position: string): void {
    this.written = position;
    if (this.#agents) this.#agents.last = position;
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
