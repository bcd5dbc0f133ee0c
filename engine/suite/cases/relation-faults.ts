/** Nested bodies that are refused, and that one which fails at its end leaves nothing behind. */
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Case, ExpectedProblem } from '../case.ts';
import type { Id } from '../reference/world.ts';
import { collectionPath, guard, itemPath, linkTo, MISSING_ID } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { get, post, put } from '../requests.ts';
import { refused, type Scenario } from '../scenario.ts';
import { bodyWith, childBody, inSet, scene, type Subject, targetsOf } from './relation-bodies.ts';

/** What the record has in the relation already, each as a link, then the bodies given. */
function besides(scenario: Scenario, subject: Subject, id: Id, ...bodies: readonly JsonObject[]): JsonValue {
  const kept = targetsOf(scenario, subject, id).map((target) => linkTo(subject.relation.target, target));
  return inSet(subject, ...(subject.relation.toMany ? kept : []), ...bodies);
}

/** A body of PUT that must be refused at these places. */
export const refusedBody = (
  scenario: Scenario,
  { type }: Subject,
  id: Id,
  body: JsonObject,
  problem: ExpectedProblem,
): void => refused(scenario, { method: 'PUT', path: itemPath(type, id), body, ...guard(type) }, 422, problem);

const unfit = (...pointers: readonly string[]): ExpectedProblem => ({ code: 'invalid-body', pointers });
const unusable = (...pointers: readonly string[]): ExpectedProblem => ({ code: 'invalid-reference', pointers });

/** Bodies that fit no relation, whatever is in the database. */
function misfits(subject: Subject): Case[] {
  const { type, relation } = subject;
  const { name, target } = relation;
  const at = relation.toMany ? `/${name}/0` : `/${name}`;
  const key = target.identifier.name;
  return scene(subject, 'what is refused', (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const whole = relation.toMany ? [null, {}, 'x', 1] : ['x', 1, true, []];
    for (const value of whole) refusedBody(scenario, subject, id, { [name]: value }, unfit(`/${name}`));
    if (relation.toMany)
      for (const value of [1, 'x', null, []]) refusedBody(scenario, subject, id, { [name]: [value] }, unfit(at));
    if (target.identifier.inRecord) {
      const rest = relation.nested === 'write' ? childBody(scenario, subject) : {};
      for (const value of ['x', 0, 1.5, true])
        refusedBody(
          scenario,
          subject,
          id,
          { [name]: inSet(subject, { ...rest, [key]: value }) },
          unfit(`${at}/${key}`),
        );
      refusedBody(scenario, subject, id, { [name]: inSet(subject, { [key]: MISSING_ID }) }, unusable(`${at}/${key}`));
    }
    if (!target.open)
      refusedBody(
        scenario,
        subject,
        id,
        { [name]: inSet(subject, { ...childBody(scenario, subject), noSuchKey: 1 }) },
        unfit(`${at}/noSuchKey`),
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
        refusedBody(
          scenario,
          subject,
          id,
          { [name]: relation.toMany ? [good, bad] : bad },
          unfit(`${at}/${field.name}`),
        );
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
    const place = (index: number) => unusable(`/${relation.name}/${index}/${relation.target.identifier.name}`);
    const values = fullBody(scenario, type);
    const all = besides(scenario, subject, id, childBody(scenario, subject), missing);
    refusedBody(scenario, subject, id, { ...values, [relation.name]: all }, place(2));
    const body = { ...values, [relation.name]: [childBody(scenario, subject), missing] };
    refused(scenario, { method: 'POST', path: collectionPath(type), body }, 422, place(1));
    get(scenario, type, id);
    doubled(scenario, subject, id);
  });
}

function doubled(scenario: Scenario, subject: Subject, id: Id): void {
  const { relation } = subject;
  const [target] = targetsOf(scenario, subject, id);
  if (target === undefined) return;
  const body = { [relation.name]: [linkTo(relation.target, target), linkTo(relation.target, target)] };
  refusedBody(scenario, subject, id, body, unfit(`/${relation.name}/1`));
}

/** Without an identifier nothing can be linked. */
function unnamed(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (relation.nested === 'write') return [];
  const at = `/${relation.name}${relation.toMany ? '/0' : ''}/${relation.target.identifier.name}`;
  return scene(subject, 'a link that names no record', (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    refusedBody(scenario, subject, id, { [relation.name]: inSet(subject, {}) }, unfit(at));
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
      refusedBody(scenario, subject, id, body, unfit(at, `${at}/${inverse.name}`));
    }
    get(scenario, type, id);
  });
}

export function requiredKey(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (!relation.required) return [];
  return scene(subject, 'left out on create, or nobody', (scenario) => {
    const { [relation.name]: _, ...body } = fullBody(scenario, type);
    for (const sent of [body, { ...body, [relation.name]: null }]) {
      refused(scenario, { method: 'POST', path: collectionPath(type), body: sent }, 422, {
        ...unfit(`/${relation.name}`),
      });
    }
    const key = relation.target.identifier;
    if (!key.inRecord) return;
    const sent = { ...body, [relation.name]: { [key.name]: MISSING_ID } };
    refused(scenario, { method: 'POST', path: collectionPath(type), body: sent }, 422, {
      code: 'invalid-reference',
      pointers: [`/${relation.name}/${key.name}`],
    });
  });
}

/** For types that offer update. */
export const relationFaults = [misfits, badValues, allOrNothing, unnamed, inverseKeys];
