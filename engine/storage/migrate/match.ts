/** The placed Model, held against what was applied: which type, field, foreign key or join table each one was before. */
import type { Field, JoinTable, Model, RecordType, Relation } from '../../model/model.ts';
import { OPEN_COLUMN } from '../../model/model.ts';
import {
  type AppliedField,
  type AppliedJoin,
  type AppliedModel,
  appliedReference,
  type AppliedReference,
  type AppliedType,
} from './applied.ts';
import { type Column, columnsOf, columnType, hasDefault } from '../columns.ts';
import type { OtherColumn } from './catalogue.ts';
import type { Dialect } from '../dialect.ts';

/** A type that was there before, perhaps under another name. */
export interface TypeChange {
  readonly type: RecordType;
  readonly former: string;
  readonly before: AppliedType;
  readonly dialect: Dialect;
  /** Columns of its table that somebody else has added. */
  readonly others: readonly OtherColumn[];
}

/** A field of the type, with what it was. */
export interface FieldChange {
  readonly field: Field;
  readonly column: Column;
  readonly former: string | undefined;
  readonly before: AppliedField | undefined;
  /** SQL of its value over the row before. */
  readonly value: string;
  readonly folded: FoldedChange | undefined;
}

/** The column of a field's folded texts, and what it was. */
interface FoldedChange {
  readonly column: Column;
  readonly before: string | undefined;
  readonly value: string;
}

/** A foreign key of the type's table, with what it was. */
export interface ReferenceChange {
  readonly after: AppliedReference;
  readonly column: Column;
  readonly before: AppliedReference | undefined;
  readonly value: string;
}

/** The columns of a type's table, except the identifier and that of open keys. */
export interface ColumnChanges {
  readonly fields: readonly FieldChange[];
  readonly droppedFields: readonly string[];
  readonly references: readonly ReferenceChange[];
  readonly droppedReferences: readonly AppliedReference[];
}

/** The types, fields and references with the names that they have in what was applied. */
export function matchTypes({ types }: AppliedModel, model: Model) {
  const known = Object.entries(types).map(([name, type]) => ({ name, type }));
  return byPlace(
    model.types.values(),
    known,
    ({ table }) => table,
    ({ type }) => type.table,
  );
}

export function matchFields({ fields }: RecordType, before: AppliedType) {
  const known = Object.entries(before.fields).map(([name, field]) => ({ name, field }));
  return byPlace(
    fields.values(),
    known,
    ({ column }) => column,
    ({ field }) => field.column,
  );
}

export const matchReferences = ({ references }: RecordType, before: AppliedType) =>
  byPlace(
    references,
    before.references,
    ({ column }) => column,
    ({ column }) => column,
  );

export function columnChanges(change: TypeChange): ColumnChanges {
  const { type, before, dialect } = change;
  const own = matchFields(type, before);
  const formers = new Map(own.kept.map(({ after, before: was }) => [after, was]));
  const links = matchReferences(type, before);
  const pairs = new Map(links.kept.map(({ after, before: was }) => [after, was]));
  const fields: FieldChange[] = [];
  const references: ReferenceChange[] = [];
  const all = columnsOf(type, dialect.name);
  const beside = new Map(all.flatMap((column) => (column.folds ? [[column.folds, column] as const] : [])));
  for (const column of all) {
    const { field, reference } = column;
    if (field) {
      const { name: former, field: was } = formers.get(field) ?? { name: undefined, field: undefined };
      const value = was ? keptValue(change, column, field, was) : newValue(change, column, field);
      const one = { field, column, former, before: was, value };
      fields.push({ ...one, folded: foldedChange(one, beside.get(field), dialect) });
    } else if (reference) {
      const was = pairs.get(reference);
      const value = was ? dialect.quote(was.column) : dialect.literal(null);
      references.push({ after: appliedReference(reference), column, before: was, value });
    }
  }
  return { fields, droppedFields: own.dropped.map(({ name }) => name), references, droppedReferences: links.dropped };
}

function keptValue({ dialect }: TypeChange, column: Column, field: Field, before: AppliedField): string {
  const stored = dialect.quote(before.column);
  const otherwise = defaultSql(column, field, dialect);
  const taken =
    before.type === field.type.name ? stored : columnType(field, dialect.name).takes?.[before.type]?.(stored);
  if (taken === undefined) return otherwise;
  return before.nullable && !column.nullable && hasDefault(column) ? `coalesce(${taken}, ${otherwise})` : taken;
}

/** SQL of the default for rows without a value; `default: now` is the time of the migration. */
const defaultSql = (column: Column, field: Field, { name, literal }: Dialect): string =>
  (field.isNowByDefault ? columnType(field, name).now : undefined) ?? literal(column.default);

function foldedChange(
  { column: own, before, value }: Omit<FieldChange, 'folded'>,
  column: Column | undefined,
  { quote, literal, folded }: Dialect,
): FoldedChange | undefined {
  if (!column) return undefined;
  if (value === literal(own.default)) return { column, before: before?.folded, value: literal(column.default) };
  const isKept = before?.folded !== undefined && value === quote(before.column);
  return { column, before: before?.folded, value: isKept ? quote(before.folded) : folded(value) };
}

/** Records of an open type may have a key of that name. */
function newValue({ before, dialect }: TypeChange, column: Column, field: Field): string {
  const otherwise = defaultSql(column, field, dialect);
  if (!before.open) return otherwise;
  const taken = columnType(field, dialect.name).extracted(dialect.quote(OPEN_COLUMN), dialect.keyPath(field.name));
  return `case when ${dialect.hasKey(OPEN_COLUMN, field.name)} then ${taken} else ${otherwise} end`;
}

/** SQL: the open keys that no new field takes over. */
export function openKeysLeft({ before, dialect }: TypeChange, { fields }: ColumnChanges): string {
  if (!before.open) return dialect.literal('{}');
  const taken = fields.filter((one) => !one.before).map(({ field }) => field.name);
  return taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(OPEN_COLUMN, taken);
}

/** A join table that was there before. */
export interface JoinChange {
  readonly after: JoinTable;
  readonly before: AppliedJoin;
}

export interface MatchedJoins {
  readonly kept: readonly JoinChange[];
  readonly added: readonly JoinTable[];
  readonly dropped: readonly AppliedJoin[];
}

export const matchJoins = ({ joins }: AppliedModel, { joinTables }: Model): MatchedJoins =>
  byPlace(
    joinTables,
    joins,
    ({ name }) => name,
    ({ table }) => table,
  );

interface SamePlaces<W, B> {
  readonly kept: readonly { readonly after: W; readonly before: B }[];
  readonly added: readonly W[];
  readonly dropped: readonly B[];
}

/** Matches by table or column name, which never change: a part that was there before has the same one. */
function byPlace<W, B>(
  wanted: Iterable<W>,
  known: Iterable<B>,
  placeOf: (one: W) => string,
  formerPlaceOf: (one: B) => string,
): SamePlaces<W, B> {
  const left = new Map([...known].map((one) => [formerPlaceOf(one), one]));
  const kept: { readonly after: W; readonly before: B }[] = [];
  const added: W[] = [];
  for (const after of wanted) {
    const before = left.get(placeOf(after));
    if (before !== undefined && left.delete(placeOf(after))) kept.push({ after, before });
    else added.push(after);
  }
  return { kept, added, dropped: [...left.values()] };
}

/** The relation whose own side of the join table this column is. */
export const relationAt = (table: JoinTable, column: string): Relation | undefined =>
  [table.left.type, table.right.type]
    .flatMap((type) => [...type.relations.values()])
    .find(({ link }) => link.at === 'join' && link.table === table && link.sourceColumn === column);
