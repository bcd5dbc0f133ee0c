/** A body taken apart: every place where it speaks of a record, which record that is, and what it says there. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../../json.ts';
import type { RecordType, Relation } from '../../model/model.ts';
import { related } from './links.ts';
import { type Id, idIn, type Row, rowOf, type World } from './world.ts';

export type Path = readonly (string | number)[];

/** What one place says of a relation: every record that is to be in it. */
export interface Saying {
  readonly relation: Relation;
  readonly speeches: readonly Speech[];
  readonly at: string;
}

export interface Speech {
  readonly type: RecordType;
  /** The same for all places that speak of one record. */
  readonly who: string;
  /** undefined for a record that is to be made and has no identifier yet. */
  readonly id: Id | undefined;
  /** The record as it is; undefined where it is to be made, or is not there. */
  readonly row: Row | undefined;
  /** The body says the identifier. */
  readonly named: boolean;
  /** The one child that its owner has, without its identifier. */
  readonly own: boolean;
  readonly body: JsonObject;
  readonly at: string;
  readonly writable: boolean;
  readonly via: { readonly relation: Relation; readonly parent: Speech } | undefined;
  /** Named, and not there; or nested in such a record. */
  readonly lost: boolean;
  readonly says: readonly Saying[];
  /** Places of items that name a record which stands in the set already. */
  readonly doubles: readonly string[];
}

type Related = Pick<Speech, 'who' | 'id' | 'row' | 'named' | 'own'>;

const nameOf = (type: RecordType, id: Id): string => `${type.name} ${JSON.stringify(id)}`;

/** A nested record: the one that it names, the child that is there, or a new one. */
function whoIs(world: World, parent: Speech, relation: Relation, body: JsonObject, at: string): Related {
  const { target } = relation;
  const id = idIn(body, target);
  if (id !== undefined) return { who: nameOf(target, id), id, row: rowOf(world, target, id), named: true, own: false };
  if (relation.toMany || !relation.owned) return { who: `new ${at}`, id, row: undefined, named: false, own: false };
  const row = parent.row && related(world, relation, parent.row)[0];
  const who = row ? nameOf(target, row.id) : `the ${relation.name} of ${parent.who}`;
  return { who, id: row?.id, row, named: false, own: true };
}

/** A key that leads back to the one record which the nested one belongs to. */
export const isWayBack = ({ via }: Speech, relation: Relation): boolean =>
  !relation.toMany && via?.relation.inverse === relation;

function nestedSpeech(world: World, parent: Speech, relation: Relation, body: JsonObject, at: Path): Speech {
  const found = whoIs(world, parent, relation, body, pointer(at));
  const back = isWayBack(parent, relation) && found.who === parent.via?.parent.who ? parent.via.parent : undefined;
  const missing = found.named && found.row === undefined && back === undefined;
  return complete(world, at, {
    type: relation.target,
    ...found,
    ...(back ? { row: back.row, named: false } : {}),
    body,
    writable: parent.writable && relation.nested === 'write',
    via: { relation, parent },
    lost: parent.lost || missing,
  });
}

function complete(world: World, at: Path, speech: Omit<Speech, 'at' | 'says' | 'doubles'>): Speech {
  const says: Saying[] = [];
  const doubles: string[] = [];
  const whole: Speech = { ...speech, at: pointer(at), says, doubles };
  for (const [key, value] of Object.entries(speech.body)) {
    const relation = speech.type.relations.get(key);
    // A value that does not fit its relation says nothing.
    const fits = relation?.toMany ? Array.isArray(value) : value === null || isObject(value);
    if (relation && fits) says.push(saying(world, whole, relation, value, [...at, key], doubles));
  }
  return whole;
}

function saying(
  world: World,
  parent: Speech,
  relation: Relation,
  value: JsonValue,
  at: Path,
  doubles: string[],
): Saying {
  const bodies = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  const speeches = bodies.flatMap((body, index) =>
    isObject(body) ? [nestedSpeech(world, parent, relation, body, relation.toMany ? [...at, index] : at)] : [],
  );
  const seen = new Set<string>();
  for (const { who, at: place } of speeches) {
    if (seen.has(who)) doubles.push(place);
    seen.add(who);
  }
  return { relation, speeches, at: pointer(at) };
}

/** The body itself: of a record that is there, of one that is nowhere, or of one that is to be made. */
export function speechOf(world: World, type: RecordType, body: JsonObject, id: Id | undefined): Speech {
  const given = id ?? idIn(body, type);
  const row = id === undefined ? undefined : rowOf(world, type, id);
  return complete(world, [], {
    type,
    who: given === undefined ? 'new' : nameOf(type, given),
    id: given,
    row,
    named: false,
    own: false,
    body,
    writable: true,
    via: undefined,
    lost: id !== undefined && row === undefined,
  });
}

/** In the order of the document. */
export function allSpeeches(speech: Speech): readonly Speech[] {
  return [speech, ...speech.says.flatMap(({ speeches }) => speeches.flatMap(allSpeeches))];
}

/** Who is in the relation as this place has it: the record that led here is, whether it is listed or not. */
export function membersOf({ via }: Speech, { relation, speeches }: Saying): ReadonlySet<string> {
  const listed = speeches.map(({ who }) => who);
  return new Set(relation.toMany && via?.relation.inverse === relation ? [...listed, via.parent.who] : listed);
}
