/** Nested writes: each rule of each kind of relation, and that a body which fails at its end leaves nothing behind. */
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field, RecordType, Relation } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { newChild } from '../nested-samples.ts';
import { related } from '../reference/links.ts';
import { type Id, rowOf } from '../reference/world.ts';
import { freshValue } from '../samples.ts';
import {
  collectionPath,
  fullBody,
  get,
  guard,
  itemPath,
  linkTo,
  MISSING_ID,
  obtain,
  post,
  put,
  putAsModelled,
  refused,
  refusedPut,
  remove,
  type Scenario,
} from '../scenario.ts';

const GROUP = 'relations';

interface Subject {
  readonly context: Context;
  readonly type: RecordType;
  readonly relation: Relation;
}

type Build = (scenario: Scenario) => void;

const scene = ({ context, type, relation }: Subject, title: string, build: Build): Case[] =>
  caseOf(context, GROUP, `${collectionPath(type)} ${relation.name}: ${title}`, build);

/** A body for one related record: new where the relation writes, else a link to one that is made first. */
const childBody = (scenario: Scenario, { relation, type }: Subject): JsonObject =>
  relation.nested === 'write'
    ? newChild(scenario, relation, [type])
    : linkTo(relation.target, obtain(scenario, relation.target));

const inSet = ({ relation }: Subject, ...bodies: readonly JsonObject[]): JsonValue =>
  relation.toMany ? bodies : (bodies[0] ?? null);

const bodyWith = (scenario: Scenario, subject: Subject, value: JsonValue): JsonObject => ({
  ...fullBody(scenario, subject.type),
  [subject.relation.name]: value,
});

/** The identifiers that the record has in the relation, as the reference model knows them. */
function targetsOf(scenario: Scenario, { type, relation }: Subject, id: Id): Id[] {
  const row = rowOf(scenario.reference.world, type, id);
  return row === undefined ? [] : related(scenario.reference.world, relation, row).map((target) => target.id);
}

/** An own field of the target that a client may change to another value. */
function changeable({ relation }: Subject): Field | undefined {
  return relation.fields.find(
    (field) => !field.readOnly && !field.unique && field.type.good(field, 1) !== field.type.good(field, 2),
  );
}

/** What the record has in the relation already, each as a link, then the bodies given. */
function besides(scenario: Scenario, subject: Subject, id: Id, ...bodies: readonly JsonObject[]): JsonValue {
  const kept = targetsOf(scenario, subject, id).map((target) => linkTo(subject.relation.target, target));
  return inSet(subject, ...(subject.relation.toMany ? kept : []), ...bodies);
}

const refusedBody = (
  scenario: Scenario,
  { type }: Subject,
  id: Id,
  body: JsonObject,
  pointers: readonly string[],
): void => refused(scenario, { method: 'PUT', path: itemPath(type, id), body, ...guard(type) }, 422, { pointers });

function created(subject: Subject): Case[] {
  const { type, relation } = subject;
  return scene(subject, 'created with the record, read at each depth, written back, deleted', (scenario) => {
    const bodies = relation.toMany
      ? [childBody(scenario, subject), childBody(scenario, subject)]
      : [childBody(scenario, subject)];
    const view = {
      include: [relation.name, ...[...relation.target.relations.keys()].map((name) => `${relation.name}.${name}`)],
    };
    const id = post(scenario, type, bodyWith(scenario, subject, inSet(subject, ...bodies)), view);
    get(scenario, type, id);
    get(scenario, type, id, view);
    put(scenario, type, id, scenario.reference.get(type, id) ?? {});
    put(scenario, type, id, {});
    if (type.operations.has('delete')) remove(scenario, type, id);
  });
}

/** null leaves a to-one relation, [] a set; what is owned is gone with it. */
function emptied(subject: Subject): Case[] {
  const { type, relation } = subject;
  return scene(subject, 'emptied', (scenario) => {
    const id = post(scenario, type, bodyWith(scenario, subject, inSet(subject, childBody(scenario, subject))));
    const body = { [relation.name]: relation.toMany ? [] : null };
    if (relation.required) refusedBody(scenario, subject, id, body, [`/${relation.name}`]);
    else putAsModelled(scenario, type, id, body);
    get(scenario, type, id);
  });
}

/** Children that cannot be without a parent. */
const obligatory = ({ link, owned }: Relation): boolean => link.at === 'target' && link.reference.required && !owned;

function replaced(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (!relation.target.identifier.inRecord || obligatory(relation)) return [];
  return scene(subject, 'some kept, some left out, some new', (scenario) => {
    const count = relation.toMany ? 3 : 1;
    const bodies = Array.from({ length: count }, () => childBody(scenario, subject));
    const id = post(scenario, type, bodyWith(scenario, subject, inSet(subject, ...bodies)));
    const kept = targetsOf(scenario, subject, id)
      .slice(1)
      .map((target) => linkTo(relation.target, target));
    putAsModelled(scenario, type, id, {
      [relation.name]: inSet(subject, ...(relation.toMany ? kept : []), childBody(scenario, subject)),
    });
    get(scenario, type, id);
    putAsModelled(scenario, type, id, {
      [relation.name]: inSet(subject, ...kept.slice(0, 1), childBody(scenario, subject)),
    });
    get(scenario, type, id);
  });
}

/** Keys beside the identifier: equal ones are no write, others update where the relation writes and are a conflict where it links. */
function updatedThrough(subject: Subject): Case[] {
  const { type, relation, context } = subject;
  const field = changeable(subject);
  if (!relation.target.identifier.inRecord || field === undefined) return [];
  return scene(subject, `${field.name} of the related record`, (scenario) => {
    const id = post(scenario, type, bodyWith(scenario, subject, inSet(subject, childBody(scenario, subject))));
    const [target] = targetsOf(scenario, subject, id);
    if (target === undefined) return;
    const stored = rowOf(scenario.reference.world, relation.target, target)?.values.get(field) ?? null;
    const other = [1, 2, 3]
      .map((seed) => field.type.good(field, seed))
      .find((value) => stored === null || !field.type.equal(value, stored));
    const named = linkTo(relation.target, target);
    put(scenario, type, id, { [relation.name]: inSet(subject, { ...named, [field.name]: stored }) });
    if (other === undefined) return;
    const body = { [relation.name]: inSet(subject, { ...named, [field.name]: other }) };
    if (relation.nested === 'link') refusedPut(scenario, type, id, body);
    else put(scenario, type, id, body);
    get(scenario, type, id);
    if (relation.owned && !relation.toMany)
      put(scenario, type, id, { [relation.name]: { [field.name]: freshValue(field, context.seeds) } });
  });
}

/** A record that another one is related to already: shared, moved, or refused where it is owned. */
function foreign(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (!relation.target.identifier.inRecord || obligatory(relation)) return [];
  return scene(subject, 'a related record of somebody else', (scenario) => {
    const first = post(scenario, type, bodyWith(scenario, subject, inSet(subject, childBody(scenario, subject))));
    const second = post(scenario, type, fullBody(scenario, type));
    const [target] = targetsOf(scenario, subject, first);
    if (target === undefined) return;
    const body = { [relation.name]: inSet(subject, linkTo(relation.target, target)) };
    putAsModelled(scenario, type, second, body);
    get(scenario, type, first);
    get(scenario, type, second);
  });
}

/** Bodies that fit no relation, whatever is in the database. */
function misfits(subject: Subject): Case[] {
  const { type, relation } = subject;
  const { name, target } = relation;
  const at = relation.toMany ? `/${name}/0` : `/${name}`;
  const key = target.identifier.name;
  return scene(subject, 'what is refused', (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const whole = relation.toMany ? [null, {}, 'x', 1] : ['x', 1, true, []];
    for (const value of whole) refusedBody(scenario, subject, id, { [name]: value }, [`/${name}`]);
    if (relation.toMany)
      for (const value of [1, 'x', null, []]) refusedBody(scenario, subject, id, { [name]: [value] }, [at]);
    if (target.identifier.inRecord) {
      const rest = relation.nested === 'write' ? childBody(scenario, subject) : {};
      for (const value of ['x', 0, 1.5, true])
        refusedBody(scenario, subject, id, { [name]: inSet(subject, { ...rest, [key]: value }) }, [`${at}/${key}`]);
      refusedBody(scenario, subject, id, { [name]: inSet(subject, { [key]: MISSING_ID }) }, [`${at}/${key}`]);
    }
    if (!target.open)
      refusedBody(
        scenario,
        subject,
        id,
        { [name]: inSet(subject, { ...childBody(scenario, subject), noSuchKey: 1 }) },
        [`${at}/noSuchKey`],
      );
    get(scenario, type, id);
  });
}

/** Each field of the related record refuses what it refuses at home, and says where. */
function badValues(subject: Subject): Case[] {
  const { type, relation } = subject;
  const { name } = relation;
  if (relation.nested === 'link') return [];
  const at = relation.toMany ? `/${name}/1` : `/${name}`;
  const fields = relation.fields.filter((field) => !field.readOnly).slice(0, 5);
  return scene(subject, 'refused values in the related record', (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    for (const field of fields) {
      const good = childBody(scenario, subject);
      for (const value of field.type.bad(field).slice(0, 2)) {
        const bad = { ...childBody(scenario, subject), [field.name]: value };
        refusedBody(scenario, subject, id, { [name]: relation.toMany ? [good, bad] : bad }, [`${at}/${field.name}`]);
      }
    }
    get(scenario, type, id);
  });
}

/** The last of several related records cannot be used: neither the record nor those before it are written. */
function allOrNothing(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (!relation.toMany || !relation.target.identifier.inRecord) return [];
  return scene(subject, 'all or nothing', (scenario) => {
    const id = post(scenario, type, bodyWith(scenario, subject, [childBody(scenario, subject)]));
    const missing = { [relation.target.identifier.name]: MISSING_ID };
    const place = (index: number): string[] => [`/${relation.name}/${index}/${relation.target.identifier.name}`];
    const values = fullBody(scenario, type);
    const all = besides(scenario, subject, id, childBody(scenario, subject), missing);
    refusedBody(scenario, subject, id, { ...values, [relation.name]: all }, place(2));
    const body = { ...values, [relation.name]: [childBody(scenario, subject), missing] };
    const pointers = place(1);
    refused(scenario, { method: 'POST', path: collectionPath(type), body }, 422, { pointers });
    get(scenario, type, id);
    doubled(scenario, subject, id);
  });
}

function doubled(scenario: Scenario, subject: Subject, id: Id): void {
  const { relation } = subject;
  const [target] = targetsOf(scenario, subject, id);
  if (target === undefined) return;
  const body = { [relation.name]: [linkTo(relation.target, target), linkTo(relation.target, target)] };
  refusedBody(scenario, subject, id, body, [`/${relation.name}/1`]);
}

/** Without an identifier nothing can be linked. */
function unnamed(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (relation.nested === 'write') return [];
  const at = `/${relation.name}${relation.toMany ? '/0' : ''}/${relation.target.identifier.name}`;
  return scene(subject, 'a link that names no record', (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    refusedBody(scenario, subject, id, { [relation.name]: inSet(subject, {}) }, [at]);
  });
}

/** The key that leads back may name the parent and nothing else. */
function inverseKeys(subject: Subject): Case[] {
  const { type, relation } = subject;
  const inverse = relation.inverse;
  if (relation.nested === 'link' || inverse === undefined || inverse.toMany || !type.identifier.inRecord) return [];
  const at = relation.toMany ? `/${relation.name}/1` : `/${relation.name}`;
  return scene(subject, `${inverse.name} in the related record`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const parent = linkTo(type, id);
    put(scenario, type, id, {
      [relation.name]: inSet(subject, { ...childBody(scenario, subject), [inverse.name]: parent }),
    });
    for (const value of [{ [type.identifier.name]: MISSING_ID }, null]) {
      const child = { ...childBody(scenario, subject), [inverse.name]: value };
      const body = { [relation.name]: besides(scenario, subject, id, child) };
      refusedBody(scenario, subject, id, body, [`${at}/${inverse.name}`]);
    }
    get(scenario, type, id);
  });
}

function requiredKey(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (!relation.required) return [];
  return scene(subject, 'left out on create', (scenario) => {
    const { [relation.name]: _, ...body } = fullBody(scenario, type);
    for (const sent of [body, { ...body, [relation.name]: null }]) {
      refused(scenario, { method: 'POST', path: collectionPath(type), body: sent }, 422, {
        pointers: [`/${relation.name}`],
      });
    }
  });
}

const updating = [emptied, replaced, updatedThrough, foreign, misfits, badValues, allOrNothing, unnamed, inverseKeys];

export function relations(context: Context): readonly Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  const rules = [created, requiredKey, ...(type.operations.has('update') ? updating : [])];
  return [...type.relations.values()].flatMap((relation) => rules.flatMap((rule) => rule({ context, type, relation })));
}
