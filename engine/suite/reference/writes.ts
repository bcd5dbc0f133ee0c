/** Writes of the reference model: what the records are once everything that a body says is so. */
import type { RecordType, Relation } from '../../model/model.ts';
import { setLink, unpair, pairUp } from './links.ts';
import { leavingIn, leftOut } from './references.ts';
import type { Speech } from './speeches.ts';
import { isWayBack } from './speeches.ts';
import { defaultOf, writeValues } from './values.ts';
import { type Id, newId, putRow, rowOf, type World } from './world.ts';

/** The identifier that each record of the body has now. */
export type Ids = ReadonlyMap<string, Id>;

/** New records with their defaults, in the order of the document. */
export function makeRows(world: World, speeches: readonly Speech[]): Ids {
  const ids = new Map<string, Id>();
  for (const { who, type, id, row, lost } of speeches) {
    if (lost || ids.has(who)) continue;
    ids.set(who, id ?? newId(world, type));
    if (row === undefined) makeRow(world, type, ids.get(who) ?? '');
  }
  return ids;
}

function makeRow(world: World, type: RecordType, id: Id): void {
  const values = new Map([...type.fields.values()].map((field) => [field, defaultOf(field)] as const));
  putRow(world, type, { id, values, links: new Map(), open: new Map() });
}

/** Values first, then what leaves a relation, then what is linked: what one place links, no other lets go. */
export function applySpeeches(world: World, speeches: readonly Speech[], ids: Ids, patch: boolean): void {
  const before = { ...world, rows: new Map(world.rows) };
  const saying = speeches.filter(({ writable, lost }) => writable && !lost);
  for (const { who, type, body, row } of saying) {
    const current = rowOf(world, type, ids.get(who) ?? '');
    if (current) writeValues(world, type, current, row ?? current, body, patch);
  }
  for (const { relation, row } of leavingIn(before, saying))
    if (relation.link.at === 'target' && !relation.owned)
      setLink(world, relation.target, row.id, relation.link.reference, undefined);
  for (const speech of saying) {
    const id = ids.get(speech.who) ?? '';
    for (const said of speech.says) {
      if (said.relation.link.at === 'join')
        for (const { id: other } of leftOut(before, speech, said)) unpair(world, said.relation, id, other);
    }
  }
  for (const speech of saying)
    for (const { relation, speeches: items } of speech.says) {
      const targets = items.flatMap(({ who, lost }) => (lost ? [] : (ids.get(who) ?? [])));
      if (!isWayBack(speech, relation))
        connect(world, relation, ids.get(speech.who) ?? '', targets, items.length === 0);
    }
}

function connect(world: World, relation: Relation, id: Id, targets: readonly Id[], empty: boolean): void {
  const { link, source, target } = relation;
  if (link.at === 'source') {
    if (targets.length > 0 || empty) setLink(world, source, id, link.reference, targets[0]);
  } else if (link.at === 'target') for (const other of targets) setLink(world, target, other, link.reference, id);
  else for (const other of targets) pairUp(world, relation, id, other);
}
