/** Matches types, fields and relations before and after a change by name and former name. */
export interface Renamed {
  readonly name: string;
  readonly renamedFrom: string | undefined;
}

interface Matched<W> {
  /** Items that existed before, with the name they had. */
  readonly kept: readonly { readonly wanted: W; readonly former: string }[];
  readonly added: readonly W[];
  readonly dropped: readonly string[];
}

/** A former name counts only if the new name is not known yet, so `renamedFrom` can stay after it was applied. */
export function match<W extends Renamed>(wanted: Iterable<W>, known: Iterable<string>): Matched<W> {
  const all = [...wanted];
  const left = new Set(known);
  const former = new Map<W, string>();
  const claim = (one: W, name: string | undefined): void => {
    if (name !== undefined && !former.has(one) && left.delete(name)) former.set(one, name);
  };
  for (const one of all) claim(one, one.name);
  for (const one of all) claim(one, one.renamedFrom);
  return {
    kept: all.flatMap((one) => {
      const name = former.get(one);
      return name === undefined ? [] : [{ wanted: one, former: name }];
    }),
    added: all.filter((one) => !former.has(one)),
    dropped: [...left],
  };
}
