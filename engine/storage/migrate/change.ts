/** Changes to a table: SQL for new values and for affected or conflicting rows; steps for fields and checks. */
import { NOW } from '../../descriptor/descriptor.ts';
import { createAjv } from '../../field-types/ajv-keywords.ts';
import { type ItemShape, type Shape, widens } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { readJson } from '../../json/tokenizer.ts';
import { fieldsOf, sentence } from '../../model/checks.ts';
import { type Field, OPEN_COLUMN, type RecordType, type Relation } from '../../model/model.ts';
import { type Column, columnsOf, columnType, hasDefault, type TableIndex } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { indexesOf } from '../tables.ts';
import {
  type AppliedField,
  type AppliedReference,
  type AppliedType,
  appliedReference,
  identifierNameOf,
} from './applied.ts';
import { fieldBefore, type NamedField, partAt, type TypePair } from './compare.ts';
import type { ColumnSource, Edit, OtherColumn } from './task.ts';
import {
  createStep,
  type MigrationStep,
  type RowQuery,
  type StepCheck,
  type StepCode,
  type StepParts,
} from './steps.ts';

/** What differs between a type and its table. */
export interface TypeDiff extends TypePair {
  readonly dialect: Dialect;
  readonly step: (code: StepCode, parts?: StepParts) => MigrationStep;
}

export interface TypeChange extends TypeDiff {
  /** The type with the columns that stay, though no descriptor names them. */
  readonly table: RecordType;
  readonly tableIndexes: readonly TableIndex[];
  readonly others: readonly OtherColumn[];
  readonly fieldChanges: readonly FieldChange[];
  readonly referenceChanges: readonly ReferenceChange[];
  readonly openKeys: ColumnSource | undefined;
}

interface FieldChange extends ColumnSource {
  readonly field: Field;
  readonly before: NamedField | undefined;
  readonly folded: ColumnSource | undefined;
}

export interface ReferenceChange extends ColumnSource {
  readonly after: AppliedReference;
  readonly before: AppliedReference | undefined;
}

export const diffOf = (pair: TypePair, dialect: Dialect): TypeDiff => ({
  ...pair,
  dialect,
  step: (code, parts) => createStep(code, pair.type.name, { rowsIn: pair.before.table, ...parts }),
});

export function changeOf(
  diff: TypeDiff,
  table: RecordType,
  keptIndexes: readonly TableIndex[],
  others: readonly OtherColumn[],
): TypeChange {
  const { before, dialect, fields, references, indexes } = diff;
  const tableIndexes = indexesOf(table, dialect, keptIndexes);
  const isDropped = ({ column }: { readonly column: string }): boolean => partAt(table, column) === undefined;
  const columns = columnsOf(table, dialect.name);
  const fieldChanges = columns.flatMap((column): FieldChange | readonly [] => {
    const { field } = column;
    if (!field) return [];
    const was = fieldBefore(before, field.column);
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
    const value = was ? dialect.quote(was.column) : dialect.literal(null);
    return { after: appliedReference(reference), column, before: was, value, from: was?.column };
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
  { name, quote, literal, hasKey, keyPath }: Dialect,
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
  return `case when ${hasKey(OPEN_COLUMN, field.name)} then ${taken} else ${otherwise} end`;
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
  { quote, literal, folded }: Dialect,
): string {
  if (value === literal(own.default)) return literal(beside.default);
  return before?.folded !== undefined && value === quote(before.column) ? quote(before.folded) : folded(value);
}

export function openKeysLeft({ before, fields: { added }, dialect }: TypeDiff): string {
  if (!before.open) return dialect.literal('{}');
  const taken = added.map(({ name }) => name);
  return taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(OPEN_COLUMN, taken);
}

export const rowsOf = (
  { table, identifier }: Pick<AppliedType, 'table' | 'identifier'>,
  { quote }: Pick<Dialect, 'quote'>,
  value = 'null',
): RowQuery => ({ sql: `select ${quote(identifier)} as identifier, ${value} as value from ${quote(table)}` });

export const rowsWhere = ({ before, dialect }: TypeDiff, condition: string, value?: string): RowQuery => ({
  sql: `${rowsOf(before, dialect, value).sql} where ${condition}`,
});

function rowsUnfit(change: TypeChange, json: string, condition: string, field: Field, schema: JsonObject): RowQuery {
  let validate: ((value: JsonValue) => unknown) | undefined;
  let item: ItemShape | undefined = field;
  while (item?.type.item) item = item.type.item(item);
  const isNumeric = ['integer', 'number'].includes(String(item?.type.schema(item)['type']));
  // The text of a number that JSON.parse would round to an integer fits neither type.
  const read = (text: string): JsonValue =>
    isNumeric ? readJson(text, { limits: NO_LIMITS, takesInteger: () => true }).value : JSON.parse(text);
  return {
    ...rowsWhere(change, condition, json),
    accepts: (text) => {
      validate ??= createAjv().compile(schema);
      return validate(read(text)) === true;
    },
  };
}

const NO_LIMITS = { bodyDepth: Infinity, bodyKeys: Infinity, bodyItems: Infinity };

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

/** Rows with duplicate values; nulls are never equal. */
export function rowsAlike({ before, dialect: { quote } }: TypeChange, values: readonly string[]): RowQuery {
  const alike = `count(*) over (partition by ${values.join(', ')}) as alike`;
  const given = values.map((value) => `(${value}) is not null`).join(' and ');
  const counted = `select ${quote(before.identifier)} as identifier, ${alike} from ${quote(before.table)} where ${given}`;
  const sql = `select identifier, null as value from (${counted}) as counted where alike > 1`;
  return { sql, takesKeysOf: before.table };
}

export const fieldSteps = (change: TypeChange): readonly MigrationStep[] =>
  change.fieldChanges
    .filter(({ field }) => !change.table.hidden.includes(field))
    .flatMap((one) => (one.before ? keptSteps(change, one, one.before) : [addedStep(change, one)]));

function keptSteps(change: TypeChange, one: FieldChange, before: NamedField): readonly MigrationStep[] {
  const { dialect } = change;
  const { field, column, folded } = one;
  const { name, type } = field;
  const steps: MigrationStep[] = [];
  const add = (code: StepCode, parts?: StepParts): void => void steps.push(change.step(code, { name, ...parts }));
  const limitsOf = (typeName: string, shape: Shape): string | undefined =>
    fieldTypes.get(typeName)?.columns[dialect.name].limits?.('', shape);
  const shape = { constraints: before.constraints, examples: [] };
  const limits = limitsOf(before.type, shape);
  const hasLimits = limits === limitsOf(type.name, field);
  const edits: readonly Edit[] = [
    { kind: 'changeColumn', column, was: { nullable: before.nullable, limits } },
    ...(folded?.from === undefined
      ? []
      : [{ kind: 'changeColumn', column: folded.column, was: { nullable: true } } as const]),
  ];
  const isSameType = before.type === type.name;
  const detail = type.expected(field);
  const stored = dialect.quote(before.column);
  if (before.name !== name) add('rename-field', { was: before.name });
  if (!isSameType) {
    const parts = { was: before.type, now: type.name, edits: [...edits, ...(folded ? [] : droppedFolded(before))] };
    const takers = [...fieldTypes.values()].filter(({ columns }) => columns[dialect.name].convertsFrom?.[before.type]);
    const cure = takers.length === 0 ? '' : ` (it can become ${takers.map((taker) => taker.name).join(' or ')})`;
    if (takers.includes(type)) add('convert-field', { ...parts, detail, rows: unfit(change, one) });
    else add('replace-field', { ...parts, detail: cure, rows: rowsWhere(change, `${stored} is not null`) });
  } else if (!widens(type, shape, field))
    add('narrow-field', { detail, edits: hasLimits ? [] : edits, rows: unfit(change, one) });
  else if (!hasLimits) add('widen-field', { detail, edits });
  if (!before.nullable && field.nullable) add('relax-field', { edits });
  if (before.nullable && !field.nullable) {
    const rows = rowsWhere(change, `${stored} is null`);
    add(hasDefault(column) ? 'fill-field' : 'require-field', { edits, now: writtenDefault(field), rows });
  }
  const [was, now] = [writtenDefault(before), writtenDefault(field)];
  // Defaults of different types cannot be compared.
  if (isSameType && was !== now) add('change-default', { was, now, edits });
  if (before.generated !== field.generated) {
    if (field.generated === undefined) add('stop-generating', { was: before.generated });
    else add('generate-field', { now: field.generated });
  }
  if (folded && before.folded === undefined)
    add('add-caseless', { edits: [{ kind: 'addColumn', column: folded.column }] });
  if (!folded && before.folded !== undefined && isSameType) steps.push(droppedFoldedStep(change, before, name));
  return steps;
}

const writtenDefault = ({
  isNowByDefault = false,
  default: value = null,
}: Pick<AppliedField, 'isNowByDefault'> & { readonly default: JsonValue | undefined }): string =>
  isNowByDefault ? NOW : JSON.stringify(value);

const droppedFolded = ({ folded }: AppliedField): readonly Edit[] =>
  folded === undefined ? [] : [{ kind: 'dropColumn', name: folded, isReference: false }];

export const droppedFoldedStep = ({ step }: TypeDiff, before: NamedField, name: string): MigrationStep =>
  step('drop-caseless', { name, edits: droppedFolded(before) });

export function droppedFieldStep(change: TypeDiff, field: NamedField): MigrationStep {
  const own: Edit = { kind: 'dropColumn', name: field.column, isReference: false };
  const rows = rowsWhere(change, `${change.dialect.quote(field.column)} is not null`);
  return change.step('drop-field', { name: field.name, edits: [own, ...droppedFolded(field)], rows });
}

function unfit(change: TypeChange, { field, value }: FieldChange): RowQuery {
  const json = columnType(field, change.dialect.name).json(`(${value})`);
  return rowsUnfit(change, json, `(${value}) is not null`, field, field.type.schema(field));
}

function addedStep(change: TypeChange, { field, column, value, folded }: FieldChange): MigrationStep {
  const { before, dialect, openKeys } = change;
  const { name, type } = field;
  const required = !column.nullable && !hasDefault(column);
  const edits = [column, ...(folded ? [folded.column] : [])].map((one): Edit => ({ kind: 'addColumn', column: one }));
  const checks: StepCheck[] = [];
  if (before.open) {
    const schema = type.schema(field);
    const accepted = field.nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
    const json = dialect.keyJson(OPEN_COLUMN, name);
    const rows = rowsUnfit(change, json, dialect.hasKey(OPEN_COLUMN, name), field, accepted);
    const says = `the open key "${name}" is not ${type.expected(field)}`;
    checks.push({ ...rows, effect: 'fail', says, takesKeysOf: before.table });
    if (openKeys) edits.push({ kind: 'changeColumn', column: openKeys.column, was: { nullable: false } });
  }
  const missing = before.open ? `not (${dialect.hasKey(OPEN_COLUMN, name)})` : `(${value}) is null`;
  const rows = required ? rowsWhere(change, missing) : undefined;
  return change.step(required ? 'add-required-field' : 'add-field', { name, edits, rows, checks });
}

/** Only new fields take open keys over: identifiers, relations and renamed fields fail. `known`: old relations. */
export function claimSteps(change: TypeChange, known: ReadonlySet<string>): readonly MigrationStep[] {
  const { type, before, dialect, fields } = change;
  if (!before.open) return [];
  const names = [
    ...(type.identifier.name === identifierNameOf(before) ? [] : [type.identifier.name]),
    ...fields.kept.filter((pair) => pair.after.name !== pair.before.name).map(({ after }) => after.name),
    ...[...type.relations.keys()].filter((name) => !known.has(name)),
  ];
  return names.map((name) =>
    change.step('claim-key', { name, rows: rowsWhere(change, dialect.hasKey(OPEN_COLUMN, name)) }),
  );
}

/** Stored records stay unchanged, even if they violate a new check. */
export const checkSteps = ({ step, checks }: TypeChange): readonly MigrationStep[] => [
  ...checks.dropped.map((rule) => step('drop-check', { name: [...fieldsOf(rule)].join(','), detail: sentence(rule) })),
  ...checks.added.map(({ fields, message }) =>
    step('add-check', { name: fields.map(({ name }) => name).join(','), detail: message }),
  ),
];
