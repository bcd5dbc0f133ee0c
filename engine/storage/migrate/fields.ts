/** The steps of a type's fields, and of the checks over them. */
import { isDeepStrictEqual } from 'node:util';
import { NOW } from '../../descriptor/descriptor.ts';
import type { FieldType, Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import { widens } from '../../field-types/widens.ts';
import type { JsonObject, JsonValue } from '../../json/json.ts';
import { fieldsOf, ruleKey, ruleOf, sentence } from '../../model/checks.ts';
import { type Check, type Field, OPEN_COLUMN } from '../../model/model.ts';
import { meets } from '../../query/operators.ts';
import { type Column, columnType, hasDefault } from '../columns.ts';
import type { Dialect } from '../dialect.ts';
import { type AppliedField, identifierNameOf } from './applied.ts';
import { rowsUnfit, rowsWhere } from './assess.ts';
import type { Edit } from './driver.ts';
import type { ColumnChanges, FieldChange, TypeChange } from './match.ts';
import { createStep, type MigrationStep, type RowQuery, type StepCheck } from './steps.ts';

export const fieldSteps = (change: TypeChange, { fields }: ColumnChanges): readonly MigrationStep[] =>
  fields.flatMap((field) => (field.before ? keptSteps(change, field, field.before) : [addedStep(change, field)]));

function keptSteps(change: TypeChange, one: FieldChange, before: AppliedField): readonly MigrationStep[] {
  return [
    ...renamed(change, one),
    ...typed(change, one, before),
    ...nullability(change, one, before),
    ...defaulted(change, one, before),
    ...generated(change, one, before),
    ...caseless(change, one, before),
  ];
}

function renamed(
  { type, before: { table } }: TypeChange,
  { field: { name }, former }: FieldChange,
): readonly MigrationStep[] {
  if (former === undefined || former === name) return [];
  return [createStep('rename-field', type.name, { name, was: former, rowsIn: table })];
}

function typed(change: TypeChange, one: FieldChange, before: AppliedField): readonly MigrationStep[] {
  const { name, type } = one.field;
  if (before.type === type.name) return constrained(change, one, before);
  const words = { name, was: before.type, now: type.name };
  const edits = [...changed(change, one, before), ...(one.folded ? [] : droppedFolded(before))];
  const parts = { ...words, edits, rowsIn: change.before.table };
  if (columnType(one.field, change.dialect.name).takes?.[before.type]) {
    const detail = type.expected(one.field);
    return [createStep('convert-field', change.type.name, { ...parts, detail, rows: unfit(change, one) })];
  }
  const rows = rowsWhere(change, `${change.dialect.quote(before.column)} is not null`);
  return [createStep('replace-field', change.type.name, { ...parts, detail: takersOf(before, change), rows })];
}

/** Which types could take the values, for people. */
function takersOf(before: AppliedField, { dialect }: TypeChange): string {
  const takers = [...fieldTypes.values()].filter(({ columns }) => columns[dialect.name].takes?.[before.type]);
  return takers.length === 0 ? '' : ` (it can become ${takers.map(({ name }) => name).join(' or ')})`;
}

/** Limits that the database keeps change with those of the field. */
function constrained(change: TypeChange, one: FieldChange, before: AppliedField): readonly MigrationStep[] {
  const { field } = one;
  const { name, type } = field;
  const isKept = limitsOf(type, shapeOf(before), change) === limitsOf(type, field, change);
  const edits = isKept ? [] : changed(change, one, before);
  const parts = { name, detail: type.expected(field), edits, rowsIn: change.before.table };
  if (!widens(type, shapeOf(before), field))
    return [createStep('narrow-field', change.type.name, { ...parts, rows: unfit(change, one) })];
  return isKept ? [] : [createStep('widen-field', change.type.name, parts)];
}

function nullability(change: TypeChange, one: FieldChange, before: AppliedField): readonly MigrationStep[] {
  const { field, column } = one;
  const { name } = field;
  if (before.nullable === field.nullable) return [];
  const parts = { name, edits: changed(change, one, before), rowsIn: change.before.table };
  if (field.nullable) return [createStep('relax-field', change.type.name, parts)];
  const rows = rowsWhere(change, `${change.dialect.quote(before.column)} is null`);
  if (!hasDefault(column)) return [createStep('require-field', change.type.name, { ...parts, rows })];
  return [createStep('fill-field', change.type.name, { ...parts, now: writtenDefault(field), rows })];
}

function defaulted(change: TypeChange, one: FieldChange, before: AppliedField): readonly MigrationStep[] {
  const { name, type } = one.field;
  const isSame = isDeepStrictEqual(one.field.default ?? null, before.default);
  const isAsNow = one.field.isNowByDefault === (before.isNowByDefault ?? false);
  // Another type has its default in another form.
  if ((isSame && isAsNow) || type.name !== before.type) return [];
  const words = { name, was: writtenDefault(before), now: writtenDefault(one.field) };
  const edits = changed(change, one, before);
  return [createStep('change-default', change.type.name, { ...words, edits, rowsIn: change.before.table })];
}

interface Defaulted extends Pick<AppliedField, 'isNowByDefault'> {
  readonly default: JsonValue | undefined;
}

/** As the descriptor has it. */
const writtenDefault = ({ isNowByDefault = false, default: value = null }: Defaulted): string =>
  isNowByDefault ? NOW : JSON.stringify(value);

/** Values that are there stay: what the service fills in is what is written from now on. */
function generated(change: TypeChange, { field }: FieldChange, before: AppliedField): readonly MigrationStep[] {
  if (field.generated === before.generated) return [];
  const parts = { name: field.name, rowsIn: change.before.table };
  return field.generated === undefined
    ? [createStep('stop-generating', change.type.name, { ...parts, was: before.generated ?? '' })]
    : [createStep('generate-field', change.type.name, { ...parts, now: field.generated })];
}

/** Case is ignored from now on, or counts again. */
function caseless(
  { type, before: { table } }: TypeChange,
  one: FieldChange,
  before: AppliedField,
): readonly MigrationStep[] {
  const { field, folded } = one;
  const parts = { name: field.name, rowsIn: table };
  if (folded && before.folded === undefined) {
    const { column, value } = folded;
    const filled: Edit = { kind: 'setColumn', name: column.name, value, where: `(${one.value}) is not null` };
    return [createStep('add-caseless', type.name, { ...parts, edits: [{ kind: 'addColumn', column }, filled] })];
  }
  if (folded || before.folded === undefined || before.type !== field.type.name) return [];
  return [createStep('drop-caseless', type.name, { ...parts, edits: droppedFolded(before) })];
}

const droppedFolded = ({ folded }: AppliedField): readonly Edit[] =>
  folded === undefined ? [] : [{ kind: 'dropColumn', name: folded, isReference: false }];

function changed(change: TypeChange, { column, folded }: FieldChange, before: AppliedField): readonly Edit[] {
  const limits = limitsOf(fieldTypes.get(before.type), shapeOf(before), change);
  const own: Edit = { kind: 'changeColumn', column, was: { nullable: before.nullable, limits, onDelete: undefined } };
  if (folded?.before === undefined) return [own];
  const was = { nullable: true, limits: undefined, onDelete: undefined };
  return [own, { kind: 'changeColumn', column: folded.column, was }];
}

/** The limits that are kept beside a column of this type, by any name. */
const limitsOf = (type: FieldType | undefined, shape: Shape, { dialect }: TypeChange): string | undefined =>
  type?.columns[dialect.name].limits?.('', shape);

const shapeOf = ({ constraints }: AppliedField): Shape => ({ constraints, examples: [] });

function unfit(change: TypeChange, { field, value }: FieldChange): RowQuery {
  const json = columnType(field, change.dialect.name).json(`(${value})`);
  return rowsUnfit(change, json, `(${value}) is not null`, field.type.schema(field));
}

function addedStep(change: TypeChange, { field, column, value, folded }: FieldChange): MigrationStep {
  const beside: readonly Edit[] = folded ? [{ kind: 'addColumn', column: folded.column }] : [];
  const required = !column.nullable && !hasDefault(column);
  const rows = required ? rowsWhere(change, `(${value}) is null`) : undefined;
  return createStep(required ? 'add-required-field' : 'add-field', change.type.name, {
    name: field.name,
    edits: [{ kind: 'addColumn', column }, ...beside, ...taking(change, field, folded?.column)],
    rows,
    checks: takenUnfit(change, field),
    rowsIn: change.before.table,
  });
}

/** In an open type, records may hold the field's key already: its values move into the column. */
function taking({ before, dialect }: TypeChange, field: Field, folded: Column | undefined): readonly Edit[] {
  if (!before.open) return [];
  const where = dialect.hasKey(OPEN_COLUMN, field.name);
  const value = columnType(field, dialect.name).extracted(dialect.quote(OPEN_COLUMN), dialect.keyPath(field.name));
  return [
    { kind: 'setColumn', name: field.column, value, where },
    ...(folded ? [{ kind: 'setColumn', name: folded.name, value: dialect.folded(value), where } as const] : []),
    { kind: 'setColumn', name: OPEN_COLUMN, value: dialect.withoutKeys(OPEN_COLUMN, [field.name]), where },
  ];
}

function takenUnfit(change: TypeChange, field: Field): readonly StepCheck[] {
  const { before, dialect } = change;
  if (!before.open) return [];
  const schema = field.type.schema(field);
  const accepted = field.nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
  const json = dialect.keyJson(OPEN_COLUMN, field.name);
  const rows = rowsUnfit(change, json, dialect.hasKey(OPEN_COLUMN, field.name), accepted);
  return [{ ...rows, effect: 'fail', says: `the open key "${field.name}" is not ${field.type.expected(field)}` }];
}

export function droppedFieldSteps(change: TypeChange, { droppedFields }: ColumnChanges): readonly MigrationStep[] {
  const { type, before, dialect } = change;
  return droppedFields.flatMap((name) => {
    const field = before.fields[name];
    if (!field) return [];
    const own: Edit = { kind: 'dropColumn', name: field.column, isReference: false };
    const edits = [own, ...droppedFolded(field)];
    const rows = rowsWhere(change, `${dialect.quote(field.column)} is not null`);
    return [createStep('drop-field', type.name, { name, edits, rows, rowsIn: before.table })];
  });
}

/**
 * In an open type, records may hold a key that is about to mean something else. New fields take such keys over;
 * identifiers, relations and new names of fields cannot.
 */
export function claimSteps(
  change: TypeChange,
  { fields }: ColumnChanges,
  knownRelations: ReadonlySet<string>,
): readonly MigrationStep[] {
  const { type, before, dialect } = change;
  if (!before.open) return [];
  const names = [
    ...(type.identifier.name === identifierNameOf(before) ? [] : [type.identifier.name]),
    ...fields
      .filter(({ field, former }) => former !== undefined && field.name !== former)
      .map(({ field }) => field.name),
    ...[...type.relations.values()].map(({ name }) => name).filter((name) => !knownRelations.has(name)),
  ];
  return names.map((name) => {
    const rows = rowsWhere(change, dialect.hasKey(OPEN_COLUMN, name));
    return createStep('claim-key', type.name, { name, rows, rowsIn: before.table });
  });
}

// Checks: which are new, which are gone, and which rows do not meet a new one.

/** Rows stay as they are: a check is about what is written from now on. */
export function checkSteps(change: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const { type, before } = change;
  const formers = new Map(columns.fields.map(({ field, former }) => [field, former ?? field.name]));
  const keyOf = (check: Check): string => ruleKey(ruleOf(check, (field) => formers.get(field) ?? field.name));
  const known = new Map((before.checks ?? []).map((rule) => [ruleKey(rule), rule]));
  const kept = new Set(type.checks.map(keyOf));
  const parts = { rowsIn: before.table };
  return [
    ...[...known]
      .filter(([key]) => !kept.has(key))
      .map(([, rule]) =>
        createStep('drop-check', type.name, { ...parts, name: namesIn(fieldsOf(rule)), detail: sentence(rule) }),
      ),
    ...type.checks
      .filter((check) => !known.has(keyOf(check)))
      .map((check) =>
        createStep('add-check', type.name, {
          ...parts,
          name: namesIn(check.fields.map(({ name }) => name)),
          detail: check.message,
          rows: unmet(change, columns, check),
        }),
      ),
  ];
}

const namesIn = (names: Iterable<string>): string => [...names].join(',');

/** Each row as a JSON object of the values that the check names; those of new fields are their defaults. */
function unmet({ before, dialect }: TypeChange, { fields }: ColumnChanges, check: Check): RowQuery {
  const stored = fields.filter((one) => check.fields.includes(one.field) && (one.before !== undefined || before.open));
  const members = stored.map(({ field, value }) => member(field, value, dialect));
  const json = ["'{'", members.join(" || ',' || "), "'}'"].filter((part) => part !== '').join(' || ');
  const isStored = new Set(stored.map(({ field }) => field));
  const valueOf = (row: JsonObject, field: Field): JsonValue =>
    isStored.has(field) ? (row[field.name] ?? null) : (field.default ?? null);
  const { quote } = dialect;
  return {
    sql: `select ${quote(before.identifier)} as identifier, ${json} as value from ${quote(before.table)}`,
    fits: (row) => meets(check, (field) => valueOf(row as JsonObject, field)),
  };
}

function member(field: Field, value: string, dialect: Dialect): string {
  // A bare literal has no type in PostgreSQL; within coalesce it is a text.
  const coalesced = `coalesce(${value}, null)`;
  const json = columnType(field, dialect.name).json(coalesced);
  return `${dialect.literal(`${JSON.stringify(field.name)}:`)} || case when ${coalesced} is null then 'null' else ${json} end`;
}
