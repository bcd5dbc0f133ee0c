/** Turns the words in a list's search box into filters of the interface. */
import {
  type FieldInfo,
  isIdentifier,
  isToMany,
  noIdentifier,
  type StudioModel,
  type TypeInfo,
  typeNamed,
} from './model.ts';
import { type Where, whereOf } from './where.ts';
import { condition, type FilterNode, readTree, writeTree } from './filter-tree.ts';

/** The longest pattern that the service accepts, with the `*` at its ends. */
const MAX_PATTERN = 200;
const MAX_STARS = 5;
const IS_NUMBER = /^(?:0|[1-9]\d{0,14})$/;

export interface Search {
  readonly nodes: readonly FilterNode[];
  /** Words that are not looked for: a request has room for so many filters. */
  readonly left: readonly string[];
}

/** Texts that people see: not secrets, and nothing that the view leaves out. Short texts first. */
function searchedFields({ fields, variants }: TypeInfo, variant?: string, operator = 'like'): readonly FieldInfo[] {
  const hidden = new Set(variants?.omit[variant ?? variants.default]);
  const isSearched = ({ name, operators, sensitive }: FieldInfo): boolean =>
    operators.some((one) => one === operator) && sensitive !== true && !hidden.has(name);
  return fields
    .filter(isSearched)
    .toSorted((one, other) => Number(one.multiline === true) - Number(other.multiline === true));
}

/** The paths that each word is looked for in: own texts, and the labels of related records. */
export function searchedPaths(model: StudioModel, type: TypeInfo, variant?: string): readonly string[] {
  const own = searchedFields(type, variant).filter(({ enum: values }) => values === undefined);
  const related = type.relations.flatMap((relation) => {
    const { label, name } = relation;
    const target = typeNamed(model, relation.type);
    const isSearched = searchedFields(target).some((field) => field.name === label);
    return isToMany(relation) || label === null || !isSearched ? [] : [`${name}.${label}`];
  });
  return [...new Set([...(type.label === null ? [] : own.filter(({ name }) => name === type.label)), ...own])]
    .map(({ name }) => name)
    .concat(related);
}

export const wordsOf = (text: string): readonly string[] => [...new Set(text.split(/\s+/).filter(Boolean))];

/** A text that contains this one. Whoever knows patterns may write `*` within it. */
export const containing = (text: string): string => `*${text}*`.replaceAll(/\*{2,}/g, '*');

/** The service takes only ASCII letters for the same in either case. */
function casesOf(word: string): readonly string[] {
  const small = word.toLowerCase();
  const cases = [word.toUpperCase(), small.replace(/./u, (one) => one.toUpperCase()), small, word];
  return [...new Map(cases.map((one) => [one.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()), one])).values()];
}

/** `room`: as many filters are left for the words. All words have to be found, each of them anywhere. */
export function searchOf(model: StudioModel, type: TypeInfo, text: string, room: number, variant?: string): Search {
  const paths = searchedPaths(model, type, variant);
  const choices = searchedFields(type, variant, 'eq').filter(
    (field) => field.enum !== undefined || (field.type === 'integer' && field.unique),
  );
  const nodes: FilterNode[] = [];
  const left: string[] = [];
  let rest = room;
  for (const word of wordsOf(text)) {
    const items = itemsFor(word, type, paths, choices).slice(0, room);
    const pattern = containing(word);
    const isPattern = pattern.length <= MAX_PATTERN && pattern.split('*').length - 1 <= MAX_STARS && pattern !== '*';
    if (items.length === 0 || items.length > rest || !isPattern) left.push(word);
    else {
      rest -= items.length;
      nodes.push({ kind: 'group', mode: 'any', items });
    }
  }
  return { nodes, left };
}

function itemsFor(word: string, type: TypeInfo, paths: readonly string[], choices: readonly FieldInfo[]) {
  const [small, { identifier }] = [word.toLowerCase(), type];
  const chosen = choices.flatMap((field) => {
    if (field.enum === undefined) return IS_NUMBER.test(word) ? [condition(field.name, 'eq', word)] : [];
    const values = field.enum.filter((value) =>
      (field.titles?.[value] ?? value).toLowerCase().includes(small.replaceAll('*', '')),
    );
    return values.length === 0 ? [] : [condition(field.name, 'in', ...values)];
  });
  const byId = isIdentifier(type, word) && identifier.operators.includes('eq');
  return [
    ...(byId ? [condition(identifier.name, 'eq', word)] : []),
    ...chosen,
    ...paths.flatMap((path) => casesOf(word).map((one) => condition(path, 'like', containing(one)))),
  ];
}

/** The filters of a list together with what is searched. */
export function searchedWhere(
  model: StudioModel,
  type: TypeInfo,
  { where = '', q = '' }: { readonly where?: string; readonly q?: string },
  variant?: string,
): { readonly where: Where; readonly left: readonly string[] } {
  const filters = whereOf(where);
  if (q.trim() === '') return { where: filters, left: [] };
  const { nodes, left } = searchOf(model, type, q, model.limits.maxFilters - filters.length, variant);
  // Of words that stand nowhere, nothing is found.
  const found = nodes.length === 0 ? [condition(type.identifier.name, 'eq', noIdentifier(type))] : nodes;
  return { where: writeTree([...readTree(filters), ...found]), left };
}
