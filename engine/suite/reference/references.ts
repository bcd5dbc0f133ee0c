/** What a body refers to and cannot: records that are not there, children of others, records that it deletes itself. */
import { pointer } from '../../json.ts';
import type { Relation } from '../../model/model.ts';
import { related } from './links.ts';
import { isWayBack, membersOf, type Saying, type Speech } from './speeches.ts';
import { type Id, type Row, rowOf, type World } from './world.ts';

const identifierAt = ({ type, at }: Speech): string => `${at}${pointer([type.identifier.name])}`;

/** The records that a place leaves out of a relation. */
export function leftOut(world: World, speech: Speech, said: Saying): readonly Row[] {
  const { relation, speeches } = said;
  if (speech.row === undefined || (!relation.toMany && speeches.some(({ lost }) => lost))) return [];
  const members = membersOf(speech, said);
  return related(world, relation, speech.row).filter(
    ({ id }) => !members.has(`${relation.target.name} ${JSON.stringify(id)}`),
  );
}

const holderOf = (child: Row | undefined, { link }: Relation): Id | undefined =>
  child && link.at !== 'join' ? child.links.get(link.reference) : undefined;

/** An owned child stays with its owner, whichever side speaks of it. */
function foreign(speech: Speech, { relation, speeches, at }: Saying): readonly string[] {
  if (isWayBack(speech, relation)) return [];
  const owner = speeches[0];
  if (relation.link.at === 'target' && relation.owned)
    return speeches
      .filter(({ row, lost }) => !lost && ![undefined, speech.row?.id].includes(holderOf(row, relation)))
      .map(identifierAt);
  if (relation.link.at !== 'source' || !relation.inverse?.owned) return [];
  const holder = holderOf(speech.row, relation);
  if (holder === undefined || (owner && (owner.lost || owner.row?.id === holder))) return [];
  return [owner ? identifierAt(owner) : at];
}

interface Leaving {
  readonly relation: Relation;
  readonly row: Row;
  readonly at: string;
}

/** Every child that some writable place leaves out. */
export function leavingIn(world: World, speeches: readonly Speech[]): readonly Leaving[] {
  return speeches
    .filter(({ writable, lost }) => writable && !lost)
    .flatMap((speech) =>
      speech.says
        .filter(({ relation }) => relation.link.at === 'target' && !isWayBack(speech, relation))
        .flatMap((said) => leftOut(world, speech, said).map((row) => ({ relation: said.relation, row, at: said.at }))),
    );
}

/** `after`: the records as the body would have them. */
export function referenceFaults(world: World, after: World, speeches: readonly Speech[]): readonly string[] {
  const present = speeches.filter(({ lost }) => !lost);
  const absent = speeches.filter(({ named, lost, via }) => named && lost && !via?.parent.lost);
  const leaving = leavingIn(world, speeches);
  const deleted = leaving.filter(({ relation }) => relation.owned);
  const named = present.filter(
    (speech) =>
      speech.named && deleted.some(({ relation, row }) => relation.target === speech.type && row.id === speech.id),
  );
  const homeless = leaving.filter(
    ({ relation: { owned, link, target }, row }) =>
      !owned &&
      link.at === 'target' &&
      link.reference.required &&
      !rowOf(after, target, row.id)?.links.has(link.reference),
  );
  return [
    ...absent.map(identifierAt),
    ...present.flatMap((speech) => speech.says.flatMap((said) => foreign(speech, said))),
    ...named.map(identifierAt),
    ...homeless.map(({ at }) => at),
  ];
}
