/** Order and page of a list: `_cnd[orderBy]`, `_cnd[limit]`, and the cursors of `after=` and `before=`. */
import { hash } from 'node:crypto';
import { foldedValue } from '../field-types/case-folding.ts';
import { type JsonValue, parsedJson } from '../json/json.ts';
import { memoized } from '../memo.ts';
import type { Identifier } from '../model/identifier.ts';
import type { Field, RecordType } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import type { Cursor, Filter, ListQuery, OrderBy, Path, QueryReading } from './list-query.ts';
import { valueAt } from '../model/filters.ts';
import { reportOn, type Parameter, quote, textArray, wireArray } from './parameters.ts';
import { ownPath, resolvePath } from './paths.ts';

// `_cnd[orderBy]`: fields, each optionally followed by asc or desc. The identifier breaks ties.

export const MAX_ORDER_TERMS = 20;

export function defaultOrder(type: RecordType): readonly OrderBy[] {
  const order = type.order.map(({ field, descending }) => ({ path: ownPath(type, field), descending }));
  return withTieBreak(type, order);
}

export const orderBy = (type: RecordType, field: Field | undefined): readonly OrderBy[] =>
  withTieBreak(type, field === undefined ? [] : [{ path: ownPath(type, field), descending: false }]);

export const resolveOrder = ({ orderBy: parameters, names, faults }: QueryReading): readonly OrderBy[] =>
  withTieBreak(
    names.type,
    resolveTerms<OrderBy>(parameters, faults, ({ key, value }, descending, before) => {
      const report = reportOn(faults, key);
      if (NOT_IN_NAMES.test(value))
        return report('unknown-field', `${quote(value)} is not a field; for descending order write FIELD,desc`);
      const path = resolvePath(names, value, report, before.length > 0 ? [...DIRECTIONS.keys()] : []);
      if (!path) return undefined;
      if (path.field?.type.operators.length === 0)
        return report('not-orderable', `"${path.name}" is of type ${path.field.type.name}, which has no order`);
      if (before.some((other) => other.path.name === path.name))
        return report('repeated', `The list is ordered by "${path.name}" twice`);
      return { path, descending };
    }),
  );

const NOT_IN_NAMES = /[-+:|\s"'[\]]/;

function withTieBreak(type: RecordType, order: readonly OrderBy[]): readonly OrderBy[] {
  const own = order.findIndex(({ path }) => isOwnIdentifier(path));
  if (own >= 0) return order.slice(0, own + 1);
  return [...order, { path: ownPath(type, undefined), descending: order.at(-1)?.descending ?? false }];
}

const isOwnIdentifier = ({ relations, field }: Path): boolean => relations.length === 0 && field === undefined;

export const DIRECTIONS: ReadonlyMap<string, boolean> = new Map([
  ['asc', false],
  ['desc', true],
]);
const directionOf = ({ value }: Parameter): boolean | undefined => DIRECTIONS.get(value.toLowerCase());

/** `before`: the terms that `resolve` has accepted so far. */
export function resolveTerms<T>(
  parameters: readonly Parameter[],
  faults: Fault[],
  resolve: (field: Parameter, descending: boolean, before: readonly T[]) => T | undefined,
): readonly T[] {
  const words = orderWords(parameters, faults);
  const order: T[] = [];
  let count = 0;
  for (const [index, word] of words.entries()) {
    const [before, next] = [words[index - 1], words[index + 1]];
    if (directionOf(word) === undefined) {
      count += 1;
      if (count === MAX_ORDER_TERMS + 1)
        reportOn(faults, word.key)('too-many', `An order has at most ${MAX_ORDER_TERMS} terms`);
      if (count > MAX_ORDER_TERMS) continue;
      const term = resolve(word, (next && directionOf(next)) ?? false, order);
      if (term) order.push(term);
    } else if (!before || directionOf(before) !== undefined)
      reportOn(faults, word.key)('misplaced-direction', `${quote(word.value)} must follow a field`);
  }
  return order;
}

const PAIRS = 'Pairs are written _cnd[orderBy][0][0]=name&_cnd[orderBy][0][1]=desc';

function orderWords(parameters: readonly Parameter[], faults: Fault[]): readonly Parameter[] {
  const [first] = parameters;
  if (!first) return [];
  const report = reportOn(faults, first.key);
  const textsOf = (some: readonly Parameter[], at: number) => [...(textArray(some, at, report)?.values() ?? [])];
  const paired = parameters.filter(({ steps = [] }) => steps.length === 3);
  if (paired.length === 0) return textsOf(parameters, 1);
  if (paired.length < parameters.length) return report('mixed-forms', `Not every item is in a pair. ${PAIRS}`) ?? [];
  const pairs = wireArray(parameters, 1, report);
  if (pairs && pairs.form !== 'indices') return report('malformed-array', `The pairs have no indices. ${PAIRS}`) ?? [];
  return [...(pairs?.items.values() ?? [])].flatMap((pair) => {
    const words = textsOf(pair, 2);
    const kinds = words.map((word) => (directionOf(word) === undefined ? 'field' : 'direction')).join(' ');
    if (['', 'field', 'field direction'].includes(kinds)) return words;
    return report('malformed-array', `Each pair is a field, optionally followed by asc or desc. ${PAIRS}`) ?? [];
  });
}

// `_cnd[limit]`: the offset, then the maximum number of records.

const LIMIT_USAGE =
  '_cnd[limit] takes the offset, then the limit: _cnd[limit]=0,20 or _cnd[limit]=0&_cnd[limit]=20 (a limit alone: _cnd[limit][1]=20)';

export function resolveLimit(parameters: readonly Parameter[], maxLimit: number, faults: Fault[]) {
  const none = { offset: 0, limit: undefined };
  const [first] = parameters;
  if (!first) return none;
  const report = reportOn(faults, first.key);
  const items = textArray(parameters, 1, report);
  if (!items) return none;
  if ([...items.keys()].some((index) => index > 1)) return report('too-many-items', LIMIT_USAGE) ?? none;
  const isIndexed = (first.steps?.[1] ?? '') !== '';
  if (items.size === 1 && !isIndexed) return report('lone-value', LIMIT_USAGE) ?? none;
  return {
    offset: wholeNumber(items.get(0), faults) ?? 0,
    limit: wholeNumber(items.get(1), faults, maxLimit),
  };
}

function wholeNumber(item: Parameter | undefined, faults: Fault[], greatest = Infinity): number | undefined {
  if (!item) return undefined;
  const report = reportOn(faults, item.key);
  const number = Number(item.value);
  if (!/^\d+$/.test(item.value) || !Number.isSafeInteger(number))
    return report('invalid-value', `${quote(item.value)} is not an integer from 0 to 2^53-1. ${LIMIT_USAGE}`);
  return number > greatest ? report('limit-too-large', `The largest limit of this list is ${greatest}`) : number;
}

// `after=` and `before=`: a page that starts or ends at a cursor, stable while rows are added and deleted.

/** Two cursors must fit into the headers that a proxy accepts by default. */
const LONG_CURSOR = 512;
const MAX_CURSOR_LENGTH = 2048;
/** Code points of all texts in a cursor that would be longer. */
const MAX_CUT_LENGTH = 60;
const DIGEST_LENGTH = 12;

type BoundTo = Pick<ListQuery, 'view' | 'order' | 'filters'>;

/** The last term, the identifier of the record itself, stays whole. */
const isText = ({ path }: OrderBy): boolean => valueAt(path).type.isText === true && !isOwnIdentifier(path);

/** `values`: one per term of `query.order`. If they are long, texts are cut, and their digest follows. */
export function encodeCursor(query: BoundTo, values: readonly JsonValue[]): string {
  const { order } = query;
  const encoded = (...content: readonly JsonValue[]): string =>
    Buffer.from(JSON.stringify([binding(query), ...content])).toString('base64url');
  const text = encoded(...values);
  if (text.length <= LONG_CURSOR || !order.some(isText)) return text;
  const length = Math.floor(MAX_CUT_LENGTH / order.length);
  const cut = order.map((term, index) => {
    const value = values[index] ?? null;
    if (value === null || !isText(term)) return value;
    const whole = String(term.path.field?.caseless ? foldedValue(value) : value);
    return Array.from(whole.slice(0, 2 * length))
      .slice(0, length)
      .join('');
  });
  return encoded(...cut, digestOf(values));
}

export const digestOf = (value: JsonValue): string =>
  hash('sha256', JSON.stringify(value), 'base64url').slice(0, DIGEST_LENGTH);

/** Must be called last: a cursor is bound to the rest of the query; skips the check if that has faults. */
export function resolveCursor(query: ListQuery, { plain, written, faults }: QueryReading): Cursor | undefined {
  const [after, before] = [plain.get('after'), plain.get('before')];
  const text = after ?? before;
  if (text === undefined || faults.length > 0) return undefined;
  const direction = after === undefined ? 'before' : 'after';
  const report = reportOn(faults, direction);
  if (after !== undefined && before !== undefined)
    return report('contradiction', 'Give either after or before, not both');
  if (query.limit === undefined)
    return report('needs-limit', `${direction} needs a limit: ${written(['limit', '1'], '20')}`);
  if (query.offset > 0) return report('contradiction', `${direction} replaces the offset, which must be 0`);
  const isCursor = text.length <= MAX_CURSOR_LENGTH && /^[\w-]+$/.test(text);
  const content = isCursor ? parsedJson(Buffer.from(text, 'base64url').toString()) : undefined;
  if (!Array.isArray(content))
    return report('invalid-cursor', 'This is not a cursor; use the links of the list unchanged');
  const [bound, ...values] = content as readonly JsonValue[];
  if (bound !== binding(query))
    return report(
      'invalid-cursor',
      'This cursor belongs to a list with another type, order or filter; start again without it',
    );
  const { order } = query;
  const [digest, ...more] = values.slice(order.length);
  const cut = order.findIndex(isText);
  const isPlace = order.every(({ path }, index) => isValueOf(path, values[index])) && more.length === 0;
  if (!isPlace || (digest !== undefined && (cut < 0 || typeof digest !== 'string')))
    return report('invalid-cursor', 'This cursor was changed; use the links of the list unchanged');
  if (digest === undefined) return { direction, values };
  const isDescending = order[cut]?.descending !== (direction === 'before');
  const start = values[cut] ?? null;
  return {
    direction,
    values: [...values.slice(0, cut), isDescending && start !== null ? `${String(start)}\u{10ffff}` : start],
    record: { identifier: values[order.length - 1] as Identifier, digest },
  };
}

const binding = memoized(({ view, order, filters }: BoundTo): string => {
  const terms = order.map(({ path, descending }) => [path.name, descending]);
  const conditions = filters.map(textOf).toSorted();
  return digestOf([view.type.name, terms, conditions]);
});

function textOf(condition: Filter): string {
  const { kind } = condition;
  if (kind === 'value') return JSON.stringify([condition.path.name, condition.operator, condition.value]);
  if ('items' in condition) return JSON.stringify([kind, ...condition.items.map((item) => item.map(textOf))]);
  const rest = 'conditions' in condition ? condition.conditions.map(textOf) : [condition.operator, condition.value];
  return JSON.stringify([kind, condition.path.name, rest]);
}

/** Forged values must not reach the database: accepts only values valid for the path's field. */
function isValueOf(path: Path, value: JsonValue | undefined): boolean {
  if (value === null) return path.field !== undefined || path.relations.length > 0;
  const text = String(value);
  return value !== undefined && valueAt(path).type.parse(text) === value && text.isWellFormed() && !text.includes('\0');
}
