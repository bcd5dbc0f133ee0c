/** The part of a Model that a client may see, for documents about it. Requests use the one Model and its rights. */
import type { Model, RecordType, Relation } from './model.ts';
import { can, canWriteThrough, relationsFor, type Rights } from './rights.ts';
import type { Draft } from './resolve.ts';

export function seenModel(model: Model, rights: Rights): Model {
  if (rights.key === '') return model;
  const readable = [...model.types.values()].filter((type) => can(rights, type, 'get'));
  const types = new Map(readable.map((type) => [type.name, seenType(type, rights)]));
  const relations = new Map<Relation, Draft<Relation>>();
  for (const type of readable)
    for (const relation of relationsFor(rights, type).values()) {
      const [source, target] = [types.get(type.name), types.get(relation.target.name)];
      if (!source || !target) continue;
      const nested = canWriteThrough(rights, relation) ? 'write' : 'link';
      const copy: Draft<Relation> = { ...relation, fields: [...relation.fields], source, target, nested };
      relations.set(relation, copy);
      source.relations.set(relation.name, copy);
    }
  for (const [{ inverse }, copy] of relations) copy.inverse = inverse && relations.get(inverse);
  for (const type of types.values())
    type.references = type.references.flatMap((reference) => {
      const target = types.get(reference.target.name);
      return target ? [{ ...reference, target }] : [];
    });
  const joinTables = model.joinTables.flatMap((table) => {
    const [left, right] = [types.get(table.left.type.name), types.get(table.right.type.name)];
    return left && right
      ? [{ ...table, left: { ...table.left, type: left }, right: { ...table.right, type: right } }]
      : [];
  });
  return { types, joinTables };
}

const seenType = (type: RecordType, rights: Rights): Draft<RecordType> => ({
  ...(type as Draft<RecordType>),
  operations: new Set([...type.operations].filter((operation) => can(rights, type, operation))),
  relations: new Map(),
  seed: [],
});
