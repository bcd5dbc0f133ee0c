/** Words of queries in dialects. */
import type { OperatorName } from '../field-types/field-type.ts';

/** The operator, and for strings the pattern whose `%` the value replaces. */
export type Comparison = readonly [operator: OperatorName, pattern?: string];

/** By suffix of the field name: `position_gte`, or `position:gte` in json-server 1. */
export const COMPARISONS: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ...(['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in'] as const).map((word): [string, Comparison] => [word, [word]]),
  ['neq', ['ne']],
  ['eq_any', ['in']],
  ['like', ['like', '*%*']],
  ['contains', ['like', '*%*']],
  ['q', ['like', '*%*']],
  ['startsWith', ['like', '%*']],
  ['endsWith', ['like', '*%']],
]);

export const SEARCH = 'q';
export const EMBEDS = ['_embed', '_expand'];
export const ONCE = ['_start', '_end', '_limit', '_page', '_per_page', '_sort', '_order'];

/** Whether a field or relation of this name takes a word away. */
export const isDialectWord = (name: string, others: ReadonlySet<string>): boolean =>
  [SEARCH, ...EMBEDS, ...ONCE].includes(name) ||
  [...COMPARISONS.keys()].some((word) => name.endsWith(`_${word}`) && others.has(name.slice(0, -word.length - 1)));
