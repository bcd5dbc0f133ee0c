/** The types of checks, and what several checks share. */
import { didYouMean } from '../../names.ts';
import type { RelationEnd, Schema, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';

/** Finds the faults of one type within its schema. */
export type TypeCheck = (type: TypeDraft, schema: Schema) => readonly Finding[];

export type TypeFinding = readonly [TypeDraft, Finding];

/** Finds faults between types; each belongs to one of them. */
export type SchemaCheck = (schema: Schema) => readonly TypeFinding[];

/** Names are compared without regard to case, as databases compare them. */
export const folded = (name: string): string => name.normalize('NFC').toLowerCase();

/** Reports a name that is not one of the known fields, unless another fault may hide that field. */
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
    ? `${quoted(name)} is a ${kind} relation, which cannot be used here`
    : `${type.name || 'the type'} has no field ${quoted(name)}${didYouMean(name, known)}`;
  return [finding('unknown-field', path, at, why)];
}

/** A claim to a name in a namespace. */
export interface NameClaim {
  readonly name: string;
  /** The claimant, in messages. */
  readonly owner: string;
  readonly type: TypeDraft;
  /** The fault if an earlier claim has the name. */
  found(earlier: string): Finding;
}

/** Every claim to a name that is already taken. */
export function nameConflicts(claims: readonly NameClaim[]): readonly TypeFinding[] {
  const owners = new Map<string, string>();
  return claims.flatMap(({ name, owner, type, found }): readonly TypeFinding[] => {
    const earlier = owners.get(folded(name));
    if (earlier === undefined) owners.set(folded(name), owner);
    return earlier === undefined ? [] : [[type, found(earlier)]];
  });
}

/** The indices of items that repeat an earlier one. */
export function repeated(items: readonly unknown[]): readonly number[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const again = seen.has(item);
    seen.add(item);
    return again ? [index] : [];
  });
}

/** A relation in messages: `Book.author`. */
export const label = ({ type, name }: RelationEnd): string => `${type.name}.${name}`;

/** Where a relation has the key: at its value, or at the relation itself if the key is left out. */
export const relationKey = (
  { name, relation }: RelationEnd,
  key: 'column' | 'through' | 'onDelete',
): readonly [YamlPath, At] =>
  relation[key] === undefined ? [['relations', name], 'key'] : [['relations', name, key], 'value'];
