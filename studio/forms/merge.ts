/** Merges a person's draft with values that somebody else saved meanwhile, by keys of the form. */
import { type Draft, itemsOf, type RecordDraft } from './draft.ts';

/** Inputs that were opened, and nothing typed into them, make no difference. */
const contentOf = (draft: Draft): string => {
  const items = itemsOf(draft).map(({ id, record, stored }) => [id, record ?? stored]);
  return JSON.stringify(items.length > 0 || Array.isArray(draft) ? items : draft);
};

export const differ = (one: Draft, other: Draft): boolean => contentOf(one) !== contentOf(other);

export interface Merge {
  /** Keys that both have changed, each to another value: a person has to choose. */
  readonly asked: readonly string[];
  /** Keys that only I have changed. */
  readonly mine: readonly string[];
  /** Whether everything that I have changed is stored already: only the answer was lost. */
  readonly isSaved: boolean;
}

export function mergeOf(keys: readonly string[], began: RecordDraft, mine: RecordDraft, theirs: RecordDraft): Merge {
  const changed = keys.filter((key) => differ(began[key], mine[key]));
  const open = changed.filter((key) => differ(mine[key], theirs[key]));
  const asked = open.filter((key) => differ(began[key], theirs[key]));
  return { asked, mine: open.filter((key) => !asked.includes(key)), isSaved: changed.length > 0 && open.length === 0 };
}

/** The values typed after `sent` was taken. */
export function typedSince(sent: RecordDraft, now: RecordDraft): Readonly<Record<string, Draft>> {
  return Object.fromEntries(Object.entries(now).filter(([key, value]) => differ(sent[key], value)));
}
