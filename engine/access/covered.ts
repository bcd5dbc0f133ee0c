/** Which types a token's rights reach: those that are named, and those that live and die with them. */
import type { Model, RecordType } from '../model/model.ts';
import type { Rights, Types } from './tokens.ts';

export interface Covered {
  readonly readable: ReadonlySet<RecordType>;
  readonly writable: ReadonlySet<RecordType>;
}

export function covered(model: Model, { read, write }: Rights): Covered {
  const writable = withOwned(named(model, write));
  return { writable, readable: new Set([...withOwned(named(model, read)), ...writable]) };
}

const named = ({ types }: Model, wanted: Types): readonly RecordType[] =>
  [...types.values()].filter(({ name }) => wanted === 'all' || wanted.has(name));

function withOwned(types: readonly RecordType[]): ReadonlySet<RecordType> {
  const all = new Set(types);
  for (const type of all) for (const { owned, target } of type.relations.values()) if (owned) all.add(target);
  return all;
}

/** Names in the rights that no type has. */
export function unknownTypes({ types }: Model, rights: Rights): readonly string[] {
  const all = [rights.read, rights.write].flatMap((some) => (some === 'all' ? [] : [...some]));
  return all.filter((name) => !types.has(name));
}
