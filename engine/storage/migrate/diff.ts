/** Differences between a Model, mapped to its tables, and the applied model: matched parts, and the SQL of new values. */
import { createAjv } from '../../field-types/ajv-keywords.ts';
import type { ItemShape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { readJson, WIDE } from '../../json/tokenizer.ts';
import { type CheckRule, ruleKey, ruleOf } from '../../model/checks.ts';
import {
  type Check,
  type Field,
  type Index,
  type JoinTable,
  match,
  type Matched,
  type Model,
  OPEN_COLUMN,
  type RecordType,
  type Reference,
  type Relation,
  relationAt,
} from '../../model/model.ts';
import { resolveField } from '../../model/resolve.ts';
import { StartError } from '../../problem.ts';
import { type Column, columnOf, columnsOf, columnType, hasDefault, type TableIndex } from '../columns.ts';
import { type Dialect, literal } from '../dialect.ts';
import { indexesOf, sidesOf } from '../tables.ts';
import {
  type AppliedField,
  type AppliedIndex,
  type AppliedJoin,
  type AppliedModel,
  type AppliedReference,
  appliedReference,
  type AppliedType,
} from './applied.ts';
import type { MigrationStep, RowQuery, StepCode, StepParts } from './steps.ts';
import type { ColumnSource, TableAlteration } from './task.ts';

type Named<T> = T & { readonly name: string };
export type NamedField = Named<AppliedField>;
export type NamedIndex = Named<AppliedIndex>;
export type NamedType = Named<AppliedType>;

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
  const joins = match(joinTables, applied.joins, table, ({ name }) => name);
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
      ({ unique, members }) => indexKey(unique, columnsBefore(before, members)),
      ({ unique, members }) => indexKey(unique, members.map(columnOf)),
    ),
    checks: match(type.checks, before.checks ?? [], ruleKey, (check) =>
      ruleKey(ruleOf(check, (field) => formers.get(field) ?? field.name)),
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

export const partAt = ({ fields, hidden, references }: RecordType, column: string): Field | Reference | undefined =>
  [...fields.values(), ...hidden, ...references].find((part) => part.column === column);

export function memberAt(type: RecordType, column: string): Field | Relation | undefined {
  const part = partAt(type, column);
  return part && 'target' in part ? part.relation : part;
}

/** The side of a foreign key where a descriptor names it. */
export const referenceOwner = (type: string, { belongsTo, has, target, column }: AppliedReference) =>
  belongsTo === null ? { type: target, name: has ?? column } : { type, name: belongsTo };

/** The side of a join table where a descriptor names it. */
export function joinOwner(table: JoinTable) {
  const [left, right] = sidesOf(table);
  const relation = relationAt(table, left.column) ?? relationAt(table, right.column);
  return { type: relation?.source.name ?? left.type.name, name: relation?.name ?? table.name };
}

export function joinOwnerBefore({ left, right, table }: AppliedJoin) {
  const { type, relation } = left.relation === null && right.relation !== null ? right : left;
  return { type, name: relation ?? table };
}

/** What differs between a type and its table. */
export interface TypeDiff extends TypePair {
  readonly dialect: Dialect;
  readonly step: (code: StepCode, parts?: StepParts) => MigrationStep;
}

export interface TypeChange extends TypeDiff {
  /** The type with the columns that stay, though no descriptor names them. */
  readonly table: RecordType;
  readonly tableIndexes: readonly TableIndex[];
  readonly others: TableAlteration['others'];
  readonly fieldChanges: readonly FieldChange[];
  readonly referenceChanges: readonly ReferenceChange[];
  readonly openKeys: ColumnSource | undefined;
}

export interface FieldChange extends ColumnSource {
  readonly field: Field;
  readonly before: NamedField | undefined;
  readonly folded: ColumnSource | undefined;
}

export interface ReferenceChange extends ColumnSource {
  readonly after: AppliedReference;
  readonly before: AppliedReference | undefined;
}

export function changeOf(
  diff: TypeDiff,
  table: RecordType,
  keptIndexes: readonly TableIndex[],
  others: TableAlteration['others'],
): TypeChange {
  const { before, dialect, fields, references, indexes } = diff;
  const tableIndexes = indexesOf(table, dialect, keptIndexes);
  const isDropped = ({ column }: { readonly column: string }): boolean => partAt(table, column) === undefined;
  const columns = columnsOf(table, dialect.name);
  const fieldChanges = columns.flatMap((column): FieldChange | readonly [] => {
    const { field } = column;
    if (!field) return [];
    const was = named(before.fields).find((one) => one.column === field.column);
    const value = valueOf(column, field, was, before.open, dialect);
    const beside = columns.find(({ folds }) => folds === field);
    const folded = beside && {
      column: beside,
      value: foldedValue(beside, column, was, value, dialect),
      from: was?.folded,
      reads: was?.column,
    };
    const sqlType = was && fieldTypes.get(was.type)?.columns[dialect.name].sqlType;
    const isRetyped = was !== undefined && sqlType !== columnType(field, dialect.name).sqlType;
    return { field, column, before: was, value, from: was?.column, isRetyped, folded };
  });
  const referenceChanges = columns.flatMap((column): ReferenceChange | readonly [] => {
    const { reference } = column;
    if (!reference) return [];
    const was = before.references.find((one) => one.column === reference.column);
    const after = appliedReference(reference);
    // Identifiers of another type are those of new records.
    const isRetyped = was !== undefined && was.keyType !== after.keyType;
    const value = was && !isRetyped ? dialect.quote(was.column) : literal(null);
    return { after, column, before: was, value, from: was?.column, isRetyped };
  });
  const column = columns.find(({ name }) => name === OPEN_COLUMN);
  const from = before.open ? OPEN_COLUMN : undefined;
  return {
    ...diff,
    fields: { ...fields, dropped: fields.dropped.filter(isDropped) },
    references: { ...references, dropped: references.dropped.filter(isDropped) },
    indexes: {
      ...indexes,
      dropped: indexes.dropped.filter(({ name }) => !keptIndexes.some((one) => one.name === name)),
    },
    table,
    tableIndexes,
    others,
    fieldChanges,
    referenceChanges,
    openKeys: column && { column, value: openKeysLeft(diff), from },
  };
}

/** SQL for the new value, from old columns. `now`: time of the migration. */
function valueOf(
  column: Column,
  field: Field,
  was: NamedField | undefined,
  wasOpen: boolean,
  { name, quote, hasKey, keyPath }: Dialect,
): string {
  const type = columnType(field, name);
  const otherwise = (field.isNowByDefault ? type.now : undefined) ?? literal(column.default);
  if (was) {
    const stored = quote(was.column);
    const taken = was.type === field.type.name ? stored : type.convertsFrom?.[was.type]?.(stored);
    if (taken === undefined) return otherwise;
    return was.nullable && !column.nullable && hasDefault(column) ? `coalesce(${taken}, ${otherwise})` : taken;
  }
  if (!wasOpen) return otherwise;
  // An open key of that name is taken over.
  const taken = type.extracted(quote(OPEN_COLUMN), keyPath(field.name));
  return `case when ${hasKey(field.name)} then ${taken} else ${otherwise} end`;
}

/** SQL: the new value, as an index compares it. */
export function valueAfter(
  { dialect, fieldChanges, referenceChanges }: TypeChange,
  member: Field | Relation,
): string | undefined {
  const one = fieldChanges.find(({ field }) => field === member);
  if (one) return one.folded?.value ?? columnType(one.field, dialect.name).comparable(`(${one.value})`);
  return referenceChanges.find(({ after }) => after.belongsTo === member.name)?.value;
}

function foldedValue(
  beside: Column,
  own: Column,
  before: NamedField | undefined,
  value: string,
  { quote, folded }: Dialect,
): string {
  if (value === literal(own.default)) return literal(beside.default);
  return before?.folded !== undefined && value === quote(before.column) ? quote(before.folded) : folded(value);
}

export function openKeysLeft({ before, fields: { added }, dialect }: TypeDiff): string {
  if (!before.open) return literal('{}');
  const taken = added.map(({ name }) => name);
  return taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(taken);
}

export const rowsOf = (
  { table, identifier }: Pick<AppliedType, 'table' | 'identifier'>,
  { quote }: Pick<Dialect, 'quote'>,
  value = 'null',
): RowQuery => ({ sql: `select ${quote(identifier)} as identifier, ${value} as value from ${quote(table)}` });

export const rowsWhere = ({ before, dialect }: TypeDiff, condition: string, value?: string): RowQuery => ({
  sql: `${rowsOf(before, dialect, value).sql} where ${condition}`,
});

export function rowsUnfit(
  change: TypeChange,
  json: string,
  condition: string,
  field: ItemShape,
  schema: JsonObject,
): RowQuery {
  let validate: ((value: JsonValue) => unknown) | undefined;
  let item: ItemShape | undefined = field;
  while (item?.type.item) item = item.type.item(item);
  const isNumeric = ['integer', 'number'].includes(String(item?.type.schema(item)['type']));
  // The text of a number that JSON.parse would round to an integer fits neither type.
  const read = (text: string): JsonValue => (isNumeric ? readJson(text, WIDE).value : JSON.parse(text));
  return {
    ...rowsWhere(change, condition, json),
    accepts: (text) => {
      validate ??= createAjv().compile(schema);
      return validate(read(text)) === true;
    },
  };
}

/** Rows whose links end in a cycle: no row without the link reaches them. */
export function rowsInCircles(
  { table, identifier }: Pick<AppliedType, 'table' | 'identifier'>,
  { column }: { readonly column: string },
  { quote }: Pick<Dialect, 'quote'>,
): RowQuery {
  const [rows, id, link] = [quote(table), quote(identifier), quote(column)];
  const free = [
    `with recursive free$ (id$) as (select ${id} from ${rows} where ${link} is null`,
    `union all select below$.${id} from ${rows} as below$ join free$ on below$.${link} = free$.id$) select id$ from free$`,
  ].join(' ');
  const selected = `select one$.${id} as identifier, null as value from ${rows} as one$`;
  return { sql: `${selected} left join (${free}) as known$ on known$.id$ = one$.${id} where known$.id$ is null` };
}

/** Rows whose links lead nowhere, as a restored or replicated table can have them. */
export function rowsDangling(change: TypeDiff, { before, column: { reference } }: ReferenceChange): RowQuery {
  const { quote } = change.dialect;
  const { table = '', identifier } = reference?.target ?? {};
  const there = `select 1 from ${quote(table)} as there$ where there$.${quote(identifier?.column ?? '')} = ${quote(change.before.table)}.${quote(before?.column ?? '')}`;
  return rowsWhere(change, `${quote(before?.column ?? '')} is not null and not exists (${there})`);
}

/** Rows with duplicate values; nulls are never equal. */
export function rowsAlike({ before, dialect: { quote } }: TypeChange, values: readonly string[]): RowQuery {
  const alike = `count(*) over (partition by ${values.join(', ')}) as alike`;
  const given = values.map((value) => `(${value}) is not null`).join(' and ');
  const counted = `select ${quote(before.identifier)} as identifier, ${alike} from ${quote(before.table)} where ${given}`;
  const sql = `select identifier, null as value from (${counted}) as counted where alike > 1`;
  return { sql, takesKeysOf: before.table };
}
