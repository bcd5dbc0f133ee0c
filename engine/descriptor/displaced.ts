/** Relations among the fields, and fields among the relations: one mistake each, whatever else the grammar says of them. */
import { fieldTypes } from '../field-types/registry.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { type Finding, finding, quoted } from './finding.ts';

interface Section {
  readonly name: 'fields' | 'relations';
  isStrange(member: JsonObject): boolean;
  readonly message: string;
}

const sections: readonly Section[] = [
  {
    name: 'fields',
    isStrange: (member) => Object.hasOwn(member, 'kind'),
    message: 'has a kind, as relations have: it belongs under "relations"',
  },
  {
    name: 'relations',
    isStrange: ({ type, ...member }) => !Object.hasOwn(member, 'kind') && fieldTypes.has(String(type)),
    message: 'has the type of a field: it belongs under "fields"',
  },
];

export function displaced(value: JsonValue): readonly Finding[] {
  if (!isObject(value)) return [];
  return sections.flatMap(({ name: section, isStrange, message }) => {
    const members = value[section];
    return Object.entries(isObject(members) ? members : {})
      .filter(([, member]) => isObject(member) && isStrange(member))
      .map(([name]) => finding('misplaced-key', [section, name], 'key', `${quoted(name)} ${message}`));
  });
}
