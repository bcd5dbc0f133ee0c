/** Fields and relations by name: what stayed, what was renamed, what came and went. */
interface Named {
  readonly name: string;
  readonly renamedFrom: string | undefined;
}

export interface Pairs<T> {
  readonly kept: readonly { readonly before: T; readonly after: T }[];
  readonly added: readonly T[];
  readonly removed: readonly T[];
}

export function pairUp<T extends Named>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): Pairs<T> {
  const former = ({ name, renamedFrom }: T): T | undefined =>
    before.get(name) ?? (renamedFrom === undefined || after.has(renamedFrom) ? undefined : before.get(renamedFrom));
  const kept = [...after.values()].flatMap((one) => {
    const was = former(one);
    return was ? [{ before: was, after: one }] : [];
  });
  const known = new Set(kept.flatMap((pair) => [pair.before, pair.after]));
  return {
    kept,
    added: [...after.values()].filter((one) => !known.has(one)),
    removed: [...before.values()].filter((one) => !known.has(one)),
  };
}
