/** The search over all types: types by their names, records by what their lists search. */
import type { TypeInfo } from '../data/model.ts';

export interface Wanted {
  /** Types whose names begin with what is typed, or contain it. */
  readonly types: readonly TypeInfo[];
  /** Types whose records are looked for, and by which words. */
  readonly searched: readonly TypeInfo[];
  readonly text: string;
}

/** `order meyer`: the name of a type before other words means its records alone. */
export function wantedBy(typed: string, listed: readonly TypeInfo[]): Wanted {
  const text = typed.trim().toLowerCase();
  const named = listed.filter(({ title, type }) =>
    [title.many, title.one, type].some((name) => name.toLowerCase().includes(text)),
  );
  const alone = listed.flatMap((type) =>
    [type.title.many, type.title.one]
      .filter((name) => text.startsWith(`${name.toLowerCase()} `))
      .map((name) => ({ type, rest: typed.trim().slice(name.length).trim() })),
  )[0];
  if (alone !== undefined) return { types: [], searched: [alone.type], text: alone.rest };
  return { types: named, searched: text === '' ? [] : listed, text: typed.trim() };
}
