/** Collects every record that a body mentions, and where: one record may appear in several places. */
import { escapeStep, isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { type BodyRecord, relationsIn } from '../model/bodies.ts';
import { type Field, identifierIn, type OwnChildOf, type RecordType, type Relation } from '../model/model.ts';
import type { Fault } from '../problem.ts';

export interface MentionedRecord {
  readonly type: RecordType;
  /** undefined if the body does not contain it. */
  readonly identifier: number | undefined;
  /** Whether it is the owned to-one child of a record, mentioned without identifier. */
  readonly isOwnChild: boolean;
  /** False if it is certainly new, as is everything that a new record owns. */
  readonly mayBeStored: boolean;
  ownChildren: Map<Relation, MentionedRecord> | undefined;
  /** The number of places in the body that mention it. */
  places: number;
}

interface MentionItem {
  readonly subject: MentionedRecord;
  readonly pointer: string;
}

/** The content of a relation at one place: the whole set, the one related record, or none. */
export interface RelationMention {
  readonly relation: Relation;
  readonly items: readonly MentionItem[];
  readonly pointer: string;
}

export interface Mention {
  readonly subject: MentionedRecord;
  readonly body: JsonObject;
  readonly pointer: string;
  /** The relation and the record that led here; undefined for the body itself. */
  readonly via: { readonly relation: Relation; readonly parent: MentionedRecord } | undefined;
  readonly said: readonly RelationMention[];
}

export interface Mentions {
  readonly all: Mention[];
  readonly faults: Fault[];
  /** Whether any record is mentioned twice, so that the places may disagree. */
  mayDiffer: boolean;
}

interface MentionsWalk extends Mentions {
  readonly named: Map<RecordType, Map<number, MentionedRecord>>;
  readonly ownChildOf: OwnChildOf;
}

const notAsked: OwnChildOf = () => undefined;

/** The bodies may be invalid. */
export function mentionsIn(
  type: RecordType,
  records: readonly BodyRecord[],
  ownChildOf: OwnChildOf = notAsked,
): Mentions {
  const walk: MentionsWalk = { all: [], faults: [], mayDiffer: false, named: new Map(), ownChildOf };
  const roots = rootsOf(walk, type, records);
  for (const [index, { body, pointer }] of records.entries()) {
    const subject = roots[index];
    if (subject) visit(walk, subject, body, pointer, undefined);
  }
  return walk;
}

/** Undefined in place of a record that the array has already. All are known before one names another. */
function rootsOf(
  walk: MentionsWalk,
  type: RecordType,
  records: readonly BodyRecord[],
): readonly (MentionedRecord | undefined)[] {
  const known = new Set<number>();
  return records.map(({ body, identifier, pointer }) => {
    const root = identifier ?? identifierIn(body, type);
    if (root === undefined) return newSubject(type, undefined);
    if (known.has(root)) {
      const message = `${type.name} ${root} is in the array twice; list it once`;
      walk.faults.push({ pointer: `${pointer}/${escapeStep(type.identifier.name)}`, code: 'duplicate', message });
      return undefined;
    }
    known.add(root);
    return named(walk, type, root, { mayBeStored: identifier !== undefined });
  });
}

/** A fault if the body changes the identifier of the addressed record. */
export function otherIdentifier(
  { identifier: { name, inRecord } }: RecordType,
  { body, identifier, pointer }: BodyRecord,
  { mayBeNull }: { readonly mayBeNull: boolean },
): readonly Fault[] {
  if (identifier === undefined || !inRecord || !Object.hasOwn(body, name) || body[name] === identifier) return [];
  if (mayBeNull && body[name] === null) return [];
  const message = `The identifier of this record is ${identifier} and cannot be changed`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'read-only', message }];
}

const newSubject = (
  type: RecordType,
  identifier: number | undefined,
  { isOwnChild = false, mayBeStored = false } = {},
): MentionedRecord => ({
  type,
  identifier,
  isOwnChild,
  mayBeStored,
  ownChildren: undefined,
  places: 0,
});

function named(
  { named: known }: MentionsWalk,
  type: RecordType,
  identifier: number,
  { mayBeStored }: Pick<MentionedRecord, 'mayBeStored'> = { mayBeStored: true },
): MentionedRecord {
  const subjects = known.get(type) ?? new Map<number, MentionedRecord>();
  known.set(type, subjects);
  const subject = subjects.get(identifier) ?? newSubject(type, identifier, { mayBeStored });
  subjects.set(identifier, subject);
  return subject;
}

function visit(
  walk: MentionsWalk,
  subject: MentionedRecord,
  body: JsonObject,
  pointer: string,
  via: Mention['via'],
): void {
  subject.places += 1;
  if (subject.places > 1) walk.mayDiffer = true;
  const said: RelationMention[] = [];
  const mention: Mention = { subject, body, pointer, via, said };
  // In document order: a record comes before its nested records.
  walk.all.push(mention);
  for (const key of relationsIn(subject.type, body)) {
    const relation = subject.type.relations.get(key);
    if (relation === undefined) continue;
    const value = body[key] ?? null;
    if (relation.toMany ? !Array.isArray(value) : value !== null && !isObject(value)) continue;
    if (via?.relation.inverse === relation && !relation.toMany) walk.mayDiffer = true;
    said.push(visitRelation(walk, mention, relation, value, `${pointer}/${escapeStep(key)}`));
  }
}

function visitRelation(
  walk: MentionsWalk,
  parent: Mention,
  relation: Relation,
  value: JsonValue,
  pointer: string,
): RelationMention {
  const items: MentionItem[] = [];
  const subjects = new Set<MentionedRecord>();
  const bodies = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  for (const [index, body] of bodies.entries()) {
    if (!isObject(body)) continue;
    const at = relation.toMany ? `${pointer}/${index}` : pointer;
    const subject = subjectOf(walk, parent.subject, relation, body);
    if (subjects.has(subject)) walk.faults.push(duplicate(subject, at));
    else items.push({ subject, pointer: at });
    subjects.add(subject);
    visit(walk, subject, body, at, { relation, parent: parent.subject });
  }
  return { relation, items, pointer };
}

const duplicate = ({ type, identifier }: MentionedRecord, pointer: string): Fault => ({
  pointer,
  code: 'duplicate',
  message: `${type.name} ${identifier ?? ''} is in the set twice; list it once`,
});

function subjectOf(walk: MentionsWalk, parent: MentionedRecord, relation: Relation, body: JsonObject): MentionedRecord {
  const { target, owned, toMany } = relation;
  const identifier = identifierIn(body, target);
  if (identifier !== undefined) return named(walk, target, identifier);
  if (!owned || toMany) return newSubject(target, undefined);
  const known = parent.ownChildren?.get(relation);
  if (known) return known;
  const stored = isStored(parent) ? walk.ownChildOf(relation, parent.identifier) : undefined;
  const mayBeStored = parent.mayBeStored && stored === undefined;
  const child =
    typeof stored === 'number'
      ? named(walk, target, stored)
      : newSubject(target, undefined, { isOwnChild: true, mayBeStored });
  (parent.ownChildren ??= new Map()).set(relation, child);
  return child;
}

const isStored = (subject: MentionedRecord): subject is MentionedRecord & { readonly identifier: number } =>
  subject.mayBeStored && subject.identifier !== undefined;

/** Whether only the database knows which record this is, and whether it exists. */
export const isUnknown = ({ mayBeStored, identifier }: MentionedRecord): boolean =>
  mayBeStored && identifier === undefined;

/** A check applies if the body sets one of its fields, and always to a new record. */
const isChecked = ({ type, mayBeStored }: MentionedRecord, isSaid: (field: Field) => boolean): boolean =>
  type.checks.length > 0 && (!mayBeStored || type.checks.some((check) => check.fields.some(isSaid)));

/**
 * Whether a body can only be checked fully with stored data: the values of read-only fields, the owned children that it
 * mentions without identifier, and checks, which may name fields that it does not.
 */
export const asksStored = ({ all }: Mentions): boolean => all.some(asksStoredFor);

function asksStoredFor({ subject, body: said, via }: Mention): boolean {
  const { fields, relations } = subject.type;
  const isMissing = ({ name, required }: { readonly name: string; readonly required: boolean }): boolean =>
    required && !Object.hasOwn(said, name) && name !== via?.relation.inverse?.name;
  if (isUnknown(subject)) return true;
  if (subject.isOwnChild && ([...fields.values()].some(isMissing) || [...relations.values()].some(isMissing)))
    return true;
  const isSaid = ({ name }: { readonly name: string }): boolean => Object.hasOwn(said, name);
  return [...fields.values()].some((field) => field.readOnly && isSaid(field)) || isChecked(subject, isSaid);
}
