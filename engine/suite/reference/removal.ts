/** Deleting a record of the reference model, with what goes along: cascades, emptied keys, join rows. */
import type { RecordType } from '../../model/model.ts';
import { pointingAt, setLink } from './links.ts';
import { Refusal } from './refusal.ts';
import { deleteRow, type Id, type World } from './world.ts';

interface Doomed {
  readonly type: RecordType;
  readonly id: Id;
}

/** The record and everything that its deletion takes along. */
function doomedWith(world: World, first: Doomed): Doomed[] {
  const doomed = [first];
  for (const { type, id } of doomed) {
    for (const { child, reference, row } of pointingAt(world, type, id)) {
      const known = doomed.some((one) => one.type === child && one.id === row.id);
      if (reference.onDelete === 'cascade' && !known) doomed.push({ type: child, id: row.id });
    }
  }
  return doomed;
}

function release(world: World, { type, id }: Doomed): void {
  for (const { child, reference, row } of pointingAt(world, type, id)) {
    if (reference.onDelete === 'restrict')
      throw new Refusal('restrict-conflict', [], `${child.name} ${row.id} refers to ${type.name} ${id}`);
    setLink(world, child, row.id, reference, undefined);
  }
  for (const [table, pairs] of world.joins) {
    const kept = pairs.filter(
      ([left, right]) => !(table.left.type === type && left === id) && !(table.right.type === type && right === id),
    );
    if (kept.length < pairs.length) world.joins.set(table, kept);
  }
}

export function removeRow(world: World, type: RecordType, id: Id): void {
  const doomed = doomedWith(world, { type, id });
  for (const one of doomed) deleteRow(world, one.type, one.id);
  for (const one of doomed) release(world, one);
}
