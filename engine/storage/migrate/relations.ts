/** The steps of relations: foreign keys of a type's table, and join tables, whose rows move as a whole. */
import type { JoinTable } from '../../model/model.ts';
import type { Dialect } from '../dialect.ts';
import { createIndex, defineJoinTable, dropTable, joinIndex } from '../tables.ts';
import type { AppliedJoin, AppliedReference } from './applied.ts';
import { type ReferenceChange, rowsAlike, rowsInCircles, rowsOf, rowsWhere, type TypeChange } from './change.ts';
import { type Comparison, joinOwner, joinOwnerBefore, referenceOwner } from './compare.ts';
import { type Edit, plainTasks, tableTasks } from './driver.ts';
import { createStep, type MigrationStep, type StepCode, type StepParts } from './steps.ts';

export const referenceSteps = (change: TypeChange): readonly MigrationStep[] =>
  change.referenceChanges.flatMap((one) =>
    one.before ? keptSteps(change, one, one.before) : [addedStep(change, one)],
  );

function keptSteps(
  change: TypeChange,
  { after, column }: ReferenceChange,
  before: AppliedReference,
): readonly MigrationStep[] {
  const { type, name } = referenceOwner(change.type.name, after);
  const value = change.dialect.quote(before.column);
  const edits: readonly Edit[] = [
    { kind: 'changeColumn', column, was: { nullable: !before.required, limits: undefined, onDelete: before.onDelete } },
  ];
  const steps: MigrationStep[] = [];
  const add = (code: StepCode, parts: StepParts = {}): void =>
    void steps.push(createStep(code, type, { name, rowsIn: change.before.table, ...parts }));
  const was = before.belongsTo === null ? before.has : before.belongsTo;
  const isSameSide = (before.belongsTo === null) === (after.belongsTo === null);
  if (was !== null && isSameSide && was !== name) add('rename-relation', { was });
  if (before.required && !after.required) add('relax-relation', { edits });
  if (!before.required && after.required)
    add('require-relation', { edits, rows: rowsWhere(change, `${value} is null`) });
  // The unique index of its column is remade with the others.
  const detail = change.type.name;
  if (before.unique && !after.unique) add('share-relation', { detail });
  if (!before.unique && after.unique) add('unshare-relation', { detail, rows: rowsAlike(change, [value]) });
  if (after.acyclic && !before.acyclic)
    add('forbid-cycles', { rows: rowsInCircles(change.before, before, change.dialect) });
  if (!after.acyclic && before.acyclic) add('allow-cycles');
  if (before.onDelete !== after.onDelete) add('change-deletion', { was: before.onDelete, now: after.onDelete, edits });
  return steps;
}

function addedStep(change: TypeChange, { after, column }: ReferenceChange): MigrationStep {
  const { type, name } = referenceOwner(change.type.name, after);
  const parts: StepParts = { name, edits: [{ kind: 'addColumn', column }], rowsIn: change.before.table };
  return after.required
    ? createStep('add-required-relation', type, { ...parts, rows: rowsWhere(change, '1 = 1') })
    : createStep('add-relation', type, parts);
}

export function droppedReferenceStep(change: TypeChange, before: AppliedReference): MigrationStep {
  const { type, name } = referenceOwner(change.before.name, before);
  return createStep('drop-relation', type, {
    name,
    detail: 'the connection',
    edits: [{ kind: 'dropColumn', name: before.column, isReference: true }],
    rows: rowsWhere(change, `${change.dialect.quote(before.column)} is not null`),
    rowsIn: change.before.table,
  });
}

// Join tables.

export function addedJoinStep(table: JoinTable, dialect: Dialect): MigrationStep {
  const { type, name } = joinOwner(table);
  const index = joinIndex(table);
  return createStep('add-relation', type, {
    name,
    detail: `, in table ${table.name}`,
    tasks: tableTasks(defineJoinTable(table, dialect), [createIndex(index, dialect)]),
    creates: [table.name, index.name],
  });
}

export function droppedJoinStep(before: AppliedJoin, dialect: Dialect): MigrationStep {
  const { type, name } = joinOwnerBefore(before);
  const rows = rowsOf(before.table, before.left.column, dialect);
  const tasks = plainTasks('define', [dropTable(before.table, dialect)], before.table);
  const parts = { rows, tasks, rowsIn: before.table, drops: [before.table] };
  return createStep('drop-relation', type, { name, detail: 'a connection', ...parts });
}

export const renamedJoinSteps = ({ kept }: Comparison['joins']): readonly MigrationStep[] =>
  kept.flatMap(({ after, before }) => {
    const { type, name } = joinOwner(after);
    const was = joinOwnerBefore(before).name;
    return name === was ? [] : [createStep('rename-relation', type, { name, was, rowsIn: before.table })];
  });
