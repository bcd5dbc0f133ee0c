/** The columns of a type's table, in their one order: identifier, fields, references, open keys. */
import type { ColumnType, DialectName, SqlValue } from '../field-types/field-type.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Reference } from '../model/model.ts';

export interface Column {
  readonly name: string;
  readonly field: Field | undefined;
  readonly reference: Reference | undefined;
  readonly nullable: boolean;
  /** The value of a record that does not give one; null if there is no default. */
  readonly default: SqlValue;
}

/** How a field is stored in this database. */
export const columnType = (field: Field, dialect: DialectName): ColumnType => field.type.columns[dialect];

/** The CHECK of a column; empty if its type needs none. */
export function checkOf({ name, field }: Column, dialect: DialectName, quote: (name: string) => string): string {
  const limits = field && columnType(field, dialect).limits?.(quote(name), field);
  return limits === undefined ? '' : `check (${limits})`;
}

/** Every column but the identifier's, which stands first in the table. */
export function columnsOf(type: RecordType, dialect: DialectName): readonly Column[] {
  const plain = { field: undefined, reference: undefined };
  return [
    ...[...type.fields.values(), ...type.hidden].map((field) => ({
      ...plain,
      name: field.column,
      field,
      nullable: field.nullable,
      default: encodedDefault(field, dialect),
    })),
    ...type.references.map((reference) => ({
      ...plain,
      name: reference.column,
      reference,
      nullable: !reference.required,
      default: null,
    })),
    ...(type.open ? [{ ...plain, name: OPEN_COLUMN, nullable: false, default: '{}' }] : []),
  ];
}

export const encode = (field: Field, dialect: DialectName, value: unknown): SqlValue =>
  value === null ? null : columnType(field, dialect).encode(value as never);

/** Whether a record that does not give a value has another one than null. */
export const hasDefault = ({ field, default: value }: Pick<Column, 'field' | 'default'>): boolean =>
  value !== null || field?.isNowByDefault === true;

/** What a new record holds if it does not give the field; null if there is no default. */
export const encodedDefault = (field: Field, dialect: DialectName): SqlValue =>
  field.type.keepsText && field.defaultText !== undefined
    ? field.defaultText
    : encode(field, dialect, field.default ?? null);
