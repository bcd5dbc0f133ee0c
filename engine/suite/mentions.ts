/** A body taken apart: every place that mentions a record, which record that is, and what it says of its relations. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../json.ts';
import type { RecordType, Relation } from '../model/model.ts';
import { type Id, idIn, related, type Row, rowOf, type World } from './world.ts';

export type Path = readonly (string | number)[];

/** What one place says that a relation holds. */
export interface Content {
  readonly relation: Relation;
  readonly mentions: readonly Mention[];
  readonly at: string;
}

export interface Mention {
  readonly type: RecordType;
  /** The same for all places that mention one record. */
  readonly who: string;
  /** undefined for a record that is to be made and has no identifier yet. */
  readonly id: Id | undefined;
  /** The record as it is; undefined where it is to be made, or is not there. */
  readonly row: Row | undefined;
  /** The body holds its identifier. */
  readonly named: boolean;
  /** The one child that its owner has, without its identifier. */
  readonly own: boolean;
  readonly body: JsonObject;
  readonly path: Path;
  readonly at: string;
  readonly writable: boolean;
  readonly via: { readonly relation: Relation; readonly parent: Mention } | undefined;
  /** Named and not there, or nested in such a record. */
  readonly lost: boolean;
  readonly contents: readonly Content[];
}

const nameOf = (type: RecordType, id: Id): string => `${type.name} ${JSON.stringify(id)}`;

/** A nested record: the one that it names, the child that is there, or a new one. */
function whoIs(world: World, parent: Mention, relation: Relation, body: JsonObject, path: Path) {
  const { target } = relation;
  const id = idIn(body, target);
  if (id !== undefined) return { who: nameOf(target, id), id, row: rowOf(world, target, id), named: true, own: false };
  if (relation.toMany || !relation.owned)
    return { who: `new ${pointer(path)}`, id, row: undefined, named: false, own: false };
  const row = parent.row && related(world, relation, parent.row)[0];
  const who = row ? nameOf(target, row.id) : `the ${relation.name} of ${parent.who}`;
  return { who, id: row?.id, row, named: false, own: true };
}

/** A key that leads back to the one record which the nested one belongs to. */
export const isWayBack = ({ via }: Mention, relation: Relation): boolean =>
  !relation.toMany && via?.relation.inverse === relation;

function nestedMention(world: World, parent: Mention, relation: Relation, body: JsonObject, path: Path): Mention {
  const found = whoIs(world, parent, relation, body, path);
  const back = isWayBack(parent, relation) && found.who === parent.via?.parent.who ? parent.via.parent : undefined;
  return complete(world, {
    type: relation.target,
    ...found,
    ...(back ? { row: back.row, named: false } : {}),
    body,
    path,
    writable: parent.writable && relation.nested === 'write',
    via: { relation, parent },
    lost: parent.lost || (found.named && found.row === undefined && back === undefined),
  });
}

function complete(world: World, mention: Omit<Mention, 'at' | 'contents'>): Mention {
  const contents: Content[] = [];
  const whole: Mention = { ...mention, at: pointer(mention.path), contents };
  for (const [key, value] of Object.entries(mention.body)) {
    const relation = mention.type.relations.get(key);
    // A value that does not fit its relation says nothing.
    const fits = relation?.toMany ? Array.isArray(value) : value === null || isObject(value);
    if (relation && fits) contents.push(contentOf(world, whole, relation, value));
  }
  return whole;
}

function contentOf(world: World, parent: Mention, relation: Relation, value: JsonValue): Content {
  const path = [...parent.path, relation.name];
  const mentions = [value]
    .flat()
    .flatMap((body: JsonValue, index) =>
      isObject(body) ? nestedMention(world, parent, relation, body, relation.toMany ? [...path, index] : path) : [],
    );
  return { relation, mentions, at: pointer(path) };
}

/** The body itself: of a record that is there, of one that is nowhere, or of one that is to be made. */
export function mentionOf(world: World, type: RecordType, body: JsonObject, id: Id | undefined): Mention {
  const given = id ?? idIn(body, type);
  const row = rowOf(world, type, id);
  return complete(world, {
    type,
    who: given === undefined ? 'new' : nameOf(type, given),
    id: given,
    row,
    named: false,
    own: false,
    body,
    path: [],
    writable: true,
    via: undefined,
    lost: id !== undefined && row === undefined,
  });
}

/** In the order of the document. */
export const allMentions = (mention: Mention): readonly Mention[] => [
  mention,
  ...mention.contents.flatMap(({ mentions }) => mentions.flatMap(allMentions)),
];

/** What a relation holds as this place has it: the record that led here belongs to it, whether it is listed or not. */
export function membersOf({ via }: Mention, { relation, mentions }: Content): ReadonlySet<string> {
  const listed = mentions.map(({ who }) => who);
  return new Set(relation.toMany && via?.relation.inverse === relation ? [...listed, via.parent.who] : listed);
}

/** The records that a place leaves out of a relation. */
export function leftOut(world: World, mention: Mention, content: Content): readonly Row[] {
  const { relation, mentions } = content;
  if (mention.row === undefined || (!relation.toMany && mentions.some(({ lost }) => lost))) return [];
  const members = membersOf(mention, content);
  return related(world, relation, mention.row).filter(({ id }) => !members.has(nameOf(relation.target, id)));
}

interface Leaving {
  readonly relation: Relation;
  readonly row: Row;
  readonly at: string;
}

/** Every child that a writable place leaves out. */
export const leavingIn = (world: World, mentions: readonly Mention[]): readonly Leaving[] =>
  mentions
    .filter(({ writable, lost }) => writable && !lost)
    .flatMap((mention) =>
      mention.contents
        .filter(({ relation }) => relation.link.at === 'target' && !isWayBack(mention, relation))
        .flatMap((content) =>
          leftOut(world, mention, content).map((row) => ({ relation: content.relation, row, at: content.at })),
        ),
    );
