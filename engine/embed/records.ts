/** Records in process: what a client does over HTTP, by the same operations. */
import { CallerGone, callerUntil, PATIENT, type Position } from '../edge/caller.ts';
import type { Engine } from '../engine.ts';
import { budgetCaller } from '../http/request.ts';
import { entityTag } from '../operations/operation.ts';
import { faultyRequest, Problem } from '../problem.ts';
import { type Call, type CallName, type CallResult, serveCall } from './calls.ts';
import type { DryRun, RecordCollection, RecordGroup } from './types.ts';

/** The tags of the records that were returned. */
const TAGS = new WeakMap<object, string>();

interface InProcess {
  records<R extends object>(type: string): RecordCollection<R>;
  /** From now on calls are refused. Resolves when those that have begun have ended. */
  close(): Promise<void>;
}

type Ask = (name: CallName, call: Call) => Promise<CallResult>;

export function createInProcess(engine: Pick<Engine, 'unrestricted' | 'budget'>, bodyLimit: number): InProcess {
  const running = new Set<Promise<unknown>>();
  const position: Position = { last: undefined };
  let isClosed = false;
  const run = async (type: string, name: CallName, call: Call): Promise<CallResult> => {
    // Programs without types pass null as well, which is refused by name.
    const signal = (call.options as Call['options'] | null)?.signal;
    const caller = budgetCaller(engine.budget, position, signal === undefined ? PATIENT : callerUntil(signal));
    try {
      return await serveCall(engine.unrestricted, type, name, { ...call, bodyLimit }, caller);
    } catch (error) {
      // CallerGone speaks of connections.
      throw error instanceof CallerGone ? signal?.reason : error;
    } finally {
      caller.release();
    }
  };
  const askOf =
    (type: string): Ask =>
    (name, call) => {
      if (isClosed) return Promise.reject(new Error('The engine is closed'));
      const result = run(type, name, call);
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
  const record = async (name: CallName, call: Call): Promise<R> => {
    const { json } = await ask(name, call);
    // A retry by idempotency key.
    if (json === undefined)
      throw new Problem('record-not-found', `This ${name} was done before, and its record is no longer there`);
    const found = JSON.parse(json) as R;
    if (name !== 'delete') TAGS.set(found, entityTag(json));
    return found;
  };
  const several = async <T = R>(name: CallName, call: Call): Promise<CallResult & { readonly all: readonly T[] }> => {
    const result = await ask(name, call);
    return { ...result, all: JSON.parse(result.json ?? '[]') as readonly T[] };
  };
  const rehearse = async <T>(name: CallName, call: Call): Promise<DryRun<T>> =>
    JSON.parse((await ask(name, { ...call, isDryRun: true })).json ?? '') as DryRun<T>;
  return {
    list: async (options = {}) => {
      const { all, total, next, previous } = await several('list', { options });
      return { records: all, total, next, previous };
    },
    get: (id, options = {}) => record('get', { id, options }),
    create: (body, options = {}) => record('create', { body, options }),
    createMany: async (body, options = {}) => (await several('createMany', { body: arrayIn(body), options })).all,
    updateMany: async (body, options = {}) => (await several('updateMany', { body, options })).all,
    summary: async (options = {}) => {
      const { all, total } = await several<RecordGroup>('summary', { options });
      return { groups: all, total };
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

/** A single record would be created, and answered as one. */
function arrayIn(records: readonly object[]): readonly object[] {
  if (Array.isArray(records)) return records;
  const message = 'createMany takes an array of records; create takes one';
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}
