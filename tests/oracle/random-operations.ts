/** Random requests against whatever schema there is: bodies are drawn from a stream of numbers, so that they shrink. */
import { pick } from '../../engine/field-types/field-type.ts';
import { isObject, type JsonObject, type JsonValue, pointer } from '../../engine/json/json.ts';
import { MAX_GIVEN_IDENTIFIER } from '../../engine/field-types/identifiers.ts';
import type { Field, RecordType, Relation } from '../../engine/model/model.ts';
import { linkTo } from './call.ts';
import { raw } from './template.ts';
import { badValues, refusedAt } from './values.ts';
import { represent, type Shown, shownBy } from './reads.ts';
import { givenId, type Id, idValue, type RecordRow, rowOf, rowsOf, type World } from './world.ts';
import fc from '../support/fast-check.ts';

export const KINDS =
  'create create create put put patch createMany patchMany upsert delete deleteFound get list list'.split(' ');

/** Long and exact numbers, numbers in unusual forms, keys that JavaScript would reorder, escapes, and deep nesting. */
const RAW_TEXTS = [
  '{"2":1.0,"10":{"b":9007199254740993,"9":[],"a":-0},"1":null}',
  '12345678901234567890',
  '1e400',
  '[1.0,1E+2,0.1000000000000000055511151231257827]',
  '"\\u00e9\\/"',
  `${'[{"1":'.repeat(10)}0.0${'}]'.repeat(10)}`,
] as const;

function rawTexts({ type, constraints }: Field): readonly string[] {
  if (type.name === 'any') return RAW_TEXTS;
  const { items, minItems = 0, maxItems = Infinity } = constraints;
  if (type.name !== 'array' || items !== undefined) return [];
  const length = Math.min(Number(maxItems), Math.max(3, Number(minItems)));
  return [`[${Array.from({ length }, (_, index) => pick(RAW_TEXTS, index)).join(',')}]`];
}

export interface Operation {
  readonly kind: (typeof KINDS)[number];
  readonly type: number;
  readonly choices: readonly number[];
}

export const randomOperation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(...KINDS),
  type: fc.nat(2),
  choices: fc.array(fc.nat(99), { maxLength: 120, size: 'max' }),
});

/** Numbers one after the other; when they are used up, zeros: the least that can be done. */
export type Draw = (below: number) => number;

export function drawFrom(choices: readonly number[]): Draw {
  let next = 0;
  return (below) => (choices[next++] ?? 0) % below;
}

export interface Drawn {
  readonly body: JsonObject;
  readonly faults: readonly string[];
  readonly paths: readonly string[];
}

interface Drawing {
  readonly world: World;
  readonly draw: Draw;
  readonly faults: string[];
  readonly paths: Set<string>;
}

interface Way {
  readonly relation: Relation;
  readonly parent: Id | undefined;
}

type Path = readonly (string | number)[];

const MAX_DEPTH = 3;
const DRAWN_VALUES = 8;

/** Mostly a handful of characters, now and then more than a page or a packet holds. */
const SIZES = [0, 1, 1, 2, 7, 7, 30, 300, 300, 20_000];

function drawLong(draw: Draw, field: Field): JsonValue | undefined {
  const text = 'aé"😀'.repeat(SIZES[draw(SIZES.length)] ?? 0);
  if (field.type.name === 'any') return draw(2) === 0 ? text : { text, numbers: [draw(9), -0.5, 1e21, [null, true]] };
  return field.type.name === 'string' && Object.keys(field.constraints).length === 0 ? text : undefined;
}

/** undefined: the key is left out. */
function drawValue(
  drawing: Drawing,
  field: Field,
  creating: boolean,
  row: RecordRow | undefined,
  at: Path,
): JsonValue | undefined {
  const { draw, faults } = drawing;
  const choice = draw(24);
  const good = field.type.good(field, draw(DRAWN_VALUES));
  if (field.readOnly && choice < 22)
    return choice > 12 ? (row ? (row.values.get(field) ?? null) : (field.default ?? null)) : undefined;
  if (choice === 23) return drawBad(drawing, field, at) ?? good;
  if (choice > 19) return field.nullable ? null : draw(4) > 0 ? good : fault(faults, at, null, good);
  const texts = choice === 19 ? rawTexts(field) : [];
  if (texts.length > 0) return raw(pick(texts, draw(99)));
  if (choice > 12 && field.type.keepsText && badValues(field).length === 0) return raw(pick(FREE_TEXTS, draw(99)));
  if (choice > 16) return field.type.edges(field)[draw(3)] ?? good;
  if (choice > 15 && !field.unique) return drawLong(draw, field) ?? good;
  if (choice > 6 || (field.required && creating && (choice > 0 || !leftOut(faults, at)))) return good;
  return undefined;
}

function drawBad({ draw, faults }: Drawing, field: Field, at: Path): JsonValue | undefined {
  // The reader of bodies refuses texts that cannot be stored before it is known what other values are compared with.
  const all = badValues(field).filter((value) => !/[\0\p{Cs}]/u.test(String(value)));
  const bad = all[draw(Math.max(1, all.length))];
  if (bad !== undefined) faults.push(...refusedAt(field, bad).map((within) => pointer([...at, ...within])));
  return bad;
}

function leftOut(faults: string[], at: Path): true {
  faults.push(pointer(at));
  return true;
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

/** What GET shows of a record, its relations to some depth: all of it may be sent back. */
function copyOf(world: World, type: RecordType, id: Id, depth: number): JsonObject {
  const row = rowOf(world, type, id);
  const shownTo = (one: RecordType, levels: number): Shown => ({
    ...shownBy(one, { include: [] }),
    relations: new Map(
      levels === 0
        ? []
        : [...one.relations.values()].map((relation) => {
            const below = shownTo(relation.target, levels - 1);
            const openKeys =
              relation.target.open && relation.fields.length === relation.target.defaultVariant.fields.length;
            return [relation, { ...below, fields: relation.fields, openKeys }];
          }),
    ),
  });
  return row === undefined ? {} : represent(world, type, row, shownTo(type, depth));
}

/** A related record: one that is there, now and then with other values; a new one; rarely one that is nowhere. */
function drawRelated(drawing: Drawing, way: Way, at: Path, avoid: ReadonlySet<Id>): JsonValue {
  const { world, draw, faults } = drawing;
  const { relation } = way;
  const { target, nested } = relation;
  const name = target.identifier.name;
  const nowhere = linkTo(target, givenId(target, MAX_GIVEN_IDENTIFIER));
  const choice = draw(16);
  const drawn = existing(drawing, relation);
  const id = drawn !== undefined && avoid.has(drawn) && draw(6) > 0 ? undefined : drawn;
  if (choice === 15) return nowhere;
  if (choice === 14 && draw(3) === 2) {
    faults.push(pointer(nested === 'link' ? [...at, name] : at));
    return nested === 'link' ? {} : 'no record';
  }
  if (choice > 9 && nested === 'write') return drawRecord(drawing, target, at, true, way, undefined);
  if (id === undefined) return nested === 'write' ? drawRecord(drawing, target, at, true, way, undefined) : nowhere;
  if (choice > 6 && (nested === 'write' || choice === 9)) {
    const copy = { ...copyOf(world, target, id, draw(3)) };
    const edited = Object.keys(copy)[draw(2 * Object.keys(copy).length)];
    if (edited !== undefined && edited !== name) delete copy[edited];
    return copy;
  }
  const row = rowOf(world, target, id);
  const writes = nested === 'write' || draw(6) === 5;
  const others = choice > 3 && writes ? drawRecord(drawing, target, at, false, way, row) : {};
  return { ...others, [name]: idValue(id) };
}

function drawSet(drawing: Drawing, way: Way, at: Path): JsonValue[] {
  const seen = new Set<Id>();
  const ids = new Map(
    [...rowsOf(drawing.world, way.relation.target).keys()].map((id) => [JSON.stringify(idValue(id)), id]),
  );
  return Array.from({ length: drawing.draw(4) }, (_, index) => {
    const body = drawRelated(drawing, way, [...at, index], seen);
    const id = isObject(body) ? ids.get(JSON.stringify(body[way.relation.target.identifier.name])) : undefined;
    if (id !== undefined) seen.add(id);
    return body;
  });
}

/** The key that leads back: mostly the parent, if it is there already. */
function drawWayBack({ draw }: Drawing, { relation, parent }: Way): JsonValue | undefined {
  const choice = draw(6);
  if (choice < 3 || parent === undefined || relation.inverse === undefined) return undefined;
  const { name } = relation.source.identifier;
  if (choice === 5 && draw(3) === 2) return linkTo(relation.source, givenId(relation.source, MAX_GIVEN_IDENTIFIER));
  return { [name]: idValue(parent) };
}

function drawRelation(
  drawing: Drawing,
  relation: Relation,
  at: Path,
  from: Way | undefined,
  id: Id | undefined,
): JsonValue | undefined {
  if (relation === from?.relation.inverse && !relation.toMany) return drawWayBack(drawing, from);
  const choice = drawing.draw(10);
  const upward = relation.inverse?.owned === true && mayOwn(relation.source, relation.target);
  if (choice < 5 || upward) return undefined;
  drawing.paths.add(at.filter((step) => typeof step === 'string').join('.'));
  const way = { relation, parent: id };
  if (relation.toMany) return drawSet(drawing, way, at);
  return choice < 6 && !relation.required ? null : drawRelated(drawing, way, at, new Set());
}

function drawRecord(
  drawing: Drawing,
  type: RecordType,
  at: Path,
  creating: boolean,
  from: Way | undefined,
  row: RecordRow | undefined,
): JsonObject {
  const body: Record<string, JsonValue> = {};
  if (creating && type.identifier.by === 'client' && drawing.draw(9) > 0)
    Object.assign(body, linkTo(type, givenId(type, NESTED_GIVEN + drawing.draw(1000))));
  const child = from?.relation;
  // Whether an only child is there, and is changed, is not known here.
  const mayLack = creating && !(child?.owned && !child.toMany);
  for (const field of child?.fields ?? type.defaultVariant.fields) {
    const value = drawValue(drawing, field, mayLack, row, [...at, field.name]);
    if (value !== undefined) body[field.name] = value;
  }
  if (type.open && drawing.draw(4) === 3) Object.assign(body, drawOpenKeys(drawing.draw));
  if (!type.open && drawing.draw(40) === 39) body['noSuchKey'] = fault(drawing.faults, [...at, 'noSuchKey'], 1, 1);
  const depth = at.filter((step) => typeof step === 'string').length;
  for (const relation of depth < MAX_DEPTH ? type.relations.values() : []) {
    const value = drawRelation(drawing, relation, [...at, relation.name], from, row?.id);
    if (value !== undefined) body[relation.name] = value;
  }
  return body;
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

const FREE_TEXTS = OPEN_TEXTS.filter((text) => text !== 'null');

const FIRST_GIVEN = 1_000_000;
const NESTED_GIVEN = 20_000;

export function drawBody(world: World, draw: Draw, type: RecordType, id: Id | undefined): Drawn {
  const drawing: Drawing = { world, draw, faults: [], paths: new Set<string>() };
  const row = id === undefined ? undefined : rowOf(world, type, id);
  const choice = draw(12);
  const { name } = type.identifier;
  const body = { ...drawRecord(drawing, type, [], id === undefined, undefined, row) };
  const rows = [...rowsOf(world, type).keys()];
  if (choice > 9 && id === undefined) body[name] = idValue(givenId(type, FIRST_GIVEN * (1 + draw(20))));
  else if (choice > 8 && id !== undefined) body[name] = idValue(choice === 11 ? (rows[draw(rows.length)] ?? id) : id);
  return { body, faults: drawing.faults, paths: [...drawing.paths] };
}
