/** Which relations are the two sides of one connection. Either side may name the other as its inverse. */
import type { RelationDescriptor } from './descriptor.ts';

export interface Pairing<S> {
  /** The relation that this one names as its inverse, whatever that one says. */
  named(side: S): S | undefined;
  /** The relations that name this one as their inverse. */
  claimants(side: S): readonly S[];
  /** The other side, whichever of the two names the other. */
  inverse(side: S): S | undefined;
}

/** A relation as one type's descriptor states it. */
interface StatedRelation {
  /** The name of the type that has it. */
  readonly type: string;
  readonly name: string;
  readonly relation: Partial<RelationDescriptor>;
}

export function pairUp<S>(sides: readonly S[], statedIn: (side: S) => StatedRelation): Pairing<S> {
  const ownKey = (side: S): string => keyOf(statedIn(side));
  const inverseKey = (side: S): string | undefined => {
    const { type = '', inverse } = statedIn(side).relation;
    return inverse === undefined ? undefined : keyOf({ type, name: inverse });
  };
  const byKey = new Map(sides.map((side) => [ownKey(side), side]));
  const claims = Map.groupBy(sides, inverseKey);
  const named = (side: S): S | undefined => byKey.get(inverseKey(side) ?? '');
  const claimants = (side: S): readonly S[] =>
    (claims.get(ownKey(side)) ?? []).filter((claimant) => statedIn(claimant).type === statedIn(side).relation.type);
  return { named, claimants, inverse: (side) => named(side) ?? claimants(side)[0] };
}

const keyOf = ({ type, name }: Pick<StatedRelation, 'type' | 'name'>): string => `${type}.${name}`;
