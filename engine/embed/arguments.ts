/** The options of a call in process as the parameters of a query. */
import { COUNT_MODES, type CountMode } from '../descriptor/descriptor.ts';
import { didYouMean, shortened } from '../names.ts';
import { Problem } from '../problem.ts';
import { DRY_RUN } from '../query/resolve.ts';
import { operatorsByName } from '../query/operators.ts';
import type { Parameter, Parameters } from '../query/parameters.ts';
import type { CreateOptions, FilterValue, ListOptions, Order, SummaryOptions, UpdateOptions, Where } from './types.ts';

const VIEW = ['fields', 'include', 'variant', 'signal'] as const;
const PAGE = ['where', 'order', 'limit', 'offset', 'count'] as const;
/** The options of each call. */
const OPTIONS = {
  list: [...VIEW, ...PAGE, 'after', 'before'],
  get: VIEW,
  create: [...VIEW, 'idempotencyKey'],
  createMany: [...VIEW, 'idempotencyKey'],
  updateMany: VIEW,
  summary: [...PAGE, 'by', 'measure', 'variant', 'signal'],
  update: [...VIEW, 'ifMatch'],
  delete: [...VIEW, 'ifMatch'],
} as const satisfies Record<string, readonly string[]>;

export type CallName = keyof typeof OPTIONS;
export type CallOptions = ListOptions & UpdateOptions & CreateOptions & Omit<SummaryOptions, 'count'>;

/** Throws a Problem if an option is unknown, or has a value that no query has. */
export function parametersOf(options: CallOptions, call: CallName, isDryRun: boolean): Parameters {
  refuseUnknown(options, OPTIONS[call]);
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
  for (const { value } of all) refuseUnstorable(value);
  return { all, faults: [] };
}

/** Options that have the names of parameters. */
const PLAIN = ['after', 'before', 'fields', 'include', 'variant', 'by', 'measure'] as const;

/** The option `count`, checked. */
export function countOf({ count }: Pick<ListOptions, 'count'>): CountMode | undefined {
  if (count === undefined || COUNT_MODES.includes(count)) return count;
  throw refusal('count', `count must be one of ${COUNT_MODES.join(', ')}`);
}

/** The parameter `_cnd[a][b]=value`. */
const condition = (steps: readonly string[], value: string): Parameter => ({
  key: `_cnd${steps.map((step) => `[${step}]`).join('')}`,
  steps,
  value,
});

function refuseUnstorable(text: string): void {
  if (!text.isWellFormed()) throw refusal('where', 'A text has half of a surrogate pair; expected well-formed Unicode');
  if (text.includes('\0')) throw refusal('where', 'A text has U+0000, which no stored text has');
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

const PAGING = new Set(['limit', 'orderBy']);

function whereOf(where: Where): readonly Parameter[] {
  return entriesOf('where', where).flatMap(([name, value]) => {
    if (!PAGING.has(name)) return filtersOf([name], value, `where.${shortened(name)}`);
    throw refusal(
      'where',
      `where.${name} is not a filter; ${name === 'limit' ? 'limit' : 'order'} is an option of its own`,
    );
  });
}

/** `place` is what messages call it. */
function filtersOf(steps: readonly string[], value: FilterValue | undefined, place: string): readonly Parameter[] {
  if (value === undefined)
    throw refusal('where', `${place} is undefined, which would filter nothing; use null, or leave it out`);
  if (value === null) return [condition([...steps, 'null'], 'true')];
  if (Array.isArray(value)) return listOf(steps, value, place);
  if (isPlain(value))
    return entriesOf(place, value as Where).flatMap(([key, inner]) =>
      filtersOf([...steps, key], inner, `${place}.${shortened(key)}`),
    );
  // Without an operator, null as a text means no value.
  if (value === 'null' && !operatorsByName.has(steps.at(-1) ?? '')) return [condition([...steps, 'eq'], value)];
  return [condition(steps, scalarText(value, place))];
}

const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'bigint', 'boolean']);

function scalarText(value: unknown, place: string): string {
  if (SCALARS.has(typeof value)) return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw refusal('where', `${place} is not a value to compare with`);
}

/** Values that are compared with, or the items of a group. */
function listOf(steps: readonly string[], values: readonly FilterValue[], place: string): readonly Parameter[] {
  if (values.length === 0) throw refusal('where', `${place} is an empty list, which cannot be asked for`);
  if (values.every(isPlain))
    return values.flatMap((value, index) => filtersOf([...steps, String(index)], value as Where, `${place}[${index}]`));
  const among = steps.at(-1) === 'in' ? steps : [...steps, 'in'];
  // With indices, a text is one value whatever it holds.
  return values.map((value, index) => condition([...among, String(index)], scalarText(value, `${place}[${index}]`)));
}

function entriesOf(place: string, where: Where): readonly [string, FilterValue | undefined][] {
  if (!isPlain(where)) throw refusal('where', `${place} is not an object of filters`);
  const entries = Object.entries(where);
  if (entries.length === 0 && place !== 'where')
    throw refusal('where', `${place} is empty, which would filter nothing`);
  // They would end the name in the query.
  const bracketed = entries.find(([name]) => /[[\]]/.test(name));
  if (bracketed !== undefined)
    throw refusal(
      'where',
      `${place} has the key "${shortened(bracketed[0])}"; no name has brackets, use nested objects`,
    );
  return entries;
}
