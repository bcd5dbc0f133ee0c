/** The columns of a type's table in order: identifier, fields, case-folded fields, references, open keys. */
import { folded } from '../field-types/case-folding.ts';
import type { ColumnType, DialectName, SqlValue } from '../field-types/field-type.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Reference, type Relation } from '../model/model.ts';

export interface Column {
  readonly name: string;
  readonly field: Field | undefined;
  readonly reference: Reference | undefined;
  readonly folds: Field | undefined;
  readonly nullable: boolean;
  readonly default: SqlValue;
}

export const columnOf = (member: Field | Relation): string => {
  if (!('link' in member)) return member.column;
  return member.link.at === 'source' ? member.link.reference.column : '';
};

export const readSql = (
  { name, field }: Pick<Column, 'name' | 'field'>,
  dialect: DialectName,
  quote: (name: string) => string,
): string => (field && columnType(field, dialect).read?.(quote(name))) ?? quote(name);

export const columnType = (field: Field, dialect: DialectName): ColumnType => field.type.columns[dialect];

export function checkOf({ name, field }: Column, dialect: DialectName, quote: (name: string) => string): string {
  const limits = field && columnType(field, dialect).limits?.(quote(name), field);
  return limits === undefined ? '' : `check (${limits})`;
}

export interface TableIndex {
  readonly table: string;
  readonly name: string;
  readonly unique: boolean;
  /** `term`: the indexed SQL, from the quoted name of the column. */
  readonly columns: readonly { readonly name: string; readonly term: (quoted: string) => string }[];
  /** The identifier column, if the index ends in it to serve lists. */
  readonly identifier: string | undefined;
}

/** `links`: foreign keys to add once the referenced tables exist. */
export interface TableStatements {
  readonly create: readonly string[];
  readonly links: readonly string[];
}

export interface BulkColumn {
  readonly name: string;
  readonly type: string;
  /** SQL for the written value, from the SQL of the bound string. Default: the latter. */
  readonly written?: (text: string) => string;
}

/** All columns but the identifier, which precedes them. `foldedOf`: overrides the case-folded columns. */
export function columnsOf(
  type: RecordType,
  dialect: DialectName,
  foldedOf: (field: Field) => string | undefined = (field) => field.folded,
): readonly Column[] {
  const none = { field: undefined, reference: undefined, folds: undefined, default: null };
  const fields = [...type.fields.values(), ...type.hidden];
  return [
    ...fields.map((field) => ({
      ...none,
      name: field.column,
      field,
      nullable: field.nullable,
      default: encodedDefault(field, dialect),
    })),
    ...fields.flatMap((field) => {
      const name = foldedOf(field);
      const value = foldedText(encodedDefault(field, dialect));
      return name === undefined ? [] : { ...none, name, folds: field, nullable: true, default: value };
    }),
    ...type.references.map((reference) => ({
      ...none,
      name: reference.column,
      reference,
      nullable: !reference.required,
    })),
    ...(type.open ? [{ ...none, name: OPEN_COLUMN, nullable: false, default: '{}' }] : []),
  ];
}

/** The form of a stored value in an index of the field or link. */
export function heldOperand(member: Field | Relation, dialect: DialectName, value: SqlValue): SqlValue {
  if (value === null || 'link' in member) return value;
  const { operand, decode } = columnType(member, dialect);
  const plain = operand(decode(value));
  return member.folded === undefined ? plain : foldedText(plain);
}

export const foldedText = <V>(value: V): V | string => (typeof value === 'string' ? folded(value) : value);

/** Adds the case-folded columns; `folded` maps a text column to its case-folded column. */
export const withFolded = <V>(
  table: { readonly folded: ReadonlyMap<string, string> },
  changes: readonly (readonly [column: string, value: SqlValue | V])[],
): typeof changes =>
  table.folded.size === 0
    ? changes
    : changes.flatMap((change) => {
        const beside = table.folded.get(change[0]);
        return beside === undefined ? [change] : [change, [beside, foldedText(change[1])] as const];
      });

export const encode = (field: Field, dialect: DialectName, value: unknown): SqlValue =>
  value === null ? null : columnType(field, dialect).encode(value as never);

export const hasDefault = ({ field, default: value }: Pick<Column, 'field' | 'default'>): boolean =>
  value !== null || field?.isNowByDefault === true;

export const neededOf = (columns: readonly Column[]): readonly { readonly name: string; readonly key: string }[] =>
  columns.flatMap((column) => {
    const { name, nullable, field, reference } = column;
    if (nullable || hasDefault(column) || name === OPEN_COLUMN) return [];
    return { name, key: field?.name ?? reference?.relation?.name ?? name };
  });

export const encodedDefault = (field: Field, dialect: DialectName): SqlValue =>
  encode(field, dialect, field.default ?? null);

/** Placeholder for the database's time in a stamp. */
const DATABASE_TIME = 'now';

/** SQL for the value that a statement writes to a column. `old`: the present value, so that a stamp never decreases. */
export function writtenSql(field: Field | undefined, value: string, dialect: DialectName, old?: string): string {
  const type = field?.generated === undefined ? undefined : columnType(field, dialect);
  if (!type?.clock) return value;
  const time = type.clock[old === undefined ? 'statement' : 'row'];
  const text = `(select cast(${value} as text) as text$) as text$`;
  const given = `select case text$ when '${DATABASE_TIME}' then ${time} else ${type.clock.given('text$')} end as value$ from ${text}`;
  if (old === undefined) return `(${given})`;
  return `(select case when ${old} > value$ then ${old} else value$ end from (${given}) as given$)`;
}

// Values that the service fills in: authors and times.

export type Clock = () => Date;

export type Stamp = ReturnType<typeof createStamp>;

/** `author`: the name of the token; null without tokens. If `clock` is undefined, the database sets generated times. */
export function createStamp(clock: Clock | undefined, author: string | null) {
  let time: Date | undefined;
  return { author, now: (): Date => (time ??= clock?.() ?? new Date()), isByDatabase: clock === undefined };
}

interface Stamping {
  readonly stamp: Stamp;
  readonly dialect: DialectName;
}

export function stampFor({ stamp, dialect }: Stamping, field: Field): SqlValue {
  const { generated, type } = field;
  if (generated === 'createdBy' || generated === 'updatedBy') return stamp.author;
  return generated !== undefined && stamp.isByDatabase
    ? DATABASE_TIME
    : encode(field, dialect, type.now?.(stamp.now()) ?? null);
}

export const filledColumns = (columns: readonly Column[]) => ({
  made: columns.flatMap(({ field }) => (field && (field.generated ?? field.isNowByDefault) ? field : [])),
  /** Columns to set when another column changes, and their case-folded columns. */
  stamped: columns.flatMap(({ name, field, folds }) => {
    const stamp = field ?? folds;
    const isStamp = stamp?.generated === 'updatedAt' || stamp?.generated === 'updatedBy';
    return isStamp ? { name, stamp, isFolded: folds !== undefined } : [];
  }),
});

export const stampsOf = (session: Stamping, { stamped }: ReturnType<typeof filledColumns>) =>
  stamped.map(({ name, stamp, isFolded }) => {
    const value = stampFor(session, stamp);
    return [name, isFolded ? foldedText(value) : value] as const;
  });
