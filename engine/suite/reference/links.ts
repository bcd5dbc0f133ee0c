/** How records of the reference model are connected: who is related, connecting, disconnecting. */
import type { JoinTable, RecordType, Reference, Relation } from '../../model/model.ts';
import { type Id, putRow, type Row, rowOf, rowsOf, type World } from './world.ts';

/** The two ends of a join row as the relation's source sees them. */
function oriented(table: JoinTable, sourceColumn: string, [left, right]: readonly [Id, Id]): readonly [Id, Id] {
  return table.left.column === sourceColumn ? [left, right] : [right, left];
}

/** The related records, in no particular order. */
export function related(world: World, relation: Relation, row: Row): Row[] {
  const { link, target } = relation;
  if (link.at === 'source') {
    const id = row.links.get(link.reference);
    const found = id === undefined ? undefined : rowOf(world, target, id);
    return found === undefined ? [] : [found];
  }
  if (link.at === 'target')
    return [...rowsOf(world, target).values()].filter((child) => child.links.get(link.reference) === row.id);
  const pairs = (world.joins.get(link.table) ?? []).map((pair) => oriented(link.table, link.sourceColumn, pair));
  return pairs.filter(([source]) => source === row.id).flatMap(([, id]) => rowOf(world, target, id) ?? []);
}

/** Sets a foreign key of a row; undefined clears it. A row that has it already stays the same object. */
export function setLink(world: World, type: RecordType, id: Id, key: Reference, value: Id | undefined): void {
  const row = rowOf(world, type, id);
  if (row === undefined || row.links.get(key) === value) return;
  const links = new Map(row.links);
  if (value === undefined) links.delete(key);
  else links.set(key, value);
  putRow(world, type, { ...row, links });
}

function changePairs(
  world: World,
  { link, name }: Relation,
  source: Id,
  target: Id,
  change: (pairs: readonly (readonly [Id, Id])[], pair: readonly [Id, Id]) => readonly (readonly [Id, Id])[],
): void {
  if (link.at !== 'join') throw new Error(`${name} has no join table`);
  const pair = oriented(link.table, link.sourceColumn, [source, target]);
  world.joins.set(link.table, change(without(world.joins.get(link.table) ?? [], pair), pair));
}

const without = (pairs: readonly (readonly [Id, Id])[], [left, right]: readonly [Id, Id]) =>
  pairs.filter((one) => one[0] !== left || one[1] !== right);

export const pairUp = (world: World, relation: Relation, source: Id, target: Id): void =>
  changePairs(world, relation, source, target, (pairs, pair) => [...pairs, pair]);

export const unpair = (world: World, relation: Relation, source: Id, target: Id): void =>
  changePairs(world, relation, source, target, (pairs) => pairs);

/** The foreign keys that point at a record, each with the row that holds it. */
export function pointingAt(world: World, type: RecordType, id: Id) {
  return type.referrers.flatMap(({ type: child, reference }) =>
    [...rowsOf(world, child).values()]
      .filter((row) => row.links.get(reference) === id)
      .map((row) => ({ child, reference, row })),
  );
}
