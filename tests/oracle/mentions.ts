/** The mentions of records in a body: each place, its record, and the contents of its relations. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../../engine/json/json.ts';
import type { RecordType, Relation } from '../../engine/model/model.ts';
import { type Id, idIn, related, type RecordRow, rowOf, type World } from './world.ts';

export type BodyPath = readonly (string | number)[];

export interface RelationContent {
  readonly relation: Relation;
  readonly mentions: readonly RecordMention[];
  readonly at: string;
}

export interface RecordMention {
  readonly type: RecordType;
  /** The same for all places that mention one record. */
  readonly who: string;
  /** undefined for a record that is to be made and has no identifier yet. */
  readonly id: Id | undefined;
  /** The record as it is; undefined where it is to be made, or is not there. */
  readonly row: RecordRow | undefined;
  /** The body holds its identifier. */
  readonly named: boolean;
  /** A root of the body makes it, and gives it this identifier. */
  readonly given: boolean;
  /** The one child that its owner has, without its identifier. */
  readonly own: boolean;
  readonly body: JsonObject;
  readonly path: BodyPath;
  readonly at: string;
  readonly writable: boolean;
  readonly via: { readonly relation: Relation; readonly parent: RecordMention } | undefined;
  /** Named and not there, or nested in such a record. */
  readonly lost: boolean;
  readonly contents: readonly RelationContent[];
}

const nameOf = (type: RecordType, id: Id): string => `${type.name} ${JSON.stringify(id)}`;

/** What a body is read against: the records that are there, and those that its roots are to make. */
interface BodyReading {
  readonly world: World;
  readonly given: ReadonlySet<string>;
}

export const madeByClients = ({ identifier }: RecordType): boolean => identifier.by === 'client';

const canWrite = ({ writable }: RecordMention, { nested }: Relation): boolean => writable && nested === 'write';

/** A nested record: the one that it names, there or to be made, the child that is there, or a new one. */
function whoIs(
  { world, given: all }: BodyReading,
  parent: RecordMention,
  relation: Relation,
  body: JsonObject,
  path: BodyPath,
) {
  const { target } = relation;
  const id = idIn(body, target);
  if (id !== undefined) {
    const who = nameOf(target, id);
    const row = all.has(who) ? undefined : rowOf(world, target, id);
    // Clients that make identifiers name new records too.
    const isMade = madeByClients(target) && row === undefined && !parent.lost && canWrite(parent, relation);
    return { who, id, row, named: !isMade || all.has(who), own: false, given: isMade || all.has(who) };
  }
  if (relation.toMany || !relation.owned)
    return { who: `new ${pointer(path)}`, id, row: undefined, named: false, own: false, given: false };
  const row = parent.row && related(world, relation, parent.row)[0];
  const who = row ? nameOf(target, row.id) : `the ${relation.name} of ${parent.who}`;
  return { who, id: row?.id, row, named: false, own: true, given: false };
}

/** A key that leads back to the one record which the nested one belongs to. */
export const isWayBack = ({ via }: RecordMention, relation: Relation): boolean =>
  !relation.toMany && via?.relation.inverse === relation;

function nestedMention(
  reading: BodyReading,
  parent: RecordMention,
  relation: Relation,
  body: JsonObject,
  path: BodyPath,
): RecordMention {
  const found = whoIs(reading, parent, relation, body, path);
  const back = isWayBack(parent, relation) && found.who === parent.via?.parent.who ? parent.via.parent : undefined;
  return complete(reading, {
    type: relation.target,
    ...found,
    ...(back ? { row: back.row, named: false } : {}),
    body,
    path,
    writable: canWrite(parent, relation),
    via: { relation, parent },
    lost: parent.lost || (found.named && !found.given && found.row === undefined && back === undefined),
  });
}

function complete(reading: BodyReading, mention: Omit<RecordMention, 'at' | 'contents'>): RecordMention {
  const contents: RelationContent[] = [];
  const whole: RecordMention = { ...mention, at: pointer(mention.path), contents };
  for (const [key, value] of Object.entries(mention.body)) {
    const relation = mention.type.relations.get(key);
    // A value that does not fit its relation says nothing.
    const fits = relation?.toMany ? Array.isArray(value) : value === null || isObject(value);
    if (relation && fits) contents.push(contentOf(reading, whole, relation, value));
  }
  return whole;
}

function contentOf(reading: BodyReading, parent: RecordMention, relation: Relation, value: JsonValue): RelationContent {
  const path = [...parent.path, relation.name];
  const mentions = [value]
    .flat()
    .flatMap((body: JsonValue, index) =>
      isObject(body) ? nestedMention(reading, parent, relation, body, relation.toMany ? [...path, index] : path) : [],
    );
  return { relation, mentions, at: pointer(path) };
}

export interface WrittenRecord {
  readonly id: Id | undefined;
  readonly body: JsonObject;
  readonly path: BodyPath;
}

function mentionOf(reading: BodyReading, type: RecordType, { id, body, path }: WrittenRecord): RecordMention {
  const given = id ?? idIn(body, type);
  const row = rowOf(reading.world, type, id);
  return complete(reading, {
    type,
    who: given === undefined ? `new ${pointer(path)}` : nameOf(type, given),
    id: given,
    row,
    named: false,
    own: false,
    given: id === undefined && given !== undefined,
    body,
    path,
    writable: true,
    via: undefined,
    lost: id !== undefined && row === undefined,
  });
}

/** All roots of a body: they may name each other. */
export function mentionsOf(
  world: World,
  type: RecordType,
  records: readonly WrittenRecord[],
): readonly RecordMention[] {
  const given = records.flatMap(({ id, body }) => (id === undefined ? (idIn(body, type) ?? []) : []));
  const reading = { world, given: new Set(given.map((one) => nameOf(type, one))) };
  return records.map((record) => mentionOf(reading, type, record));
}

export const allMentions = (mention: RecordMention): readonly RecordMention[] => [
  mention,
  ...mention.contents.flatMap(({ mentions }) => mentions.flatMap(allMentions)),
];

/** What a relation holds as this place has it: the record that led here belongs to it, whether it is listed or not. */
export const membersOf = ({ via }: RecordMention, { relation, mentions }: RelationContent): readonly RecordMention[] =>
  relation.toMany && via?.relation.inverse === relation ? [...mentions, via.parent] : mentions;

export const namesOfMembers = (mention: RecordMention, content: RelationContent): ReadonlySet<string> =>
  new Set(membersOf(mention, content).map(({ who }) => who));

/** The records that a place leaves out of a relation. */
export function leftOut(world: World, mention: RecordMention, content: RelationContent): readonly RecordRow[] {
  const { relation, mentions } = content;
  if (mention.row === undefined || (!relation.toMany && mentions.some(({ lost }) => lost))) return [];
  const members = namesOfMembers(mention, content);
  return related(world, relation, mention.row).filter(({ id }) => !members.has(nameOf(relation.target, id)));
}

interface Leaving {
  readonly relation: Relation;
  readonly row: RecordRow;
  readonly at: string;
}

/** Every child that a writable place leaves out. */
export const leavingIn = (world: World, mentions: readonly RecordMention[]): readonly Leaving[] =>
  mentions
    .filter(({ writable, lost }) => writable && !lost)
    .flatMap((mention) =>
      mention.contents
        .filter(({ relation }) => relation.link.at === 'target' && !isWayBack(mention, relation))
        .flatMap((content) =>
          leftOut(world, mention, content).map((row) => ({ relation: content.relation, row, at: content.at })),
        ),
    );
