/** The steps of manyToMany relations: their rows move as a whole wherever their table is another one. */
import { ENGINE_PREFIX, type JoinTable, type Model, type Relation } from '../../model/model.ts';
import type { AppliedJoin, AppliedModel, AppliedSide } from '../applied-model.ts';
import { defineJoinRows, defineJoinTable, joinIndex } from '../define.ts';
import type { Dialect } from '../driver.ts';
import { draft, finished } from './draft.ts';
import type { TypeNames } from './references.ts';
import type { Check, Step } from './step.ts';

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
function ownerOf({ left, right, table }: AppliedJoin): { readonly type: string; readonly name: string } {
  const named = [left, right].find((side): side is AppliedSide & { relation: string } => side.relation !== null);
  return named ? { type: named.type, name: named.relation } : { type: left.type, name: table };
}

function ownerNow(table: JoinTable): { readonly type: string; readonly name: string } {
  const relation = relationAt(table, table.left.column) ?? relationAt(table, table.right.column);
  return relation
    ? { type: relation.source.name, name: relation.name }
    : { type: table.left.type.name, name: table.name };
}

export function droppedJoinSteps(dropped: readonly AppliedJoin[], { quote }: Dialect): readonly Step[] {
  return dropped.map((before) => {
    const { type, name } = ownerOf(before);
    const check: Check = {
      sql: `select ${quote(before.left.column)} as identifier, null as value from ${quote(before.table)}`,
      schema: undefined,
      effect: 'lose',
      says: `a connection "${name}" is lost`,
    };
    const step = draft('drop-relation', type, `Drop relation "${name}" of ${type}`, { name, checks: [check] });
    return finished(step, [`drop table ${quote(before.table)}`], before.table);
  });
}

export function movedJoinSteps(kept: readonly JoinChange[], dialect: Dialect): readonly Step[] {
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

export const addedJoinSteps = (added: readonly JoinTable[], dialect: Dialect): readonly Step[] =>
  added.map((table) => {
    const { type, name } = ownerNow(table);
    const says = `Add relation "${name}" of ${type}, in table ${table.name}`;
    return finished(draft('add-relation', type, says, { name }), defineJoinTable(table, dialect), undefined);
  });
