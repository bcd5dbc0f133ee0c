/** Tables and columns that get other names while they stay the same: who knows them by their former names follows. */
import { type AppliedModel, type AppliedType, identifierNameOf, type Move, nameKey } from './applied.ts';

/** Where descriptors have their columns after what happened since they were applied. */
export function followed(own: AppliedModel, now: AppliedModel): AppliedModel {
  const [known, all] = [own.moves ?? [], now.moves ?? []];
  return all.length <= known.length ? own : { ...moved(own, all.slice(known.length)), moves: all };
}

/** Definitions stay as they were. */
export const moved = (model: AppliedModel, moves: readonly Move[]): AppliedModel => moves.reduce(movedOnce, model);

function movedOnce(model: AppliedModel, { table, column, to }: Move): AppliedModel {
  const types = Object.entries(model.types).map(([name, type]) => [
    name,
    type.table !== table ? type : column === undefined ? { ...type, table: to } : withColumn(type, column, to),
  ]);
  const joins = model.joins.map((join) => {
    if (join.table !== table) return join;
    if (column === undefined) return { ...join, table: to };
    return { ...join, left: renamed(join.left, column, to), right: renamed(join.right, column, to) };
  });
  return { ...model, types: Object.fromEntries(types), joins };
}

function withColumn(type: AppliedType, column: string, to: string): AppliedType {
  const fields = Object.entries(type.fields).map(([name, field]) => {
    const folded = field.folded === column ? to : field.folded;
    return [name, renamed(folded === undefined ? field : { ...field, folded }, column, to)];
  });
  const name = identifierNameOf(type);
  const identifier =
    type.identifier === column ? { identifier: to, identifierName: name === to ? undefined : name } : {};
  return {
    ...type,
    ...identifier,
    fields: Object.fromEntries(fields),
    references: type.references.map((reference) => renamed(reference, column, to)),
  };
}

const renamed = <C extends { readonly column: string }>(one: C, column: string, to: string): C =>
  one.column === column ? { ...one, column: to } : one;

/**
 * Names that something had once, each with the name that it has now. Nothing else gets them: a statement that an instance
 * compiled before must fail, and not find something else. `table`: of its columns; without it, of tables.
 */
export function namesLeft({ moves = [] }: AppliedModel, table?: string): ReadonlyMap<string, string> {
  const left = new Map<string, string>();
  // From the last one on: a table is known by the name that it has now.
  const names = new Map<string, string>();
  for (const move of moves.toReversed()) {
    const now = tableNow(names, move.table);
    if (move.column === undefined) names.set(move.table, tableNow(names, move.to));
    if (table === undefined ? move.column !== undefined : move.column === undefined || now !== table) continue;
    const former = move.column ?? move.table;
    const latest = left.get(nameKey(move.to)) ?? move.to;
    if (nameKey(former) !== nameKey(latest)) left.set(nameKey(former), latest);
  }
  return left;
}

const tableNow = (names: ReadonlyMap<string, string>, table: string): string => names.get(table) ?? table;
