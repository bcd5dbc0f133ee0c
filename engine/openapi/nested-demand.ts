/** What the body of a related record must have: an identifier, or what makes a record, or nothing in particular. */
import type { Relation } from '../model/model.ts';
import { requiredKeys } from '../validation/body-schema.ts';

/** `link`: the identifier. Keys: these, or the identifier. */
export type Demand = 'link' | 'nothing' | readonly string[];

export function demandOf({ target, nested, owned, toMany, inverse }: Relation): Demand {
  if (nested === 'link') return 'link';
  const required = requiredKeys(target).filter((name) => name !== inverse?.name);
  // An owned child that is there is updated: whether this one is, only the database knows.
  return required.length === 0 || (owned && !toMany) ? 'nothing' : required;
}
