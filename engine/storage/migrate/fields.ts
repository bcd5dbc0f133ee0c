/** The steps of a type's fields: those that stay, those that come, those that go. */
import { isDeepStrictEqual } from 'node:util';
import { widens } from '../../field-types/widens.ts';
import type { FieldType, Shape } from '../../field-types/field-type.ts';
import { fieldTypes } from '../../field-types/registry.ts';
import { type Field, OPEN_COLUMN } from '../../model/model.ts';
import type { AppliedField } from './applied.ts';
import { columnType } from '../columns.ts';
import { rowsUnfit, rowsWhere } from './assess.ts';
import { draft, type DraftStep, type FieldChange, type TypeChange } from './step.ts';
import { match } from '../../model/renames.ts';

export const fieldSteps = (change: TypeChange, fields: readonly FieldChange[]): readonly DraftStep[] =>
  fields.flatMap((field) => (field.before ? keptSteps(change, field, field.before) : addedSteps(change, field)));

const label = ({ type }: TypeChange, name: string): string => `field "${name}" of ${type.name}`;

/** Whether every value of the type that the field had holds in the one that it has. */
export const converts = (field: Field, before: AppliedField, change: TypeChange): boolean =>
  columnType(field, change.dialect.name).takes?.[before.type] !== undefined;

function keptSteps(change: TypeChange, field: FieldChange, before: AppliedField): readonly DraftStep[] {
  return [
    ...renamed(change, field, before),
    ...typed(change, field, before),
    ...nullability(change, field, before),
    ...defaulted(change, field, before),
  ];
}

/** The limits that are kept beside a column of this type, by any name. */
const limitsOf = (type: FieldType | undefined, shape: Shape, { dialect }: TypeChange): string | undefined =>
  type?.columns[dialect.name].limits?.('', shape);

function changed(change: TypeChange, { field, column, value }: FieldChange, before: AppliedField) {
  const shapes = [limitsOf(field.type, field, change), limitsOf(fieldTypes.get(before.type), shapeOf(before), change)];
  return [{ kind: 'changeColumn', column, value, isLimited: shapes.some((limits) => limits !== undefined) }] as const;
}

const shapeOf = ({ constraints }: AppliedField): Shape => ({ constraints, examples: [] });

function renamed(change: TypeChange, { field, former }: FieldChange, before: AppliedField): readonly DraftStep[] {
  if (former === undefined || former === field.name) return [];
  const edits = [{ kind: 'renameColumn', from: before.column, to: field.column } as const];
  const says = `Rename ${label(change, former)} to "${field.name}"`;
  return [draft('rename-field', change.type.name, says, { name: field.name, edits })];
}

function typed(change: TypeChange, one: FieldChange, before: AppliedField): readonly DraftStep[] {
  const { field } = one;
  const { name, type } = field;
  if (before.type === type.name) return constrained(change, one, before);
  const says = `Turn ${label(change, name)} from ${before.type} into ${type.name}`;
  if (converts(field, before, change))
    return [
      draft('convert-field', change.type.name, says, {
        name,
        edits: changed(change, one, before),
        checks: [unfit(change, one)],
      }),
    ];
  return [
    draft('replace-field', change.type.name, says, {
      name,
      edits: changed(change, one, before),
      checks: [held(change, one, before)],
    }),
  ];
}

/** Limits that the database keeps change with those of the field. */
function constrained(change: TypeChange, one: FieldChange, before: AppliedField): readonly DraftStep[] {
  const { name, type } = one.field;
  const isKept = limitsOf(type, shapeOf(before), change) === limitsOf(type, one.field, change);
  const parts = { name, edits: isKept ? [] : changed(change, one, before) };
  const said = label(change, name);
  if (!widens(type, shapeOf(before), one.field)) {
    const says = `Let ${said} accept less: ${type.expected(one.field)}`;
    return [draft('narrow-field', change.type.name, says, { ...parts, checks: [unfit(change, one)] })];
  }
  if (isKept) return [];
  return [draft('widen-field', change.type.name, `Let ${said} accept more: ${type.expected(one.field)}`, parts)];
}

function unfit(change: TypeChange, { field, value }: FieldChange) {
  const { type } = field;
  const json = columnType(field, change.dialect.name).json(`(${value})`);
  return rowsUnfit(
    change,
    json,
    `(${value}) is not null`,
    type.schema(field),
    `"${field.name}" is not ${type.expected(field)}`,
  );
}

function held(change: TypeChange, { field }: FieldChange, before: AppliedField) {
  const takers = [...fieldTypes.values()].filter(
    (type) => type.columns[change.dialect.name].takes?.[before.type] !== undefined,
  );
  const hint = takers.length === 0 ? '' : ` (it can become ${takers.map(({ name }) => name).join(' or ')})`;
  return rowsWhere(change, `${change.dialect.quote(before.column)} is not null`, {
    effect: 'fail',
    says: `"${field.name}" has a value, and ${before.type} cannot become ${field.type.name}${hint}; add a field of another name, and copy the values`,
  });
}

function nullability(change: TypeChange, one: FieldChange, before: AppliedField): readonly DraftStep[] {
  const { field, column } = one;
  const { name } = field;
  if (before.nullable === field.nullable) return [];
  const parts = { name, edits: changed(change, one, before) };
  if (field.nullable) return [draft('relax-field', change.type.name, `Let ${label(change, name)} be null`, parts)];
  const isNull = `${change.dialect.quote(before.column)} is null`;
  const says = `Let ${label(change, name)} no longer be null`;
  if (column.default === null) {
    const effect = {
      effect: 'fail',
      says: `"${name}" is null; give it a value, or the field a default`,
    } as const;
    return [draft('require-field', change.type.name, says, { ...parts, checks: [rowsWhere(change, isNull, effect)] })];
  }
  const given = JSON.stringify(field.default);
  const effect = { effect: 'change', says: `"${name}" is null, and gets the default ${given}` } as const;
  return [draft('fill-field', change.type.name, says, { ...parts, checks: [rowsWhere(change, isNull, effect)] })];
}

function defaulted(change: TypeChange, one: FieldChange, before: AppliedField): readonly DraftStep[] {
  const after = one.field.default ?? null;
  // Another type has its default in another form.
  if (isDeepStrictEqual(after, before.default) || one.field.type.name !== before.type) return [];
  const { name } = one.field;
  const says = `Give ${label(change, name)} the default ${JSON.stringify(after)}, not ${JSON.stringify(before.default)}`;
  return [draft('change-default', change.type.name, says, { name, edits: changed(change, one, before) })];
}

function addedSteps(change: TypeChange, one: FieldChange): readonly DraftStep[] {
  const { field, column, value } = one;
  const required = !column.nullable && column.default === null;
  const effect = {
    effect: 'fail',
    says: `"${field.name}" would have no value; give it a default, or let it be null`,
  } as const;
  return [
    draft(required ? 'add-required-field' : 'add-field', change.type.name, `Add ${label(change, field.name)}`, {
      name: field.name,
      edits: [{ kind: 'addColumn', column }, ...taking(change, field)],
      checks: [...(required ? [rowsWhere(change, `(${value}) is null`, effect)] : []), ...takenUnfit(change, field)],
    }),
  ];
}

/** In an open type, records may hold the field's key already: its values move into the column. */
function taking({ before, dialect }: TypeChange, field: Field) {
  if (!before.open) return [];
  const where = dialect.hasKey(OPEN_COLUMN, field.name);
  const value = columnType(field, dialect.name).extracted(dialect.quote(OPEN_COLUMN), dialect.keyPath(field.name));
  return [
    { kind: 'setColumn', name: field.column, value, where },
    { kind: 'setColumn', name: OPEN_COLUMN, value: dialect.withoutKeys(OPEN_COLUMN, [field.name]), where },
  ] as const;
}

function takenUnfit(change: TypeChange, field: Field) {
  const { before, dialect } = change;
  if (!before.open) return [];
  const schema = field.type.schema(field);
  const json = dialect.keyJson(OPEN_COLUMN, field.name);
  const accepted = field.nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
  const says = `the open key "${field.name}" is not ${field.type.expected(field)}`;
  return [rowsUnfit(change, json, dialect.hasKey(OPEN_COLUMN, field.name), accepted, says)];
}

export function droppedFieldSteps(change: TypeChange, dropped: readonly string[]): readonly DraftStep[] {
  return dropped.flatMap((name) => {
    const before = change.before.fields[name];
    if (!before) return [];
    const isThere = `${change.dialect.quote(before.column)} is not null`;
    const effect = { effect: 'lose', says: `the value of "${name}" is lost` } as const;
    return draft('drop-field', change.type.name, `Drop ${label(change, name)}`, {
      name,
      edits: [{ kind: 'dropColumn', name: before.column, isReference: false }],
      checks: [rowsWhere(change, isThere, effect)],
    });
  });
}

// In an open type, records may hold a key that is about to mean something else.

/** Fields that are new take such keys over; identifiers, relations and new names of fields cannot. */
export function claimSteps(change: TypeChange, knownRelations: ReadonlySet<string>): readonly DraftStep[] {
  const { type, before, dialect } = change;
  if (!before.open) return [];
  const { kept } = match(type.fields.values(), Object.keys(before.fields));
  const names = [
    ...(type.identifier.name === before.identifier ? [] : [type.identifier.name]),
    ...kept.filter(({ wanted, former }) => wanted.name !== former).map(({ wanted }) => wanted.name),
    ...[...type.relations.keys()].filter((name) => !knownRelations.has(name)),
  ];
  return names.map((name) =>
    draft('claim-key', type.name, `Take the name "${name}" of ${type.name} from open keys`, {
      name,
      checks: [
        rowsWhere(change, dialect.hasKey(OPEN_COLUMN, name), {
          effect: 'fail',
          says: `there is an open key "${name}", which cannot be taken over; remove it`,
        }),
      ],
    }),
  );
}
