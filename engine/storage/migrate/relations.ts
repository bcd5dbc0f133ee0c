/** The steps of manyToMany relations: their rows move as a whole wherever their table is another one. */
import { ENGINE_PREFIX, type JoinTable, type Model, type Reference, type Relation } from '../../model/model.ts';
import {
  type AppliedJoin,
  type AppliedModel,
  appliedReference,
  type AppliedReference,
  type AppliedSide,
  otherSide,
} from './applied.ts';
import { defineJoinRows, defineJoinTable, joinIndex } from '../define.ts';
import type { Dialect } from '../driver.ts';
import {
  draft,
  type DraftStep,
  finished,
  type MigrationStep,
  type ReferenceChange,
  type StepCheck,
  type TypeChange,
} from './step.ts';
import { everyRow, rowsAlike, rowsWhere } from './assess.ts';

export interface JoinChange {
  readonly after: JoinTable;
  readonly before: AppliedJoin;
  /** The columns that keep the sides now, as they were called. */
  readonly columns: { readonly left: string; readonly right: string };
}

export interface MatchedJoins {
  readonly kept: readonly JoinChange[];
  readonly added: readonly JoinTable[];
  readonly dropped: readonly AppliedJoin[];
}

/** Two tables are the same connection where one side is the same relation, and both lead to the same types. */
export function matchJoins(applied: AppliedModel, model: Model, names: TypeNames): MatchedJoins {
  const left = new Set(applied.joins);
  const kept: JoinChange[] = [];
  for (const nameOf of [(one: Relation) => one.name, (one: Relation) => one.renamedFrom]) {
    for (const after of model.joinTables) {
      if (kept.some((one) => one.after === after)) continue;
      const found = [...left].flatMap((before) => matchJoin(after, before, names, nameOf) ?? [])[0];
      if (found && left.delete(found.before)) kept.push(found);
    }
  }
  const known = new Set(kept.map(({ after }) => after));
  return { kept, added: model.joinTables.filter((table) => !known.has(table)), dropped: [...left] };
}

function matchJoin(
  after: JoinTable,
  before: AppliedJoin,
  { former }: TypeNames,
  nameOf: (relation: Relation) => string | undefined,
): JoinChange | undefined {
  for (const side of ['left', 'right'] as const) {
    const other = side === 'left' ? 'right' : 'left';
    const relation = relationAt(after, after[side].column);
    const name = relation && nameOf(relation);
    if (name === undefined) continue;
    for (const [same, opposite] of [
      [before.left, before.right],
      [before.right, before.left],
    ] as const) {
      const isSame = same.relation === name && same.type === former.get(after[side].type.name);
      if (!isSame || opposite.type !== former.get(after[other].type.name)) continue;
      const columns = { [side]: same.column, [other]: opposite.column };
      return { after, before, columns: { left: columns['left'] ?? '', right: columns['right'] ?? '' } };
    }
  }
  return undefined;
}

export const relationAt = (table: JoinTable, column: string): Relation | undefined =>
  [table.left.type, table.right.type]
    .flatMap((type) => [...type.relations.values()])
    .find(({ link }) => link.at === 'join' && link.table === table && link.sourceColumn === column);

/** The relation that people know the table by. */
function joinOwnerOf({ left, right, table }: AppliedJoin): { readonly type: string; readonly name: string } {
  const named = [left, right].find((side): side is AppliedSide & { relation: string } => side.relation !== null);
  return named ? { type: named.type, name: named.relation } : { type: left.type, name: table };
}

function ownerNow(table: JoinTable): { readonly type: string; readonly name: string } {
  const relation = relationAt(table, table.left.column) ?? relationAt(table, table.right.column);
  return relation
    ? { type: relation.source.name, name: relation.name }
    : { type: table.left.type.name, name: table.name };
}

export function droppedJoinSteps(dropped: readonly AppliedJoin[], { quote }: Dialect): readonly MigrationStep[] {
  return dropped.map((before) => {
    const { type, name } = joinOwnerOf(before);
    const check: StepCheck = {
      sql: `select ${quote(before.left.column)} as identifier, null as value from ${quote(before.table)}`,
      schema: undefined,
      effect: 'lose',
      says: `a connection "${name}" is lost`,
    };
    const step = draft('drop-relation', type, `Drop relation "${name}" of ${type}`, { name, checks: [check] });
    return finished(step, [`drop table ${quote(before.table)}`], before.table);
  });
}

export function movedJoinSteps(kept: readonly JoinChange[], dialect: Dialect): readonly MigrationStep[] {
  return kept.flatMap((change) => {
    const { after, before, columns } = change;
    const isSame =
      before.table === after.name && columns.left === after.left.column && columns.right === after.right.column;
    // Sides may have changed places: the primary key begins with the left one.
    if (isSame && before.left.column === after.left.column) return [];
    const { type, name } = ownerNow(after);
    const says = `Keep relation "${name}" of ${type} in table ${after.name} (${after.left.column}, ${after.right.column})`;
    return [finished(draft('move-links', type, says, { name }), moved(change, dialect), before.table)];
  });
}

function moved({ after, before, columns }: JoinChange, dialect: Dialect): readonly string[] {
  const { quote } = dialect;
  const fresh = `${ENGINE_PREFIX}new_${after.name}`;
  const into = `${quote(fresh)} (${quote(after.left.column)}, ${quote(after.right.column)})`;
  return [
    defineJoinRows(after, dialect, fresh),
    `insert into ${into} select ${quote(columns.left)}, ${quote(columns.right)} from ${quote(before.table)}`,
    `drop table ${quote(before.table)}`,
    `alter table ${quote(fresh)} rename to ${quote(after.name)}`,
    joinIndex(after, dialect).sql,
  ];
}

export const addedJoinSteps = (added: readonly JoinTable[], dialect: Dialect): readonly MigrationStep[] =>
  added.map((table) => {
    const { type, name } = ownerNow(table);
    const says = `Add relation "${name}" of ${type}, in table ${table.name}`;
    return finished(draft('add-relation', type, says, { name }), defineJoinTable(table, dialect), undefined);
  });

// The steps of a table's foreign keys. Each is told by the relation that shows it, on whichever side that is.

/** Names of types now, by what they were, and back. */
export interface TypeNames {
  readonly now: ReadonlyMap<string, string>;
  readonly former: ReadonlyMap<string, string>;
}

export interface MatchedReferences {
  readonly all: readonly { readonly after: AppliedReference; readonly before: AppliedReference | undefined }[];
  readonly dropped: readonly AppliedReference[];
}

/** Wanted foreign keys, each with the one that it was: the same relation of either side, to the same type. */
export function matchReferences({ type, before }: TypeChange, names: TypeNames): MatchedReferences {
  const left = new Set(before.references);
  const pairs = new Map<Reference, AppliedReference>();
  const wanted = type.references.map((reference) => ({ reference, after: appliedReference(reference) }));
  const claim = (
    side: 'belongsTo' | 'has',
    nameOf: (one: (typeof wanted)[number]) => string | null | undefined,
  ): void => {
    for (const one of wanted) {
      const name = nameOf(one) ?? null;
      if (name === null || pairs.has(one.reference)) continue;
      const target = names.former.get(one.after.target);
      const found = [...left].find((old) => old[side] === name && old.target === target);
      if (found && left.delete(found)) pairs.set(one.reference, found);
    }
  };
  claim('belongsTo', ({ after }) => after.belongsTo);
  claim('belongsTo', ({ reference }) => reference.relation?.renamedFrom);
  claim('has', ({ after }) => after.has);
  claim('has', ({ reference }) => otherSide(reference)?.renamedFrom);
  return { all: wanted.map(({ reference, after }) => ({ after, before: pairs.get(reference) })), dropped: [...left] };
}

interface Owner {
  readonly type: string;
  readonly name: string;
}

/** The relation that people know the foreign key by. */
const ownerOf = (table: string, { belongsTo, has, target, column }: AppliedReference): Owner =>
  belongsTo !== null ? { type: table, name: belongsTo } : { type: target, name: has ?? column };

const label = ({ type, name }: Owner): string => `relation "${name}" of ${type}`;

export const referenceSteps = (change: TypeChange, references: readonly ReferenceChange[]): readonly DraftStep[] =>
  references.flatMap((one) => (one.before ? keptSteps(change, one, one.before) : addedSteps(change, one)));

function keptSteps(change: TypeChange, one: ReferenceChange, before: AppliedReference): readonly DraftStep[] {
  const { after, column, value } = one;
  const { quote } = change.dialect;
  const owner = ownerOf(change.type.name, after);
  const was = quote(before.column);
  const edits = [{ kind: 'changeColumn', column, value, isLimited: false }] as const;
  const steps: readonly (readonly [boolean, () => DraftStep])[] = [
    [
      before.column !== after.column,
      () =>
        draft('rename-relation', owner.type, renaming(change, before, after), {
          name: owner.name,
          edits: [{ kind: 'renameColumn', from: before.column, to: after.column }],
        }),
    ],
    [
      before.required && !after.required,
      () => draft('relax-relation', owner.type, `Let ${label(owner)} be null`, { name: owner.name, edits }),
    ],
    [
      !before.required && after.required,
      () =>
        draft('require-relation', owner.type, `Let ${label(owner)} no longer be null`, {
          name: owner.name,
          edits,
          checks: [
            rowsWhere(change, `${was} is null`, { effect: 'fail', says: `there is no "${owner.name}"; link one` }),
          ],
        }),
    ],
    [
      before.unique && !after.unique,
      () =>
        draft('share-relation', owner.type, `Let several ${change.type.name} share ${label(owner)}`, {
          name: owner.name,
        }),
    ],
    [
      !before.unique && after.unique,
      () =>
        draft('unshare-relation', owner.type, `Let no two ${change.type.name} share ${label(owner)}`, {
          name: owner.name,
          checks: [rowsAlike(change, [was], `another one has the same "${owner.name}"`)],
        }),
    ],
    [
      before.onDelete !== after.onDelete,
      () =>
        draft(
          'change-deletion',
          owner.type,
          `On deletion, ${label(owner)}: ${after.onDelete}, not ${before.onDelete}`,
          {
            name: owner.name,
            edits,
          },
        ),
    ],
  ];
  return steps.flatMap(([applies, step]) => (applies ? [step()] : []));
}

function renaming(change: TypeChange, before: AppliedReference, after: AppliedReference): string {
  const [was, is] = [ownerOf(change.type.name, before), ownerOf(change.type.name, after)];
  const columns = `in column ${after.column}, not ${before.column}`;
  return was.name === is.name ? `Keep ${label(is)} ${columns}` : `Rename ${label(was)} to "${is.name}", ${columns}`;
}

function addedSteps(change: TypeChange, { after, column }: ReferenceChange): readonly DraftStep[] {
  const owner = ownerOf(change.type.name, after);
  const effect = { effect: 'fail', says: `there would be no "${owner.name}"; do not require it yet` } as const;
  return [
    draft(after.required ? 'add-required-relation' : 'add-relation', owner.type, `Add ${label(owner)}`, {
      name: owner.name,
      edits: [{ kind: 'addColumn', column }],
      checks: after.required ? [everyRow(change, effect)] : [],
    }),
  ];
}

export const droppedReferenceSteps = (change: TypeChange, dropped: readonly AppliedReference[]): readonly DraftStep[] =>
  dropped.map((before) => {
    const owner = ownerOf(change.former, before);
    const isThere = `${change.dialect.quote(before.column)} is not null`;
    return draft('drop-relation', owner.type, `Drop ${label(owner)}`, {
      name: owner.name,
      edits: [{ kind: 'dropColumn', name: before.column, isReference: true }],
      checks: [rowsWhere(change, isThere, { effect: 'lose', says: `the connection "${owner.name}" is lost` })],
    });
  });
