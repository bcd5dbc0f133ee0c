/** The steps of a type's fields, and of the checks over them. */
import { NOW } from '../../descriptor/descriptor.ts';
import type { Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import { widens } from '../../field-types/field-type.ts';
import type { JsonValue } from '../../json/json.ts';
import { fieldsOf, sentence } from '../../model/checks.ts';
import { type Field, OPEN_COLUMN } from '../../model/model.ts';
import { columnType, hasDefault } from '../columns.ts';
import { type AppliedField, identifierNameOf } from './applied.ts';
import { type FieldChange, rowsUnfit, rowsWhere, type TypeChange } from './change.ts';
import type { NamedField } from './compare.ts';
import type { Edit } from './driver.ts';
import type { MigrationStep, RowQuery, StepCheck } from './steps.ts';

export const fieldSteps = (change: TypeChange): readonly MigrationStep[] =>
  change.fieldChanges.flatMap((one) => (one.before ? keptSteps(change, one, one.before) : [addedStep(change, one)]));

function keptSteps(change: TypeChange, one: FieldChange, before: NamedField): readonly MigrationStep[] {
  const { step, dialect } = change;
  const { field, column, folded } = one;
  const { name, type } = field;
  const edits = changed(change, one, before);
  const isSameType = before.type === type.name;
  const steps: MigrationStep[] = [];
  if (before.name !== name) steps.push(step('rename-field', { name, was: before.name }));
  steps.push(...(isSameType ? constrained(change, one, before) : [retyped(change, one, before)]));
  if (!before.nullable && field.nullable) steps.push(step('relax-field', { name, edits }));
  if (before.nullable && !field.nullable) {
    const rows = rowsWhere(change, `${dialect.quote(before.column)} is null`);
    const filled = hasDefault(column);
    steps.push(step(filled ? 'fill-field' : 'require-field', { name, edits, now: writtenDefault(field), rows }));
  }
  const [was, now] = [writtenDefault(before), writtenDefault(field)];
  // Another type has its default in another form.
  if (isSameType && was !== now) steps.push(step('change-default', { name, was, now, edits }));
  // Values that are there stay: what the service fills in is what is written from now on.
  if (before.generated !== field.generated)
    steps.push(
      field.generated === undefined
        ? step('stop-generating', { name, was: before.generated })
        : step('generate-field', { name, now: field.generated }),
    );
  if (folded && before.folded === undefined)
    steps.push(step('add-caseless', { name, edits: [{ kind: 'addColumn', column: folded.column }] }));
  if (!folded && before.folded !== undefined && isSameType) steps.push(droppedFoldedStep(change, before, name));
  return steps;
}

const writtenDefault = ({
  isNowByDefault = false,
  default: value = null,
}: Pick<AppliedField, 'isNowByDefault'> & { readonly default: JsonValue | undefined }): string =>
  isNowByDefault ? NOW : JSON.stringify(value);

function retyped(change: TypeChange, one: FieldChange, before: NamedField): MigrationStep {
  const { dialect, step } = change;
  const { name, type } = one.field;
  const edits = [...changed(change, one, before), ...(one.folded ? [] : droppedFolded(before))];
  const parts = { name, was: before.type, now: type.name, edits };
  if (columnType(one.field, dialect.name).takes?.[before.type])
    return step('convert-field', { ...parts, detail: type.expected(one.field), rows: unfit(change, one) });
  const takers = [...fieldTypes.values()].filter(({ columns }) => columns[dialect.name].takes?.[before.type]);
  const detail = takers.length === 0 ? '' : ` (it can become ${takers.map((taker) => taker.name).join(' or ')})`;
  const rows = rowsWhere(change, `${dialect.quote(before.column)} is not null`);
  return step('replace-field', { ...parts, detail, rows });
}

/** Limits that the database keeps change with those of the field. */
function constrained(change: TypeChange, one: FieldChange, before: NamedField): readonly MigrationStep[] {
  const { field } = one;
  const { name, type } = field;
  const isKept = limitsOf(before.type, shapeOf(before), change) === limitsOf(type.name, field, change);
  const parts = { name, detail: type.expected(field), edits: isKept ? [] : changed(change, one, before) };
  if (!widens(type, shapeOf(before), field))
    return [change.step('narrow-field', { ...parts, rows: unfit(change, one) })];
  return isKept ? [] : [change.step('widen-field', parts)];
}

const droppedFolded = ({ folded }: AppliedField): readonly Edit[] =>
  folded === undefined ? [] : [{ kind: 'dropColumn', name: folded, isReference: false }];

export const droppedFoldedStep = ({ step }: TypeChange, before: NamedField, name: string): MigrationStep =>
  step('drop-caseless', { name, edits: droppedFolded(before) });

export function droppedFieldStep(change: TypeChange, field: NamedField): MigrationStep {
  const own: Edit = { kind: 'dropColumn', name: field.column, isReference: false };
  const rows = rowsWhere(change, `${change.dialect.quote(field.column)} is not null`);
  return change.step('drop-field', { name: field.name, edits: [own, ...droppedFolded(field)], rows });
}

function changed(change: TypeChange, { column, folded }: FieldChange, before: NamedField): readonly Edit[] {
  const limits = limitsOf(before.type, shapeOf(before), change);
  const own: Edit = { kind: 'changeColumn', column, was: { nullable: before.nullable, limits } };
  if (folded?.from === undefined) return [own];
  return [own, { kind: 'changeColumn', column: folded.column, was: { nullable: true } }];
}

/** The limits that are kept beside a column of this type, by any name. */
const limitsOf = (type: string, shape: Shape, { dialect }: TypeChange): string | undefined =>
  fieldTypes.get(type)?.columns[dialect.name].limits?.('', shape);

const shapeOf = ({ constraints }: AppliedField): Shape => ({ constraints, examples: [] });

function unfit(change: TypeChange, { field, value }: FieldChange): RowQuery {
  const json = columnType(field, change.dialect.name).json(`(${value})`);
  return rowsUnfit(change, json, `(${value}) is not null`, field.type.schema(field));
}

function addedStep(change: TypeChange, { field, column, value, folded }: FieldChange): MigrationStep {
  const required = !column.nullable && !hasDefault(column);
  const { before, openKeys } = change;
  const added = [column, ...(folded ? [folded.column] : [])].map((one): Edit => ({ kind: 'addColumn', column: one }));
  // In an open type, records may hold the field's key already: its values move into the column.
  const taken: readonly Edit[] =
    before.open && openKeys ? [{ kind: 'changeColumn', column: openKeys.column, was: { nullable: false } }] : [];
  return change.step(required ? 'add-required-field' : 'add-field', {
    name: field.name,
    edits: [...added, ...taken],
    rows: required ? rowsWhere(change, `(${value}) is null`) : undefined,
    checks: takenUnfit(change, field),
  });
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

/**
 * In an open type, records may hold a key that is about to mean something else. New fields take such keys over;
 * identifiers, relations and new names of fields cannot. `known`: the names of the relations that it had.
 */
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

/** Rows stay as they are: a check is about what is written from now on. */
export const checkSteps = ({ step, checks }: TypeChange): readonly MigrationStep[] => [
  ...checks.dropped.map((rule) => step('drop-check', { name: [...fieldsOf(rule)].join(','), detail: sentence(rule) })),
  ...checks.added.map(({ fields, message }) =>
    step('add-check', { name: fields.map(({ name }) => name).join(','), detail: message }),
  ),
];
