/** Where each column's values come from: the column that it was, an open key, a default. */
import { OPEN_COLUMN } from '../../model/model.ts';
import type { AppliedField, AppliedReference, AppliedType } from '../applied-model.ts';
import { type Column, columnsOf, columnType } from '../columns.ts';
import type { FieldChange, ReferenceChange, TypeChange } from './draft.ts';
import { match } from './match.ts';
import { matchReferences, type TypeNames } from './references.ts';

export interface ColumnChanges {
  readonly fields: { readonly all: readonly FieldChange[]; readonly dropped: readonly string[] };
  readonly references: { readonly all: readonly ReferenceChange[]; readonly dropped: readonly AppliedReference[] };
}

export const columnsBefore = ({ fields, references, open }: AppliedType): readonly string[] => [
  ...Object.values(fields).map(({ column }) => column),
  ...references.map(({ column }) => column),
  ...(open ? [OPEN_COLUMN] : []),
];

export function changedFields(change: TypeChange): ColumnChanges['fields'] {
  const { type, before, dialect } = change;
  const { kept, dropped } = match(type.fields.values(), Object.keys(before.fields));
  const former = new Map(kept.map((one) => [one.wanted, one.former]));
  const all = columnsOf(type, dialect.name).flatMap((column): FieldChange[] => {
    const { field } = column;
    if (!field) return [];
    const name = former.get(field);
    const was = name === undefined ? undefined : before.fields[name];
    const value = was ? keptValue(change, column, was) : newValue(change, column);
    return [{ field, column, former: name, before: was, value }];
  });
  return { all, dropped };
}

function keptValue({ dialect }: TypeChange, column: Column, before: AppliedField): string {
  const { field, nullable } = column;
  const stored = dialect.quote(before.column);
  const otherwise = dialect.literal(column.default);
  if (!field) return otherwise;
  const taken =
    before.type === field.type.name ? stored : columnType(field, dialect.name).takes?.[before.type]?.(stored);
  if (taken === undefined) return otherwise;
  return before.nullable && !nullable && column.default !== null ? `coalesce(${taken}, ${otherwise})` : taken;
}

function newValue({ before, dialect }: TypeChange, { field, ...column }: Column): string {
  const otherwise = dialect.literal(column.default);
  if (!before.open || !field) return otherwise;
  const taken = columnType(field, dialect.name).extracted(dialect.quote(OPEN_COLUMN), dialect.keyPath(field.name));
  return `case when ${dialect.hasKey(OPEN_COLUMN, field.name)} then ${taken} else ${otherwise} end`;
}

export function changedReferences(change: TypeChange, names: TypeNames): ColumnChanges['references'] {
  const { type, dialect } = change;
  const { all, dropped } = matchReferences(change, names);
  const columns = new Map(columnsOf(type, dialect.name).map((column) => [column.name, column]));
  const changes = all.flatMap(({ after, before }): ReferenceChange[] => {
    const column = columns.get(after.column);
    return column
      ? [{ after, before, column, value: before ? dialect.quote(before.column) : dialect.literal(null) }]
      : [];
  });
  return { all: changes, dropped };
}

/** In the order of the table's columns. */
export function valuesOf(change: TypeChange, { fields, references }: ColumnChanges) {
  const values = new Map([...fields.all, ...references.all].map(({ column, value }) => [column.name, value] as const));
  return columnsOf(change.type, change.dialect.name).map(({ name }) => ({
    column: name,
    value: values.get(name) ?? openValue(change, fields),
  }));
}

function openValue({ before, dialect }: TypeChange, fields: ColumnChanges['fields']): string {
  if (!before.open) return dialect.literal('{}');
  const taken = fields.all.filter((one) => !one.before).map(({ field }) => field.name);
  return taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(OPEN_COLUMN, taken);
}
