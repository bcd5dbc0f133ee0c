/** Random requests against whatever schema there is: bodies are drawn from a stream of numbers, so that they shrink. */
import * as fc from 'fast-check';
import { RAW_TEXTS } from '../../engine/field-types/document.ts';
import { pick } from '../../engine/field-types/field-type.ts';
import type { JsonObject, JsonValue } from '../../engine/json.ts';
import { pointer } from '../../engine/json.ts';
import {
  type Field,
  type JoinTable,
  MAX_GIVEN_IDENTIFIER,
  type RecordType,
  type Relation,
} from '../../engine/model/model.ts';
import { raw } from '../../engine/suite/json-tree.ts';
import { type Id, idValue, rowsOf, type World } from '../../engine/suite/reference/world.ts';

export const KINDS = ['create', 'create', 'create', 'put', 'put', 'patch', 'delete', 'get', 'list'] as const;

/** One request: what it does, to which type, and the numbers that decide everything else. */
export interface Operation {
  readonly kind: (typeof KINDS)[number];
  readonly type: number;
  readonly choices: readonly number[];
}

export const randomOperation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(...KINDS),
  type: fc.nat(2),
  choices: fc.array(fc.nat(99), { maxLength: 60 }),
});

/** Numbers one after the other; when they are used up, zeros: the least that can be done. */
export type Draw = (below: number) => number;

export function drawFrom(choices: readonly number[]): Draw {
  let next = 0;
  return (below) => (choices[next++] ?? 0) % below;
}

export interface Drawn {
  readonly body: JsonObject;
  /** Where the body does not fit its type. */
  readonly faults: readonly string[];
  /** The relation paths that the body speaks of. */
  readonly paths: readonly string[];
}

interface Drawing {
  readonly world: World;
  readonly draw: Draw;
  readonly faults: string[];
  readonly paths: Set<string>;
  /** The side from which the body speaks of each join table. */
  readonly joins: Map<JoinTable, string>;
}

type Path = readonly (string | number)[];

const MAX_DEPTH = 3;
const DRAWN_VALUES = 8;

/** undefined: the key is left out. */
function drawValue(drawing: Drawing, field: Field, creating: boolean, at: Path): JsonValue | undefined {
  const { draw, faults } = drawing;
  const choice = draw(24);
  const good = field.type.good(field, draw(DRAWN_VALUES));
  if (choice === 23) return fault(faults, at, field.type.bad(field)[0], good);
  if (choice > 19) return field.nullable ? null : good;
  if (choice === 19 && field.type.texts) return raw(pick(field.type.texts(field), draw(99)));
  if (choice > 16) return field.type.edges(field)[draw(3)] ?? good;
  if (choice > 6 || (field.required && creating)) return good;
  return undefined;
}

function fault(faults: string[], at: Path, bad: JsonValue | undefined, good: JsonValue): JsonValue {
  if (bad === undefined) return good;
  faults.push(pointer(at));
  return bad;
}

/** A record that is there. One that is owned already may be named by an owner; a free one may turn out to be above it. */
function existing({ world, draw }: Drawing, { target, owned, link }: Relation): Id | undefined {
  const rows = [...rowsOf(world, target).values()];
  const usable = owned && link.at === 'target' ? rows.filter((row) => row.links.has(link.reference)) : rows;
  return usable.length === 0 ? undefined : usable[draw(usable.length)]?.id;
}

/** Whether records of the one type can be below those of the other, so that a link upward could close a circle. */
const mayOwn = (owner: RecordType, child: RecordType): boolean =>
  [...owner.relations.values()].some(({ owned, target }) => owned && target === child);

/** A related record: one that is there, now and then with other values; a new one; rarely one that is nowhere. */
function drawRelated(drawing: Drawing, relation: Relation, at: Path): JsonObject {
  const { draw } = drawing;
  const name = relation.target.identifier.name;
  const choice = draw(12);
  const id = existing(drawing, relation);
  if (choice === 11) return { [name]: MAX_GIVEN_IDENTIFIER };
  if (choice > 6 && relation.nested === 'write') return drawRecord(drawing, relation.target, at, true, relation);
  if (id === undefined)
    return relation.nested === 'write'
      ? drawRecord(drawing, relation.target, at, true, relation)
      : { [name]: MAX_GIVEN_IDENTIFIER };
  const others =
    choice > 4 && relation.nested === 'write' ? drawRecord(drawing, relation.target, at, false, relation) : {};
  return { ...others, [name]: idValue(id) };
}

function drawSet(drawing: Drawing, relation: Relation, at: Path): JsonObject[] {
  const bodies = Array.from({ length: drawing.draw(4) }, (_, index) => drawRelated(drawing, relation, [...at, index]));
  const seen = new Set<string>();
  return bodies.filter((body) => {
    const id = JSON.stringify(body[relation.target.identifier.name] ?? null);
    const isNew = id === 'null' || !seen.has(id);
    seen.add(id);
    return isNew;
  });
}

/** What a body says of one join table from both sides has no plain meaning. */
function isSaidFromTheOtherSide({ joins }: Drawing, { link }: Relation): boolean {
  if (link.at !== 'join') return false;
  const side = joins.get(link.table) ?? link.sourceColumn;
  joins.set(link.table, side);
  return side !== link.sourceColumn;
}

function drawRelation(drawing: Drawing, relation: Relation, at: Path): JsonValue | undefined {
  const choice = drawing.draw(10);
  const upward = relation.inverse?.owned === true && mayOwn(relation.source, relation.target);
  if (choice < 5 || upward || isSaidFromTheOtherSide(drawing, relation)) return undefined;
  drawing.paths.add(at.filter((step) => typeof step === 'string').join('.'));
  if (relation.toMany) return drawSet(drawing, relation, at);
  return choice < 6 && !relation.required ? null : drawRelated(drawing, relation, at);
}

/** Up to three keys, in any order, each with a text. */
function drawOpenKeys(draw: Draw): JsonObject {
  const keys = [...new Set(Array.from({ length: 1 + draw(3) }, () => pick(OPEN_KEYS, draw(99))))];
  const members = keys.map((key) => [key, raw(pick(OPEN_TEXTS, draw(99)))] as const);
  return { ...Object.fromEntries(members), $keys: keys };
}

const OPEN_KEYS = ['openKey', '9', '10', '', 'constructor'] as const;
/** So few that patches meet objects again. */
const OPEN_TEXTS = [
  ...RAW_TEXTS,
  '{"a":0,"b":null}',
  '{"a":1.0,"b":null}',
  '{"b":{"2":1.0,"1":null}}',
  '{"b":{"1":1e2,"2":null},"a":1}',
  'null',
] as const;

/** A record as a body. Sets are filtered, so that faults in what was dropped must not be counted: see `drawBody`. */
function drawRecord(
  drawing: Drawing,
  type: RecordType,
  at: Path,
  creating: boolean,
  from: Relation | undefined,
): JsonObject {
  const body: Record<string, JsonValue> = {};
  for (const field of from?.fields ?? type.defaultVariant.fields) {
    const value = drawValue(drawing, field, creating, [...at, field.name]);
    if (value !== undefined) body[field.name] = value;
  }
  if (type.open && drawing.draw(4) === 3) Object.assign(body, drawOpenKeys(drawing.draw));
  if (!type.open && drawing.draw(40) === 39) body['noSuchKey'] = fault(drawing.faults, [...at, 'noSuchKey'], 1, 1);
  const depth = at.filter((step) => typeof step === 'string').length;
  for (const relation of depth < MAX_DEPTH ? type.relations.values() : []) {
    const value = relation === from?.inverse ? undefined : drawRelation(drawing, relation, [...at, relation.name]);
    if (value !== undefined) body[relation.name] = value;
  }
  return body;
}

export function drawBody(world: World, draw: Draw, type: RecordType, creating: boolean): Drawn {
  const drawing = { world, draw, faults: [], paths: new Set<string>(), joins: new Map<JoinTable, string>() };
  const body = drawRecord(drawing, type, [], creating, undefined);
  return { body, faults: drawing.faults, paths: [...drawing.paths] };
}
