/** `_cnd[limit]`: the offset, then how many records. */
import type { Fault } from '../problem.ts';
import { type Complain, complainAbout, quote } from './faults.ts';
import type { ListQuery } from './list-query.ts';
import type { Parameter } from './parameters.ts';
import { wireArray } from './wire-array.ts';

export type Range = Pick<ListQuery, 'offset' | 'limit'>;

export const WHOLE: Range = Object.freeze({ offset: 0, limit: undefined });

const USAGE =
  '_cnd[limit] takes two items, first the offset, then the limit: _cnd[limit]=0&_cnd[limit]=20; _cnd[limit][1]=20 is the limit alone';

export function resolveLimit(parameters: readonly Parameter[], maxLimit: number, faults: Fault[]): Range {
  const [first] = parameters;
  if (!first) return WHOLE;
  const array = wireArray(parameters, 1, complainAbout(faults, first.key));
  if (!array) return WHOLE;
  if (array.items.length === 1 && !array.indexed) complainAbout(faults, first.key)('lone-value', USAGE);
  const range: { offset: number; limit: number | undefined } = { offset: 0, limit: undefined };
  for (const { index, parameter } of array.items) {
    const complain = complainAbout(faults, parameter.key);
    const count = index > 1 ? complain('too-many-items', USAGE) : wholeNumber(parameter.value, complain);
    if (index === 0) range.offset = count ?? 0;
    else if (count !== undefined) range.limit = atMost(maxLimit, count, complain);
  }
  return range;
}

function wholeNumber(text: string, complain: Complain): number | undefined {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  return complain('invalid-value', `${quote(text)} is not an integer from 0 to ${Number.MAX_SAFE_INTEGER}. ${USAGE}`);
}

function atMost(maxLimit: number, limit: number, complain: Complain): number | undefined {
  return limit > maxLimit
    ? complain('limit-too-large', `The limit ${limit} is above ${maxLimit}, the greatest of this list`)
    : limit;
}
