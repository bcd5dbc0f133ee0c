/** What a check is, and what several of them need. */
import { didYouMean } from '../../names.ts';
import type { Schema, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../report.ts';
import type { YamlPath } from '../source.ts';

/** What is wrong with one type, seen within its schema. */
export type TypeCheck = (type: TypeDraft, schema: Schema) => readonly Finding[];

export type TypeFinding = readonly [TypeDraft, Finding];

/** What is wrong between types: each fault belongs to one of them. */
export type SchemaCheck = (schema: Schema) => readonly TypeFinding[];

/** Names are compared without regard to case, as databases do. */
export const folded = (name: string): string => name.normalize('NFC').toLowerCase();

/** A name that is none of the fields that may stand here; silent where the name may be lost in another fault. */
export function unknownField(
  type: TypeDraft,
  name: string,
  known: readonly string[],
  path: YamlPath,
  at: 'key' | 'value' = 'value',
): readonly Finding[] {
  if (!type.complete || known.includes(name)) return [];
  const kind = type.relations.get(name)?.kind;
  const why = kind
    ? `${quoted(name)} is a ${kind} relation, which cannot stand here`
    : `${type.name || 'the type'} has no field ${quoted(name)}${didYouMean(name, known)}`;
  return [finding('unknown-field', path, at, why)];
}

/** Something that wants a name for itself, among all that share a space of names. */
export interface NameClaim {
  readonly name: string;
  /** Who wants it, in messages. */
  readonly owner: string;
  readonly type: TypeDraft;
  /** What to say of it where an earlier one has the name. */
  found(earlier: string): Finding;
}

/** Every claim to a name that an earlier one has. */
export function nameConflicts(claims: readonly NameClaim[]): readonly TypeFinding[] {
  const owners = new Map<string, string>();
  return claims.flatMap(({ name, owner, type, found }): readonly TypeFinding[] => {
    const earlier = owners.get(folded(name));
    if (earlier === undefined) owners.set(folded(name), owner);
    return earlier === undefined ? [] : [[type, found(earlier)]];
  });
}

/** The indices of the items that stand in a list before. */
export function repeated(items: readonly unknown[]): readonly number[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const again = seen.has(item);
    seen.add(item);
    return again ? [index] : [];
  });
}
