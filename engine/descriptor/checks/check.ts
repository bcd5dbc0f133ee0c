/** The types of checks, and faults that several checks report. */
import { fieldTypes } from '../../field-types/registry.ts';
import { didYouMean } from '../../names.ts';
import type { RelationEnd, Schema, TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../report.ts';
import type { At, YamlPath } from '../source.ts';

export type Findings = Generator<Finding, void>;

export type TypeCheck = (type: TypeDraft, schema: Schema) => Iterable<Finding>;

export type TypeFinding = readonly [TypeDraft, Finding];

/** Finds faults between types; each fault belongs to one type. */
export type SchemaCheck = (schema: Schema) => Iterable<TypeFinding>;

/** Reports nothing if another fault may hide the field, or has removed its name. */
export function unknownField(
  type: TypeDraft,
  name: string,
  known: readonly string[],
  path: YamlPath,
  at: At = 'value',
): readonly Finding[] {
  if (!type.isRead || name === '' || type.hidden.has(name) || known.includes(name)) return [];
  const kind = type.relations.get(name)?.kind;
  const [renamed] = [...type.fields].find(([, { renamedFrom }]) => renamedFrom === name) ?? [name];
  const why = kind
    ? `${quoted(name)} is a ${kind} relation, which cannot be used here`
    : `${type.name || 'the type'} has no field ${quoted(name)}${didYouMean(renamed, known)}`;
  return [finding('unknown-field', path, why, at)];
}

/** Reports a field that is unknown, or whose values cannot be compared. */
export function notComparable(
  draft: TypeDraft,
  name: string,
  known: readonly string[],
  path: YamlPath,
  at: At = 'value',
): readonly Finding[] {
  const unknown = unknownField(draft, name, known, path, at);
  const type = fieldTypes.get(draft.fields.get(name)?.type ?? '');
  if (!type || type.operators.length > 0) return unknown;
  const message = `${quoted(name)} is of type ${type.name}, which cannot be compared`;
  return [...unknown, finding('not-comparable', path, message, at)];
}

export function repeated(items: readonly unknown[]): readonly number[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const again = seen.has(item);
    seen.add(item);
    return again ? [index] : [];
  });
}

/** The path of a key of a relation, or of the relation if it lacks the key. */
export const relationKey = (
  { name, relation }: RelationEnd,
  key: 'column' | 'through' | 'onDelete',
): { readonly path: YamlPath; readonly at: At } =>
  relation[key] === undefined
    ? { path: ['relations', name], at: 'key' }
    : { path: ['relations', name, key], at: 'value' };
