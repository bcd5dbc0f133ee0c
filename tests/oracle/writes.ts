/** Writes of the oracle: what the records are once everything that a body says is so, or why they cannot be. */
import { type JsonValue, pointer } from '../../engine/json/json.ts';
import type { Field, RecordType, Reference, Relation } from '../../engine/model/model.ts';
import type { ExpectedRecord } from './case.ts';
import { bodyFaults, inOrder, type BodyWrite } from './body-faults.ts';
import {
  allMentions,
  type RelationContent,
  isWayBack,
  leavingIn,
  leftOut,
  membersOf,
  type RecordMention,
  mentionsOf,
  type WrittenRecord,
} from './mentions.ts';
import { refuse, refuseAt } from './refusal.ts';
import { isUnchanged, newTime, newValue, ownEntries, stampChanged, withValues } from './values.ts';
import {
  copyWorld,
  type Id,
  inTheWay,
  isField,
  newId,
  putRow,
  duplicateOf,
  related,
  removeRows,
  type RecordRow,
  rowOf,
  setLink,
  setPair,
  type World,
} from './world.ts';

type Ids = ReadonlyMap<string, Id>;

const identifierAt = ({ type, path }: RecordMention): string => pointer([...path, type.identifier.name]);

/** Where a body says which record it means: as a whole, if the path names it. */
const namedAt = (mention: RecordMention): string => (mention.path.length === 0 ? '' : identifierAt(mention));

/** New records with their defaults, in the order of the document. */
function makeRows(world: World, mentions: readonly RecordMention[], time: number): Ids {
  const ids = new Map<string, Id>();
  for (const { who, type, id, row, lost } of mentions) {
    if (lost || ids.has(who)) continue;
    // One whose identifier is taken is refused in the end: until then it is another record than the one that has it.
    const own = id === undefined || (row === undefined && rowOf(world, type, id)) ? newId(world, type) : id;
    ids.set(who, own);
    const values = new Map([...type.fields.values()].map((field) => [field, newValue(field, time)] as const));
    if (row === undefined) putRow(world, type, { id: own, values, links: new Map(), open: new Map() });
  }
  return ids;
}

/** Values first, then what leaves a relation, then what is linked: what one place links, no other unlinks. */
function apply(world: World, before: World, mentions: readonly RecordMention[], ids: Ids, patch: boolean): void {
  const writing = mentions.filter(({ writable, lost }) => writable && !lost);
  for (const { who, type, body, row } of writing) {
    const current = rowOf(world, type, ids.get(who));
    if (current) putChanged(world, type, current, withValues(type, current, row ?? current, body, patch));
  }
  for (const { relation, row } of leavingIn(before, writing))
    if (relation.link.at === 'target' && !relation.owned)
      setLink(world, relation.target, row.id, relation.link.reference, undefined);
  for (const mention of writing)
    for (const content of mention.contents)
      for (const { id } of leftOut(before, mention, content))
        setPair(world, content.relation, ids.get(mention.who) ?? '', id, false);
  for (const mention of writing)
    for (const content of mention.contents)
      if (!isWayBack(mention, content.relation)) connect(world, content, ids.get(mention.who) ?? '', ids);
}

function putChanged(world: World, type: RecordType, before: RecordRow, after: RecordRow): void {
  if (before !== after) putRow(world, type, after);
}

function connect(world: World, { relation, mentions }: RelationContent, id: Id, ids: Ids): void {
  const { link, source, target } = relation;
  const targets = mentions.flatMap(({ who, lost }) => (lost ? [] : (ids.get(who) ?? [])));
  if (link.at === 'source') {
    if (targets.length > 0 || mentions.length === 0) setLink(world, source, id, link.reference, targets[0]);
  } else if (link.at === 'target') for (const other of targets) setLink(world, target, other, link.reference, id);
  else for (const other of targets) setPair(world, relation, id, other, true);
}

const holderOf = (child: RecordRow | undefined, { link }: Relation): Id | undefined =>
  child && link.at !== 'join' ? child.links.get(link.reference) : undefined;

/**
 * An owned child stays with its owner, whichever side speaks of it; an owner that cannot be made, since it is there, is one
 * too. No record owns itself.
 */
function foreign(mention: RecordMention, { relation, mentions, at }: RelationContent): readonly string[] {
  if (isWayBack(mention, relation)) return [];
  const isItself = ({ who, given }: RecordMention): boolean => given && who === mention.who;
  if (relation.link.at === 'target' && relation.owned)
    return mentions
      .filter((one) => isItself(one) || (!one.lost && ![undefined, mention.id].includes(holderOf(one.row, relation))))
      .map(identifierAt);
  if (relation.link.at !== 'source' || !relation.inverse?.owned) return [];
  const [owner, holder] = [mentions[0], holderOf(mention.row, relation)];
  if (owner && isItself(owner)) return [identifierAt(owner)];
  if (holder === undefined || (owner && (owner.lost || owner.row?.id === holder))) return [];
  return [owner ? identifierAt(owner) : at];
}

/** Records that are there, or are given an identifier, and that a body puts below themselves: the places of the links that do. What it deletes, or links to a missing record, has nothing above it. */
function cycleFaults(before: World, after: World, mentions: readonly RecordMention[], ids: Ids): readonly string[] {
  const deleted = leavingIn(before, mentions).filter(({ relation }) => relation.owned);
  const isDeleted = (type: RecordType, { id }: RecordRow): boolean =>
    deleted.some(({ relation, row }) => relation.target === type && row.id === id);
  const linksOf = (mention: RecordMention, { relation, mentions: inner, at }: RelationContent) =>
    relation.link.at === 'source' ? [{ who: mention.who, at }] : inner.map((item) => ({ who: item.who, at: item.at }));
  const isGiven = (who: string): boolean => mentions.some((one) => one.given && one.who === who);
  // A link that several places give is refused at the first of them: those of a record come before those within it.
  const known = new Set<string>();
  return mentions
    .filter(({ writable, lost }) => writable && !lost)
    .flatMap((mention) =>
      mention.contents.flatMap((content) => {
        const { link, source: type, owned, inverse } = content.relation;
        const isTree = link.at !== 'join' && link.reference.acyclic && !owned && !inverse?.owned;
        if (!isTree || isWayBack(mention, content.relation)) return [];
        const isLost = ({ id }: RecordRow): boolean =>
          mentions.some(
            ({ type: own, who, contents }) =>
              own === type &&
              ids.get(who) === id &&
              contents.some(
                ({ relation, mentions: [one] }) =>
                  relation.link.at === 'source' && relation.link.reference === link.reference && one?.lost === true,
              ),
          );
        const parentOf = (row: RecordRow): RecordRow | undefined =>
          isDeleted(type, row) || isLost(row) ? undefined : rowOf(after, type, row.links.get(link.reference));
        return linksOf(mention, content).flatMap(({ who, at }) => {
          const [old, now] = [rowOf(before, type, ids.get(who)), rowOf(after, type, ids.get(who))];
          const isMoved = old?.links.get(link.reference) !== now?.links.get(link.reference);
          const key = `${who} ${link.reference.column}`;
          if (known.has(key) || !(old || isGiven(who)) || !now || !isMoved || !isBelowItself(now, parentOf)) return [];
          known.add(key);
          return [at];
        });
      }),
    );
}

function isBelowItself(row: RecordRow, parentOf: (row: RecordRow) => RecordRow | undefined): boolean {
  const seen = new Set<RecordRow>();
  for (let above = parentOf(row); above !== undefined && !seen.has(above); above = parentOf(above)) {
    if (above.id === row.id) return true;
    seen.add(above);
  }
  return false;
}

/** What a body refers to but must not: missing records, children of other owners, records that it deletes itself. */
function referenceFaults(
  before: World,
  after: World,
  mentions: readonly RecordMention[],
  ids: Ids,
  isNamed: (mention: RecordMention) => boolean,
): readonly string[] {
  const present = mentions.filter(({ lost }) => !lost);
  const absent = mentions.filter(({ named, lost, via }) => named && lost && !via?.parent.lost);
  const leaving = leavingIn(before, mentions);
  const deleted = present.filter(
    (mention) =>
      isNamed(mention) &&
      leaving.some(({ relation, row }) => relation.owned && relation.target === mention.type && row.id === mention.id),
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
    ...present.flatMap((mention) => mention.contents.flatMap((content) => foreign(mention, content))),
    ...deleted.map(namedAt),
    ...homeless.map(({ at }) => at),
    ...cycleFaults(before, after, mentions, ids),
  ];
}

/** Items that are not in a relation which is only linked, and the relation where it has others. */
function differingLinks(
  after: World,
  mention: RecordMention,
  content: RelationContent,
  row: RecordRow,
  ids: Ids,
): readonly string[] {
  const { relation, mentions, at } = content;
  if (isWayBack(mention, relation)) return [];
  const actual = new Set(related(after, relation, row).map(({ id }) => id));
  // One whose identifier is taken stands for the record that has it, too.
  const idsOf = ({ who, id }: RecordMention): readonly Id[] => [ids.get(who) ?? '', id ?? ''];
  const strangers = mentions.filter((one) => !one.lost && !idsOf(one).some((id) => actual.has(id)));
  if (relation.link.at === 'source')
    return strangers.length > 0 || (mentions.length === 0 && actual.size > 0) ? [at] : [];
  const members = new Set(membersOf(mention, content).flatMap(idsOf));
  const lost = !relation.toMany && mentions.some((one) => one.lost);
  const others = lost ? [] : [...actual].filter((id) => !members.has(id));
  return [...strangers.map((one) => one.at), ...(others.length > 0 ? [at] : [])];
}

/** Places in a body that differ from the state of a linked record after the write. */
const linkConflicts = (after: World, mentions: readonly RecordMention[], ids: Ids, patch: boolean): readonly string[] =>
  mentions
    .filter(({ writable, lost }) => !writable && !lost)
    .flatMap((mention) => {
      const { type, body, path } = mention;
      const row = rowOf(after, type, ids.get(mention.who));
      if (row === undefined || (mention.row === undefined && !mention.own && !mention.given)) return [];
      const differing = ownEntries(type, body).filter(
        ([key, given]) => !type.fields.get(key)?.readOnly && !isUnchanged(type, row, key, given, patch),
      );
      return [
        ...differing.map(([key]) => pointer([...path, key])),
        ...mention.contents.flatMap((content) => differingLinks(after, mention, content, row, ids)),
      ];
    });

interface ChangedLink {
  readonly type: RecordType;
  readonly id: Id;
  readonly reference: Reference;
  readonly target: Id;
  /** While the body deletes: none, or the old one where there must be one. */
  readonly meanwhile: Id | undefined;
}

/** Links of records that are there, to others than before: what the body deletes takes no record along by them. */
const changedLinks = (
  before: World,
  after: World,
  mentions: readonly RecordMention[],
  ids: Ids,
): readonly ChangedLink[] =>
  mentions.flatMap(({ type, who }) => {
    const [old, now] = [rowOf(before, type, ids.get(who)), rowOf(after, type, ids.get(who))];
    if (!old || !now) return [];
    return [...now.links]
      .filter(([reference, target]) => old.links.get(reference) !== target)
      .map(([reference, target]): ChangedLink => {
        const meanwhile = reference.required ? old.links.get(reference) : undefined;
        return { type, id: now.id, reference, target, meanwhile };
      });
  });

/** Of a body that writes one record only: which of several is met first is not known. A set is told at its first field that is given, else at its first relation. */
function placesIn(
  { path, body }: RecordMention,
  all: readonly RecordMention[],
): ((members: readonly (Field | Relation)[]) => string) | undefined {
  if (path.length > 0 || all.filter(({ writable }) => writable).length > 1) return undefined;
  return (members) => {
    const ordered = [...members.filter(isField), ...members.filter((member) => !isField(member))];
    const isGiven = (member: Field | Relation): boolean => !(isField(member) && member.readOnly) && member.name in body;
    return pointer([(ordered.find(isGiven) ?? ordered[0])?.name ?? '']);
  };
}

/** Values that other records have. Which of several records of the body may keep one is not known. */
function refuseDuplicates(world: World, body: JsonValue, all: readonly RecordMention[], ids: Ids): void {
  const duplicates = new Map(
    all.flatMap((mention) => {
      const told = duplicateOf(world, mention.type, ids.get(mention.who), placesIn(mention, all));
      return told ? [[mention.who, told] as const] : [];
    }),
  );
  const [told] = duplicates.values();
  if (told === undefined) return;
  const isLinkedAnew = ({ row, via }: RecordMention): boolean =>
    via?.relation.link.at === 'target' && holderOf(row, via.relation) !== ids.get(via.parent.who);
  const isWritten = ({ type, identifier }: ExpectedRecord): boolean =>
    all.some((one) => (one.writable || isLinkedAnew(one)) && one.type.name === type && ids.get(one.who) === identifier);
  const records = [...duplicates.values()].flatMap((one) => one.records ?? []).filter((one) => !isWritten(one));
  const pointers = duplicates.size === 1 && told.pointers ? { pointers: inOrder(body, told.pointers) } : {};
  refuse('unique-conflict', { ...pointers, records });
}

export function write(world: World, records: readonly WrittenRecord[], written: BodyWrite): readonly Id[] {
  const { type, body, patch, update } = written;
  const before = copyWorld(world);
  const roots = mentionsOf(before, type, records);
  const mentions = roots.flatMap(allMentions);
  refuseAt('invalid-body', bodyFaults(roots, written));
  const nowhere = roots.filter(({ lost }) => lost);
  if (nowhere.length > 0)
    refuse('record-not-found', Array.isArray(body) ? { pointers: nowhere.map(identifierAt) } : {});
  const time = newTime(world);
  const ids = makeRows(world, mentions, time);
  apply(world, before, mentions, ids, patch);
  const isNamed = (mention: RecordMention): boolean => mention.named || (update && roots.includes(mention));
  refuseAt('invalid-reference', inOrder(body, referenceFaults(before, world, mentions, ids, isNamed)));
  refuseAt('link-conflict', inOrder(body, linkConflicts(world, mentions, ids, patch)));
  const changed = changedLinks(before, world, mentions, ids);
  for (const { type: of, id, reference, meanwhile } of changed) setLink(world, of, id, reference, meanwhile);
  for (const { relation, row } of leavingIn(before, mentions))
    if (relation.owned) removeRows(world, relation.target, [row.id], before);
  for (const { type: of, id, reference, target } of changed)
    if (rowOf(world, of, id)) setLink(world, of, id, reference, target);
  const gone = mentions.filter((mention) => isNamed(mention) && !rowOf(world, mention.type, ids.get(mention.who)));
  refuseAt('invalid-reference', inOrder(body, gone.map(namedAt)));
  const taken = update ? [] : roots.filter(({ id }) => rowOf(before, type, id));
  const [first] = taken;
  if (first)
    refuse('identifier-conflict', {
      pointers: taken.map(identifierAt),
      ...(taken.length === 1 ? inTheWay(type, [first.id ?? '']) : {}),
    });
  refuseDuplicates(world, body, mentions, ids);
  stampChanged(world, before, time);
  return roots.map(({ who }) => ids.get(who) ?? '');
}
