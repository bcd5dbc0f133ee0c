/** Types, fields and relations before and after a change: what stayed, what was renamed, what is new and what is gone. */
export interface Renamed {
  readonly name: string;
  readonly renamedFrom: string | undefined;
}

interface Matched<W> {
  /** What was there, under its former name. */
  readonly kept: readonly { readonly wanted: W; readonly former: string }[];
  readonly added: readonly W[];
  readonly dropped: readonly string[];
}

/** A former name counts only where the new one is not known yet: once applied, it does no harm. */
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
