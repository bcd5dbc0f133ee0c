/** Records in process: what a client does over HTTP, by the same operations. */
import { entityTag } from '../operations/operation.ts';
import { faultyRequest, Problem } from '../problem.ts';
import type { Call, CallName, CallResult } from './calls.ts';
import type { DryRun, RecordCollection, RecordGroup } from './types.ts';

/** The tags of the records that were returned. */
const TAGS = new WeakMap<object, string>();

/** `ask` calls the operations of one type. */
export function collectionOf<R extends object>(
  ask: (name: CallName, call: Call) => Promise<CallResult>,
): RecordCollection<R> {
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
