/** Writes of the reference model: own values first, then each relation in the body: link, create, update, unlink, replace a set. */
import { isObject, type JsonObject, type JsonValue, pointer } from '../../json.ts';
import type { Field, RecordType, Reference, Relation } from '../../model/model.ts';
import { raw } from '../json-tree.ts';
import { related, setLink, setPairs } from './links.ts';
import { Refusal } from './refusal.ts';
import { removeRow } from './removal.ts';
import { type Id, idIn, newId, putRow, type Row, rowOf } from './world.ts';
import { differingKeys } from './stored.ts';
import { kept, parts, type Path, type Run, say, writeValues } from './values.ts';

const currentOf = (run: Run, relation: Relation, id: Id): Row[] => {
  const row = rowOf(run.world, relation.source, id);
  return row === undefined ? [] : related(run.world, relation, row);
};

/** The children's foreign key, where the connection is kept in their rows. */
const childKey = ({ link }: Relation): Reference | undefined => (link.at === 'target' ? link.reference : undefined);

/** A child that leaves: deleted where it is owned, else its key is emptied. */
function leave(run: Run, relation: Relation, child: Row, at: Path): void {
  const key = childKey(relation);
  if (relation.owned) return removeRow(run.world, relation.target, child.id);
  if (key?.required)
    throw new Refusal(
      'invalid-reference',
      [pointer(at)],
      `${relation.target.name} ${child.id} cannot be without ${relation.source.name}`,
    );
  if (key) setLink(run.world, relation.target, child.id, key, undefined);
}

/** Whether the value of a key that leads back names the parent: alone, or among others in a set. */
function namesParent(relation: Relation, parent: Id, value: JsonValue | undefined): boolean {
  const bodies = Array.isArray(value) && relation.inverse?.toMany ? value : [value];
  return bodies.some((body: JsonValue | undefined) => isObject(body) && idIn(body, relation.source) === parent);
}

/** The body of a nested record without the key that names its parent. A set that leads back is written like any other. */
function withoutInverse(relation: Relation, parent: Id, body: JsonObject, at: Path): JsonObject {
  const name = relation.inverse?.name;
  if (name === undefined || !(name in body)) return body;
  const { [name]: named, ...rest } = body;
  if (!namesParent(relation, parent, named))
    throw new Refusal('invalid-reference', [pointer([...at, name])], `${name} names another record than the parent`);
  return relation.inverse?.toMany ? body : rest;
}

/** The child under another parent, which an owned child never leaves. */
function refuseForeign(relation: Relation, parent: Id, child: Row, at: Path): void {
  const key = childKey(relation);
  const holder = key && child.links.get(key);
  if (!relation.owned || holder === undefined || holder === parent) return;
  throw new Refusal(
    'invalid-reference',
    [pointer([...at, relation.target.identifier.name])],
    `${relation.target.name} ${child.id} belongs to ${holder}`,
  );
}

/** Links a record that is there, and updates it where the relation may write. */
function useRecord(run: Run, relation: Relation, parent: Id, id: Id, body: JsonObject, at: Path): Id {
  const { target } = relation;
  const row = rowOf(run.world, target, id);
  const place = pointer([...at, target.identifier.name]);
  if (row === undefined) throw new Refusal('invalid-reference', [place], `there is no ${target.name} ${id}`);
  refuseForeign(relation, parent, row, at);
  const rest = withoutInverse(relation, parent, body, at);
  const differing = relation.nested === 'write' ? [] : differingKeys(run.world, target, row, rest);
  if (differing.length > 0)
    throw new Refusal(
      'link-conflict',
      differing.map((key) => pointer([...at, key])),
      `${relation.name} is only linked`,
    );
  if (relation.nested === 'write') updateRecord(run, target, id, rest, at);
  return id;
}

function makeRecord(run: Run, relation: Relation, parent: Id, body: JsonObject, at: Path): Id {
  if (relation.nested === 'link')
    throw new Refusal(
      'invalid-body',
      [pointer([...at, relation.target.identifier.name])],
      `${relation.name} is only linked, so its record must be named`,
    );
  return createRecord(run, relation.target, withoutInverse(relation, parent, body, at), at);
}

function useOrMake(run: Run, relation: Relation, parent: Id, body: JsonValue, at: Path): Id {
  if (!isObject(body)) throw new Refusal('invalid-body', [pointer(at)], 'a related record is an object');
  const id = idIn(body, relation.target);
  return id === undefined
    ? makeRecord(run, relation, parent, body, at)
    : useRecord(run, relation, parent, id, body, at);
}

/** A foreign key may be said twice in a body, from either side, but only to hold the same. */
function saidLink(run: Run, type: RecordType, id: Id, key: Reference, value: Id | undefined, at: Path): void {
  say(run, type, id, `(${key.column})`, value ?? null, pointer(at));
  run.links.push(() => {
    const gone =
      rowOf(run.world, type, id) === undefined ||
      (value !== undefined && rowOf(run.world, key.target, value) === undefined);
    if (gone) throw new Refusal('invalid-reference', [], `the body lets go of what it links in ${pointer(at)}`);
    setLink(run.world, type, id, key, value);
  });
  run.touched.push({ type, id });
}

/** Connects what the body holds to the record, wherever the connection is kept. */
function connect(run: Run, relation: Relation, parent: Id, targets: readonly Id[], at: Path): void {
  const { link, source, target } = relation;
  if (link.at === 'join') return void run.links.push(() => setPairs(run.world, relation, parent, targets));
  if (link.at === 'source') return saidLink(run, source, parent, link.reference, targets[0], at);
  for (const id of targets) saidLink(run, target, id, link.reference, parent, at);
}

/** A child of an owner stays with it, whichever side a body speaks from. */
function keepOwner(relation: Relation, current: Row | undefined, body: JsonValue, at: Path): void {
  if (!relation.inverse?.owned || current === undefined) return;
  const named = isObject(body) ? idIn(body, relation.target) : undefined;
  if (named === current.id) return;
  const place = isObject(body) ? [...at, relation.target.identifier.name] : at;
  throw new Refusal('invalid-reference', [pointer(place)], `${relation.name} owns the record, which cannot change it`);
}

function writeOne(run: Run, relation: Relation, parent: Id, body: JsonValue, at: Path): void {
  const [current] = currentOf(run, relation, parent);
  keepOwner(relation, current, body, at);
  if (body === null) {
    if (current && relation.link.at === 'target') leave(run, relation, current, at);
    return connect(run, relation, parent, [], at);
  }
  const named = isObject(body) ? idIn(body, relation.target) : undefined;
  if (current && relation.owned && named === undefined && isObject(body)) {
    return updateRecord(run, relation.target, current.id, withoutInverse(relation, parent, body, at), at);
  }
  if (current && relation.link.at === 'target' && current.id !== named) leave(run, relation, current, at);
  connect(run, relation, parent, [useOrMake(run, relation, parent, body, at)], at);
}

function writeMany(run: Run, relation: Relation, parent: Id, bodies: readonly JsonValue[], at: Path): void {
  const named = new Set(bodies.map((body) => (isObject(body) ? idIn(body, relation.target) : undefined)));
  for (const child of currentOf(run, relation, parent)) if (!named.has(child.id)) leave(run, relation, child, at);
  const ids = bodies.map((body, index) => useOrMake(run, relation, parent, body, [...at, index]));
  connect(run, relation, parent, ids, at);
}

/** What a body says of a relation, as far as two places can say the same: which records there are. New ones are never the same. */
function saidIds(relation: Relation, body: JsonValue): JsonValue {
  const bodies = Array.isArray(body) ? body : [body];
  const ids = bodies.map((one: JsonValue, index) => (isObject(one) ? (idIn(one, relation.target) ?? [index]) : one));
  return relation.toMany ? ids.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : (ids[0] ?? null);
}

/** What the body says of a relation: null or a record for to-one, the whole new set for to-many. */
export function writeRelation(run: Run, relation: Relation, parent: Id, body: JsonValue, at: Path): void {
  say(run, relation.source, parent, relation.name, saidIds(relation, body), pointer(at));
  if (!relation.toMany) return writeOne(run, relation, parent, body, at);
  if (!Array.isArray(body)) throw new Refusal('invalid-body', [pointer(at)], `${relation.name} is a set`);
  writeMany(run, relation, parent, body, at);
}

function writeRelations(run: Run, type: RecordType, id: Id, body: JsonObject, at: Path): void {
  for (const { relation, value } of parts(type, body).relations)
    writeRelation(run, relation, id, value, [...at, relation.name]);
}

const defaultOf = (field: Field): JsonValue =>
  field.type.keepsText && field.defaultText !== undefined ? raw(field.defaultText) : kept(field, field.default ?? null);

/** A new record with its defaults, then everything that the body says. */
export function createRecord(
  run: Run,
  type: RecordType,
  body: JsonObject,
  at: Path,
  id: Id = newId(run.world, type),
): Id {
  const values = new Map([...type.fields.values()].map((field) => [field, defaultOf(field)] as const));
  putRow(run.world, type, { id, values, links: new Map(), open: new Map() });
  updateRecord(run, type, id, body, at);
  return id;
}

export function updateRecord(run: Run, type: RecordType, id: Id, body: JsonObject, at: Path): void {
  const row = rowOf(run.world, type, id);
  if (row === undefined) throw new Refusal('record-not-found', [], `there is no ${type.name} ${id}`);
  run.touched.push({ type, id });
  writeValues(run, type, row, body, at);
  writeRelations(run, type, id, body, at);
}
