/** `_cnd[limit]`: the offset, then how many records. */
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './faults.ts';
import type { ListQuery } from './list-query.ts';
import type { Parameter } from './parameters.ts';
import { type WireItem, wireArray } from './wire-array.ts';

export type Range = Pick<ListQuery, 'offset' | 'limit'>;

export const WHOLE: Range = Object.freeze({ offset: 0, limit: undefined });

const USAGE =
  '_cnd[limit] takes two items, first the offset, then the limit: _cnd[limit]=0&_cnd[limit]=20 (only a limit: _cnd[limit][1]=20)';

export function resolveLimit(parameters: readonly Parameter[], maxLimit: number, faults: Fault[]): Range {
  const [first] = parameters;
  if (!first) return WHOLE;
  const items = limitItems(parameters, complainAbout(faults, first.key));
  const at = (place: number): Parameter | undefined => items.find(({ index }) => index === place)?.parameter;
  return { offset: wholeNumber(at(0), faults) ?? 0, limit: wholeNumber(at(1), faults, maxLimit) };
}

function limitItems(parameters: readonly Parameter[], complain: Complain): readonly WireItem[] {
  const array = wireArray(parameters, 1, complain);
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
  return number > greatest ? complain('limit-too-large', `The limit of this list is at most ${greatest}`) : number;
}
