/** The steps of a type that is there already: what differs, and the SQL that changes its table. */
import { isDeepStrictEqual } from 'node:util';
import { OPEN_COLUMN, type RecordType } from '../../model/model.ts';
import type { Edit } from './driver.ts';
import { type Column, columnsOf, columnType } from '../columns.ts';
import { defineTable, indexesOf } from '../define.ts';
import { SEED_TABLE } from '../engine-tables.ts';
import { rowsWhere } from './assess.ts';
import {
  draft,
  type DraftStep,
  type FieldChange,
  finished,
  type MigrationStep,
  type ReferenceChange,
  type TypeChange,
} from './step.ts';
import { claimSteps, droppedFieldSteps, fieldSteps } from './fields.ts';
import { duplicates, indexSteps } from './indexes.ts';
import {
  droppedReferenceSteps,
  type MatchedJoins,
  matchReferences,
  referenceSteps,
  relationAt,
  type TypeNames,
} from './relations.ts';
import type { AppliedField, AppliedModel, AppliedReference, AppliedType } from './applied.ts';
import { match } from '../../model/renames.ts';

export function typeSteps(
  change: TypeChange,
  names: TypeNames,
  knownRelations: ReadonlySet<string>,
): readonly MigrationStep[] {
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

function compile(change: TypeChange, drafts: readonly DraftStep[], changes: ColumnChanges): readonly MigrationStep[] {
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

// What vanished beside something new that looks the same: most likely a new name, and no reason to drop anything.

function question(
  type: string,
  name: string | undefined,
  old: string,
  candidates: readonly string[],
): readonly DraftStep[] {
  if (candidates.length === 0) return [];
  const news = candidates.map((one) => `"${one}"`).join(' or ');
  const says = `"${old}" is gone, and ${news} is new and looks the same. If it is the same, write "renamedFrom: ${old}" there; this step says that it is not`;
  return [draft('not-renamed', type, says, name === undefined ? {} : { name })];
}

export function unclearFields({ type, before }: TypeChange, { fields }: ColumnChanges): readonly DraftStep[] {
  return fields.dropped.flatMap((name) => {
    const old = before.fields[name];
    const alike = fields.all.filter(
      (one) =>
        !one.before && old?.type === one.field.type.name && isDeepStrictEqual(old.constraints, one.field.constraints),
    );
    return question(
      type.name,
      name,
      name,
      alike.map(({ field }) => field.name),
    );
  });
}

export function unclearReferences({ type }: TypeChange, { references }: ColumnChanges): readonly DraftStep[] {
  return references.dropped.flatMap((old) => {
    const alike = references.all.filter(({ after, before }) => !before && after.target === old.target);
    const [owner, name] = old.belongsTo === null ? [old.target, old.has ?? old.column] : [type.name, old.belongsTo];
    return question(
      owner,
      name,
      name,
      alike.map(({ after }) => after.belongsTo ?? after.has ?? after.column),
    );
  });
}

export function unclearJoins({ dropped, added }: MatchedJoins): readonly DraftStep[] {
  return dropped.flatMap(({ left, right, table }) => {
    const types = [left.type, right.type].toSorted();
    const alike = added.filter((one) => isDeepStrictEqual([one.left.type.name, one.right.type.name].toSorted(), types));
    const [type, name] = left.relation === null ? [right.type, right.relation ?? table] : [left.type, left.relation];
    const names = alike.map(
      (one) => (relationAt(one, one.left.column) ?? relationAt(one, one.right.column))?.name ?? one.name,
    );
    return question(type, name, name, names);
  });
}

/** Types with the same fields of the same kinds. */
export function unclearTypes(
  applied: AppliedModel,
  dropped: readonly string[],
  added: readonly RecordType[],
): readonly DraftStep[] {
  return dropped.flatMap((name) => {
    const old = applied.types[name];
    const alike = added.filter((type) => old && sameFields(old, type));
    return question(
      name,
      undefined,
      name,
      alike.map((type) => type.name),
    );
  });
}

function sameFields(old: AppliedType, type: RecordType): boolean {
  const before = Object.entries(old.fields).map(([name, field]) => [name, field.type]);
  const after = [...type.fields.values()].map((field) => [field.name, field.type.name]);
  return isDeepStrictEqual(before.toSorted(), after.toSorted());
}

// Where each column's values come from: the column that it was, an open key, a default.

export interface ColumnChanges {
  readonly fields: { readonly all: readonly FieldChange[]; readonly dropped: readonly string[] };
  readonly references: { readonly all: readonly ReferenceChange[]; readonly dropped: readonly AppliedReference[] };
}

export const columnsBefore = ({ fields, references, open }: AppliedType): readonly string[] => [
  ...Object.values(fields).map(({ column }) => column),
  ...references.map(({ column }) => column),
  ...(open ? [OPEN_COLUMN] : []),
];

export function changedFields(change: TypeChange): ColumnChanges['fields'] {
  const { type, before, dialect } = change;
  const { kept, dropped } = match(type.fields.values(), Object.keys(before.fields));
  const former = new Map(kept.map((one) => [one.wanted, one.former]));
  const all = columnsOf(type, dialect.name).flatMap((column): FieldChange[] => {
    const { field } = column;
    if (!field) return [];
    const name = former.get(field);
    const was = name === undefined ? undefined : before.fields[name];
    const value = was ? keptValue(change, column, was) : newValue(change, column);
    return [{ field, column, former: name, before: was, value }];
  });
  return { all, dropped };
}

function keptValue({ dialect }: TypeChange, column: Column, before: AppliedField): string {
  const { field, nullable } = column;
  const stored = dialect.quote(before.column);
  const otherwise = dialect.literal(column.default);
  if (!field) return otherwise;
  const taken =
    before.type === field.type.name ? stored : columnType(field, dialect.name).takes?.[before.type]?.(stored);
  if (taken === undefined) return otherwise;
  return before.nullable && !nullable && column.default !== null ? `coalesce(${taken}, ${otherwise})` : taken;
}

function newValue({ before, dialect }: TypeChange, { field, ...column }: Column): string {
  const otherwise = dialect.literal(column.default);
  if (!before.open || !field) return otherwise;
  const taken = columnType(field, dialect.name).extracted(dialect.quote(OPEN_COLUMN), dialect.keyPath(field.name));
  return `case when ${dialect.hasKey(OPEN_COLUMN, field.name)} then ${taken} else ${otherwise} end`;
}

export function changedReferences(change: TypeChange, names: TypeNames): ColumnChanges['references'] {
  const { type, dialect } = change;
  const { all, dropped } = matchReferences(change, names);
  const columns = new Map(columnsOf(type, dialect.name).map((column) => [column.name, column]));
  const changes = all.flatMap(({ after, before }): ReferenceChange[] => {
    const column = columns.get(after.column);
    return column
      ? [{ after, before, column, value: before ? dialect.quote(before.column) : dialect.literal(null) }]
      : [];
  });
  return { all: changes, dropped };
}

/** In the order of the table's columns. */
export function valuesOf(change: TypeChange, { fields, references }: ColumnChanges) {
  const values = new Map([...fields.all, ...references.all].map(({ column, value }) => [column.name, value] as const));
  return columnsOf(change.type, change.dialect.name).map(({ name }) => ({
    column: name,
    value: values.get(name) ?? openValue(change, fields),
  }));
}

function openValue({ before, dialect }: TypeChange, fields: ColumnChanges['fields']): string {
  if (!before.open) return dialect.literal('{}');
  const taken = fields.all.filter((one) => !one.before).map(({ field }) => field.name);
  return taken.length === 0 ? dialect.quote(OPEN_COLUMN) : dialect.withoutKeys(OPEN_COLUMN, taken);
}
