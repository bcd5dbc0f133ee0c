/** Record operations in process, with the same checks, transactions and problems as over HTTP. */
import type { Client } from '../clients.ts';
import { COUNT_MODES } from '../descriptor/descriptor.ts';
import type { Budget } from '../edge/budget.ts';
import { type Caller, CallerGone, NO_CLIENT, onGone, type Position } from '../edge/caller.ts';
import { writeAnswer } from '../http/answer.ts';
import { createSelection } from '../http/changes.ts';
import { BudgetCaller } from '../http/request.ts';
import { kindOf, textFault } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { Identifier } from '../model/identifier.ts';
import type { Model, RecordType } from '../model/model.ts';
import { ALL_RIGHTS, knows } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { onceOf, parseIdentifier, withCurrentModel } from '../operations/operation.ts';
import { get, list, type ListResult } from '../operations/read.ts';
import { isGranted, type OperationEntry, OPERATIONS, refusalOf } from '../operations/table.ts';
import { NO_BODY, readBody, textOf } from '../operations/body.ts';
import { create, deleteOne, update, updateMany } from '../operations/write.ts';
import { faultyRequest, Problem } from '../problem.ts';
import { operatorsByName } from '../query/operators.ts';
import { inUrl, type Parameter, type Parameters, type WriteCondition } from '../query/parameters.ts';
import { DRY_RUN } from '../query/resolve.ts';
import { entryJson, type EntryReader } from '../storage/log/entries.ts';
import { cursorOf, type Feed } from '../storage/log/feed.ts';
import type { Change, ChangesOptions, CreateOptions, ListOptions, SummaryOptions, UpdateOptions } from './types.ts';
import type { DryRun, FilterValue, Order, RecordCollection, RecordGroup, Where } from './types.ts';

const VIEW = ['fields', 'include', 'variant', 'signal'];
const PAGE = ['where', 'order', 'limit', 'offset', 'count'];

/** The operations that can be called, with the names of their options. */
const CALLS = {
  list: { options: [...VIEW, ...PAGE, 'after', 'before'] },
  summary: { options: [...PAGE, 'by', 'measure', 'zone', 'variant', 'signal'] },
  get: { options: VIEW },
  create: { options: [...VIEW, 'idempotencyKey'], write: create },
  update: { options: [...VIEW, 'ifMatch'], write: update },
  updateMany: { options: VIEW, write: updateMany },
  delete: { options: [...VIEW, 'ifMatch'], write: deleteOne },
} as const;

export type CallName = keyof typeof CALLS;

export interface Call {
  readonly id?: number | string | undefined;
  readonly options: ListOptions & UpdateOptions & CreateOptions & Omit<SummaryOptions, 'count'>;
  readonly body?: object | undefined;
  readonly isDryRun?: boolean;
  /** The names of these in messages to the caller; default: the options in process. */
  readonly words?: CallWords;
}

interface CallWords {
  readonly key: WriteCondition;
  readonly ifMatch: string;
  readonly idempotencyKey: string;
}

const IN_PROCESS: CallWords = { key: inUrl, ifMatch: 'ifMatch', idempotencyKey: 'idempotencyKey' };

export interface CallResult {
  /** JSON of a record, an array of records or groups, or a dry-run report; undefined if a retry finds the record deleted. */
  readonly json: string | undefined;
  readonly tag?: string | undefined;
  readonly total?: number | undefined;
  readonly next?: string | undefined;
  readonly previous?: string | undefined;
}

/** In-process calls share the memory budget of HTTP clients. */
export function inProcessCalls(budget: Budget, served: () => Client) {
  const running = new Set<Promise<unknown>>();
  const position: Position = { last: undefined };
  let isClosed = false;
  const run = async (type: string, name: CallName, call: Call, client: () => Client): Promise<CallResult> => {
    // Untyped callers may pass null, which parametersOf refuses.
    const signal = (call.options as Call['options'] | null)?.signal;
    const caller = new BudgetCaller(budget, position, signal === undefined ? NO_CLIENT : { ...NO_CLIENT, signal });
    try {
      return await serveCall(client, type, name, call, caller);
    } catch (error) {
      // There is no connection here: throws the signal's reason.
      throw error instanceof CallerGone ? signal?.reason : error;
    } finally {
      caller.release();
    }
  };
  return {
    call: (type: string, name: CallName, call: Call, client = served): Promise<CallResult> => {
      if (isClosed) return Promise.reject(new Error('The engine is closed'));
      const result = run(type, name, call, client);
      const ended = result.catch(() => undefined).finally(() => running.delete(ended));
      running.add(ended);
      return result;
    },
    /** Refuses new calls, and waits for running calls. */
    close: async (): Promise<void> => {
      isClosed = true;
      await Promise.all(running);
    },
  };
}

/** In process, every client may follow everything. */
export async function* follow(feed: Feed, served: () => Client, options: ChangesOptions = {}) {
  refuseUnknown(options, ['after', 'types', 'values', 'signal']);
  const { after, types, values = false, signal = NO_CLIENT.signal } = options;
  const selectionOf = memoized((model: Model) => createSelection(model, ALL_RIGHTS));
  const reader = (): EntryReader => selectionOf(served().model)(types === undefined ? undefined : [types].flat());
  reader();
  const place = await feed.placeOf(after);
  const stop = onGone({ ...NO_CLIENT, signal }, feed.hear);
  try {
    for await (const { entries, log } of feed.follow(place, reader, () => signal.aborted))
      for (const entry of entries) {
        signal.throwIfAborted();
        yield JSON.parse(entryJson(entry, cursorOf(log, entry.position), { keys: true, values })) as Change;
      }
    signal.throwIfAborted();
  } finally {
    stop();
  }
}

/** Throws Problems. If the tables have changed meanwhile, retries with a new `served()`. */
export async function serveCall(
  served: () => Client,
  typeName: string,
  name: CallName,
  call: Call,
  caller: Caller,
): Promise<CallResult> {
  const parameters = parametersOf(call, CALLS[name].options);
  const { id, options, body, words = IN_PROCESS } = call;
  options.signal?.throwIfAborted();
  return withCurrentModel(async () => {
    const { model, rights, serviceOf } = served();
    const type = typeOf(model, typeName, rights);
    const entry: OperationEntry = OPERATIONS[name];
    const refused = type.operations.has(entry.right) ? refusalOf(entry, type, rights) : undefined;
    if (refused !== undefined) throw new Problem('forbidden', `You may not use ${name} on ${type.name}${refused}`);
    const reason = entry.unsuited?.(type, rights);
    if (!isGranted(entry, type) || reason !== undefined)
      throw new Problem(
        'method-not-allowed',
        `The type ${type.name} does not offer ${name}${reason === undefined ? '' : `: ${reason}`}`,
      );
    const service = serviceOf(type);
    const { store, queries, limits, path } = service;
    if (name === 'get') return get(service, identifierOf(id, type), queries.view(parameters), caller);
    if (name === 'list' || name === 'summary') {
      const { count = type.count } = options;
      if (!COUNT_MODES.includes(count)) throw refusal('count', `count must be one of ${COUNT_MODES.join(', ')}`);
      if (name === 'list') return whole(await list(service, queries.list(parameters), count, caller), caller);
      const { groups, total } = await store.summary(queries.summary(parameters), count, caller);
      return { json: `[${groups.join(',')}]`, total };
    }
    const { bodyLimit } = limits;
    const text = entry.body ? textOf(body) : '';
    if (Buffer.byteLength(text) > bodyLimit)
      throw new Problem('content-too-large', `The body is larger than ${bodyLimit} bytes; send an array in parts`);
    const asked = JSON.stringify([type.name, entry.right, id, parameters.all]);
    const result = await CALLS[name].write(service, {
      once: onceOf(options.idempotencyKey, service, () => [asked, text], words.idempotencyKey),
      id: entry.path === 'item' ? identifierOf(id, type) : 0,
      query: queries.write(parameters),
      body: entry.body ? readBody(text, entry.body.shape, type, limits) : NO_BODY,
      preconditions: { ifMatch: options.ifMatch, ifNoneMatch: undefined, name: words.ifMatch },
      minimal: false,
      maxAffected: 0,
      caller,
    });
    return result.effects ? { json: writeAnswer(result, path, {}).body } : result;
  });
}

/** String([7]) is "7": refuses arrays as identifiers. */
const identifierOf = (id: unknown, type: RecordType): Identifier =>
  parseIdentifier(typeof id === 'object' ? kindOf(id) : String(id), type);

async function whole(result: ListResult, caller: Caller): Promise<CallResult> {
  if ('rows' in result) return { ...result, json: `[${result.rows.join(',')}]` };
  const all: string[] = [];
  for await (const rows of result.stream) {
    if (caller.signal.aborted) throw new CallerGone();
    for (const row of rows) all.push(row);
  }
  return { json: `[${all.join(',')}]`, total: result.total };
}

export function typeOf({ types }: Model, name: string, rights = ALL_RIGHTS): RecordType {
  const type = types.get(name);
  if (type && knows(rights, name)) return type;
  const known = [...types.keys()].filter((one) => knows(rights, one));
  const text = String(name);
  throw new Problem('path-not-found', `There is no type "${shortened(text)}"${didYouMean(text, known)}`);
}

/** `_cnd[zone.name][like]` is `where.zone.name.like`. */
export const inOptions: WriteCondition = ([first = '', ...rest], value) => {
  const page = first === 'orderBy' ? 'order' : rest[0] === '0' ? 'offset' : 'limit';
  const isFilter = first !== 'limit' && first !== 'orderBy';
  const name = isFilter ? ['where', first, ...rest].filter((step) => step !== '').join('.') : page;
  return value === undefined ? name : `${name}=${value}`;
};

const PLAIN = ['after', 'before', 'fields', 'include', 'variant', 'by', 'measure', 'zone'] as const;

/** Throws a Problem if an option is unknown, or a value is invalid. */
function parametersOf({ options, isDryRun = false, words = IN_PROCESS }: Call, known: readonly string[]): Parameters {
  refuseUnknown(options, known);
  const { where = {}, order = [], limit, offset } = options;
  const plain = (name: string, value: unknown): readonly Parameter[] =>
    value === undefined ? [] : [{ key: name, steps: undefined, value: String(value) }];
  const all = [
    ...whereOf(where),
    ...orderOf(order),
    ...(limit === undefined ? [] : [condition(['limit', '1'], String(limit))]),
    ...(offset === undefined ? [] : [condition(['limit', '0'], String(offset))]),
    ...PLAIN.flatMap((name) => plain(name, options[name])),
    ...(isDryRun ? plain(DRY_RUN, true) : []),
  ];
  for (const { value } of all) {
    const fault = textFault(value, 'A text');
    if (fault) throw refusal('where', fault[1]);
  }
  const named = all.map((one) => (one.steps ? { ...one, key: words.key(one.steps) } : one));
  return { all: named, faults: [], written: inOptions };
}

function refuseUnknown(options: object, known: readonly string[]): void {
  if (!isPlain(options)) throw refusal('options', 'The options are not an object');
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known) || `; the options are ${known.join(', ')}`;
    throw refusal(unknown, `Unknown option "${shortened(unknown)}"${hint}`);
  }
  for (const [name, value] of Object.entries(options)) {
    const [expected, fits] = EXPECTED[name] ?? [];
    // An undefined ifMatch must not make the write unconditional.
    if ((value !== undefined || name === 'ifMatch') && fits?.(value) === false)
      throw refusal(name, `${name} must be ${expected}`);
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

const TEXT = ['a text', isText] as const;
const NAMES = [
  'a name or a list of names',
  (value: unknown) => (Array.isArray(value) ? value.every(isText) : isText(value)),
] as const;
const COUNT = [
  'an integer from 0',
  (value: unknown) => !Array.isArray(value) && /^\d+$/.test(String(value)) && Number.isSafeInteger(Number(value)),
] as const;

/** Checks of option values, for untyped callers. */
const EXPECTED: Readonly<Record<string, readonly [expected: string, fits: (value: unknown) => boolean]>> = {
  fields: NAMES,
  include: NAMES,
  by: NAMES,
  measure: NAMES,
  variant: TEXT,
  zone: TEXT,
  after: TEXT,
  before: TEXT,
  idempotencyKey: TEXT,
  limit: COUNT,
  offset: COUNT,
  ifMatch: ['a tag; tagOf has those of records that get, create and update returned, not of lists and copies', isText],
  types: NAMES,
  values: ['true or false', (value) => typeof value === 'boolean'],
  signal: ['an AbortSignal', (value) => Object.prototype.toString.call(value) === '[object AbortSignal]'],
};

const condition = (steps: readonly string[], value: string): Parameter => ({ key: '', steps, value });

/** An object but no array, Date or such. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Object]';

const refusal = (parameter: string, message: string): Problem =>
  faultyRequest('invalid-query', [{ parameter, code: 'invalid-option', message }]);

function orderOf(order: Order): readonly Parameter[] {
  const words: readonly unknown[] = Array.isArray(order) ? order.flat() : [order];
  return words.flatMap((word) => {
    if (typeof word === 'string')
      return word
        .trim()
        .split(/\s+/)
        .map((one) => condition(['orderBy'], one));
    throw refusal('order', "order is neither a name nor a list of names, as in ['name', 'desc']");
  });
}

function whereOf(where: Where): readonly Parameter[] {
  if (!isPlain(where)) throw refusal('where', 'where is not an object of filters');
  return Object.entries(where).flatMap(([name, value]) => {
    if (name !== 'limit' && name !== 'orderBy') return filtersOf([name], value);
    const option = name === 'limit' ? 'limit' : 'order';
    throw refusal('where', `where.${name} is not a filter; ${option} is an option of its own`);
  });
}

function filtersOf(steps: readonly string[], value: FilterValue | undefined): readonly Parameter[] {
  if (value === undefined) throw wrong(steps, 'is undefined, which would filter nothing; use null, or leave it out');
  if (value === null) return [condition([...steps, 'null'], 'true')];
  if (Array.isArray(value)) {
    if (value.length === 0) throw wrong(steps, 'is an empty list, which cannot be asked for');
    // Objects form a condition group, values an `in` list. Indexed keys keep commas in a value.
    const isIn = steps.at(-1) === 'in';
    const isGroup = !isIn && value.every(isPlain);
    const among = isGroup || isIn ? steps : [...steps, 'in'];
    return value.flatMap((item: FilterValue, index) => {
      const at = [...among, String(index)];
      return isGroup ? filtersOf(at, item) : [condition(at, scalarText(at, item))];
    });
  }
  if (isPlain(value)) {
    const entries = Object.entries(value as Where);
    if (entries.length === 0) throw wrong(steps, 'is empty, which would filter nothing');
    return entries.flatMap(([key, inner]) => filtersOf([...steps, key], inner));
  }
  // Without an operator, "null" would mean null.
  const among = value === 'null' && !operatorsByName.has(steps.at(-1) ?? '') ? [...steps, 'eq'] : steps;
  return [condition(among, scalarText(steps, value))];
}

function scalarText(steps: readonly string[], value: unknown): string {
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw wrong(steps, 'is not a value to compare with');
}

function wrong(steps: readonly string[], fault: string): Problem {
  const path = steps.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${shortened(step)}`)).join('');
  return refusal('where', `where${path} ${fault}`);
}

/** The tags of returned records. */
const TAGS = new WeakMap<object, string>();

export function collectionOf<R extends object>(
  ask: (name: CallName, call: Call) => Promise<CallResult>,
): RecordCollection<R> {
  const record = async (name: CallName, call: Call): Promise<R> => {
    const { json, tag } = await ask(name, call);
    if (json === undefined)
      throw new Problem(
        'record-not-found',
        `This ${name} is done, and its record is no longer there, or may not be read`,
      );
    const shown = JSON.parse(json) as R;
    if (tag !== undefined) TAGS.set(shown, tag);
    return shown;
  };
  const several = async <T = R>(name: CallName, call: Call): Promise<CallResult & { readonly all: readonly T[] }> => {
    const result = await ask(name, call);
    return { ...result, all: JSON.parse(result.json ?? '[]') as readonly T[] };
  };
  const dryRun = async <T>(name: CallName, call: Call): Promise<DryRun<T>> =>
    JSON.parse((await ask(name, { ...call, isDryRun: true })).json ?? '') as DryRun<T>;
  return {
    list: async (options = {}) => {
      const { all, total, next, previous } = await several('list', { options });
      return { records: all, total, next, previous };
    },
    get: (id, options = {}) => record('get', { id, options }),
    create: (body, options = {}) => record('create', { body, options }),
    createMany: async (body, options = {}) => (await several('create', { body: arrayIn(body), options })).all,
    updateMany: async (body, options = {}) => (await several('updateMany', { body, options })).all,
    summary: async (options = {}) => {
      const { all, total } = await several<RecordGroup>('summary', { options });
      return { groups: all, total };
    },
    update: (id, body, options = {}) => record('update', { id, body, options }),
    delete: (id, options = {}) => record('delete', { id, options }),
    dryRun: {
      create: (body, options = {}) => dryRun('create', { body, options }),
      createMany: async (body, options = {}) => dryRun('create', { body: arrayIn(body), options }),
      updateMany: (body, options = {}) => dryRun('updateMany', { body, options }),
      update: (id, body, options = {}) => dryRun('update', { id, body, options }),
      delete: (id, options = {}) => dryRun('delete', { id, options }),
    },
    tagOf: (known) => TAGS.get(known),
  };
}

/** Refuses a single record: `create` would accept it and return no array. */
function arrayIn(records: readonly object[]): readonly object[] {
  if (Array.isArray(records)) return records;
  const message = 'createMany takes an array of records; create takes one';
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}
