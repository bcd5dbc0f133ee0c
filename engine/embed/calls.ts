/** Calls in process: operations with values, with the same checks, transactions and problems as over HTTP. */
import type { Client } from '../access/access.ts';
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import type { Budget } from '../edge/budget.ts';
import { type Caller, CallerGone, callerUntil, PATIENT, type Position } from '../edge/caller.ts';
import { writeAnswer } from '../http/answer.ts';
import { BudgetCaller, type Service } from '../http/request.ts';
import type { Model, RecordType } from '../model/model.ts';
import { ALL_RIGHTS, can, canRead, type Rights } from '../model/rights.ts';
import { didYouMean, shortened } from '../names.ts';
import { get, list, onceOf, parseIdentifier, withCurrentModel } from '../operations/operation.ts';
import { isOffered, type OperationEntry, OPERATIONS } from '../operations/table.ts';
import { create, deleteOne, NO_BODY, readBody, textOf, update, updateMany } from '../operations/write.ts';
import { Problem } from '../problem.ts';
import { operatorsByName } from '../query/operators.ts';
import type { Parameter, Parameters } from '../query/parameters.ts';
import { DRY_RUN } from '../query/resolve.ts';
import type { CreateOptions, FilterValue, ListOptions, Order, SummaryOptions, UpdateOptions, Where } from './types.ts';

const VIEW = ['fields', 'include', 'variant', 'signal'];
const PAGE = ['where', 'order', 'limit', 'offset', 'count'];

/** The operation that says who may use a call, and the names of its options. */
const CALLS = {
  list: { entry: OPERATIONS.list, options: [...VIEW, ...PAGE, 'after', 'before'] },
  summary: { entry: OPERATIONS.summary, options: [...PAGE, 'by', 'measure', 'variant', 'signal'] },
  get: { entry: OPERATIONS.get, options: VIEW },
  create: { entry: OPERATIONS.create, options: [...VIEW, 'idempotencyKey'] },
  createMany: { entry: OPERATIONS.create, options: [...VIEW, 'idempotencyKey'] },
  update: { entry: OPERATIONS.update, options: [...VIEW, 'ifMatch'] },
  updateMany: { entry: OPERATIONS.updateMany, options: VIEW },
  delete: { entry: OPERATIONS.delete, options: [...VIEW, 'ifMatch'] },
} as const;

const WRITES = { create, createMany: create, update, updateMany, delete: deleteOne };

export type CallName = keyof typeof CALLS;
export type CallOptions = ListOptions & UpdateOptions & CreateOptions & Omit<SummaryOptions, 'count'>;

export interface Call {
  readonly id?: number | string | undefined;
  readonly options: CallOptions;
  readonly body?: object | undefined;
  /** Reports what the write would do, and changes nothing. */
  readonly isDryRun?: boolean;
}

export interface CallResult {
  /** JSON text: the record, the array of records or groups, or the report of a dry run. undefined if a record that was written before is gone. */
  readonly json: string | undefined;
  readonly tag?: string | undefined;
  readonly total?: number | undefined;
  readonly next?: string | undefined;
  readonly previous?: string | undefined;
}

/** Calls of this process draw on the memory budget, as clients do. */
export function inProcessCalls(budget: Budget, served: () => Client) {
  const running = new Set<Promise<unknown>>();
  const position: Position = { last: undefined };
  let isClosed = false;
  const run = async (type: string, name: CallName, call: Call): Promise<CallResult> => {
    // Programs without types pass null as well, which is refused by name.
    const signal = (call.options as CallOptions | null)?.signal;
    const caller = new BudgetCaller(budget, position, signal === undefined ? PATIENT : callerUntil(signal));
    try {
      return await serveCall(served, type, name, call, caller);
    } catch (error) {
      // CallerGone speaks of connections.
      throw error instanceof CallerGone ? signal?.reason : error;
    } finally {
      caller.release();
    }
  };
  return {
    call: (type: string, name: CallName, call: Call): Promise<CallResult> => {
      if (isClosed) return Promise.reject(new Error('The engine is closed'));
      const result = run(type, name, call);
      const ended = result.catch(() => undefined).finally(() => running.delete(ended));
      running.add(ended);
      return result;
    },
    /** From now on calls are refused. Resolves when those that have begun have ended. */
    close: async (): Promise<void> => {
      isClosed = true;
      await Promise.all(running);
    },
  };
}

/** `served` is asked again if the tables turn out to have changed. */
export async function serveCall(
  served: () => Client,
  typeName: string,
  name: CallName,
  call: Call,
  caller: Caller,
): Promise<CallResult> {
  const { options, isDryRun = false } = call;
  const parameters = parametersOf(options, name, isDryRun);
  options.signal?.throwIfAborted();
  return withCurrentModel(async () => {
    const { model, rights, serviceOf } = served();
    const type = typeOf(model, typeName, rights);
    refuseUnoffered(type, name, rights);
    const service = serviceOf(type);
    if (name === 'get') return get(service, parseIdentifier(String(call.id)), service.queries.view(parameters), caller);
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
  const { entry } = CALLS[name];
  if (type.operations.has(entry.right) && !can(rights, type, entry.right))
    throw new Problem('forbidden', `The token does not allow ${name} of ${type.name}`);
  if (!isOffered(entry, type, rights))
    throw new Problem('method-not-allowed', `The type ${type.name} does not offer ${name}`);
}

async function rowsOf(
  service: Service,
  name: 'list' | 'summary',
  parameters: Parameters,
  { options }: Call,
  caller: Caller,
): Promise<CallResult> {
  const count = countOf(options) ?? service.type.count;
  if (name === 'summary') {
    const { groups, total } = await service.store.summary(service.queries.summary(parameters), count, caller);
    return { json: `[${groups.join(',')}]`, total };
  }
  const result = await list(service, service.queries.list(parameters), count, caller);
  if ('rows' in result) return { ...result, json: `[${result.rows.join(',')}]` };
  const all: string[] = [];
  for await (const rows of result.stream) {
    if (caller.isGone) throw new CallerGone();
    for (const row of rows) all.push(row);
  }
  return { json: `[${all.join(',')}]`, total: result.total };
}

async function write(
  service: Service,
  name: keyof typeof WRITES,
  parameters: Parameters,
  call: Call,
  caller: Caller,
): Promise<CallResult> {
  const { id, options } = call;
  const { bodyLimit } = service.limits;
  const entry: OperationEntry = CALLS[name].entry;
  const text = 'body' in call ? textOf(call.body) : '';
  if (Buffer.byteLength(text) > bodyLimit)
    throw new Problem('content-too-large', `The body is larger than ${bodyLimit} bytes; send an array in parts`);
  const once = onceOf(options.idempotencyKey?.toString(), service, () => [
    JSON.stringify([service.type.name, name, id, parameters.all]),
    text,
  ]);
  const result = await WRITES[name](service, {
    id: entry.path === 'item' ? parseIdentifier(String(id)) : 0,
    query: service.queries.write(parameters),
    body: entry.body && text !== '' ? readBody(text, entry.body.shape, service.type, service.limits) : NO_BODY,
    preconditions: { ifMatch: options.ifMatch?.toString(), ifNoneMatch: undefined },
    once,
    minimal: false,
    most: 0,
    caller,
  });
  return result.effects ? { json: writeAnswer(result, service.path, {}, service.rights).body } : result;
}

// The options of a call as the parameters of a query.

const PLAIN = ['after', 'before', 'fields', 'include', 'variant', 'by', 'measure'] as const;

/** Throws a Problem if an option is unknown, or has a value that no query has. */
function parametersOf(options: CallOptions, call: CallName, isDryRun: boolean): Parameters {
  refuseUnknown(options, CALLS[call].options);
  const { where = {}, order, limit, offset } = options;
  const plain = (name: string, value: unknown): readonly Parameter[] =>
    value === undefined ? [] : [{ key: name, steps: undefined, value: String(value) }];
  const all = [
    ...whereOf(where),
    ...(order === undefined ? [] : orderOf(order)),
    ...(limit === undefined ? [] : [condition(['limit', '1'], String(limit))]),
    ...(offset === undefined ? [] : [condition(['limit', '0'], String(offset))]),
    ...PLAIN.flatMap((name) => plain(name, options[name])),
    ...(isDryRun ? plain(DRY_RUN, 'true') : []),
  ];
  for (const { value } of all) {
    if (!value.isWellFormed())
      throw refusal('where', 'A text has half of a surrogate pair; expected well-formed Unicode');
    if (value.includes('\0')) throw refusal('where', 'A text has U+0000, which no stored text has');
  }
  return { all, faults: [] };
}

function refuseUnknown(options: object, known: readonly string[]): void {
  if (!isPlain(options)) throw refusal('options', 'The options are not an object');
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known) || `; the options are ${known.join(', ')}`;
    throw refusal(unknown, `Unknown option "${shortened(unknown)}"${hint}`);
  }
  // A tag that got lost on its way must not make the write unconditional.
  if ('ifMatch' in options && options.ifMatch === undefined)
    throw refusal('ifMatch', 'ifMatch is undefined; leave it out to write unconditionally');
}

function countOf({ count }: Pick<ListOptions, 'count'>): CountMode | undefined {
  if (count === undefined || COUNT_MODES.includes(count)) return count;
  throw refusal('count', `count must be one of ${COUNT_MODES.join(', ')}`);
}

/** The parameter `_cnd[a][b]=value`. */
const condition = (steps: readonly string[], value: string): Parameter => ({
  key: `_cnd${steps.map((step) => `[${step}]`).join('')}`,
  steps,
  value,
});

/** An object literal, from whatever realm. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Object]';

const refusal = (parameter: string, message: string): Problem =>
  new Problem('invalid-query', message, { errors: [{ parameter, code: 'invalid-option', message }] });

function orderOf(order: Order): readonly Parameter[] {
  const words: readonly unknown[] = Array.isArray(order) ? order.flat() : [order];
  return words.map((word) => {
    if (typeof word === 'string') return condition(['orderBy'], word);
    throw refusal('order', "order is neither a name nor a list of names, as in ['name', 'desc']");
  });
}

const whereOf = (where: Where): readonly Parameter[] =>
  entriesOf('where', where).flatMap(([name, value]) => {
    if (name === 'limit' || name === 'orderBy') {
      const option = name === 'limit' ? 'limit' : 'order';
      throw refusal('where', `where.${name} is not a filter; ${option} is an option of its own`);
    }
    return filtersOf([name], value, `where.${shortened(name)}`);
  });

/** `place` is what messages call it. */
function filtersOf(steps: readonly string[], value: FilterValue | undefined, place: string): readonly Parameter[] {
  if (value === undefined)
    throw refusal('where', `${place} is undefined, which would filter nothing; use null, or leave it out`);
  if (value === null) return [condition([...steps, 'null'], 'true')];
  if (Array.isArray(value)) {
    if (value.length === 0) throw refusal('where', `${place} is an empty list, which cannot be asked for`);
    // Objects are the items of a group, and values are those to compare with. With indices, a text is one value.
    const isGroup = value.every(isPlain);
    const among = isGroup || steps.at(-1) === 'in' ? steps : [...steps, 'in'];
    return value.flatMap((item: FilterValue, index) => {
      const [at, name] = [[...among, String(index)], `${place}[${index}]`];
      return isGroup ? filtersOf(at, item, name) : [condition(at, scalarText(item, name))];
    });
  }
  if (isPlain(value))
    return entriesOf(place, value as Where).flatMap(([key, inner]) =>
      filtersOf([...steps, key], inner, `${place}.${shortened(key)}`),
    );
  // Without an operator, null as a text means no value.
  if (value === 'null' && !operatorsByName.has(steps.at(-1) ?? '')) return [condition([...steps, 'eq'], value)];
  return [condition(steps, scalarText(value, place))];
}

function scalarText(value: unknown, place: string): string {
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw refusal('where', `${place} is not a value to compare with`);
}

function entriesOf(place: string, where: Where): readonly [string, FilterValue | undefined][] {
  if (!isPlain(where)) throw refusal('where', `${place} is not an object of filters`);
  const entries = Object.entries(where);
  if (entries.length === 0 && place !== 'where')
    throw refusal('where', `${place} is empty, which would filter nothing`);
  // They would end the name in the query.
  const [bracketed] = entries.find(([name]) => /[[\]]/.test(name)) ?? [];
  if (bracketed === undefined) return entries;
  const message = `${place} has the key "${shortened(bracketed)}"; no name has brackets, use nested objects`;
  throw refusal('where', message);
}
