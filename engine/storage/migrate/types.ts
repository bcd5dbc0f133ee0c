/** The steps of a type that was there before: what differs, and the SQL that changes its table. */
import { isDeepStrictEqual } from 'node:util';
import { fieldTypes } from '../../field-types/registry.ts';
import { OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import { columnsOf, columnType } from '../columns.ts';
import { createIndex, defineTable, indexesOf } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import { type AppliedField, type AppliedModel, type AppliedType, identifierNameOf } from './applied.ts';
import { rowsWhere } from './assess.ts';
import type { ColumnSource, Edit } from './driver.ts';
import { checkSteps, claimSteps, droppedFieldSteps, fieldSteps } from './fields.ts';
import { duplicates, indexSteps } from './indexes.ts';
import { type ColumnChanges, columnChanges, type MatchedJoins, openKeysLeft, type TypeChange } from './match.ts';
import { droppedReferenceSteps, joinOwner, joinOwnerBefore, referenceOwner, referenceSteps } from './relations.ts';
import { createStep, type MigrationStep } from './steps.ts';

export function typeSteps(change: TypeChange, knownRelations: ReadonlySet<string>): readonly MigrationStep[] {
  const columns = columnChanges(change);
  const indexes = indexSteps(change, columns);
  const steps = [
    ...unclearFields(change, columns),
    ...unclearReferences(change, columns),
    ...ownSteps(change),
    ...indexes.dropped,
    ...openSteps(change),
    ...claimSteps(change, columns, knownRelations),
    ...fieldSteps(change, columns).map((step) => withDuplicates(step, change, columns)),
    ...referenceSteps(change, columns),
    ...checkSteps(change, columns),
    ...closeSteps(change, columns),
    ...droppedFieldSteps(change, columns),
    ...droppedReferenceSteps(change, columns),
    ...indexes.added,
  ];
  return withTasks(change, columns, withIndexes(change, columns, steps));
}

/** The type's own name and identifier. */
function ownSteps({ type, former, before }: TypeChange): readonly MigrationStep[] {
  const { name, identifier } = type;
  const rowsIn = before.table;
  const [was, now] = [identifierNameOf(before), identifier.name];
  return [
    ...(former === name ? [] : [createStep('rename-type', name, { was: former, rowsIn })]),
    ...(was === now ? [] : [createStep('rename-identifier', name, { was, now, rowsIn })]),
  ];
}

function openSteps({ type, before, dialect }: TypeChange): readonly MigrationStep[] {
  const column = columnsOf(type, dialect.name).find(({ name }) => name === OPEN_COLUMN);
  if (before.open || !column) return [];
  return [createStep('open-type', type.name, { edits: [{ kind: 'addColumn', column }], rowsIn: before.table })];
}

function closeSteps(change: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const { type, before, dialect } = change;
  if (!before.open || type.open) return [];
  const edits: readonly Edit[] = [{ kind: 'dropColumn', name: OPEN_COLUMN, isReference: false }];
  const rows = rowsWhere(change, `not (${dialect.isEmpty(openKeysLeft(change, columns))})`);
  return [createStep('close-type', type.name, { edits, rows, rowsIn: before.table })];
}

/** Nulls that become a default may collide where the field is unique. */
function withDuplicates(step: MigrationStep, change: TypeChange, columns: ColumnChanges): MigrationStep {
  if (step.code !== 'fill-field') return step;
  const unique = change.type.indexes.filter(
    (index) => index.unique && index.members.some(({ name }) => name === step.name),
  );
  return { ...step, checks: [...step.checks, ...unique.map((index) => duplicates(change, columns, index))] };
}

/** Indexes whose SQL is no longer the same are dropped before the other edits, and made again after them. */
function withIndexes(
  change: TypeChange,
  columns: ColumnChanges,
  steps: readonly MigrationStep[],
): readonly MigrationStep[] {
  const { type, before, dialect } = change;
  const edits = steps.flatMap((step) => step.edits);
  const wanted = indexesOf(type, dialect);
  const sqlOf = new Map(wanted.map((index) => [index.name, createIndex(index, dialect)]));
  const handled = new Set(
    edits.flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : 'name' in edit ? edit.name : [])),
  );
  const old = Object.entries(before.made).map(([name, one]) => ({ name, ...one }));
  const outdated = old.filter(({ name, sql }) => sql !== sqlOf.get(name) && !handled.has(name));
  const fresh = wanted.filter(({ name }) => before.made[name]?.sql !== sqlOf.get(name) && !handled.has(name));
  if (outdated.length + fresh.length === 0) return steps;
  const all = steps.length > 0 ? steps : [remakeStep(change, columns, new Set(fresh.map(({ name }) => name)))];
  const drops = outdated.map(({ name, unique }): Edit => ({ kind: 'dropIndex', name, unique }));
  const creates = fresh.map((index): Edit => ({ kind: 'createIndex', index }));
  return all.map((step, index) => ({
    ...step,
    edits: [...(index === 0 ? drops : []), ...step.edits, ...(index === all.length - 1 ? creates : [])],
  }));
}

/** Only the SQL is another one: values that were different may be equal by it. */
function remakeStep(change: TypeChange, columns: ColumnChanges, names: ReadonlySet<string>): MigrationStep {
  const unique = change.type.indexes.filter((index) => index.unique && names.has(index.name));
  const checks = unique.map((index) => duplicates(change, columns, index));
  return createStep('remake-indexes', change.type.name, { checks, rowsIn: change.before.table });
}

/** Each step with the tasks of its edits. */
function withTasks(
  change: TypeChange,
  columns: ColumnChanges,
  steps: readonly MigrationStep[],
): readonly MigrationStep[] {
  const { type, before, dialect } = change;
  const { each, together } = dialect.alterTable({
    table: type.table,
    identifier: type.identifier.column,
    edits: steps.flatMap(({ edits }) => edits),
    columnsBefore: columnsBefore(before),
    columns: sourcesOf(change, columns),
    create: (name) => defineTable(type, dialect, name),
    indexes: indexesOf(type, dialect),
    others: change.others,
  });
  let at = 0;
  const compiled = steps.map((step) => {
    const own = each.slice(at, (at += step.edits.length)).flat();
    return { ...step, tasks: [...step.tasks, ...own] };
  });
  if (together.length === 0) return compiled;
  const parts = { now: type.table, tasks: together, rowsIn: before.table };
  return [...compiled, createStep('rebuild-table', type.name, parts)];
}

const columnsBefore = ({ fields, references, open }: AppliedType): readonly string[] => [
  ...Object.values(fields).map(({ column }) => column),
  ...references.map(({ column }) => column),
  ...(open ? [OPEN_COLUMN] : []),
];

/** In the order of the table's columns. */
function sourcesOf(change: TypeChange, columns: ColumnChanges): readonly ColumnSource[] {
  const { type, before, dialect } = change;
  const sources = new Map<string, Omit<ColumnSource, 'column'>>();
  for (const { field, column, value, before: was, folded } of columns.fields) {
    sources.set(column.name, {
      value,
      from: was?.column,
      isRetyped: was !== undefined && sqlTypeOf(was, dialect) !== columnType(field, dialect.name).sqlType,
    });
    if (folded)
      sources.set(folded.column.name, {
        value: folded.value,
        from: folded.before,
        isRetyped: false,
        reads: was?.column,
      });
  }
  for (const { column, value, before: was } of columns.references)
    sources.set(column.name, { value, from: was?.column, isRetyped: false });
  const openKeys = {
    value: openKeysLeft(change, columns),
    from: before.open ? OPEN_COLUMN : undefined,
    isRetyped: false,
  };
  return columnsOf(type, dialect.name).map((column) => ({ column, ...(sources.get(column.name) ?? openKeys) }));
}

const sqlTypeOf = ({ type }: AppliedField, { name }: Dialect): string | undefined =>
  fieldTypes.get(type)?.columns[name].sqlType;

// A part that vanished while a new one looks the same was most likely renamed, so it is asked about and not dropped.

interface Vanished {
  readonly type: string;
  /** Undefined for a type. */
  readonly name?: string;
  readonly rowsIn: string | undefined;
}

function question({ type, name, rowsIn }: Vanished, alike: readonly string[]): readonly MigrationStep[] {
  if (alike.length === 0) return [];
  const now = alike.map((one) => `"${one}"`).join(' or ');
  const named = name === undefined ? {} : { name };
  return [createStep('not-renamed', type, { ...named, was: name ?? type, now, rowsIn })];
}

/** Types with the same fields of the same kinds. */
export function unclearTypes(
  dropped: readonly { readonly name: string; readonly type: AppliedType }[],
  added: readonly RecordType[],
): readonly MigrationStep[] {
  return dropped.flatMap(({ name: type, type: old }) => {
    const alike = added.filter((one) => sameFields(old, one));
    return question(
      { type, rowsIn: old.table },
      alike.map(({ name }) => name),
    );
  });
}

function sameFields(old: AppliedType, type: RecordType): boolean {
  const before = Object.entries(old.fields).map(([name, field]) => [name, field.type]);
  const after = [...type.fields.values()].map((field) => [field.name, field.type.name]);
  return isDeepStrictEqual(before.toSorted(), after.toSorted());
}

function unclearFields({ type, before }: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const added = columns.fields.filter((one) => !one.before).map(({ field }) => field);
  return columns.droppedFields.flatMap((name) => {
    const old = before.fields[name];
    const alike = added.filter(
      (field) => old?.type === field.type.name && isDeepStrictEqual(old.constraints, field.constraints),
    );
    return question(
      { type: type.name, name, rowsIn: before.table },
      alike.map((field) => field.name),
    );
  });
}

function unclearReferences({ type, before }: TypeChange, columns: ColumnChanges): readonly MigrationStep[] {
  const added = columns.references.filter((one) => !one.before).map(({ after }) => after);
  return columns.droppedReferences.flatMap((old) => {
    const alike = added.filter(({ target }) => target === old.target);
    return question(
      { ...referenceOwner(type.name, old), rowsIn: before.table },
      alike.map((one) => referenceOwner(type.name, one).name),
    );
  });
}

export function unclearJoins({ types }: AppliedModel, { dropped, added }: MatchedJoins): readonly MigrationStep[] {
  return dropped.flatMap((old) => {
    const sides = [old.left.type, old.right.type].toSorted();
    const alike = added.filter((one) => isDeepStrictEqual([one.left.type.name, one.right.type.name].toSorted(), sides));
    const owner = joinOwnerBefore(old);
    return question(
      { ...owner, rowsIn: types[owner.type]?.table },
      alike.map((one) => joinOwner(one).name),
    );
  });
}
