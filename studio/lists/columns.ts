/** Which columns a list has, in which order and how wide: as a person has chosen, otherwise the first ones of the type. */
import { useStore } from 'ra-core';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router-dom';
import { COLUMNS } from '../data/address.ts';
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
  if (type.list.columns !== undefined) return type.list.columns;
  const columns = columnsOf(type);
  const relations = columns.filter(({ kind }) => kind === 'relation').slice(0, 2);
  const fields = columns.filter((column) => column.kind === 'field' && isFirst(column.field));
  const first = [...columns.slice(0, 1), ...fields].slice(0, MAX_FIRST - relations.length);
  return [...new Set([...first, ...relations].map(({ name }) => name))];
}

export interface ChosenColumns {
  readonly shown: readonly ColumnInfo[];
  readonly all: readonly ColumnInfo[];
  readonly widths: Readonly<Record<string, number>>;
  toggle(name: string): void;
  /** One place to the front, or to the end. */
  move(name: string, by: 1 | -1): void;
  resize(name: string, width: number): void;
  reset(): void;
}

/** In the order of `names`. */
function among(type: TypeInfo, variant: string | undefined, names: readonly string[]) {
  const hidden = new Set(type.variants?.omit[variant ?? type.variants.default]);
  const all = columnsOf(type).filter(({ name }) => !hidden.has(name));
  const shown = names.flatMap((name) => all.find((column) => column.name === name) ?? []);
  return { all, shown: shown.length === 0 ? all.slice(0, 1) : shown };
}

const NONE = {};

/** Kept in this browser, for each type; an address may name others. */
export function useColumns(type: TypeInfo, variant: string | undefined): ChosenColumns {
  const [kept, keep] = useStore<readonly string[] | undefined>(`${type.path}.columns`);
  const [widths, setWidths] = useStore<Readonly<Record<string, number>>>(`${type.path}.widths`, NONE);
  const [search, setSearch] = useSearchParams();
  const named = search.get(COLUMNS);
  const names = useMemo(() => named?.split(',') ?? kept ?? firstColumns(type), [named, kept, type]);
  const { all, shown } = useMemo(() => among(type, variant, names), [type, variant, names]);
  const choose = (next: readonly string[] | undefined): void => {
    keep(next);
    if (named !== null)
      setSearch((params) => {
        params.delete(COLUMNS);
        return params;
      });
  };
  return {
    all,
    shown,
    widths,
    // A column that this view lacks stays chosen in the others.
    toggle: (name) => choose(names.includes(name) ? names.filter((one) => one !== name) : [...names, name]),
    move(name, by) {
      const [from, other] = [name, shown[shown.findIndex((one) => one.name === name) + by]?.name ?? name];
      choose(names.map((one) => (one === from ? other : one === other ? from : one)));
    },
    resize: (name, width) => setWidths({ ...widths, [name]: Math.round(width) }),
    reset() {
      choose(undefined);
      setWidths(NONE);
    },
  };
}

export const isRight = (column: ColumnInfo): boolean => column.kind === 'field' && isNumeric(column.field);

export function isSortable(column: ColumnInfo): boolean {
  if (column.kind === 'relation') return column.relation.label !== null && column.relation.operators.length > 0;
  return column.kind === 'identifier' || column.field.operators.length > 0;
}
