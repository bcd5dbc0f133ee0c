/** The fields that order, unique and indexes name. */
import { fieldTypes } from '../../field-types/registry.ts';
import type { TypeDraft } from '../draft.ts';
import { type Finding, finding, quoted } from '../finding.ts';
import type { Path } from '../source.ts';
import { orderField } from '../texts.ts';
import { type Check, repeated, unknownField } from './check.ts';

export const checkMembers: Check = (type) => [
  ...checkOrder(type),
  ...checkGroups(type, 'unique', type.draft.unique ?? []),
  ...checkGroups(type, 'indexes', type.draft.indexes ?? []),
];

function checkOrder(type: TypeDraft): readonly Finding[] {
  const order = (type.draft.order ?? []).map((item) => orderField(item) ?? item);
  const known = [...type.fields.keys(), type.identifier];
  const twice = repeated(order).filter((index) => type.draft.order?.indexOf(type.draft.order[index] ?? '') === index);
  return [
    ...order.flatMap((name, index) => [
      ...unknownField(type, name, known, ['order', index]),
      ...notComparable(type, name, ['order', index]),
    ]),
    ...twice.map((index) =>
      finding('repeated-item', ['order', index], 'value', `${quoted(order[index])} stands in the order already`),
    ),
  ];
}

function checkGroups(type: TypeDraft, key: string, groups: readonly (readonly string[])[]): readonly Finding[] {
  const columns = [...type.relations]
    .filter(([, { kind }]) => kind === undefined || kind === 'belongsTo')
    .map(([name]) => name);
  const known = [...type.fields.keys(), ...columns];
  return groups.flatMap((group, row) =>
    group.flatMap((name, index) => {
      const path = [key, row, index];
      if (name === type.identifier)
        return [
          finding(
            'bad-value',
            path,
            'value',
            `${quoted(name)} is the identifier, which is unique and indexed by itself`,
          ),
        ];
      return [...unknownField(type, name, known, path), ...notComparable(type, name, path)];
    }),
  );
}

function notComparable(type: TypeDraft, name: string, path: Path): readonly Finding[] {
  const fieldType = fieldTypes.get(type.fields.get(name)?.type ?? '');
  if (!fieldType || fieldType.operators.length > 0) return [];
  return [
    finding(
      'not-comparable',
      path,
      'value',
      `${quoted(name)} is of type ${fieldType.name}, whose values cannot be compared`,
    ),
  ];
}
