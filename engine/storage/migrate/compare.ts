/** Matches the parts of a Model, mapped to its tables, with the applied parts. */
import { fieldTypes } from '../../field-types/registry.ts';
import { type CheckRule, ruleKey, ruleOf } from '../../model/checks.ts';
import type { Check, Field, Index, JoinTable, Model, RecordType, Reference, Relation } from '../../model/model.ts';
import { resolveField } from '../../model/resolve.ts';
import { StartError } from '../../problem.ts';
import { columnOf } from '../columns.ts';
import type {
  AppliedField,
  AppliedIndex,
  AppliedJoin,
  AppliedModel,
  AppliedReference,
  AppliedType,
} from './applied.ts';

type Named<T> = T & { readonly name: string };
export type NamedField = Named<AppliedField>;
export type NamedIndex = Named<AppliedIndex>;
export type NamedType = Named<AppliedType>;

export interface Matched<A, B> {
  readonly kept: readonly { readonly after: A; readonly before: B }[];
  readonly added: readonly A[];
  readonly dropped: readonly B[];
}

export interface TypePair {
  readonly type: RecordType;
  readonly before: NamedType;
  readonly fields: Matched<Field, NamedField>;
  readonly references: Matched<Reference, AppliedReference>;
  /** Matched by columns. `before` has another name if case sensitivity changes. */
  readonly indexes: Matched<Index, NamedIndex>;
  readonly checks: Matched<Check, CheckRule>;
}

export interface Comparison {
  readonly types: readonly TypePair[];
  readonly added: readonly RecordType[];
  readonly dropped: readonly NamedType[];
  readonly joins: Matched<JoinTable, AppliedJoin>;
}

/** Tables and columns keep their names, so they identify a part. */
export function compare(applied: AppliedModel, { types, joinTables }: Model): Comparison {
  const table = (one: { readonly table: string }): string => one.table;
  const { kept, added, dropped } = match(types.values(), named(applied.types), table, table);
  const joins = match(joinTables, applied.joins, ({ name }) => name, table);
  return { types: kept.map(({ after, before }) => compareType(after, before)), added, dropped, joins };
}

export function compareType(type: RecordType, before: NamedType): TypePair {
  const column = (one: { readonly column: string }): string => one.column;
  const fields = match(type.fields.values(), named(before.fields), column, column);
  const formers = new Map(fields.kept.map((pair) => [pair.after, pair.before.name]));
  return {
    type,
    before,
    fields,
    references: match(type.references, before.references, column, column),
    indexes: match(
      type.indexes,
      named(before.indexes),
      ({ unique, members }) => indexKey(unique, members.map(columnOf)),
      ({ unique, members }) => indexKey(unique, columnsBefore(before, members)),
    ),
    checks: match(
      type.checks,
      before.checks ?? [],
      (check) => ruleKey(ruleOf(check, (field) => formers.get(field) ?? field.name)),
      ruleKey,
    ),
  };
}

/** Whether a new record needs a value of the field. */
export const isNeeded = (field: Pick<AppliedField, 'nullable' | 'default' | 'isNowByDefault'>): boolean =>
  !field.nullable && field.default === null && field.isNowByDefault !== true;

/** A field of which only the column is known, since no descriptor names it. */
export function unnamedField({ name, type, ...before }: NamedField): Field {
  if (!fieldTypes.has(type))
    throw new StartError(
      `The tables have "${name}" of type ${type}, which this version of the engine does not know. Nothing was changed.`,
    );
  const { constraints, column, nullable, folded, generated, isNowByDefault = false } = before;
  return {
    ...resolveField(name, { type, required: isNeeded(before), nullable, sensitive: true }),
    constraints,
    column,
    folded,
    generated,
    isNowByDefault,
    default: before.default ?? undefined,
  };
}

const named = <T>(parts: Readonly<Record<string, T>>): readonly Named<T>[] =>
  Object.entries(parts).map(([name, part]) => ({ ...part, name }));

export const indexKey = (unique: boolean, columns: readonly string[]): string => JSON.stringify([unique, ...columns]);

export const columnsBefore = (
  { fields, references }: AppliedType,
  members: readonly string[],
  ofField = ({ column }: AppliedField): string => column,
): readonly string[] =>
  members.map((member) => {
    const field = fields[member];
    return field ? ofField(field) : (references.find(({ belongsTo }) => belongsTo === member)?.column ?? '');
  });

/** Whether a unique index limits rows of the type: one that leaves an unknown member null limits none. */
export const isLimiting = (type: RecordType, before: AppliedType, { unique, members }: AppliedIndex): boolean =>
  unique &&
  columnsBefore(before, members).every(
    (column, at) => memberAt(type, column) ?? (before.fields[members[at] ?? '']?.default ?? null) !== null,
  );

export const fieldBefore = ({ fields }: AppliedType, column: string): NamedField | undefined =>
  named(fields).find((field) => field.column === column);

export const partAt = ({ fields, hidden, references }: RecordType, column: string): Field | Reference | undefined =>
  [...fields.values(), ...hidden, ...references].find((part) => part.column === column);

export function memberAt(type: RecordType, column: string): Field | Relation | undefined {
  const part = partAt(type, column);
  return part && 'target' in part ? part.relation : part;
}

function match<A, B>(
  wanted: Iterable<A>,
  known: Iterable<B>,
  keyOf: (one: A) => string,
  keyBefore: (one: B) => string,
): Matched<A, B> {
  const left = new Map([...known].map((one) => [keyBefore(one), one]));
  const kept: { readonly after: A; readonly before: B }[] = [];
  const added: A[] = [];
  for (const after of wanted) {
    const before = left.get(keyOf(after));
    if (before !== undefined && left.delete(keyOf(after))) kept.push({ after, before });
    else added.push(after);
  }
  return { kept, added, dropped: [...left.values()] };
}

/** The side of a foreign key or join table where a descriptor names it. */
interface Owner {
  readonly type: string;
  readonly name: string;
}

export const referenceOwner = (type: string, { belongsTo, has, target, column }: AppliedReference): Owner =>
  belongsTo === null ? { type: target, name: has ?? column } : { type, name: belongsTo };

export function joinOwner(table: JoinTable): Owner {
  const relation = relationAt(table, table.left.column) ?? relationAt(table, table.right.column);
  return relation
    ? { type: relation.source.name, name: relation.name }
    : { type: table.left.type.name, name: table.name };
}

export function joinOwnerBefore({ left, right, table }: AppliedJoin): Owner {
  const { type, relation } = left.relation === null && right.relation !== null ? right : left;
  return { type, name: relation ?? table };
}

export const relationAt = (table: JoinTable, column: string): Relation | undefined =>
  [table.left.type, table.right.type]
    .flatMap((type) => [...type.relations.values()])
    .find(({ link }) => link.at === 'join' && link.table === table && link.sourceColumn === column);
