/** Identifiers of every kind: integers, uuids and strings are read, checked, made and compared here. */
import { createAjv } from '../field-types/ajv-keywords.ts';
import { asWritten } from '../field-types/columns.ts';
import type { DialectName, FieldType, Shape } from '../field-types/field-type.ts';
import type { Identifier, IdentifierKind, Maker } from '../field-types/identifiers.ts';
import type { JsonValue } from '../json/json.ts';
import { memoized } from '../memo.ts';

export type { Identifier } from '../field-types/identifiers.ts';

export interface IdentifierField extends Shape {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: IdentifierKind;
  readonly type: FieldType;
  readonly by: Maker;
  /** The identifier that the service makes before the insert; undefined if the database or the client makes it. */
  readonly next: (() => Identifier) | undefined;
  /** Whether records show the identifier, and bodies accept it. */
  readonly inRecord: boolean;
  readonly column: string;
}

const readerOf = memoized(({ kind, type, constraints, examples }: IdentifierField) => {
  const isValid = createAjv({ allErrors: false, strictTypes: false }).compile(kind.schema({ constraints, examples }));
  return (value: JsonValue) => (isValid(value) ? ((type.canonical?.(value) ?? value) as Identifier) : undefined);
});

/** The identifier that a value stands for; undefined if it is none of this type. */
export const identifierOf = (identifier: IdentifierField, value: JsonValue | undefined): Identifier | undefined =>
  readerOf(identifier)(value ?? null);

/** The identifier of a stored link; undefined if it is of another kind. Rows of others can have numbers below 1. */
export const linkedIn = (identifier: IdentifierField, link: JsonValue | undefined): Identifier | undefined =>
  identifier.kind.isCounted && typeof link === 'number' ? link : identifierOf(identifier, link);

/** Reads identifiers as a path or a command has them. */
export const parserOf = memoized((identifier: IdentifierField) => {
  const read = readerOf(identifier);
  return (text: string) => read(!identifier.kind.isCounted ? text : /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null);
});

export const pathSegment = (identifier: Identifier): string => encodeURIComponent(identifier);

/** Sorts numbers by value, and texts by code point; uuids are in lower case. */
export const compareIdentifiers = (a: Identifier, b: Identifier): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : asWritten.compare(a, b);

/** The SQL type of a value; the column's own may have a collation. */
export const identifierSql = ({ type }: IdentifierField, dialect: DialectName): string =>
  type.columns[dialect].sqlType.split(' ', 1).join();

/** SQL for the JSON of the column; that of a number is the column itself. */
export const identifierJson = ({ kind, type }: IdentifierField, dialect: DialectName, column: string): string =>
  kind.isCounted ? column : type.columns[dialect].json(column);

/** Completes "expected …", with a valid identifier as an example, unless it is a number. */
export function expectedOf(identifier: IdentifierField, largest?: number): string {
  const { kind } = identifier;
  const sample = kind.isCounted ? '' : `, such as ${JSON.stringify(sampleOf(identifier))}`;
  return `${kind.expected(identifier, largest)}${sample}`;
}

/** A valid identifier, for messages, documentation and generated tests. */
export const sampleOf = ({ kind, ...shape }: IdentifierField, seed = 0): Identifier => kind.sample(shape, seed);
