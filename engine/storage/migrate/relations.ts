/** The steps of relations: foreign keys of a type's table, and join tables, whose rows move as a whole. */
import type { JoinTable } from '../../model/model.ts';
import { createIndex, defineJoinTable, dropTable, joinIndex } from '../tables.ts';
import type { Dialect } from '../dialect.ts';
import type { AppliedJoin, AppliedReference } from './applied.ts';
import { rowsAlike, rowsInCircles, rowsOf, rowsWhere } from './assess.ts';
import type { Edit } from './driver.ts';
import { type ColumnChanges, type JoinChange, type ReferenceChange, relationAt, type TypeChange } from './match.ts';
import { createStep, type MigrationStep } from './steps.ts';
import { plainTasks, tableTasks } from './tasks.ts';

/** The type and the name of the relation that people know a foreign key or a join table by, on whichever side that is. */
export interface Owner {
  readonly type: string;
  readonly name: string;
}

export const referenceOwner = (type: string, { belongsTo, has, target, column }: AppliedReference): Owner =>
  belongsTo === null ? { type: target, name: has ?? column } : { type, name: belongsTo };

export const referenceSteps = (change: TypeChange, { references }: ColumnChanges): readonly MigrationStep[] =>
  references.flatMap((one) => (one.before ? keptSteps(change, one, one.before) : [addedStep(change, one)]));

function keptSteps(change: TypeChange, one: ReferenceChange, before: AppliedReference): readonly MigrationStep[] {
  const { after, column } = one;
  const { type, name } = referenceOwner(change.type.name, after);
  const value = change.dialect.quote(before.column);
  const rowsIn = change.before.table;
  const edits: readonly Edit[] = [
    { kind: 'changeColumn', column, was: { nullable: !before.required, limits: undefined, onDelete: before.onDelete } },
  ];
  const steps: MigrationStep[] = [];
  const was = before.belongsTo === null ? before.has : before.belongsTo;
  const isSameSide = (before.belongsTo === null) === (after.belongsTo === null);
  if (was !== null && isSameSide && was !== name)
    steps.push(createStep('rename-relation', type, { name, was, rowsIn }));
  if (before.required && !after.required) steps.push(createStep('relax-relation', type, { name, edits, rowsIn }));
  if (!before.required && after.required) {
    const rows = rowsWhere(change, `${value} is null`);
    steps.push(createStep('require-relation', type, { name, edits, rows, rowsIn }));
  }
  // The unique index of its column is remade with the others.
  const detail = change.type.name;
  if (before.unique && !after.unique) steps.push(createStep('share-relation', type, { name, detail, rowsIn }));
  if (!before.unique && after.unique)
    steps.push(createStep('unshare-relation', type, { name, detail, rows: rowsAlike(change, [value]), rowsIn }));
  if (after.acyclic && !before.acyclic)
    steps.push(
      createStep('forbid-cycles', type, { name, rows: rowsInCircles(change.before, before, change.dialect), rowsIn }),
    );
  if (!after.acyclic && before.acyclic) steps.push(createStep('allow-cycles', type, { name, rowsIn }));
  if (before.onDelete !== after.onDelete) {
    const words = { name, was: before.onDelete, now: after.onDelete };
    steps.push(createStep('change-deletion', type, { ...words, edits, rowsIn }));
  }
  return steps;
}

function addedStep(change: TypeChange, { after, column }: ReferenceChange): MigrationStep {
  const { type, name } = referenceOwner(change.type.name, after);
  const parts = { name, edits: [{ kind: 'addColumn', column }], rowsIn: change.before.table } as const;
  return after.required
    ? createStep('add-required-relation', type, { ...parts, rows: rowsWhere(change, '1 = 1') })
    : createStep('add-relation', type, parts);
}

export const droppedReferenceSteps = (
  change: TypeChange,
  { droppedReferences }: ColumnChanges,
): readonly MigrationStep[] =>
  droppedReferences.map((before) => {
    const { type, name } = referenceOwner(change.former, before);
    return createStep('drop-relation', type, {
      name,
      detail: 'the connection',
      edits: [{ kind: 'dropColumn', name: before.column, isReference: true }],
      rows: rowsWhere(change, `${change.dialect.quote(before.column)} is not null`),
      rowsIn: change.before.table,
    });
  });

// Join tables.

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
  const rows = rowsOf(dialect.quote(before.table), dialect.quote(before.left.column));
  const tasks = plainTasks('define', [dropTable(before.table, dialect)], before.table);
  const parts = { rows, tasks, rowsIn: before.table, drops: [before.table] };
  return createStep('drop-relation', type, { name, detail: 'a connection', ...parts });
}

export function renamedJoinSteps({ after, before }: JoinChange): readonly MigrationStep[] {
  const { type, name } = joinOwner(after);
  const was = joinOwnerBefore(before).name;
  return name === was ? [] : [createStep('rename-relation', type, { name, was, rowsIn: before.table })];
}
