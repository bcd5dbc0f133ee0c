/** The options of a call in process as the query string that says the same over HTTP. */
import { didYouMean, shortened } from '../names.ts';
import { Problem } from '../problem.ts';
import { operatorsByName } from '../query/operators.ts';
import type { FilterValue, ListOptions, Order, SummaryOptions, ViewOptions, Where } from './types.ts';

/** The options of each operation, besides those that its headers take. */
const VIEW = ['fields', 'include', 'variant', 'signal'] as const;
const OPTIONS = {
  list: [...VIEW, 'where', 'order', 'limit', 'offset', 'after', 'before', 'count'],
  get: VIEW,
  create: [...VIEW, 'idempotencyKey'],
  createMany: [...VIEW, 'idempotencyKey'],
  updateMany: VIEW,
  summary: ['by', 'measure', 'where', 'order', 'limit', 'offset', 'variant', 'count', 'signal'],
  update: [...VIEW, 'ifMatch'],
  delete: [...VIEW, 'ifMatch'],
} as const satisfies Record<string, readonly string[]>;

/** Throws a Problem if an option is unknown, or cannot be said in a query. */
export function searchOf(
  options: ViewOptions & ListOptions & Omit<SummaryOptions, 'count'>,
  operation: keyof typeof OPTIONS,
): string {
  refuseUnknown(options, OPTIONS[operation]);
  const { where = {}, order, limit, offset, after, before, fields, include, variant, by, measure } = options;
  const pairs: QueryPairs = [
    ...whereOf(where),
    ...(order === undefined ? [] : orderOf(order)),
    ...(limit === undefined ? [] : pair('_cnd[limit][1]', limit)),
    ...(offset === undefined ? [] : pair('_cnd[limit][0]', offset)),
    ...(after === undefined ? [] : pair('after', after)),
    ...(before === undefined ? [] : pair('before', before)),
    ...(fields === undefined ? [] : pair('fields', fields)),
    ...(include === undefined ? [] : pair('include', include)),
    ...(variant === undefined ? [] : pair('variant', variant)),
    ...(by === undefined ? [] : pair('by', by)),
    ...(measure === undefined ? [] : pair('measure', measure)),
  ];
  return pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
}

type QueryPairs = readonly (readonly [name: string, value: string])[];

const pair = (name: string, value: string | number | readonly string[]): QueryPairs => [[name, String(value)]];

function encoded(text: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text);
  throw refusal('where', 'A text has half of a surrogate pair; expected well-formed Unicode');
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

function orderOf(order: Order): QueryPairs {
  const words: readonly unknown[] = Array.isArray(order) ? order.flat() : [order];
  return words.map((word) => {
    if (typeof word === 'string') return ['_cnd[orderBy]', word] as const;
    throw refusal('order', "order is neither a name nor a list of names, as in ['name', 'desc']");
  });
}

const PAGING = new Set(['limit', 'orderBy']);

function whereOf(where: Where): QueryPairs {
  return entriesOf('where', where).flatMap(([name, value]) => {
    if (!PAGING.has(name)) return filtersOf(`_cnd[${name}]`, value, `where.${shortened(name)}`);
    throw refusal(
      'where',
      `where.${name} is not a filter; ${name === 'limit' ? 'limit' : 'order'} is an option of its own`,
    );
  });
}

/** `place` is what messages call it. */
function filtersOf(name: string, value: FilterValue | undefined, place: string): QueryPairs {
  if (value === undefined)
    throw refusal('where', `${place} is undefined, which would filter nothing; use null, or leave it out`);
  if (value === null) return [[`${name}[null]`, 'true']];
  if (Array.isArray(value)) return listOf(name, value, place);
  if (isPlain(value))
    return entriesOf(place, value as Where).flatMap(([key, inner]) =>
      filtersOf(`${name}[${key}]`, inner, `${place}.${shortened(key)}`),
    );
  // The text, which a query string could also mean no value by.
  if (value === 'null' && !operatorsByName.has(place.slice(place.lastIndexOf('.') + 1)))
    return [[`${name}[eq]`, value]];
  return [[name, scalarText(value, place)]];
}

const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'bigint', 'boolean']);

function scalarText(value: unknown, place: string): string {
  if (SCALARS.has(typeof value)) return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw refusal('where', `${place} is not a value to compare with`);
}

/** Values that are compared with, or the items of a group. */
function listOf(name: string, values: readonly FilterValue[], place: string): QueryPairs {
  if (values.length === 0) throw refusal('where', `${place} is an empty list, which cannot be asked for`);
  if (values.every(isPlain))
    return values.flatMap((value, index) => filtersOf(`${name}[${index}]`, value as Where, `${place}[${index}]`));
  const among = name.endsWith('[in]') ? name : `${name}[in]`;
  // With indices, a text is one value whatever it holds.
  return values.map((value, index) => [`${among}[${index}]`, scalarText(value, `${place}[${index}]`)] as const);
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
