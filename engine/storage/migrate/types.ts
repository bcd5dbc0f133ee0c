/** The steps of types, their relations and indexes, with the SQL that changes the tables. */
import { type Index, type JoinTable, OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import type { Dialect } from '../dialect.ts';
import { createIndex, defineJoinTable, defineTable, dropTable, indexesOf, joinIndex, METADATA } from '../tables.ts';
import { type AppliedJoin, type AppliedReference, identifierNameOf } from './applied.ts';
import {
  checkSteps,
  claimSteps,
  droppedFieldStep,
  fieldSteps,
  openKeysLeft,
  type ReferenceChange,
  rowsAlike,
  rowsInCircles,
  rowsOf,
  rowsWhere,
  type TypeChange,
  type TypeDiff,
  valueAfter,
} from './change.ts';
import {
  columnsBefore,
  type Comparison,
  joinOwner,
  joinOwnerBefore,
  memberAt,
  partAt,
  type NamedIndex,
  type NamedType,
  referenceOwner,
} from './compare.ts';
import { type Edit, plainTasks, tableTasks } from './task.ts';
import { checkOf, createStep, type MigrationStep, type StepCheck, type StepCode, type StepParts } from './steps.ts';

export function addedTypeStep(type: RecordType, dialect: Dialect): MigrationStep {
  const indexes = indexesOf(type, dialect);
  const tasks = tableTasks(
    defineTable(type, dialect),
    indexes.map((index) => createIndex(index, dialect)),
  );
  const creates = [type.table, ...indexes.map(({ name }) => name)];
  return createStep('add-type', type.name, { now: type.table, tasks, creates });
}

export function droppedTypeStep({ name, table, identifier }: NamedType, dialect: Dialect): MigrationStep {
  const tasks = [
    ...plainTasks('define', [dropTable(table, dialect)], table),
    ...plainTasks('define', [METADATA.dropSeeds(name)]),
  ];
  const rows = rowsOf({ table, identifier }, dialect);
  return createStep('drop-type', name, { was: table, tasks, rows, rowsIn: table });
}

export function closeStep(change: TypeDiff): MigrationStep {
  const edits: readonly Edit[] = [{ kind: 'dropColumn', name: OPEN_COLUMN, isReference: false }];
  const rows = rowsWhere(change, `cast(${openKeysLeft(change)} as text) <> '{}'`);
  return change.step('close-type', { edits, rows });
}

export function typeSteps(
  change: TypeChange,
  knownRelations: ReadonlySet<string>,
  isNamed: boolean,
): readonly MigrationStep[] {
  const { type, table, before, step, fields, references, indexes, openKeys } = change;
  const [was, now] = [identifierNameOf(before), type.identifier.name];
  // Dropping a column drops its index without a separate step.
  const lost = indexes.dropped.filter(({ members }) =>
    columnsBefore(before, members).every((column) => partAt(table, column)),
  );
  const folded = indexes.kept.filter(
    ({ after, before: old }) => after.name !== old.name && after.members.some(isFolded),
  );
  const steps = [
    ...(before.name === type.name || !isNamed ? [] : [step('rename-type', { was: before.name })]),
    ...(was === now ? [] : [step('rename-identifier', { was, now })]),
    ...lost.map((index) => droppedIndexStep(change, index)),
    ...(openKeys && !before.open
      ? [step('open-type', { edits: [{ kind: 'addColumn', column: openKeys.column }] })]
      : []),
    ...claimSteps(change, knownRelations),
    ...fieldSteps(change).map((one) => withDuplicates(one, change)),
    ...change.referenceChanges
      .filter(({ column }) => type.references.some((one) => one === column.reference))
      .flatMap((one) => referenceSteps(change, one)),
    ...checkSteps(change),
    ...(before.open && !openKeys ? [closeStep(change)] : []),
    ...fields.dropped.map((field) => droppedFieldStep(change, field)),
    ...references.dropped.map((reference) => droppedReferenceStep(change, reference)),
    ...indexes.added.map((index) => addedIndexStep(change, index)),
    // If case matters again, fewer values are equal: only rebuild the index, as its SQL changes.
    ...folded.map(({ after, before: replaced }) => addedIndexStep(change, after, replaced)),
  ];
  return withTasks(change, withIndexes(change, steps));
}

/** Nulls that become a default may collide in a unique field. */
function withDuplicates(step: MigrationStep, change: TypeChange): MigrationStep {
  if (step.code !== 'fill-field') return step;
  const unique = change.type.indexes.filter(
    (index) => index.unique && index.members.some(({ name }) => name === step.name),
  );
  return { ...step, checks: [...step.checks, ...unique.map((index) => duplicates(change, index))] };
}

function withIndexes(change: TypeChange, steps: readonly MigrationStep[]): readonly MigrationStep[] {
  const { type, before, dialect, tableIndexes: wanted } = change;
  const sqlOf = new Map(wanted.map((index) => [index.name, createIndex(index, dialect)]));
  const handled = new Set(
    steps
      .flatMap(({ edits }) => edits)
      .flatMap((edit) => (edit.kind === 'createIndex' ? edit.index.name : 'name' in edit ? edit.name : [])),
  );
  const drops = Object.entries(before.made)
    .filter(([name, { sql }]) => sql !== sqlOf.get(name) && !handled.has(name))
    .map(([name]): Edit => ({ kind: 'dropIndex', name }));
  const fresh = wanted.filter(({ name }) => before.made[name]?.sql !== sqlOf.get(name) && !handled.has(name));
  const creates = fresh.map((index): Edit => ({ kind: 'createIndex', index }));
  if (drops.length + creates.length === 0) return steps;
  // The new SQL may make different values equal.
  const unique = type.indexes.filter((index) => index.unique && fresh.some(({ name }) => name === index.name));
  const remade = change.step('remake-indexes', { checks: unique.map((index) => duplicates(change, index)) });
  const all = steps.length > 0 ? steps : [remade];
  return all.map((step, at) => ({
    ...step,
    edits: [...(at === 0 ? drops : []), ...step.edits, ...(at === all.length - 1 ? creates : [])],
  }));
}

function withTasks(change: TypeChange, steps: readonly MigrationStep[]): readonly MigrationStep[] {
  const { table, tableIndexes, before, dialect, others, fieldChanges, referenceChanges, openKeys } = change;
  const { each, rebuild } = dialect.alterTable({
    table: table.table,
    identifier: table.identifier.column,
    edits: steps.flatMap(({ edits }) => edits),
    wasOpen: before.open,
    columns: [
      ...fieldChanges,
      ...fieldChanges.flatMap(({ folded }) => folded ?? []),
      ...referenceChanges,
      ...(openKeys ? [openKeys] : []),
    ],
    create: (name) => defineTable(table, dialect, name),
    indexes: tableIndexes,
    others,
  });
  let at = 0;
  const compiled = steps.map((step) => ({
    ...step,
    tasks: [...step.tasks, ...each.slice(at, (at += step.edits.length)).flat()],
  }));
  return rebuild.length === 0
    ? compiled
    : [...compiled, change.step('rebuild-table', { now: table.table, tasks: rebuild })];
}

function referenceSteps(change: TypeChange, { after, before, column }: ReferenceChange): readonly MigrationStep[] {
  const steps: MigrationStep[] = [];
  const { type, name } = referenceOwner(change.type.name, after);
  const add = (code: StepCode, parts: StepParts = {}): void =>
    void steps.push(createStep(code, type, { name, rowsIn: change.before.table, ...parts }));
  if (!before) {
    const edits: readonly Edit[] = [{ kind: 'addColumn', column }];
    if (after.required) add('add-required-relation', { edits, rows: rowsWhere(change, '1 = 1') });
    else add('add-relation', { edits });
    return steps;
  }
  const value = change.dialect.quote(before.column);
  const edits: readonly Edit[] = [
    { kind: 'changeColumn', column, was: { nullable: !before.required, onDelete: before.onDelete } },
  ];
  const was = before.belongsTo ?? before.has;
  const isSameSide = (before.belongsTo === null) === (after.belongsTo === null);
  if (was !== null && isSameSide && was !== name) add('rename-relation', { was });
  if (before.required && !after.required) add('relax-relation', { edits });
  if (!before.required && after.required)
    add('require-relation', { edits, rows: rowsWhere(change, `${value} is null`) });
  // The column's unique index is remade with the others.
  const detail = change.type.name;
  if (before.unique && !after.unique) add('share-relation', { detail });
  if (!before.unique && after.unique) add('unshare-relation', { detail, rows: rowsAlike(change, [value]) });
  if (after.acyclic && !before.acyclic)
    add('forbid-cycles', { rows: rowsInCircles(change.before, before, change.dialect) });
  if (!after.acyclic && before.acyclic) add('allow-cycles');
  if (before.onDelete !== after.onDelete) add('change-deletion', { was: before.onDelete, now: after.onDelete, edits });
  return steps;
}

export const droppedReferenceStep = (change: TypeDiff, before: AppliedReference): MigrationStep => {
  const owner = referenceOwner(change.before.name, before);
  return createStep('drop-relation', owner.type, {
    name: owner.name,
    detail: 'the connection',
    edits: [{ kind: 'dropColumn', name: before.column, isReference: true }],
    rows: rowsWhere(change, `${change.dialect.quote(before.column)} is not null`),
    rowsIn: change.before.table,
  });
};

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
  const rows = rowsOf({ table: before.table, identifier: before.left.column }, dialect);
  const tasks = plainTasks('define', [dropTable(before.table, dialect)], before.table);
  return createStep('drop-relation', type, { name, detail: 'a connection', rows, tasks, rowsIn: before.table });
}

export const renamedJoinSteps = ({ kept }: Comparison['joins']): readonly MigrationStep[] =>
  kept.flatMap(({ after, before }) => {
    const { type, name } = joinOwner(after);
    const was = joinOwnerBefore(before).name;
    return name === was ? [] : [createStep('rename-relation', type, { name, was, rowsIn: before.table })];
  });

export function droppedIndexStep(
  { type, before, step }: TypeDiff,
  { name, unique, members }: NamedIndex,
): MigrationStep {
  const names = columnsBefore(before, members).map((column, at) => memberAt(type, column)?.name ?? members[at] ?? '');
  return step(unique ? 'drop-unique' : 'drop-index', {
    name: names.join('+'),
    detail: names.map((one) => `"${one}"`).join(', '),
    edits: [{ kind: 'dropIndex', name }],
  });
}

const isFolded = (member: Index['members'][number]): boolean => !('link' in member) && member.folded !== undefined;

const described = ({ members }: Index): string =>
  members.map((member) => `"${member.name}"${isFolded(member) ? ' (whatever its case)' : ''}`).join(', ');

function addedIndexStep(change: TypeChange, index: Index, replaced?: NamedIndex): MigrationStep {
  const { step, fields, references } = change;
  const { name, unique, members } = index;
  const made = change.tableIndexes.filter((one) => one.name === name);
  const dropped: readonly Edit[] = replaced ? [{ kind: 'dropIndex', name: replaced.name }] : [];
  const added = step(unique ? 'add-unique' : 'add-index', {
    name: members.map((member) => member.name).join('+'),
    detail: described(index),
    edits: [...dropped, ...made.map((one): Edit => ({ kind: 'createIndex', index: one }))],
    checks: [...(unique ? [duplicates(change, index)] : []), ...longEntries(change, index)],
  });
  const fresh = new Set<object | undefined>([...fields.added, ...references.added.map(({ relation }) => relation)]);
  // No client relies on equal values of a new field.
  return members.some((member) => fresh.has(member)) ? { ...added, risk: 'safe' } : added;
}

/** Folding and converting hardly change a value's length. */
function longEntries(change: TypeChange, index: Index): readonly StepCheck[] {
  const { isLongEntry, quote } = change.dialect;
  const stored = change.fields.kept.filter(({ after }) => index.members.includes(after));
  if (!isLongEntry || stored.length === 0) return [];
  const rows = rowsWhere(change, isLongEntry(stored.map(({ before }) => quote(before.column))));
  const says = `the values of ${described(index)} are too long for an index of this database; shorten them`;
  return [{ ...rows, effect: 'fail', says }];
}

function duplicates(change: TypeChange, index: Index): StepCheck {
  const values = index.members.flatMap((member) => valueAfter(change, member) ?? []);
  return checkOf('add-unique', { detail: described(index) }, rowsAlike(change, values));
}
