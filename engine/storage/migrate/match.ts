/** What the Model has, held against what was applied: which type, field, foreign key or join table each one was before. */
import type { Field, JoinTable, Model, RecordType, Reference, Relation } from '../../model/model.ts';
import { OPEN_COLUMN } from '../../model/model.ts';
import {
  type AppliedField,
  type AppliedJoin,
  type AppliedModel,
  appliedReference,
  type AppliedReference,
  type AppliedType,
  otherSide,
} from './applied.ts';
import { type Column, columnsOf, columnType } from '../columns.ts';
import { match } from '../../model/renames.ts';
import type { Dialect } from '../driver.ts';

/** A type that was there before, perhaps under another name. */
export interface TypeChange {
  readonly type: RecordType;
  readonly former: string;
  readonly before: AppliedType;
  readonly dialect: Dialect;
}

/** A field of the type, with what it was. */
export interface FieldChange {
  readonly field: Field;
  readonly column: Column;
  readonly former: string | undefined;
  readonly before: AppliedField | undefined;
  /** SQL of its value over the row before. */
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

/** What types were called before, by what they are called now. */
export type FormerNames = ReadonlyMap<string, string>;

export function columnChanges(change: TypeChange, names: FormerNames): ColumnChanges {
  const { type, before, dialect } = change;
  const { kept, dropped: droppedFields } = match(type.fields.values(), Object.keys(before.fields));
  const formers = new Map(kept.map(({ wanted, former }) => [wanted, former]));
  const { pairs, dropped: droppedReferences } = matchReferences(change, names);
  const fields: FieldChange[] = [];
  const references: ReferenceChange[] = [];
  for (const column of columnsOf(type, dialect.name)) {
    const { field, reference } = column;
    if (field) {
      const former = formers.get(field);
      const was = former === undefined ? undefined : before.fields[former];
      const value = was ? keptValue(change, column, field, was) : newValue(change, column, field);
      fields.push({ field, column, former, before: was, value });
    } else if (reference) {
      const was = pairs.get(reference);
      const value = was ? dialect.quote(was.column) : dialect.literal(null);
      references.push({ after: appliedReference(reference), column, before: was, value });
    }
  }
  return { fields, droppedFields, references, droppedReferences };
}

function keptValue({ dialect }: TypeChange, column: Column, field: Field, before: AppliedField): string {
  const stored = dialect.quote(before.column);
  const otherwise = dialect.literal(column.default);
  const taken =
    before.type === field.type.name ? stored : columnType(field, dialect.name).takes?.[before.type]?.(stored);
  if (taken === undefined) return otherwise;
  return before.nullable && !column.nullable && column.default !== null ? `coalesce(${taken}, ${otherwise})` : taken;
}

/** Records of an open type may have a key of that name. */
function newValue({ before, dialect }: TypeChange, column: Column, field: Field): string {
  const otherwise = dialect.literal(column.default);
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

/** The foreign keys that were there, by those that they are now: the same relation of either side, to the same type. */
export function matchReferences({ type, before }: Pick<TypeChange, 'type' | 'before'>, names: FormerNames) {
  const left = new Set(before.references);
  const pairs = new Map<Reference, AppliedReference>();
  const claim = (side: 'belongsTo' | 'has', nameOf: (reference: Reference) => string | undefined): void => {
    for (const reference of type.references) {
      const name = nameOf(reference);
      if (name === undefined || pairs.has(reference)) continue;
      const target = names.get(reference.target.name);
      const found = [...left].find((old) => old[side] === name && old.target === target);
      if (found && left.delete(found)) pairs.set(reference, found);
    }
  };
  claim('belongsTo', ({ relation }) => relation?.name);
  claim('belongsTo', ({ relation }) => relation?.renamedFrom);
  claim('has', (reference) => otherSide(reference)?.name);
  claim('has', (reference) => otherSide(reference)?.renamedFrom);
  return { pairs, dropped: [...left] };
}

/** A join table that was there before. */
export interface JoinChange {
  readonly after: JoinTable;
  readonly before: AppliedJoin;
  /** What the columns of the two sides were called. */
  readonly left: string;
  readonly right: string;
}

export interface MatchedJoins {
  readonly kept: readonly JoinChange[];
  readonly added: readonly JoinTable[];
  readonly dropped: readonly AppliedJoin[];
}

/** Two join tables are the same if one side is the same relation, and both lead to the same types. */
export function matchJoins(applied: AppliedModel, model: Model, names: FormerNames): MatchedJoins {
  const left = new Set(applied.joins);
  const kept = new Map<JoinTable, JoinChange>();
  for (const nameOf of [(one: Relation) => one.name, (one: Relation) => one.renamedFrom]) {
    for (const after of model.joinTables) {
      if (kept.has(after)) continue;
      const found = [...left].flatMap((before) => matchJoin(after, before, names, nameOf) ?? [])[0];
      if (found && left.delete(found.before)) kept.set(after, found);
    }
  }
  return { kept: [...kept.values()], added: model.joinTables.filter((one) => !kept.has(one)), dropped: [...left] };
}

function matchJoin(
  after: JoinTable,
  before: AppliedJoin,
  names: FormerNames,
  nameOf: (relation: Relation) => string | undefined,
): JoinChange | undefined {
  for (const [left, right] of [
    [before.left, before.right],
    [before.right, before.left],
  ] as const) {
    const isSame = [after.left, after.right].every(({ type }, at) => names.get(type.name) === [left, right][at]?.type);
    const named = [after.left, after.right].some(({ column }, at) => {
      const relation = relationAt(after, column);
      const name = relation && nameOf(relation);
      return name !== undefined && name === [left, right][at]?.relation;
    });
    if (isSame && named) return { after, before, left: left.column, right: right.column };
  }
  return undefined;
}

/** The relation whose own side of the join table this column is. */
export const relationAt = (table: JoinTable, column: string): Relation | undefined =>
  [table.left.type, table.right.type]
    .flatMap((type) => [...type.relations.values()])
    .find(({ link }) => link.at === 'join' && link.table === table && link.sourceColumn === column);
