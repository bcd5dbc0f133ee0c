/** Where relations lead to, and what they show of it. */
import { didYouMean } from '../../names.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import type { Schema, Side } from '../schema.ts';
import { type Check, unknownField } from './check.ts';

export const checkTargets: Check = (type, schema) =>
  schema.sidesOf(type).flatMap((side) => [...checkTarget(side, schema), ...checkShown(side)]);

function checkTarget({ name, relation, target }: Side, { byName, allNamed }: Schema): readonly Finding[] {
  const path = ['relations', name, 'type'];
  if (relation.type === undefined) return [];
  if (!target) {
    const message = `no file describes the type ${quoted(relation.type)}${didYouMean(relation.type, byName.keys())}`;
    return allNamed ? [finding('unknown-type', path, 'value', message)] : [];
  }
  if (target.draft.identifier?.inRecord !== false) return [];
  return [
    finding(
      'hidden-identifier',
      path,
      'value',
      `records of ${target.name} do not show their identifier (inRecord: false), so that nothing can be linked to them`,
    ),
  ];
}

function checkShown({ name, relation, target }: Side): readonly Finding[] {
  if (!target) return [];
  const known = [...target.fields.keys(), target.identifier];
  return (relation.fields ?? []).flatMap((field, index) =>
    unknownField(target, field, known, ['relations', name, 'fields', index]),
  );
}
