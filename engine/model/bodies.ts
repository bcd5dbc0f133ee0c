/** The required keys of request bodies. */
import type { RecordType, Relation } from './model.ts';

/** The keys that are required to create a record of the type. */
export function requiredKeys(type: RecordType): readonly string[] {
  return [...type.fields.values(), ...type.relations.values()]
    .filter(({ required }) => required)
    .map(({ name }) => name);
}

/**
 * What the body of a related record requires. `link`: the identifier. `nothing`: no key. A list: the identifier, or these
 * keys.
 */
type NestedDemand = 'link' | 'nothing' | readonly string[];

export function nestedDemand({ target, nested, owned, toMany, inverse }: Relation): NestedDemand {
  if (nested === 'link') return 'link';
  const required = requiredKeys(target).filter((name) => name !== inverse?.name);
  // An owned child that exists is updated: only the database knows whether this one does.
  return required.length === 0 || (owned && !toMany) ? 'nothing' : required;
}
