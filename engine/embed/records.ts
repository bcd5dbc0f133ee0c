/**
 * Records in process: what a client does over HTTP, without a connection. Each call is a request that no connection
 * carries, and runs the same operation: the same checks, transactions and problems.
 */
import { CallerGone } from '../caller.ts';
import type { Engine } from '../engine.ts';
import { entityTag } from '../http/preconditions.ts';
import { Problem } from '../problem.ts';
import { type CallResult, cursorIn, type InProcessCall, InProcessCaller, type Position, serveCall } from './call.ts';
import type { DryRun, RecordPage, RecordCollection, RecordGroup, SummaryPage } from './types.ts';

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
  const ask = (type: string, call: InProcessCall): Promise<CallResult> => {
    if (isClosed) return Promise.reject(new Error('The engine is closed'));
    const told = callAs(engine, type, call, position);
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
function collectionOf<R extends object>(ask: (call: InProcessCall) => Promise<CallResult>): RecordCollection<R> {
  const record = async (call: InProcessCall): Promise<R> => {
    const { text } = await ask(call);
    if (text === '') throw goneAfter(call);
    const found = JSON.parse(text) as R;
    if (call.operation !== 'delete') TAGS.set(found, entityTag(text));
    return found;
  };
  const records = async (call: InProcessCall): Promise<readonly R[]> =>
    JSON.parse((await ask(call)).text || '[]') as readonly R[];
  const rehearse = async <T>(call: InProcessCall): Promise<DryRun<T>> =>
    JSON.parse((await ask({ ...call, isDryRun: true })).text) as DryRun<T>;
  return {
    list: async (options = {}) => pageOf<R>(await ask({ operation: 'list', options })),
    get: (identifier, options = {}) => record({ operation: 'get', identifier, options }),
    create: (body, options = {}) => record({ operation: 'create', body, options }),
    createMany: async (body, options = {}) => records({ operation: 'createMany', body: arrayIn(body), options }),
    updateMany: (body, options = {}) => records({ operation: 'updateMany', body, options }),
    summary: async (options = {}) => summaryOf(await ask({ operation: 'summary', options })),
    update: (identifier, body, options = {}) => record({ operation: 'update', identifier, body, options }),
    delete: (identifier, options = {}) => record({ operation: 'delete', identifier, options }),
    dryRun: {
      create: (body, options = {}) => rehearse({ operation: 'create', body, options }),
      createMany: async (body, options = {}) => rehearse({ operation: 'createMany', body: arrayIn(body), options }),
      updateMany: (body, options = {}) => rehearse({ operation: 'updateMany', body, options }),
      update: (identifier, body, options = {}) => rehearse({ operation: 'update', identifier, body, options }),
      delete: (identifier, options = {}) => rehearse({ operation: 'delete', identifier, options }),
    },
    tagOf: (known) => TAGS.get(known),
  };
}

async function callAs(
  engine: CallableEngine,
  typeName: string,
  call: InProcessCall,
  position: Position,
): Promise<CallResult> {
  // Programs without types pass null as well, which is refused further on.
  const signal = (call.options as InProcessCall['options'] | null)?.signal;
  const caller = new InProcessCaller(engine.budget, position, signal);
  try {
    return await serveCall(() => ({ permitted: engine, routes: engine.routes() }), typeName, call, caller);
  } catch (error) {
    // What CallerGone says of connections means nothing here.
    throw error instanceof CallerGone ? signal?.reason : error;
  } finally {
    caller.release();
  }
}

/** A retry by idempotency key, of which the record is no longer there. */
const goneAfter = ({ operation }: InProcessCall): Problem =>
  new Problem('record-not-found', `This ${operation} was done before, and its record is no longer there`);

/** A single record would be created, and answered as one. */
function arrayIn(records: readonly object[]): readonly object[] {
  if (Array.isArray(records)) return records;
  const message = 'createMany takes an array of records; create takes one';
  throw new Problem('invalid-body', message, { errors: [{ pointer: '', code: 'type', message }] });
}

function pageOf<R>({ text, headers }: CallResult): RecordPage<R> {
  const total = headers['X-Total-Count'];
  return {
    records: JSON.parse(text) as readonly R[],
    total: total === undefined ? undefined : Number(total),
    next: cursorIn(headers, 'next'),
    previous: cursorIn(headers, 'prev'),
  };
}

function summaryOf({ text, headers }: CallResult): SummaryPage {
  const total = headers['X-Total-Count'];
  return {
    groups: JSON.parse(text) as readonly RecordGroup[],
    total: total === undefined ? undefined : Number(total),
  };
}
