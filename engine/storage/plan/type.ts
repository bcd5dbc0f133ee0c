/** The steps of a type that is there already: what differs, and the SQL that changes its table. */
import { OPEN_COLUMN } from '../../model/model.ts';
import type { Edit } from '../alteration.ts';
import { columnsOf } from '../columns.ts';
import { defineTable, indexesOf } from '../define.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { rowsWhere } from './checks.ts';
import { changedFields, changedReferences, type ColumnChanges, columnsBefore, valuesOf } from './columns.ts';
import { draft, type DraftStep, finished, type TypeChange } from './draft.ts';
import { droppedFieldSteps, fieldSteps } from './fields.ts';
import { duplicates, indexSteps } from './indexes.ts';
import { claimSteps } from './open-keys.ts';
import { droppedReferenceSteps, referenceSteps, type TypeNames } from './references.ts';
import type { Step } from './step.ts';
import { unclearFields, unclearReferences } from './unclear.ts';

export function typeSteps(change: TypeChange, names: TypeNames, knownRelations: ReadonlySet<string>): readonly Step[] {
  const fields = changedFields(change);
  const references = changedReferences(change, names);
  const changes: ColumnChanges = { fields, references };
  const indexes = indexSteps(change, { fields: fields.all, references: references.all });
  const drafts = [
    ...unclearFields(change, changes),
    ...unclearReferences(change, changes),
    ...ownSteps(change),
    ...indexes.dropped,
    ...openSteps(change),
    ...claimSteps(change, knownRelations),
    ...fieldSteps(change, fields.all).map((step) => withDuplicates(step, change, changes)),
    ...referenceSteps(change, references.all),
    ...closeSteps(change, changes),
    ...droppedFieldSteps(change, fields.dropped),
    ...droppedReferenceSteps(change, references.dropped),
    ...indexes.added,
  ];
  return compile(change, withIndexes(change, drafts), changes);
}

/** The table's own name and identifier. */
function ownSteps({ type, former, before, dialect }: TypeChange): readonly DraftStep[] {
  const isRenamed = former !== type.name;
  const isMoved = before.table !== type.table;
  const edits: readonly Edit[] = isMoved ? [{ kind: 'renameTable', from: before.table }] : [];
  const { literal, quote } = dialect;
  const also = isRenamed
    ? [`update ${quote(SEED_TABLE)} set type = ${literal(type.name)} where type = ${literal(former)}`]
    : [];
  const { column } = type.identifier;
  const moved = `Move ${type.name} from table ${before.table} to ${type.table}`;
  const identified = `Rename the identifier of ${type.name} from "${before.identifier}" to "${column}"`;
  return [
    ...(isRenamed ? [draft('rename-type', type.name, `Rename ${former} to ${type.name}`, { edits, also })] : []),
    ...(isMoved && !isRenamed ? [draft('move-table', type.name, moved, { edits })] : []),
    ...(before.identifier === column
      ? []
      : [
          draft('rename-identifier', type.name, identified, {
            edits: [{ kind: 'renameIdentifier', from: before.identifier, to: column }],
          }),
        ]),
  ];
}

function openSteps({ type, before, dialect }: TypeChange): readonly DraftStep[] {
  const column = columnsOf(type, dialect.name).find(({ name }) => name === OPEN_COLUMN);
  if (before.open || !column) return [];
  return [
    draft('open-type', type.name, `Open ${type.name} to keys of any name`, { edits: [{ kind: 'addColumn', column }] }),
  ];
}

function closeSteps(change: TypeChange, { fields }: ColumnChanges): readonly DraftStep[] {
  const { type, before, dialect } = change;
  if (!before.open || type.open) return [];
  const taken = fields.all.filter((one) => !one.before).map(({ field }) => field.name);
  const rest = taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(OPEN_COLUMN, taken);
  return [
    draft('close-type', type.name, `Close ${type.name} to keys that no field names`, {
      edits: [{ kind: 'dropColumn', name: OPEN_COLUMN, isReference: false }],
      checks: [rowsWhere(change, `not (${dialect.isEmpty(rest)})`, { effect: 'lose', says: 'the open keys are lost' })],
    }),
  ];
}

/** Nulls that become a default may collide where the field is unique. */
function withDuplicates(step: DraftStep, change: TypeChange, { fields, references }: ColumnChanges): DraftStep {
  if (step.code !== 'fill-field') return step;
  const members = { fields: fields.all, references: references.all };
  const unique = change.type.indexes.filter(
    (index) => index.unique && index.members.some(({ name }) => name === step.name),
  );
  return { ...step, checks: [...step.checks, ...unique.map((index) => duplicates(change, members, index))] };
}

/** Whether a column goes and another one of its name comes: the indexes over it go with it. */
function isReplaced(edits: readonly Edit[]): boolean {
  const fresh = new Set(edits.flatMap((edit) => (edit.kind === 'addColumn' ? edit.column.name : [])));
  return edits.some((edit) => edit.kind === 'dropColumn' && fresh.has(edit.name));
}

/** Indexes whose SQL is no longer the same are made anew around the other edits. */
function withIndexes({ type, before, dialect }: TypeChange, drafts: readonly DraftStep[]): readonly DraftStep[] {
  const wanted = new Map(indexesOf(type, dialect).map(({ name, sql }) => [name, sql]));
  const handled = new Set(drafts.flatMap(({ edits }) => edits.flatMap((edit) => ('name' in edit ? edit.name : []))));
  const old = before.definition.indexes;
  const isAnew = isReplaced(drafts.flatMap(({ edits }) => edits));
  const outdated = Object.keys(old).filter((name) => (isAnew || old[name] !== wanted.get(name)) && !handled.has(name));
  const fresh = [...wanted].filter(([name, sql]) => (isAnew || old[name] !== sql) && !handled.has(name));
  if (outdated.length + fresh.length === 0) return drafts;
  const all =
    drafts.length > 0 ? drafts : [draft('remake-indexes', type.name, `Make the indexes of ${type.name} anew`)];
  const drops = outdated.map((name): Edit => ({ kind: 'dropIndex', name }));
  const creates = fresh.map(([name, sql]): Edit => ({ kind: 'createIndex', name, sql }));
  return all.map((step, index) => ({
    ...step,
    edits: [...(index === 0 ? drops : []), ...step.edits, ...(index === all.length - 1 ? creates : [])],
  }));
}

function compile(change: TypeChange, drafts: readonly DraftStep[], changes: ColumnChanges): readonly Step[] {
  const { type, before, dialect } = change;
  const { each, together } = dialect.alterTable({
    table: type.table,
    identifier: type.identifier.column,
    edits: drafts.flatMap(({ edits }) => edits),
    columnsBefore: columnsBefore(before),
    values: valuesOf(change, changes),
    create: (name) => defineTable(type, dialect, name),
    indexes: indexesOf(type, dialect).map(({ sql }) => sql),
  });
  let at = 0;
  const steps = drafts.map((step) => {
    const own = each.slice(at, (at += step.edits.length));
    return finished(step, [...step.also, ...own.flat()], before.table);
  });
  if (together.length === 0) return steps;
  const says = `Rebuild table ${type.table}: what ALTER TABLE cannot do, in one pass over its rows`;
  return [...steps, finished(draft('rebuild-table', type.name, says), together, before.table)];
}
