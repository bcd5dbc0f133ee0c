/** Types that no request can reach. */
import { finding } from '../finding.ts';
import type { SchemaCheck } from './check.ts';

export const checkReachability: SchemaCheck = ({ types, sides, allNamed }) => {
  // A relation that lost its way may have led anywhere.
  if (!allNamed || types.some(({ complete }) => !complete) || sides.some(({ target }) => !target)) return [];
  const reached = new Set(sides.filter(({ type, target }) => type !== target).map(({ target }) => target));
  return types
    .filter((type) => type.operations?.size === 0 && !reached.has(type))
    .map((type) => [
      type,
      finding(
        'unreachable-type',
        ['type'],
        'value',
        `${type.name} has no operations, and no other type has a relation to it: no request can reach it`,
      ),
    ]);
};
