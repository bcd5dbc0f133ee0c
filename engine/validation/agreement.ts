/** Checks that a body which mentions a record several times is consistent about its values, links and sets. */
import { escapeStep, type JsonValue } from '../json.ts';
import type { BodyRecord } from '../model/bodies.ts';
import type { JoinTable, OwnChildOf, RecordType, Reference } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import { NO_RAW_VALUES, type RawMembers, type RawValues } from '../json/texts.ts';
import {
  isUnknown,
  type Mention,
  type MentionedRecord,
  type Mentions,
  mentionsIn,
  type RelationMention,
} from './mentions.ts';

interface Claim {
  readonly pointer: string;
  /** How many claims came before it: of two that contradict each other, the second is refused. */
  readonly order: number;
}

interface ValueClaim extends Claim {
  readonly value: JsonValue;
  /** The JSON text, for values that are stored as written. */
  readonly text: string | undefined;
}

/** A link of a child to its parent, as one place in the body has it. */
interface LinkClaim extends Claim {
  readonly child: MentionedRecord;
  readonly parent: MentionedRecord | undefined;
  /** Whether it comes from the parent's set, which is compared as a whole. */
  readonly bySet: boolean;
}

/** A whole set, as one place in the body has it. */
interface SetClaim extends Claim {
  readonly members: ReadonlySet<MentionedRecord>;
  /** Which kinds of records are among the members. */
  readonly hasUnknown: boolean;
  readonly hasStored: boolean;
}

/** The first claim of each kind; later ones are compared with it. */
interface Claims {
  readonly values: Map<MentionedRecord, Map<string, ValueClaim>>;
  readonly links: Map<Reference, Map<MentionedRecord, LinkClaim>>;
  readonly sets: Map<Reference, Map<MentionedRecord, SetClaim>>;
  readonly pairs: Map<JoinTable, Map<string, Map<MentionedRecord, SetClaim>>>;
  /** Of each new record, its links to other new ones: those are inserted before it. */
  readonly awaits: Map<MentionedRecord, LinkClaim[]>;
  count: number;
  readonly faults: Fault[];
}

/** A fault for each contradiction, at its second place: what a body says of a record comes before what is nested in it. */
export function disagreements({ all, mayDiffer }: Mentions, raw: RawValues = NO_RAW_VALUES): readonly Fault[] {
  if (!mayDiffer) return [];
  const claims: Claims = {
    values: new Map(),
    links: new Map(),
    sets: new Map(),
    pairs: new Map(),
    awaits: new Map(),
    faults: [],
    count: 0,
  };
  for (const mention of all) {
    claimValues(claims, mention, raw.get(mention.body));
    for (const said of mention.said) claimRelation(claims, mention, said);
  }
  for (const [reference, links] of claims.links) compareWithSets(claims, reference, links);
  for (const sides of claims.pairs.values()) compareSides(claims, [...sides.values()]);
  refuseCycles(claims);
  return claims.faults;
}

/** `disagreements` with knowledge of the stored children, whose identifiers the bodies leave out. */
export const disagreementsKnowing =
  (type: RecordType, records: readonly BodyRecord[], raw: RawValues) =>
  (ownChildOf: OwnChildOf): readonly Fault[] =>
    disagreements(mentionsIn(type, records, ownChildOf), raw);

/** Compares values as written, since that is how they are returned. */
function claimValues(claims: Claims, { subject, body, pointer }: Mention, raw: RawMembers | undefined): void {
  const { type } = subject;
  if (subject.places < 2) return;
  const known = within(claims.values, subject);
  for (const [key, value] of Object.entries(body)) {
    if (type.relations.has(key) || (key === type.identifier.name && type.identifier.inRecord)) continue;
    const field = type.fields.get(key);
    // Whatever is said of what is generated, none of it is written.
    if (field ? field.generated !== undefined : !type.open) continue;
    const claim = { value, text: raw?.get(key)?.text, ...at(claims, `${pointer}/${escapeStep(key)}`) };
    const first = known.get(key);
    if (!first) known.set(key, claim);
    else if (!sameValue(first, claim)) contradict(claims.faults, first, claim, 'different values');
  }
}

function sameValue(a: ValueClaim, b: ValueClaim): boolean {
  if (a.text !== undefined && b.text !== undefined) return a.text === b.text;
  if (a.value === b.value) return true;
  return isNested(a.value) && isNested(b.value) && JSON.stringify(a.value) === JSON.stringify(b.value);
}

const isNested = (value: JsonValue): boolean => typeof value === 'object';

function claimRelation(claims: Claims, { subject, via }: Mention, { relation, items, pointer }: RelationMention): void {
  const { link, toMany } = relation;
  if (link.at === 'source')
    return claimLink(claims, link.reference, {
      child: subject,
      parent: items[0]?.subject,
      ...at(claims, pointer),
      bySet: false,
    });
  const members = new Set(items.map((item) => item.subject));
  // The record that led here belongs to the set without being listed.
  if (toMany && via?.relation.inverse === relation) members.add(via.parent);
  const kinds = [...members];
  const claim: SetClaim = {
    members,
    ...at(claims, pointer),
    hasUnknown: kinds.some(isUnknown),
    hasStored: kinds.some(({ mayBeStored }) => mayBeStored),
  };
  if (link.at === 'join')
    return claimSet(claims, within(within(claims.pairs, link.table), link.sourceColumn), subject, claim);
  for (const item of items)
    claimLink(claims, link.reference, {
      child: item.subject,
      parent: subject,
      ...at(claims, item.pointer),
      bySet: true,
    });
  return claimSet(claims, within(claims.sets, link.reference), subject, claim);
}

function claimLink({ links, awaits, faults }: Claims, reference: Reference, claim: LinkClaim): void {
  const known = within(links, reference);
  const { child, parent } = claim;
  const first = known.get(child);
  if (!first) {
    known.set(child, claim);
    if (!parent || parent === child || child.mayBeStored || parent.mayBeStored) return;
    awaits.set(child, [...(awaits.get(child) ?? []), claim]);
  } else if (!mayBeSame(first.parent, claim.parent)) contradict(faults, first, claim, 'different links');
}

function claimSet(
  { faults }: Claims,
  known: Map<MentionedRecord, SetClaim>,
  owner: MentionedRecord,
  claim: SetClaim,
): void {
  const first = known.get(owner);
  if (!first) known.set(owner, claim);
  else if (!sameMembers(first, claim)) contradict(faults, first, claim, 'different related records');
}

/** A record that names its parent must be in the parent's set; only one child may name the parent of a hasOne. */
function compareWithSets(
  { sets, faults }: Claims,
  reference: Reference,
  links: ReadonlyMap<MentionedRecord, LinkClaim>,
): void {
  const only = new Map<MentionedRecord, LinkClaim>();
  for (const link of links.values()) {
    const { child, parent } = link;
    if (!parent || link.bySet) continue;
    const set = sets.get(reference)?.get(parent);
    const other = reference.unique ? only.get(parent) : undefined;
    // With a set of the parent, children are compared with it rather than with each other.
    if (set) {
      if (!mayHold(set, child)) contradict(faults, set, link, 'different related records');
    } else if (other && !mayBeSame(other.child, child)) contradict(faults, other, link, 'different related records');
    only.set(parent, other ?? link);
  }
}

/** Both sides of a manyToMany must agree about each pair that both mention. */
function compareSides({ faults }: Claims, [left, right]: readonly ReadonlyMap<MentionedRecord, SetClaim>[]): void {
  if (!left || !right) return;
  for (const [here, there] of [
    [left, right],
    [right, left],
  ] as const)
    for (const [owner, claim] of here)
      for (const member of claim.members) {
        const back = there.get(member);
        if (back && !mayHold(back, owner)) contradict(faults, claim, back, 'different related records');
      }
}

/** Refuses links of new records that lead back to a record which waits for theirs. */
function refuseCycles({ awaits, faults }: Claims): void {
  const begun = new Set<MentionedRecord>();
  for (const start of awaits.keys()) {
    const waiting = new Map<MentionedRecord, LinkClaim[]>();
    const path: MentionedRecord[] = [];
    const begin = (record: MentionedRecord): void => {
      if (begun.has(record)) return;
      begun.add(record);
      waiting.set(record, (awaits.get(record) ?? []).toReversed());
      path.push(record);
    };
    begin(start);
    for (let record = path.at(-1); record; record = path.at(-1)) {
      const link = waiting.get(record)?.pop();
      if (link?.parent && waiting.has(link.parent)) faults.push(cycle(link.pointer));
      else if (link?.parent) begin(link.parent);
      else {
        waiting.delete(record);
        path.pop();
      }
    }
  }
}

const cycle = (pointer: string): Fault => ({
  pointer,
  code: 'cycle',
  message: 'This link closes a cycle of new records; leave it out, and set it once they are there',
});

/** Whether two are or may be the same record: only the database knows the identifier of a stored owned child. */
function mayBeSame(a: MentionedRecord | undefined, b: MentionedRecord | undefined): boolean {
  if (a === b || !a || !b) return a === b;
  return a.mayBeStored && b.mayBeStored && (isUnknown(a) || isUnknown(b));
}

const mayHold = ({ members, hasUnknown, hasStored }: SetClaim, subject: MentionedRecord): boolean =>
  members.has(subject) || (isUnknown(subject) ? hasStored : hasUnknown && subject.mayBeStored);

/** An unknown record may be the same as another member, so sizes are only compared without unknown records. */
function sameMembers(a: SetClaim, b: SetClaim): boolean {
  const sizesTell = !a.hasUnknown && !b.hasUnknown;
  if (sizesTell && a.members.size !== b.members.size) return false;
  const isHeld = (one: SetClaim, other: SetClaim): boolean =>
    [...one.members].every((member) => mayHold(other, member));
  return isHeld(a, b) && (sizesTell || isHeld(b, a));
}

const at = (claims: Claims, pointer: string): Claim => ({ pointer, order: claims.count++ });

function contradict(faults: Fault[], one: Claim, other: Claim, what: string): void {
  const [first, second] = one.order < other.order ? [one, other] : [other, one];
  const message = `${second.pointer} and ${first.pointer} give the same record ${what}; leave one out, or make them agree`;
  faults.push({ pointer: second.pointer, code: 'contradiction', message });
}

function within<K, I, V>(maps: Map<K, Map<I, V>>, key: K): Map<I, V> {
  const known = maps.get(key) ?? new Map<I, V>();
  maps.set(key, known);
  return known;
}
