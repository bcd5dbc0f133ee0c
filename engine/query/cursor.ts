/** Which part of a list: `_cnd[limit]`, or `after=` and `before=`, whose cursors are bound to type, order and filters. */
import { hash } from 'node:crypto';
import { integer } from '../field-types/integer.ts';
import { type JsonValue, parsedJson } from '../json/json.ts';
import { type Complain, complainAbout, type Parameter, quote, textArray, type WireItem } from './parameters.ts';
import type { Filter, Cursor, ListQuery, Path } from './list-query.ts';
import { memoized } from '../memo.ts';
import type { Fault } from '../problem.ts';

/** A longer one would break the header or the URL that carries it. */
const MAX_CURSOR_LENGTH = 2048;
const BINDING_LENGTH = 12;

type BoundTo = Pick<ListQuery, 'view' | 'order' | 'filters'>;

/** `values` are those of `query.order`. Returns undefined if they are too long; such a list is paged by offset. */
export function encodeCursor(query: BoundTo, values: readonly JsonValue[]): string | undefined {
  const text = Buffer.from(JSON.stringify([binding(query), ...values])).toString('base64url');
  return text.length > MAX_CURSOR_LENGTH ? undefined : text;
}

function decodeCursor(
  query: BoundTo,
  direction: Cursor['direction'],
  text: string,
  complain: Complain,
): Cursor | undefined {
  const content = readContent(text);
  if (!content) return complain('invalid-cursor', 'This is not a cursor; use the links of the list unchanged');
  const [bound, ...values] = content;
  if (bound !== binding(query))
    return complain(
      'invalid-cursor',
      'This cursor belongs to a list with another type, order or filter; start again without it',
    );
  const fits =
    values.length === query.order.length && query.order.every(({ path }, index) => isValueOf(path, values[index]));
  return fits
    ? { direction, values }
    : complain('invalid-cursor', 'This cursor was changed; use the links of the list unchanged');
}

function readContent(text: string): readonly JsonValue[] | undefined {
  if (text.length > MAX_CURSOR_LENGTH || !/^[\w-]+$/.test(text)) return undefined;
  const content = parsedJson(Buffer.from(text, 'base64url').toString());
  return Array.isArray(content) ? content : undefined;
}

/** The same for every list with these records in this order, whatever its view. */
const binding = memoized(({ view, order, filters }: BoundTo): string => {
  const terms = order.map(({ path, descending }) => [path.name, descending]);
  const conditions = filters.map(textOf).toSorted();
  return hash('sha256', JSON.stringify([view.type.name, terms, conditions]), 'base64url').slice(0, BINDING_LENGTH);
});

function textOf(condition: Filter): string {
  if (condition.kind === 'value') return JSON.stringify([condition.path.name, condition.operator, condition.value]);
  if ('items' in condition) return JSON.stringify([condition.kind, ...condition.items.map((item) => item.map(textOf))]);
  const { kind, path } = condition;
  const rest = 'conditions' in condition ? condition.conditions.map(textOf) : [condition.operator, condition.value];
  return JSON.stringify([kind, path.name, rest]);
}

/** Forged values must not reach the database: accepts only values that a field of the path could hold. */
function isValueOf({ relations, field }: Path, value: JsonValue | undefined): boolean {
  if (value === null) return field !== undefined || relations.length > 0;
  const text = String(value);
  return (field?.type ?? integer).parse(text) === value && text.isWellFormed() && !text.includes('\0');
}

// `after=` and `before=`: a page that starts or ends at a cursor, stable while rows are added and deleted.

/** Must be called last: a cursor is bound to the rest of the query, and is not checked if that has faults. */
export function resolveCursor(
  query: ListQuery,
  plain: ReadonlyMap<string, string>,
  faults: Fault[],
): Cursor | undefined {
  const after = plain.get('after');
  const before = plain.get('before');
  const text = after ?? before;
  if (text === undefined || faults.length > 0) return undefined;
  const direction = after === undefined ? 'before' : 'after';
  const complain = complainAbout(faults, direction);
  if (after !== undefined && before !== undefined)
    return complain('contradiction', 'Give either after or before, not both');
  if (query.limit === undefined)
    return complain('needs-limit', `${direction} needs a limit: _cnd[limit]=0&_cnd[limit]=20`);
  if (query.offset > 0) return complain('contradiction', `${direction} replaces the offset, which must be 0`);
  return decodeCursor(query, direction, text, complain);
}

// `_cnd[limit]`: the offset, then the maximum number of records.

type ListRange = Pick<ListQuery, 'offset' | 'limit'>;

const USAGE =
  '_cnd[limit] takes the offset, then the limit: _cnd[limit]=0,20 or _cnd[limit]=0&_cnd[limit]=20 (a limit alone: _cnd[limit][1]=20)';

export function resolveLimit(parameters: readonly Parameter[], maxLimit: number, faults: Fault[]): ListRange {
  const [first] = parameters;
  if (!first) return { offset: 0, limit: undefined };
  const items = limitItems(parameters, complainAbout(faults, first.key));
  const at = (place: number): Parameter | undefined => items.find(({ index }) => index === place)?.parameter;
  return { offset: wholeNumber(at(0), faults) ?? 0, limit: wholeNumber(at(1), faults, maxLimit) };
}

function limitItems(parameters: readonly Parameter[], complain: Complain): readonly WireItem[] {
  const array = textArray(parameters, 1, complain);
  if (!array) return [];
  const { indexed, items } = array;
  if (items.some(({ index }) => index > 1)) return complain('too-many-items', USAGE) ?? [];
  return items.length === 1 && !indexed ? (complain('lone-value', USAGE) ?? []) : items;
}

function wholeNumber(item: Parameter | undefined, faults: Fault[], greatest = Infinity): number | undefined {
  if (!item) return undefined;
  const complain = complainAbout(faults, item.key);
  const number = Number(item.value);
  if (!/^\d+$/.test(item.value) || !Number.isSafeInteger(number)) {
    return complain('invalid-value', `${quote(item.value)} is not an integer from 0 to 2^53-1. ${USAGE}`);
  }
  return number > greatest ? complain('limit-too-large', `The largest limit of this list is ${greatest}`) : number;
}
