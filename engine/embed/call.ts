/**
 * One call: a request that no connection carries, served by the operation that would answer it over HTTP, with the same
 * checks, transactions and problems.
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Budget } from '../edge/budget.ts';
import { type Caller, CallerGone, callerUntil, PATIENT } from '../caller.ts';
import type { Answer } from '../http/answer.ts';
import { JSON_TYPE } from '../http/negotiation.ts';
import type { Routes } from '../http/routes.ts';
import type { Model, RecordType } from '../model/model.ts';
import { didYouMean, shortened } from '../names.ts';
import { Problem } from '../problem.ts';
import { reasonOf } from '../start-error.ts';
import { Outdated } from '../storage/unavailable.ts';
import { searchOf } from './search.ts';
import type { CreateOptions, ListOptions, SummaryOptions, UpdateOptions, ViewOptions } from './types.ts';

export interface InProcessCall {
  readonly operation: CallOperation;
  readonly identifier?: number | string | undefined;
  readonly options: ViewOptions & ListOptions & UpdateOptions & CreateOptions & Omit<SummaryOptions, 'count'>;
  readonly body?: object;
  /** Whether the body is a value of JSON already, and nothing that has to be written as JSON first. */
  readonly isJson?: boolean;
  /** Carries the write out, undoes it, and reports what it would do. */
  readonly isDryRun?: boolean;
}

type CallOperation = keyof typeof REQUESTS;

/** How an operation is asked for, as the bindings of routes have it. */
const REQUESTS = {
  list: { method: 'GET', path: 'collection' },
  get: { method: 'GET', path: 'item' },
  create: { method: 'POST', path: 'collection' },
  createMany: { method: 'POST', path: 'collection' },
  updateMany: { method: 'PATCH', path: 'collection' },
  summary: { method: 'GET', path: 'summary' },
  update: { method: 'PUT', path: 'item' },
  delete: { method: 'DELETE', path: 'item' },
} as const;

export interface CallResult {
  readonly text: string;
  readonly headers: Answer['headers'];
}

/** What a caller may see and do. */
interface Callable {
  readonly permitted: { readonly model: Model };
  readonly routes: Routes;
}

/** `callable` is asked again if the tables turn out to have changed. `longest`: characters of the query. */
export async function serveCall(
  callable: () => Callable,
  typeName: string,
  call: InProcessCall,
  caller: Caller,
  longest = Infinity,
): Promise<CallResult> {
  const { operation, identifier, options, body, isJson = false, isDryRun = false } = call;
  const search = searchOf(options, operation);
  const query = isDryRun ? [search, 'dryRun=true'].filter((part) => part !== '').join('&') : search;
  if (query.length > longest)
    throw new Problem('uri-too-long', `The query has ${query.length} characters; at most ${longest} are allowed`);
  options.signal?.throwIfAborted();
  const { method, path } = REQUESTS[operation];
  const serve = async (): Promise<Answer> => {
    const { permitted, routes } = callable();
    const route = routes.get(typeOf(permitted, typeName).path)?.[path];
    const offer = route?.offers.get(method);
    if (offer === undefined) throw refusal(typeName, operation, route?.withheld.has(method) === true);
    return offer.serve({
      request: requestOf(method, headersOf(options), 'body' in call ? contentOf(body, isJson) : undefined),
      caller,
      target: { base: '', path: '', query },
      identifier: path === 'item' ? String(identifier) : '',
      mediaType: JSON_TYPE,
    });
  };
  const answer = await serve().catch((error: unknown) => {
    if (error instanceof Outdated) return serve();
    throw error;
  });
  return { text: await textOf(answer, caller), headers: answer.headers };
}

export function typeOf({ model }: Callable['permitted'], name: string): RecordType {
  const type = model.types.get(name);
  if (type) return type;
  throw new Problem(
    'path-not-found',
    `There is no type "${shortened(String(name))}"${didYouMean(String(name), model.types.keys())}`,
  );
}

const refusal = (type: string, operation: CallOperation, isWithheld: boolean): Problem =>
  isWithheld
    ? new Problem('forbidden', `The token does not allow ${operation} of ${type}`)
    : new Problem('method-not-allowed', `The type ${type} does not offer ${operation}`);

function headersOf({ ifMatch, idempotencyKey, count }: InProcessCall['options']): Readonly<Record<string, string>> {
  return {
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...(count === undefined ? {} : { prefer: `count=${count}` }),
  };
}

/** Never connected. */
const NO_SOCKET = new Socket();

/** Of a body that is a value already. */
const LENGTH_UNKNOWN = { 'transfer-encoding': 'chunked' };

/** As a body parser in front of the engine leaves it: read to its end. */
export function requestOf(
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: Buffer | object,
): IncomingMessage {
  const request = new IncomingMessage(NO_SOCKET);
  request.method = method;
  request.headers = { ...headers };
  if (body === undefined) return request;
  const framing = Buffer.isBuffer(body) ? { 'content-length': String(body.length) } : LENGTH_UNKNOWN;
  Object.assign(request.headers, { 'content-type': JSON_TYPE, ...framing });
  return Object.defineProperties(request, { readableEnded: { value: true }, body: { value: body } });
}

/** Empty for undefined, which the parser of bodies refuses. */
function contentOf(value: object | undefined, isJson: boolean): Buffer | object {
  if (isJson && value !== undefined) return value;
  try {
    return Buffer.from(JSON.stringify(value) ?? '');
  } catch (error) {
    throw new Problem('invalid-json', `The record cannot be written as JSON: ${reasonOf(error)}`, { cause: error });
  }
}

async function textOf({ body = '' }: Answer, caller: Caller): Promise<string> {
  if (typeof body === 'string') return body;
  const pieces: string[] = [];
  for await (const piece of body) {
    if (caller.isGone) throw new CallerGone();
    caller.take(piece.length);
    pieces.push(piece);
  }
  return pieces.join('');
}

/** The cursor in the `Link` header of a page. */
export function cursorIn(headers: Answer['headers'], relation: 'next' | 'prev'): string | undefined {
  const parameter = relation === 'next' ? 'after' : 'before';
  const links = headers['Link'] ?? '';
  const [, value] = new RegExp(`[?&]${parameter}=([^&>]+)[^>]*>; rel="${relation}"`).exec(links) ?? [];
  return value === undefined ? undefined : decodeURIComponent(value);
}

/** Of the last write in process, in the log of the database: later reads, of replicas too, see it. */
export interface Position {
  last: string | undefined;
}

/** The caller of one call. It draws on the same budget as clients do. */
export class InProcessCaller implements Caller {
  readonly origin = '';
  readonly most: number;
  readonly #share: ReturnType<Budget['take']>;
  readonly #until: Caller;
  readonly #position: Position;

  constructor(budget: Budget, position: Position, signal: AbortSignal | undefined) {
    this.#position = position;
    this.most = budget.limit / 8;
    this.#share = budget.take(0);
    this.#until = signal === undefined ? PATIENT : callerUntil(signal);
  }

  get isGone(): boolean {
    return this.#until.isGone;
  }

  get position(): string | undefined {
    return this.#position.last;
  }

  wrote(position: string): void {
    this.#position.last = position;
  }

  take(bytes: number): void {
    this.#share.grow(bytes);
  }

  release(): void {
    this.#share.release();
  }

  onGone(listener: () => void): () => void {
    return this.#until.onGone(listener);
  }
}
