/** The order of a list: one column or several. The library of the lists knows one: the others follow its name, as in `state,-placed`. */
import type { TypeInfo } from './model.ts';

export interface ListSort {
  readonly field: string;
  readonly order: 'ASC' | 'DESC';
}

export interface SortKey {
  readonly name: string;
  readonly isDescending: boolean;
}

export const sortKeys = ({ field, order }: { readonly field: string; readonly order: string }): readonly SortKey[] =>
  field === ''
    ? []
    : field.split(',').map((key, index) => ({
        name: key.replace(/^-/, ''),
        isDescending: index === 0 ? order === 'DESC' : key.startsWith('-'),
      }));

/** As descriptors write it: `placed desc`. */
export const keysIn = (terms: readonly string[]): readonly SortKey[] =>
  terms.map((term) => ({ name: term.replace(/ .*$/, ''), isDescending: term.endsWith(' desc') }));

export function sortOf([first, ...others]: readonly SortKey[]): ListSort {
  const names = [first?.name ?? '', ...others.map(({ name, isDescending }) => (isDescending ? `-${name}` : name))];
  return { field: names.join(','), order: first?.isDescending === true ? 'DESC' : 'ASC' };
}

const MOST_KEYS = 2;

/** The order after a click on a column; `isAdded`: beside the first one. */
export function sortedBy(keys: readonly SortKey[], name: string, isAdded: boolean): readonly SortKey[] {
  const before = keys.find((key) => key.name === name);
  const next = { name, isDescending: before?.isDescending === false };
  if (!isAdded) return [next];
  if (before !== undefined) return keys.map((key) => (key === before ? next : key));
  return [...keys.slice(0, MOST_KEYS - 1), next];
}

/** Related records are sorted by their labels. */
export const orderOf = ({ relations }: TypeInfo, keys: readonly SortKey[]): string =>
  keys
    .map(({ name, isDescending }) => {
      const label = relations.find((relation) => relation.name === name)?.label;
      return `${label ? `${name}.${label}` : name},${isDescending ? 'desc' : 'asc'}`;
    })
    .join(',');
