/** One call in process: an operation with values, with the same checks, transactions and problems as over HTTP. */
import { createHash } from 'node:crypto';
import type { Budget } from '../edge/budget.ts';
import { type Caller, CallerGone, callerUntil, PATIENT } from '../edge/caller.ts';
import { writeAnswer } from '../http/answer.ts';
import type { Service } from '../http/request.ts';
import type { Model, RecordType } from '../model/model.ts';
import { ALL_RIGHTS, can, canRead, type Rights } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { type Body, NO_BODY, readBody, textOf } from '../operations/body.ts';
import { create } from '../operations/write.ts';
import { deleteOne } from '../operations/write.ts';
import { get, type RecordResult } from '../operations/read.ts';
import { list } from '../operations/read.ts';
import {
  type BodyArguments,
  type OneArguments,
  onceOf,
  parseIdentifier,
  withCurrentModel,
  type WriteResult,
} from '../operations/operation.ts';
import { summary } from '../operations/read.ts';
import { type OperationEntry, type OperationName, OPERATIONS } from '../operations/table.ts';
import { update, updateMany } from '../operations/write.ts';
import { Problem } from '../problem.ts';
import type { WriteQuery } from '../query/list-query.ts';
import type { Parameters } from '../query/parameters.ts';
import { countOf, parametersOf } from './arguments.ts';
import type { CreateOptions, ListOptions, SummaryOptions, UpdateOptions, ViewOptions } from './types.ts';

export interface CallArguments {
  readonly id?: number | string | undefined;
  readonly options: ViewOptions & ListOptions & UpdateOptions & CreateOptions & Omit<SummaryOptions, 'count'>;
  readonly body?: object | undefined;
  /** Reports what the write would do, and changes nothing. */
  readonly isDryRun?: boolean;
  /** Bytes of the body as JSON. */
  readonly bodyLimit?: number;
  /** Characters of the parameters. */
  readonly parameterLimit?: number;
}

interface Given extends CallArguments {
  readonly service: Service;
  readonly parameters: Parameters;
  readonly caller: Caller;
}

export interface RowsResult {
  /** JSON texts. */
  readonly rows: readonly string[];
  readonly total: number | undefined;
  readonly next?: string | undefined;
  readonly previous?: string | undefined;
}

/** The result of a write, or the report of its dry run as JSON text. */
export type WrittenResult = WriteResult & { readonly report?: string | undefined };

/** The calls by name, with the entry of the table of operations that says who may use them. */
const CALLS = {
  list: {
    entry: 'list',
    run: async ({ service, parameters, caller, options }: Given): Promise<RowsResult> => {
      const query = service.queries.list(parameters);
      const result = await list(service, { query, count: countOf(options) ?? service.type.count, caller });
      return 'rows' in result ? result : { total: result.total, rows: await gathered(result.stream, caller) };
    },
  },
  summary: {
    entry: 'summary',
    run: ({ service, parameters, caller, options }: Given): Promise<RowsResult> => {
      const query = service.queries.summary(parameters);
      return summary(service, { query, count: countOf(options) ?? service.type.count, caller });
    },
  },
  get: {
    entry: 'get',
    run: async ({ service, parameters, caller, id }: Given) =>
      get(service, { id: parseIdentifier(String(id)), query: service.queries.view(parameters), caller }),
  },
  create: { entry: 'create', run: (given: Given) => write('create', given, create) },
  createMany: { entry: 'create', run: (given: Given) => write('createMany', given, create) },
  update: { entry: 'update', run: (given: Given) => write('update', given, update) },
  updateMany: { entry: 'updateMany', run: (given: Given) => write('updateMany', given, updateMany) },
  delete: { entry: 'delete', run: (given: Given) => write('delete', given, deleteOne) },
} as const satisfies Record<
  string,
  { readonly entry: OperationName; readonly run: (given: Given) => Promise<unknown> }
>;

export type CallName = keyof typeof CALLS;
export type CallResult<N extends CallName> = N extends 'list' | 'summary'
  ? RowsResult
  : N extends 'get'
    ? RecordResult
    : WrittenResult;

/** The client, as access makes it. */
interface Served {
  readonly model: Model;
  readonly rights: Rights;
  readonly serviceOf: (type: RecordType) => Service;
}

/** `served` is asked again if the tables turn out to have changed. */
export async function serveCall<N extends CallName>(
  served: () => Served,
  typeName: string,
  name: N,
  call: CallArguments,
  caller: Caller,
): Promise<CallResult<N>> {
  const { options, isDryRun = false, parameterLimit = Infinity } = call;
  const parameters = parametersOf(options, name, isDryRun);
  const length = parameters.all.reduce((sum, { key, value }) => sum + key.length + value.length + 2, 0);
  if (length > parameterLimit)
    throw new Problem('uri-too-long', `The query has ${length} characters; at most ${parameterLimit} are allowed`);
  options.signal?.throwIfAborted();
  const { entry, run } = CALLS[name];
  return withCurrentModel(async () => {
    const { model, rights, serviceOf } = served();
    const type = typeOf(model, typeName, rights);
    refuseUnoffered(type, name, OPERATIONS[entry], rights);
    return (await run({ ...call, service: serviceOf(type), parameters, caller })) as CallResult<N>;
  });
}

export function typeOf({ types }: Model, name: string, rights = ALL_RIGHTS): RecordType {
  const type = types.get(name);
  if (type && can(rights, type, 'get')) return type;
  const known = [...types.keys()].filter((one) => canRead(rights, one));
  throw new Problem(
    'path-not-found',
    `There is no type "${shortened(String(name))}"${didYouMean(String(name), known)}`,
  );
}

function refuseUnoffered(type: RecordType, name: CallName, { right, isOffered }: OperationEntry, rights: Rights): void {
  const isOurs = type.operations.has(right);
  if (isOurs && !can(rights, type, right))
    throw new Problem('forbidden', `The token does not allow ${name} of ${type.name}`);
  if (isOurs && (isOffered?.(type, rights) ?? true)) return;
  throw new Problem('method-not-allowed', `The type ${type.name} does not offer ${name}`);
}

async function write(
  name: 'create' | 'createMany' | 'update' | 'updateMany' | 'delete',
  given: Given,
  operation: (service: Service, given: OneArguments<WriteQuery> & BodyArguments<WriteQuery>) => Promise<WriteResult>,
): Promise<WrittenResult> {
  const { service, parameters, caller, options, id } = given;
  const { entry } = CALLS[name];
  const text = 'body' in given ? bodyText(given) : '';
  const hash = (): string =>
    createHash('sha256')
      .update(JSON.stringify([service.type.name, name, id, parameters.all]))
      .update(text)
      .digest('base64url');
  const once = onceOf(textIn(options.idempotencyKey), service, hash);
  const isItem = OPERATIONS[entry].path === 'item';
  const shape = isItem ? 'record' : entry === 'updateMany' ? 'records' : 'either';
  const body: Body = text === '' ? NO_BODY : readBody(text, shape, service.type, service.limits);
  const result = await operation(service, {
    id: isItem ? parseIdentifier(String(id)) : 0,
    query: service.queries.write(parameters),
    body,
    preconditions: { ifMatch: textIn(options.ifMatch), ifNoneMatch: undefined },
    once,
    minimal: false,
    caller,
  });
  return result.effects ? { ...result, report: writeAnswer(result, service.path, {}, service.rights).body } : result;
}

const textIn = (value: string | undefined): string | undefined => (value === undefined ? undefined : String(value));

/** Memory that each byte of a body takes: its text, and the value that is parsed from it. */
const BYTE_COST = 5;

function bodyText({ body, bodyLimit = Infinity, caller }: Given): string {
  const text = textOf(body);
  const bytes = Buffer.byteLength(text);
  if (bytes > bodyLimit)
    throw new Problem('content-too-large', `The body is larger than ${bodyLimit} bytes; send an array in parts`);
  caller.take(BYTE_COST * bytes);
  return text;
}

async function gathered(stream: AsyncIterable<readonly string[]>, caller: Caller): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const rows of stream) {
    if (caller.isGone) throw new CallerGone();
    for (const row of rows) {
      caller.take(row.length);
      all.push(row);
    }
  }
  return all;
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

  constructor(budget: Budget, position: Position, signal?: AbortSignal) {
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
