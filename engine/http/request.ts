/** A request as the engine sees it: its URL, its client, and the service that it is for. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { Budget, Share } from '../edge/budget.ts';
import type { Caller, Position } from '../edge/caller.ts';
import type { AddressOf } from '../edge/clients.ts';
import type { Body } from '../operations/body.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { Preconditions } from '../operations/operation.ts';
import { JSON_TYPE, type OperationEntry } from '../operations/table.ts';
import { Problem, type ProblemCode } from '../problem.ts';
import type { Answer } from './answer.ts';
import type { ReadContent } from './content.ts';
import type { HeaderMap } from './answer.ts';

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

// Content negotiation: media types of answers and bodies, and `Prefer` (RFC 7240).

const inHeader = (problem: ProblemCode, header: string, code: string, message: string, headers = {}): Problem =>
  new Problem(problem, message, { errors: [{ header, code, message }], headers });

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

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
  const message = `Accept is "${excerpt(accept)}"; this can be answered as ${offered.join(', ')}`;
  throw inHeader('not-acceptable', 'Accept', 'not-acceptable', message);
}

/** The media types of bodies. A 415 names them in the header (RFC 9110, 15.5.16). */
export interface BodyTypes {
  readonly accepted: readonly string[];
  readonly header: 'Accept' | 'Accept-Patch';
}

export const bodyTypesOf = ({ method, body }: Pick<OperationEntry, 'method' | 'body'>): BodyTypes => ({
  accepted: body?.mediaTypes ?? [],
  header: method === 'PATCH' ? 'Accept-Patch' : 'Accept',
});

const partsOf = (header: string): readonly string[] => header.split(';').map((part) => part.trim().toLowerCase());

/** The media type of a body, which was accepted. */
export const bodyTypeOf = ({ headers }: IncomingMessage): string =>
  partsOf(headers['content-type'] ?? JSON_TYPE)[0] ?? '';

const OTHER_CHARSET = /^charset\s*=(?!\s*"?utf-?8"?$)/;

/** Refuses a body of another media type or charset before any of it is read. */
export function requireBodyType({ headers }: IncomingMessage, { accepted, header }: BodyTypes): void {
  const given = headers['content-type'];
  const [type = '', ...parameters] = partsOf(given ?? '');
  const unsupported = (fault: string): Problem => {
    const message = `${fault}; expected ${accepted.join(' or ')}, in UTF-8`;
    const code = 'unsupported-media-type';
    return inHeader(code, 'Content-Type', code, message, { [header]: accepted.join(', ') });
  };
  if (given === undefined) throw unsupported('Content-Type is missing');
  if (!accepted.includes(type)) throw unsupported(`Content-Type is "${excerpt(given)}"`);
  if (parameters.some((one) => OTHER_CHARSET.test(one)))
    throw unsupported('Content-Type names a charset other than utf-8');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() === 'identity') return;
  const message = `Content-Encoding is "${excerpt(encoding)}"; expected a body without encoding`;
  const cure = { 'Accept-Encoding': 'identity' };
  throw inHeader('unsupported-media-type', 'Content-Encoding', 'unsupported-encoding', message, cure);
}

// Preferences, of which the first mention counts. Unknown ones are for other servers.

type PreferHeader = IncomingMessage['headers'][string];

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

interface WritePreferences {
  /** `return=minimal`: no record is answered. */
  readonly minimal: boolean;
  /** Records that may be deleted or unlinked. */
  readonly most: number;
  readonly applied: HeaderMap;
}

/** `isLimited`: the client must say how many records may be affected. */
export function writePreferences(header: PreferHeader, isLimited: boolean): WritePreferences {
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
  const given = text === undefined ? 'is missing' : `is "${text.slice(0, 40)}"`;
  const message = `Prefer: max-affected=N must say how many records may be deleted or unlinked at most; it ${given}`;
  throw inHeader('invalid-header', 'Prefer', text === undefined ? 'required' : 'invalid-value', message);
}

/** How to count a list. Without a preference the descriptor decides; a client must be able to tell an estimate. */
export function countPreference(
  header: PreferHeader,
  usual: CountMode,
): { readonly count: CountMode; readonly applied: HeaderMap } {
  const asked = header === undefined ? undefined : preferencesIn(header).get('count');
  const value = COUNT_MODES.find((known) => known === asked);
  const count = value ?? usual;
  return { count, applied: value !== undefined || count === 'estimated' ? applying(`count=${count}`) : {} };
}
