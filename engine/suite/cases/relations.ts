/** Nested writes: what each kind of relation accepts, created, emptied, replaced, updated, shared. */
import type { JsonValue } from '../../json.ts';
import type { Field, Relation } from '../../model/model.ts';
import type { Case } from '../case.ts';
import type { Context } from '../context.ts';
import { type Id, rowOf } from '../reference/world.ts';
import { freshValue } from '../samples.ts';
import { linkTo } from '../addresses.ts';
import { fullBody, obtain } from '../obtain.ts';
import type { Scenario } from '../scenario.ts';
import { get, post, put, putAsModelled, refusedPost, refusedPut, remove } from '../requests.ts';
import { contradictions } from './contradictions.ts';
import { bodyWith, childBody, inSet, scene, type Subject, targetsOf } from './relation-bodies.ts';
import { refusedBody, relationFaults, requiredKey } from './relation-faults.ts';

/** An own field of the target that a client may change to another value. */
function changeable({ fields }: Relation): Field | undefined {
  return fields.find(
    (field) => !field.readOnly && !field.unique && field.type.good(field, 1) !== field.type.good(field, 2),
  );
}

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
    if (type.operations.has('update')) {
      put(scenario, type, id, scenario.reference.get(type, id) ?? {});
      put(scenario, type, id, {});
    }
    if (type.operations.has('delete')) remove(scenario, type, id);
  });
}

/** null leaves a to-one relation, [] a set; what is owned is gone with it. */
function emptied(subject: Subject): Case[] {
  const { type, relation } = subject;
  return scene(subject, 'emptied', (scenario) => {
    const id = post(scenario, type, bodyWith(scenario, subject, inSet(subject, childBody(scenario, subject))));
    const body = { [relation.name]: relation.toMany ? [] : null };
    if (relation.required)
      refusedBody(scenario, subject, id, body, { code: 'invalid-body', pointers: [`/${relation.name}`] });
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

const storedValue = ({ reference }: Scenario, { target }: Relation, id: Id, field: Field): JsonValue =>
  rowOf(reference.world, target, id)?.values.get(field) ?? null;

const otherThan = (stored: JsonValue, field: Field): JsonValue | undefined =>
  [1, 2, 3]
    .map((seed) => field.type.good(field, seed))
    .find((value) => stored === null || !field.type.equal(value, stored));

/** Keys beside the identifier: equal ones are no write, others update where the relation writes and are a conflict where it links. */
function updatedThrough(subject: Subject): Case[] {
  const { type, relation, context } = subject;
  const field = changeable(relation);
  if (!relation.target.identifier.inRecord || field === undefined) return [];
  return scene(subject, `${field.name} of the related record`, (scenario) => {
    const id = post(scenario, type, bodyWith(scenario, subject, inSet(subject, childBody(scenario, subject))));
    const [target] = targetsOf(scenario, subject, id);
    if (target === undefined) return;
    const stored = storedValue(scenario, relation, target, field);
    const other = otherThan(stored, field);
    const named = linkTo(relation.target, target);
    put(scenario, type, id, { [relation.name]: inSet(subject, { ...named, [field.name]: stored }) });
    if (other === undefined) return;
    const body = { [relation.name]: inSet(subject, { ...named, [field.name]: other }) };
    if (relation.nested === 'link') for (const method of ['PUT', 'PATCH']) refusedPut(scenario, type, id, body, method);
    else put(scenario, type, id, body);
    get(scenario, type, id);
    if (relation.owned && !relation.toMany)
      put(scenario, type, id, { [relation.name]: { [field.name]: freshValue(field, context.seeds) } });
  });
}

/** A related record that is written holds links of its own: what they lead to is not changed from here. */
function linkedThrough(subject: Subject): Case[] {
  const { type, relation } = subject;
  const { target } = relation;
  if (relation.nested === 'link' || !target.identifier.inRecord) return [];
  const links = [...target.relations.values()].filter((link) => link !== relation.inverse && isPlainLink(link));
  return links.flatMap((link) =>
    scene(subject, `a change of what ${link.name} of the related record leads to`, (scenario) => {
      const field = changeable(link);
      const linked = obtain(scenario, link.target);
      const other = field && otherThan(storedValue(scenario, link, linked, field), field);
      if (field === undefined || other === undefined) return;
      const changed = { ...linkTo(link.target, linked), [field.name]: other };
      const child = { ...childBody(scenario, subject), [link.name]: changed };
      const body = { [relation.name]: inSet(subject, child) };
      refusedPost(scenario, type, bodyWith(scenario, subject, inSet(subject, child)));
      const id = post(scenario, type, fullBody(scenario, type));
      for (const method of ['PUT', 'PATCH']) refusedPut(scenario, type, id, body, method);
      get(scenario, type, id);
    }),
  );
}

const isPlainLink = ({ nested, link, target }: Relation): boolean =>
  nested === 'link' && link.at === 'source' && target.identifier.inRecord;

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

const updating = [emptied, replaced, updatedThrough, linkedThrough, foreign, ...relationFaults, ...contradictions];

export function relations(context: Context): readonly Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  const rules = [created, requiredKey, ...(type.operations.has('update') ? updating : [])];
  return [...type.relations.values()].flatMap((relation) => rules.flatMap((rule) => rule({ context, type, relation })));
}
