/** Which values of a body are kept as they are written: those of fields that keep text, and unknown keys of open types. */
import type { KeptMembers } from '../json/tokenizer.ts';
import { memoized } from '../memo.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import type { RecordType } from '../model/model.ts';

/** Of the bodies of a type; undefined if they hold none, themselves or in nested records. */
export const keptMembers = memoized((type: RecordType): KeptMembers | undefined =>
  mayKeep(type) ? membersOf(type) : undefined,
);

const membersOf = memoized((type: RecordType): KeptMembers => ({
  of: (key) => {
    const relation = type.relations.get(key);
    return relation ? membersOf(relation.target) : keepsText(type, key) ? 'text' : undefined;
  },
}));

function mayKeep(root: RecordType): boolean {
  const types = new Set([root]);
  for (const { open, fields, relations } of types) {
    if (open || [...fields.values()].some((field) => field.type.keepsText)) return true;
    for (const { target } of relations.values()) types.add(target);
  }
  return false;
}

function keepsText({ fields, open, identifier }: RecordType, key: string): boolean {
  const field = fields.get(key);
  if (field) return field.type.keepsText === true;
  return open && key !== ITEM_TAG && key !== '__proto__' && !(identifier.inRecord && key === identifier.name);
}
