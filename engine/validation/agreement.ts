/** Checks that a body which mentions a record several times is consistent about its values, links and sets. */
import { escapeStep, type JsonValue } from '../json/json.ts';
import { NO_RAW_VALUES, type RawMembers, type RawValues } from '../json/tokenizer.ts';
import type { BodyRecord } from '../model/bodies.ts';
import type { JoinTable, OwnChildOf, RecordType, Reference } from '../model/model.ts';
import type { Fault } from '../problem.ts';
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
  /** The number of claims before it: of two that contradict each other, the second is refused. */
  readonly order: number;
}

interface ValueClaim extends Claim {
  readonly value: JsonValue;
  /** The JSON text, for values that are stored as written. */
  readonly text: string | undefined;
}

/** Which records are linked to another one, as one place in the body has it: a whole set, or one record or none. */
interface LinkClaim extends Claim {
  readonly members: ReadonlySet<MentionedRecord>;
  /** The claim comes from a set, which is compared as a whole. */
  readonly isListed?: true;
}

/** The first claim about each record at one end of a reference or join table. Later claims are compared with it. */
type Side = Map<MentionedRecord, LinkClaim>;

interface Claims {
  readonly values: Map<MentionedRecord, Map<string, ValueClaim>>;
  readonly parents: Map<Reference, Side>;
  readonly children: Map<Reference, Side>;
  readonly pairs: Map<JoinTable, Map<string, Side>>;
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
    parents: new Map(),
    children: new Map(),
    pairs: new Map(),
    awaits: new Map(),
    faults: [],
    count: 0,
  };
  for (const mention of all) {
    claimValues(claims, mention, raw.get(mention.body));
    for (const said of mention.said) claimRelation(claims, mention, said);
  }
  const { faults } = claims;
  for (const [reference, parents] of claims.parents) {
    const children = claims.children.get(reference) ?? new Map<never, never>();
    compareSides(faults, parents, children);
    if (reference.unique) compareChildren(faults, parents, children);
  }
  for (const [left, right] of [...claims.pairs.values()].map((sides) => [...sides.values()]))
    if (left && right) {
      compareSides(faults, left, right);
      compareSides(faults, right, left);
    }
  refuseCycles(claims);
  return faults;
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
    // Generated values are never taken from a body.
    if (field ? field.generated !== undefined : !type.open) continue;
    const claim = { value, text: raw?.get(key)?.text, ...at(claims, `${pointer}/${escapeStep(key)}`) };
    const first = known.get(key);
    if (!first) known.set(key, claim);
    else if (!sameValue(first, claim)) contradict(claims.faults, first, claim, 'values');
  }
}

function sameValue(a: ValueClaim, b: ValueClaim): boolean {
  if (a.text !== undefined && b.text !== undefined) return a.text === b.text;
  return a.value === b.value || JSON.stringify(a.value) === JSON.stringify(b.value);
}

function claimRelation(claims: Claims, { subject, via }: Mention, { relation, items, pointer }: RelationMention): void {
  const { link, toMany } = relation;
  const members = new Set(items.map((item) => item.subject));
  const claim = { members, ...at(claims, pointer) };
  if (link.at === 'source') return claimParent(claims, link.reference, subject, claim);
  // The record that led here belongs to the set without being listed.
  if (toMany && via?.relation.inverse === relation) members.add(via.parent);
  if (link.at === 'join')
    return claimLinks(claims.faults, within(within(claims.pairs, link.table), link.sourceColumn), subject, claim);
  const parent = new Set([subject]);
  for (const item of items)
    claimParent(claims, link.reference, item.subject, { members: parent, isListed: true, ...at(claims, item.pointer) });
  return claimLinks(claims.faults, within(claims.children, link.reference), subject, claim);
}

function claimParent(claims: Claims, reference: Reference, child: MentionedRecord, claim: LinkClaim): void {
  const side = within(claims.parents, reference);
  const [parent] = claim.members;
  if (!side.has(child) && parent && parent !== child && !child.mayBeStored && !parent.mayBeStored)
    claims.awaits.set(child, [...(claims.awaits.get(child) ?? []), claim]);
  claimLinks(claims.faults, side, child, claim);
}

function claimLinks(faults: Fault[], side: Side, subject: MentionedRecord, claim: LinkClaim): void {
  const first = side.get(subject);
  if (!first) side.set(subject, claim);
  else if (!sameMembers(first, claim)) contradict(faults, first, claim, 'related records');
}

/** A record that links another one must be among those that the other one links, if the body says which. */
function compareSides(faults: Fault[], here: Side, there: Side): void {
  for (const [owner, claim] of here)
    for (const member of claim.members) {
      const back = claim.isListed ? undefined : there.get(member);
      if (back && !mayHold(back, owner)) contradict(faults, claim, back, 'related records');
    }
}

/** Only one child may name the parent of a hasOne, unless the body says which one it has. */
function compareChildren(faults: Fault[], parents: Side, children: Side): void {
  const only = new Map<MentionedRecord, readonly [child: MentionedRecord, LinkClaim]>();
  for (const [child, claim] of parents)
    for (const parent of claim.members) {
      const [other, first] = only.get(parent) ?? [];
      if (claim.isListed || children.has(parent)) continue;
      if (!other || !first) only.set(parent, [child, claim]);
      else if (!mayBeSame(other, child)) contradict(faults, first, claim, 'related records');
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
      const [parent] = link?.members ?? [];
      if (link && parent && waiting.has(parent)) faults.push(cycle(link.pointer));
      else if (parent) begin(parent);
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

/** Two may be the same record if one is a stored owned child, whose identifier only the database knows. */
const mayBeSame = (a: MentionedRecord, b: MentionedRecord): boolean =>
  a === b || (a.mayBeStored && b.mayBeStored && (isUnknown(a) || isUnknown(b)));

const mayHold = ({ members }: LinkClaim, subject: MentionedRecord): boolean =>
  members.has(subject) || [...members].some((member) => mayBeSame(member, subject));

/** An unknown record may be the same as another member, so sizes are only compared without unknown records. */
function sameMembers(a: LinkClaim, b: LinkClaim): boolean {
  const isCertain = [...a.members, ...b.members].every((member) => !isUnknown(member));
  if (isCertain && a.members.size !== b.members.size) return false;
  return [...a.members].every((one) => mayHold(b, one)) && [...b.members].every((one) => mayHold(a, one));
}

const at = (claims: Claims, pointer: string): Claim => ({ pointer, order: claims.count++ });

function contradict(faults: Fault[], one: Claim, other: Claim, what: string): void {
  const [first, second] = one.order < other.order ? [one, other] : [other, one];
  const message = `${second.pointer} and ${first.pointer} give the same record different ${what}; leave one out, or make them agree`;
  faults.push({ pointer: second.pointer, code: 'contradiction', message });
}

function within<K, I, V>(maps: Map<K, Map<I, V>>, key: K): Map<I, V> {
  const known = maps.get(key) ?? new Map<I, V>();
  maps.set(key, known);
  return known;
}
