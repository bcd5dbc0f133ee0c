/** What costs may be at most, by the name of what is measured. */
import type { Axis, Target } from './growth.ts';

const times = (limit: number): Target => ({ of: 'growth', limit });
const atMost = (limit: number): Target => ({ of: 'greatest', limit });

export const rowsTargets: Axis['targets'] = {
  get: times(1.2),
  'first page': times(1.2),
  'far page, Link: next': times(1.5),
  'whole list, more memory': atMost(64),
};

export const typesTargets: Axis['targets'] = {
  'get, the same types': times(1.1),
  'first page, the same types': times(1.1),
  'create, the same types': times(1.1),
  'first start': atMost(3),
  start: atMost(3),
};
