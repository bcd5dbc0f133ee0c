/** Records in process: what a client does over HTTP, by the same operations. */
import { CallerGone } from '../edge/caller.ts';
import type { Engine } from '../engine.ts';
import { entityTag } from '../operations/preconditions.ts';
import { Problem } from '../problem.ts';
import {
  type CallArguments,
  type CallName,
  type CallResult,
  InProcessCaller,
  type Position,
  type RowsResult,
  serveCall,
} from './call.ts';
import type { DryRun, RecordCollection, RecordGroup } from './types.ts';

/** Of the records that were returned. */
const TAGS = new WeakMap<object, string>();

type CallableEngine = Pick<Engine, 'unrestricted' | 'budget'>;

interface InProcess {
  records<R extends object>(type: string): RecordCollection<R>;
  /** From now on calls are refused. Resolves when those that have begun have ended. */
  close(): Promise<void>;
}

type Ask = <N extends CallName>(name: N, call: CallArguments) => Promise<CallResult<N>>;

export function createInProcess(engine: CallableEngine, bodyLimit: number): InProcess {
  const running = new Set<Promise<unknown>>();
  const position: Position = { last: undefined };
  let isClosed = false;
  const askOf =
    (type: string): Ask =>
    (name, call) => {
      if (isClosed) return Promise.reject(new Error('The engine is closed'));
      const result = callAs(engine, type, name, { ...call, bodyLimit }, position);
      const ended = result.catch(() => undefined).finally(() => running.delete(ended));
      running.add(ended);
      return result;
    };
  return {
    records: (type) => collectionOf(askOf(type)),
    close: async () => {
      isClosed = true;
      await Promise.all(running);
    },
  };
}

/** Whether the type is served is looked up at each call: the model may be replaced. */
function collectionOf<R extends object>(ask: Ask): RecordCollection<R> {
  const record = async (name: 'get' | 'create' | 'update' | 'delete', call: CallArguments): Promise<R> => {
    const { json } = await ask(name, call);
    if (json === undefined) throw goneAfter(name);
    const found = JSON.parse(json) as R;
    if (name !== 'delete') TAGS.set(found, entityTag(json));
    return found;
  };
  const several = async (name: 'createMany' | 'updateMany', call: CallArguments): Promise<readonly R[]> =>
    JSON.parse((await ask(name, call)).json ?? '[]') as readonly R[];
  const rehearse = async <T>(name: WriteName, call: CallArguments): Promise<DryRun<T>> =>
    JSON.parse((await ask(name, { ...call, isDryRun: true })).report ?? '') as DryRun<T>;
  return {
    list: async (options = {}) => {
      const { total, next, previous, ...found } = await ask('list', { options });
      return { records: parsed<R>(found), total, next, previous };
    },
    get: (id, options = {}) => record('get', { id, options }),
    create: (body, options = {}) => record('create', { body, options }),
    createMany: async (body, options = {}) => several('createMany', { body: arrayIn(body), options }),
    updateMany: (body, options = {}) => several('updateMany', { body, options }),
    summary: async (options = {}) => {
      const { total, ...found } = await ask('summary', { options });
      return { groups: parsed<RecordGroup>(found), total };
    },
    update: (id, body, options = {}) => record('update', { id, body, options }),
    delete: (id, options = {}) => record('delete', { id, options }),
    dryRun: {
      create: (body, options = {}) => rehearse('create', { body, options }),
      createMany: async (body, options = {}) => rehearse('createMany', { body: arrayIn(body), options }),
      updateMany: (body, options = {}) => rehearse('updateMany', { body, options }),
      update: (id, body, options = {}) => rehearse('update', { id, body, options }),
      delete: (id, options = {}) => rehearse('delete', { id, options }),
    },
    tagOf: (known) => TAGS.get(known),
  };
}

type WriteName = 'create' | 'createMany' | 'update' | 'updateMany' | 'delete';

const parsed = <T>({ rows }: Pick<RowsResult, 'rows'>): readonly T[] =>
  JSON.parse(`[${rows.join(',')}]`) as readonly T[];

async function callAs<N extends CallName>(
  engine: CallableEngine,
  type: string,
  name: N,
  call: CallArguments,
  position: Position,
): Promise<CallResult<N>> {
  // Programs without types pass null as well, which is refused further on.
  const signal = (call.options as CallArguments['options'] | null)?.signal;
  const caller = new InProcessCaller(engine.budget, position, signal);
  try {
    return await serveCall(engine.unrestricted, type, name, call, caller);
  } catch (error) {
    // The caller left because of the signal; CallerGone speaks of connections.
    throw error instanceof CallerGone ? signal?.reason : error;
  } finally {
    caller.release();
  }
}

/** A retry by idempotency key, of which the record is no longer there. */
const goneAfter = (name: CallName): Problem =>
  new Problem('record-not-found', `This ${name} was done before, and its record is no longer there`);

/** A single record would be created, and answered as one. */
function arrayIn(records: readonly object[]): readonly object[] {
  if (Array.isArray(records)) return records;
  const message = 'createMany takes an array of records; create takes one';
  throw new Problem('invalid-body', message, { errors: [{ pointer: '', code: 'type', message }] });
}
