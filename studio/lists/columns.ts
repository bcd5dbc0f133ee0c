/** Which columns a list has: those that a person has chosen, otherwise the first ones of the type. */
import { useStore } from 'ra-core';
import { useMemo } from 'react';
import { type FieldInfo, isToMany, type RelationInfo, type TypeInfo } from '../data/model.ts';
import { isRight as isNumeric } from '../presentations/choose.ts';

export type ColumnInfo = { readonly name: string; readonly title: string; readonly description: string } & (
  | { readonly kind: 'identifier' }
  | { readonly kind: 'field'; readonly field: FieldInfo }
  | { readonly kind: 'relation'; readonly relation: RelationInfo }
);

const MAX_FIRST = 7;
/** Long values make lists hard to read; they can be chosen. */
const isFirst = ({ type, multiline }: FieldInfo): boolean => type !== 'any' && type !== 'array' && multiline !== true;

/** Everything that can be a column: what names the record, then the rest in the order of the descriptor. */
export function columnsOf(type: TypeInfo): readonly ColumnInfo[] {
  const { identifier, fields, relations, label } = type;
  const named = fields.filter(({ name }) => name === label);
  return [
    ...named.map((field): ColumnInfo => ({ kind: 'field', field, ...about(field) })),
    { kind: 'identifier', name: identifier.name, title: identifier.title, description: identifier.description ?? '' },
    ...fields
      .filter((field) => !named.includes(field))
      .map((field): ColumnInfo => ({ kind: 'field', field, ...about(field) })),
    ...relations
      .filter((relation) => !isToMany(relation))
      .map((relation): ColumnInfo => ({ kind: 'relation', relation, ...about(relation) })),
  ];
}

const about = ({ name, title, description = '' }: FieldInfo | RelationInfo) => ({ name, title, description });

function firstColumns(type: TypeInfo): readonly string[] {
  const columns = columnsOf(type);
  const relations = columns.filter(({ kind }) => kind === 'relation').slice(0, 2);
  const fields = columns.filter((column) => column.kind === 'field' && isFirst(column.field));
  const first = [...columns.slice(0, 1), ...fields].slice(0, MAX_FIRST - relations.length);
  return [...new Set([...first, ...relations].map(({ name }) => name))];
}

interface ChosenColumns {
  readonly shown: readonly ColumnInfo[];
  readonly all: readonly ColumnInfo[];
  toggle(name: string): void;
  reset(): void;
}

function among(type: TypeInfo, variant: string | undefined, chosen: readonly string[] | undefined) {
  const hidden = new Set(type.variants?.omit[variant ?? type.variants.default]);
  const all = columnsOf(type).filter(({ name }) => !hidden.has(name));
  const names = new Set(chosen ?? firstColumns(type));
  const shown = all.filter(({ name }) => names.has(name));
  return { all, names, shown: shown.length === 0 ? all.slice(0, 1) : shown };
}

/** Kept in this browser, for each type. */
export function useColumns(type: TypeInfo, variant: string | undefined): ChosenColumns {
  const [chosen, choose] = useStore<readonly string[] | undefined>(`${type.path}.columns`);
  const { all, names, shown } = useMemo(() => among(type, variant, chosen), [type, variant, chosen]);
  // A column that this view lacks stays chosen in the others.
  const toggle = (name: string): void =>
    choose(names.has(name) ? [...names].filter((one) => one !== name) : [...names, name]);
  return { all, shown, toggle, reset: () => choose(undefined) };
}

export const isRight = (column: ColumnInfo): boolean => column.kind === 'field' && isNumeric(column.field);

export const isSortable = (column: ColumnInfo): boolean =>
  column.kind === 'identifier' || (column.kind === 'field' && column.field.operators.length > 0);
