/**
 * Records in process: what a client does over HTTP, without a connection. Each call is a request that no connection
 * carries, and runs the same operation: the same checks, transactions and problems.
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { type Awaitable, orElse } from '../awaitable.ts';
import type { Budget } from '../budget.ts';
import { type Caller, CallerGone, callerUntil, PATIENT } from '../caller.ts';
import type { Engine } from '../engine.ts';
import type { Answer } from '../http/answer.ts';
import { entityTag } from '../http/conditions.ts';
import { JSON_TYPE } from '../http/negotiation.ts';
import { didYouMean } from '../names.ts';
import { Problem } from '../problem.ts';
import { reasonOf } from '../start-error.ts';
import { Outdated } from '../storage/unavailable.ts';
import { searchOf } from './search.ts';
import type {
  CreateOptions,
  ListOptions,
  RecordPage,
  RecordCollection,
  RecordGroup,
  SummaryOptions,
  SummaryPage,
  ViewOptions,
  UpdateOptions,
} from './types.ts';

interface InProcessCall {
  readonly operation: keyof typeof REQUESTS;
  readonly identifier?: number | undefined;
  readonly options: ViewOptions & ListOptions & UpdateOptions & CreateOptions & Omit<SummaryOptions, 'count'>;
  readonly body?: object;
}

/** How an operation is asked for, as `bindings` has it. */
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

/** Of the records that were returned. */
const TAGS = new WeakMap<object, string>();

type CallableEngine = Pick<Engine, 'routes' | 'model' | 'budget'>;

interface InProcess {
  records<R extends object>(type: string): RecordCollection<R>;
  /** From now on calls are refused. Resolves when those that have begun have ended. */
  close(): Promise<void>;
}

export function createInProcess(engine: CallableEngine): InProcess {
  const running = new Set<Promise<unknown>>();
  const position: Position = { last: undefined };
  let isClosed = false;
  const ask = (type: string, call: InProcessCall): Promise<Told> => {
    if (isClosed) return Promise.reject(new Error('The engine is closed'));
    const told = serveCall(engine, type, call, position);
    const ended = told.catch(() => undefined).finally(() => running.delete(ended));
    running.add(ended);
    return told;
  };
  return {
    records: (type) => collectionOf((call) => ask(type, call)),
    close: async () => {
      isClosed = true;
      await Promise.all(running);
    },
  };
}

/** Whether the type is served is looked up at each call: the model may be replaced. */
function collectionOf<R extends object>(ask: (call: InProcessCall) => Promise<Told>): RecordCollection<R> {
  const record = async (call: InProcessCall): Promise<R> => {
    const { text } = await ask(call);
    const found = JSON.parse(text) as R;
    if (call.operation !== 'delete') TAGS.set(found, entityTag(text));
    return found;
  };
  const records = async (call: InProcessCall): Promise<readonly R[]> =>
    JSON.parse((await ask(call)).text) as readonly R[];
  return {
    list: async (options = {}) => pageOf<R>(await ask({ operation: 'list', options })),
    get: (identifier, options = {}) => record({ operation: 'get', identifier, options }),
    create: (body, options = {}) => record({ operation: 'create', body, options }),
    createMany: async (body, options = {}) => records({ operation: 'createMany', body: arrayIn(body), options }),
    updateMany: (body, options = {}) => records({ operation: 'updateMany', body, options }),
    summary: async (options = {}) => summaryOf(await ask({ operation: 'summary', options })),
    update: (identifier, body, options = {}) => record({ operation: 'update', identifier, body, options }),
    delete: (identifier, options = {}) => record({ operation: 'delete', identifier, options }),
    tagOf: (known) => TAGS.get(known),
  };
}

interface Told {
  readonly text: string;
  readonly headers: Answer['headers'];
}

async function serveCall(
  engine: CallableEngine,
  typeName: string,
  call: InProcessCall,
  position: Position,
): Promise<Told> {
  const { operation, identifier, options, body } = call;
  const query = searchOf(options, operation);
  options.signal?.throwIfAborted();
  const { method, path } = REQUESTS[operation];
  const serve = (): Awaitable<Answer> => {
    const type = typeOf(engine, typeName);
    const offer = engine.routes().get(type.path)?.[path]?.offers.get(method);
    if (offer === undefined)
      throw new Problem('method-not-allowed', `The type ${typeName} does not offer ${operation}`);
    return offer.serve({
      request: requestOf(method, headersOf(options), 'body' in call ? textOfBody(body) : undefined),
      caller,
      target: { base: '', path: '', query },
      identifier: path === 'item' ? String(identifier) : '',
      mediaType: JSON_TYPE,
    });
  };
  const caller = new InProcessCaller(engine.budget, position, options.signal);
  try {
    const answer = await orElse(serve, (error) => {
      if (error instanceof Outdated) return serve();
      throw error;
    });
    return { text: await textOf(answer, caller), headers: answer.headers };
  } catch (error) {
    // What CallerGone says of connections means nothing here.
    throw error instanceof CallerGone ? options.signal?.reason : error;
  } finally {
    caller.release();
  }
}

function typeOf({ model }: CallableEngine, name: string) {
  const type = model.types.get(name);
  if (type) return type;
  throw new Problem('path-not-found', `There is no type "${name}"${didYouMean(String(name), model.types.keys())}`);
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
function requestOf(method: string, headers: Readonly<Record<string, string>>, text?: string): IncomingMessage {
  const request = new IncomingMessage(NO_SOCKET);
  request.method = method;
  request.headers = { ...headers };
  if (text === undefined) return request;
  const body = Buffer.from(text);
  Object.assign(request.headers, { 'content-type': JSON_TYPE, 'content-length': String(body.length) });
  return Object.defineProperties(request, { readableEnded: { value: true }, body: { value: body } });
}

/** A single record would be created, and answered as one. */
function arrayIn(records: readonly object[]): readonly object[] {
  if (Array.isArray(records)) return records;
  const message = 'createMany takes an array of records; create takes one';
  throw new Problem('invalid-body', message, { errors: [{ pointer: '', code: 'type', message }] });
}

/** Empty for undefined, which the parser of bodies refuses. */
function textOfBody(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
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

function summaryOf({ text, headers }: Told): SummaryPage {
  const total = headers['X-Total-Count'];
  return {
    groups: JSON.parse(text) as readonly RecordGroup[],
    total: total === undefined ? undefined : Number(total),
  };
}

/** Of the last write in process, in the log of the database: later reads, of replicas too, see it. */
interface Position {
  last: string | undefined;
}

/** The caller of one call. It draws on the same budget as clients do. */
class InProcessCaller implements Caller {
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
