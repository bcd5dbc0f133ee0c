/** What must be unique in the reference model: fields, groups of fields and relations, the parent of a hasOne. */
import type { Field, RecordType, Reference, Relation } from '../../model/model.ts';
import { Refusal } from './refusal.ts';
import { type Id, type Row, rowsOf, type World } from './world.ts';

const isField = (member: Field | Relation): member is Field => !('link' in member);

function keyOf(relation: Relation): Reference {
  if (relation.link.at !== 'source') throw new Error(`${relation.name} has no column in the table of its type`);
  return relation.link.reference;
}

/** Null and absent are equal to nothing. */
function sameMember(member: Field | Relation, a: Row, b: Row): boolean {
  if (!isField(member)) return sameLink(keyOf(member), a, b);
  const [first, second] = [a.values.get(member) ?? null, b.values.get(member) ?? null];
  return first !== null && second !== null && member.type.equal(first, second);
}

function sameLink(key: Reference, a: Row, b: Row): boolean {
  const id = a.links.get(key);
  return id !== undefined && id === b.links.get(key);
}

function clash(type: RecordType, a: Row, b: Row): string | undefined {
  const index = type.indexes.find(
    ({ unique, members }) => unique && members.every((member) => sameMember(member, a, b)),
  );
  if (index) return index.members.map(({ name }) => name).join(', ');
  return type.references.find((key) => key.unique && sameLink(key, a, b))?.column;
}

/** Throws where the row has what another row of its type must have alone. */
export function refuseDoubles(world: World, type: RecordType, id: Id): void {
  const rows = rowsOf(world, type);
  const row = rows.get(id);
  if (row === undefined) return;
  for (const other of rows.values()) {
    const names = other.id === id ? undefined : clash(type, row, other);
    if (names !== undefined) throw new Refusal('unique-conflict', [], `${type.name} ${other.id} has the same ${names}`);
  }
}
