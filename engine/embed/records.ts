/**
 * Records in process: what a client does over HTTP, without a connection. Each call is a request that no connection
 * carries, and runs the same operation: the same checks, transactions and problems.
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Budget } from '../budget.ts';
import { type Caller, CallerGone, callerUntil, PATIENT } from '../caller.ts';
import type { Engine } from '../engine.ts';
import type { Answer } from '../http/answer.ts';
import { entityTag } from '../http/conditions.ts';
import { JSON_TYPE } from '../http/negotiation.ts';
import { didYouMean } from '../names.ts';
import { Problem } from '../problem.ts';
import { searchOf } from './search.ts';
import type { CreateOptions, ListOptions, RecordPage, RecordCollection, ViewOptions, UpdateOptions } from './types.ts';

interface InProcessCall {
  readonly operation: 'list' | 'get' | 'create' | 'update' | 'delete';
  readonly identifier?: number;
  readonly options: ViewOptions & ListOptions & UpdateOptions & CreateOptions;
  readonly body?: object;
}

/** What an operation is asked with, as `bindings` has it. */
const METHODS = { list: 'GET', get: 'GET', create: 'POST', update: 'PUT', delete: 'DELETE' } as const;

/** Of the records that were returned. */
const TAGS = new WeakMap<object, string>();

type InProcess = Pick<Engine, 'routes' | 'model' | 'budget'>;

/** Records of one type. Whether it is served is looked up at each call: the model may be replaced. */
export function recordsOf<R extends object>(engine: InProcess, type: string): RecordCollection<R> {
  const record = async (call: InProcessCall): Promise<R> => {
    const { text } = await ask(engine, type, call);
    const found = JSON.parse(text) as R;
    if (call.operation !== 'delete') TAGS.set(found, entityTag(text));
    return found;
  };
  return {
    list: async (options = {}) => pageOf<R>(await ask(engine, type, { operation: 'list', options })),
    get: (identifier, options = {}) => record({ operation: 'get', identifier, options }),
    create: (body, options = {}) => record({ operation: 'create', body, options }),
    update: (identifier, body, options = {}) => record({ operation: 'update', identifier, body, options }),
    delete: (identifier, options = {}) => record({ operation: 'delete', identifier, options }),
    tagOf: (known) => TAGS.get(known),
  };
}

interface Told {
  readonly text: string;
  readonly headers: Answer['headers'];
}

async function ask(engine: InProcess, typeName: string, call: InProcessCall): Promise<Told> {
  const { operation, identifier, options, body } = call;
  options.signal?.throwIfAborted();
  const { path } = typeOf(engine, typeName);
  const pair = engine.routes().get(path);
  const method = METHODS[operation];
  const offer = pair?.[identifier === undefined ? 'collection' : 'item'].offers.get(method);
  if (offer === undefined || offer.label.operation !== operation)
    throw new Problem('method-not-allowed', `The type ${typeName} does not offer ${operation}`);
  const query = searchOf(options, operation);
  const caller = new InProcessCaller(engine.budget, options.signal);
  try {
    const answer = await offer.serve({
      request: requestOf(method, headersOf(options), body),
      caller,
      target: { base: '', path: '', query },
      identifier: identifier === undefined ? '' : String(identifier),
      mediaType: JSON_TYPE,
    });
    return { text: await textOf(answer, caller), headers: answer.headers };
  } catch (error) {
    // What CallerGone says of connections means nothing here.
    throw error instanceof CallerGone ? options.signal?.reason : error;
  } finally {
    caller.release();
  }
}

function typeOf({ model }: InProcess, name: string) {
  const type = model.types.get(name);
  if (type) return type;
  throw new Problem('path-not-found', `There is no type "${name}"${didYouMean(name, model.types.keys())}`);
}

function headersOf({ ifMatch, idempotencyKey, count }: InProcessCall['options']): Readonly<Record<string, string>> {
  return {
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...(count === undefined ? {} : { prefer: `count=${count}` }),
  };
}

/** Never connected. */
const NO_SOCKET = new Socket();

/** As a body parser in front of the engine leaves it: read to its end. */
function requestOf(method: string, headers: Readonly<Record<string, string>>, value?: object): IncomingMessage {
  const request = new IncomingMessage(NO_SOCKET);
  request.method = method;
  request.headers = { ...headers };
  if (value === undefined) return request;
  const body = Buffer.from(JSON.stringify(value) ?? '');
  Object.assign(request.headers, { 'content-type': JSON_TYPE, 'content-length': String(body.length) });
  return Object.defineProperties(request, { readableEnded: { value: true }, body: { value: body } });
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

function pageOf<R>({ text, headers }: Told): RecordPage<R> {
  const total = headers['X-Total-Count'];
  const links = headers['Link'] ?? '';
  const cursor = (relation: string, parameter: string): string | undefined => {
    const [, value] = new RegExp(`[?&]${parameter}=([^&>]+)[^>]*>; rel="${relation}"`).exec(links) ?? [];
    return value === undefined ? undefined : decodeURIComponent(value);
  };
  return {
    records: JSON.parse(text) as readonly R[],
    total: total === undefined ? undefined : Number(total),
    next: cursor('next', 'after'),
    previous: cursor('prev', 'before'),
  };
}

/** The caller of one call. It draws on the same budget as clients do. */
class InProcessCaller implements Caller {
  readonly origin = '';
  readonly most: number;
  readonly #share: ReturnType<Budget['take']>;
  readonly #until: Caller;

  constructor(budget: Budget, signal: AbortSignal | undefined) {
    this.most = budget.limit / 8;
    this.#share = budget.take(0);
    this.#until = signal === undefined ? PATIENT : callerUntil(signal);
  }

  get isGone(): boolean {
    return this.#until.isGone;
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
