/** Calls in process: operations with values, with the same checks, transactions and problems as over HTTP. */
import { createHash } from 'node:crypto';
import type { Budget } from '../edge/budget.ts';
import { type Caller, CallerGone, callerUntil, PATIENT, type Position } from '../edge/caller.ts';
import { writeAnswer } from '../http/answer.ts';
import type { Service } from '../http/request.ts';
import type { Model, RecordType } from '../model/model.ts';
import { ALL_RIGHTS, can, canRead, type Rights } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { NO_BODY, readBody, textOf } from '../operations/body.ts';
import { onceOf, parseIdentifier, withCurrentModel } from '../operations/operation.ts';
import { get, list, summary } from '../operations/read.ts';
import { type OperationEntry, type OperationName, OPERATIONS } from '../operations/table.ts';
import { create, deleteOne, update, updateMany } from '../operations/write.ts';
import { Problem } from '../problem.ts';
import type { Parameters } from '../query/parameters.ts';
import { type CallName, type CallOptions, countOf, parametersOf } from './arguments.ts';

export interface Call {
  readonly id?: number | string | undefined;
  readonly options: CallOptions;
  readonly body?: object | undefined;
  /** Reports what the write would do, and changes nothing. */
  readonly isDryRun?: boolean;
  /** Bytes of the body as JSON. */
  readonly bodyLimit?: number;
  /** Characters of the parameters. */
  readonly parameterLimit?: number;
}

export interface CallResult {
  /** JSON text: the record, the array of records or groups, or the report of a dry run. undefined if a record that was written before is gone. */
  readonly json: string | undefined;
  readonly tag?: string | undefined;
  readonly total?: number | undefined;
  /** Cursors of the neighbouring pages of a list. */
  readonly next?: string | undefined;
  readonly previous?: string | undefined;
}

/** The entries of the table of operations that say who may use the calls. */
const ENTRIES: Readonly<Record<CallName, OperationName>> = {
  list: 'list',
  summary: 'summary',
  get: 'get',
  create: 'create',
  createMany: 'create',
  update: 'update',
  updateMany: 'updateMany',
  delete: 'delete',
};

const WRITES = { create, createMany: create, update, updateMany, delete: deleteOne };

/** The client, as access makes it. */
interface Served {
  readonly model: Model;
  readonly rights: Rights;
  readonly serviceOf: (type: RecordType) => Service;
}

/** `served` is asked again if the tables turn out to have changed. */
export async function serveCall(
  served: () => Served,
  typeName: string,
  name: CallName,
  call: Call,
  caller: Caller,
): Promise<CallResult> {
  const { options, isDryRun = false, parameterLimit = Infinity } = call;
  const parameters = parametersOf(options, name, isDryRun);
  const length = parameters.all.reduce((sum, { key, value }) => sum + key.length + value.length + 2, 0);
  if (length > parameterLimit)
    throw new Problem('uri-too-long', `The query has ${length} characters; at most ${parameterLimit} are allowed`);
  options.signal?.throwIfAborted();
  return withCurrentModel(async () => {
    const { model, rights, serviceOf } = served();
    const type = typeOf(model, typeName, rights);
    refuseUnoffered(type, name, rights);
    const service = serviceOf(type);
    if (name === 'get')
      return get(service, { id: parseIdentifier(String(call.id)), query: service.queries.view(parameters), caller });
    if (name === 'list' || name === 'summary') return rowsOf(service, name, parameters, call, caller);
    return write(service, name, parameters, call, caller);
  });
}

export function typeOf({ types }: Model, name: string, rights = ALL_RIGHTS): RecordType {
  const type = types.get(name);
  if (type && can(rights, type, 'get')) return type;
  const known = [...types.keys()].filter((one) => canRead(rights, one));
  const text = String(name);
  throw new Problem('path-not-found', `There is no type "${shortened(text)}"${didYouMean(text, known)}`);
}

function refuseUnoffered(type: RecordType, name: CallName, rights: Rights): void {
  const { right, isOffered }: OperationEntry = OPERATIONS[ENTRIES[name]];
  const isOurs = type.operations.has(right);
  if (isOurs && !can(rights, type, right))
    throw new Problem('forbidden', `The token does not allow ${name} of ${type.name}`);
  if (!isOurs || !(isOffered?.(type, rights) ?? true))
    throw new Problem('method-not-allowed', `The type ${type.name} does not offer ${name}`);
}

async function rowsOf(
  service: Service,
  name: 'list' | 'summary',
  parameters: Parameters,
  { options }: Call,
  caller: Caller,
): Promise<CallResult> {
  const { queries, type } = service;
  const jsonOf = (rows: readonly string[]): string => `[${rows.join(',')}]`;
  if (name === 'summary') {
    const query = queries.summary(parameters);
    const { rows, total } = await summary(service, { query, count: countOf(options) ?? type.count, caller });
    return { json: jsonOf(rows), total };
  }
  const query = queries.list(parameters);
  const result = await list(service, { query, count: countOf(options) ?? type.count, caller });
  if ('rows' in result) return { ...result, json: jsonOf(result.rows) };
  const all: string[] = [];
  for await (const rows of result.stream) {
    if (caller.isGone) throw new CallerGone();
    for (const row of rows) all.push(row);
  }
  return { json: jsonOf(all), total: result.total };
}

async function write(
  service: Service,
  name: keyof typeof WRITES,
  parameters: Parameters,
  call: Call,
  caller: Caller,
): Promise<CallResult> {
  const { id, options, bodyLimit = Infinity } = call;
  const entry: OperationEntry = OPERATIONS[ENTRIES[name]];
  const text = 'body' in call ? textOf(call.body) : '';
  if (Buffer.byteLength(text) > bodyLimit)
    throw new Problem('content-too-large', `The body is larger than ${bodyLimit} bytes; send an array in parts`);
  const once = onceOf(textIn(options.idempotencyKey), service, () =>
    createHash('sha256')
      .update(JSON.stringify([service.type.name, name, id, parameters.all]))
      .update(text)
      .digest('base64url'),
  );
  const body = entry.body && text !== '' ? readBody(text, entry.body.shape, service.type, service.limits) : NO_BODY;
  const result = await WRITES[name](service, {
    id: entry.path === 'item' ? parseIdentifier(String(id)) : 0,
    query: service.queries.write(parameters),
    body,
    preconditions: { ifMatch: textIn(options.ifMatch), ifNoneMatch: undefined },
    once,
    minimal: false,
    caller,
  });
  return result.effects ? { json: writeAnswer(result, service.path, {}, service.rights).body } : result;
}

const textIn = (value: string | undefined): string | undefined => (value === undefined ? undefined : String(value));

type InProcessCaller = Caller & { release(): void };

/** The caller of one call. It draws on the same budget as clients do. */
export function inProcessCaller(budget: Budget, position: Position, signal?: AbortSignal): InProcessCaller {
  const share = budget.take(0);
  const until = signal === undefined ? PATIENT : callerUntil(signal);
  return {
    origin: '',
    most: budget.limit / 8,
    get isGone() {
      return until.isGone;
    },
    get position() {
      return position.last;
    },
    wrote: (written) => void (position.last = written),
    take: (bytes) => share.grow(bytes),
    release: () => share.release(),
    onGone: until.onGone,
  };
}
