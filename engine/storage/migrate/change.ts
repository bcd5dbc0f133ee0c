/** A table that was there before, with the SQL that takes its rows to what they will be, and that finds those in the way. */
import { createAjv } from '../../field-types/ajv-keywords.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { type Field, OPEN_COLUMN } from '../../model/model.ts';
import { type Column, columnsOf, columnType, hasDefault } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { type AppliedReference, type AppliedType, appliedReference } from './applied.ts';
import type { OtherColumn } from './catalogue.ts';
import type { NamedField, TypePair } from './compare.ts';
import type { ColumnSource } from './driver.ts';
import { createStep, type MigrationStep, type RowQuery, type StepCode, type StepParts } from './steps.ts';

export interface TypeChange extends TypePair {
  readonly dialect: Dialect;
  readonly others: readonly OtherColumn[];
  /** Every field and foreign key afterwards; `before` is undefined where it is new. */
  readonly fieldChanges: readonly FieldChange[];
  readonly referenceChanges: readonly ReferenceChange[];
  /** The column of open keys afterwards: they lose those that new fields take over. */
  readonly openKeys: ColumnSource | undefined;
  readonly step: (code: StepCode, parts?: StepParts) => MigrationStep;
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

export function changeOf(pair: TypePair, dialect: Dialect, others: readonly OtherColumn[] = []): TypeChange {
  const { type, before } = pair;
  const fields = new Map(pair.fields.kept.map((one) => [one.after, one.before]));
  const references = new Map(pair.references.kept.map((one) => [one.after, one.before]));
  const columns = columnsOf(type, dialect.name);
  const fieldChanges = columns.flatMap((column): FieldChange | readonly [] => {
    const { field } = column;
    if (!field) return [];
    const was = fields.get(field);
    const value = was ? keptValue(column, field, was, dialect) : newValue(column, field, before, dialect);
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
    const was = references.get(reference);
    const value = was ? dialect.quote(was.column) : dialect.literal(null);
    return { after: appliedReference(reference), column, before: was, value, from: was?.column };
  });
  const step: TypeChange['step'] = (code, parts) => createStep(code, type.name, { rowsIn: before.table, ...parts });
  const column = columns.find(({ name }) => name === OPEN_COLUMN);
  const from = before.open ? OPEN_COLUMN : undefined;
  const openKeys = column && { column, value: openKeysLeft(pair, dialect), from };
  return { ...pair, dialect, others, fieldChanges, referenceChanges, openKeys, step };
}

function keptValue(column: Column, field: Field, before: NamedField, dialect: Dialect): string {
  const stored = dialect.quote(before.column);
  const taken =
    before.type === field.type.name ? stored : columnType(field, dialect.name).takes?.[before.type]?.(stored);
  const otherwise = defaultSql(column, field, dialect);
  if (taken === undefined) return otherwise;
  return before.nullable && !column.nullable && hasDefault(column) ? `coalesce(${taken}, ${otherwise})` : taken;
}

/** Records of an open type may have a key of that name. */
function newValue(column: Column, field: Field, { open }: AppliedType, dialect: Dialect): string {
  const otherwise = defaultSql(column, field, dialect);
  if (!open) return otherwise;
  const taken = columnType(field, dialect.name).extracted(dialect.quote(OPEN_COLUMN), dialect.keyPath(field.name));
  return `case when ${dialect.hasKey(OPEN_COLUMN, field.name)} then ${taken} else ${otherwise} end`;
}

/** `default: now` is the time of the migration. */
const defaultSql = (column: Column, field: Field, { name, literal }: Dialect): string =>
  (field.isNowByDefault ? columnType(field, name).now : undefined) ?? literal(column.default);

function foldedValue(
  beside: Column,
  own: Column,
  before: NamedField | undefined,
  value: string,
  { quote, literal, folded }: Dialect,
): string {
  if (value === literal(own.default)) return literal(beside.default);
  return before?.folded !== undefined && value === quote(before.column) ? quote(before.folded) : folded(value);
}

/** SQL: the open keys that no new field takes over. */
export function openKeysLeft({ before, fields: { added } }: TypePair, dialect: Dialect): string {
  if (!before.open) return dialect.literal('{}');
  const taken = added.map(({ name }) => name);
  return taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(OPEN_COLUMN, taken);
}

// The questions of steps about rows, as SQL over the database before the plan.

export const rowsOf = (table: string, identifier: string, { quote }: Pick<Dialect, 'quote'>): RowQuery => ({
  sql: `select ${quote(identifier)} as identifier, null as value from ${quote(table)}`,
});

export const rowsWhere = ({ before: { table, identifier }, dialect }: TypeChange, condition: string): RowQuery => ({
  sql: `${rowsOf(table, identifier, dialect).sql} where ${condition}`,
});

/** Rows whose value, as JSON text, does not fit the schema. */
export function rowsUnfit(
  { before, dialect: { quote } }: TypeChange,
  json: string,
  condition: string,
  schema: JsonObject,
): RowQuery {
  let validate: ((value: JsonValue) => unknown) | undefined;
  return {
    sql: `select ${quote(before.identifier)} as identifier, ${json} as value from ${quote(before.table)} where ${condition}`,
    fits: (value) => {
      validate ??= createAjv().compile(schema);
      return validate(value) === true;
    },
  };
}

/**
 * Rows from which a link leads into a circle: all but those that can be reached from a row without one. `identifier` and
 * `column` are of one table.
 */
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

/** Rows that share their values with another one; nulls are never the same. */
export function rowsAlike({ before, dialect: { quote } }: TypeChange, values: readonly string[]): RowQuery {
  const alike = `count(*) over (partition by ${values.join(', ')}) as alike`;
  const given = values.map((value) => `(${value}) is not null`).join(' and ');
  const counted = `select ${quote(before.identifier)} as identifier, ${alike} from ${quote(before.table)} where ${given}`;
  return { sql: `select identifier, null as value from (${counted}) as counted where alike > 1` };
}
