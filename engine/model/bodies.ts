/** What the bodies of a type must have. */
import type { RecordType, Relation } from './model.ts';

/** The keys without which no record of the type can be created. */
export function requiredKeys(type: RecordType): readonly string[] {
  return [...type.fields.values(), ...type.relations.values()]
    .filter(({ required }) => required)
    .map(({ name }) => name);
}

/**
 * What the body of a related record must have. `link`: the identifier. `nothing`: no key in particular. Keys: these, or
 * the identifier.
 */
type NestedDemand = 'link' | 'nothing' | readonly string[];

export function nestedDemand({ target, nested, owned, toMany, inverse }: Relation): NestedDemand {
  if (nested === 'link') return 'link';
  const required = requiredKeys(target).filter((name) => name !== inverse?.name);
  // An owned child that exists is updated: only the database knows whether this one does.
  return required.length === 0 || (owned && !toMany) ? 'nothing' : required;
}
