/** Bodies that reach one record in two ways and say two things of it, and several faults of one body at once. */
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Field } from '../../model/model.ts';
import { guard, itemPath, linkTo, MISSING_ID } from '../addresses.ts';
import type { Case } from '../case.ts';
import type { Id } from '../reference/world.ts';
import { get, post, put, refusedPut } from '../requests.ts';
import { refused, type Scenario } from '../scenario.ts';
import { bodyWith, childBody, inSet, scene, type Subject, targetsOf } from './relation-bodies.ts';

/** A record with as many related ones as the relation takes, of which two are used. */
function related(scenario: Scenario, subject: Subject): readonly [Id, readonly Id[]] {
  const count = subject.relation.toMany ? 2 : 1;
  const bodies = Array.from({ length: count }, () => childBody(scenario, subject));
  const id = post(scenario, subject.type, bodyWith(scenario, subject, inSet(subject, ...bodies)));
  return [id, targetsOf(scenario, subject, id)];
}

/** The record as its own related record has it, with one key more. */
function through(subject: Subject, id: Id, first: Id, key: JsonObject): JsonValue {
  const { type, relation } = subject;
  const { inverse, target } = relation;
  const back = { ...linkTo(type, id), ...key };
  const way = inverse ? { [inverse.name]: inverse.toMany ? [back] : back } : {};
  return inSet(subject, { ...linkTo(target, first), ...way });
}

const isChangeable = (field: Field): boolean =>
  !field.readOnly && !field.unique && field.type.good(field, 1) !== field.type.good(field, 2);

function twoContents(subject: Subject): Case[] {
  const { type, relation } = subject;
  const { inverse, target } = relation;
  if (!inverse || !type.identifier.inRecord || !target.identifier.inRecord) return [];
  return scene(subject, `given once more through ${inverse.name}, with another content`, (scenario) => {
    const [id, [first, second]] = related(scenario, subject);
    if (first === undefined || (relation.toMany && second === undefined)) return;
    const rest = second === undefined ? [] : [linkTo(target, second)];
    const other = inSet(subject, ...(relation.toMany ? [linkTo(target, first), ...rest] : []));
    if (!relation.required)
      refusedPut(scenario, type, id, { [relation.name]: through(subject, id, first, { [relation.name]: other }) });
    const field = inverse.fields.find(isChangeable);
    if (field) {
      const [one, two] = [1, 2].map((seed) => field.type.good(field, seed));
      const nested = through(subject, id, first, { [field.name]: two ?? null });
      refusedPut(scenario, type, id, { [field.name]: one ?? null, [relation.name]: nested });
    }
    get(scenario, type, id);
    if (relation.toMany) return;
    put(scenario, type, id, { [relation.name]: through(subject, id, first, {}) });
  });
}

/** Faults of the body are told together, in its order, before it is asked what is there. */
function allAtOnce(subject: Subject): Case[] {
  const { type, relation } = subject;
  if (!relation.toMany || !type.identifier.inRecord || !relation.target.identifier.inRecord) return [];
  return scene(subject, 'a related record twice, and another identifier', (scenario) => {
    const [id, [first]] = related(scenario, subject);
    if (first === undefined) return;
    const link = linkTo(relation.target, first);
    const body = { [relation.name]: [link, link], [type.identifier.name]: MISSING_ID - 1 };
    const problem = { code: 'invalid-body', pointers: [`/${relation.name}/1`, `/${type.identifier.name}`] } as const;
    refused(scenario, { method: 'PUT', path: itemPath(type, id), body, ...guard(type) }, 422, problem);
    const late = type.preconditions === 'off' ? {} : { headers: { 'if-match': '"late"' } };
    refused(scenario, { method: 'PUT', path: itemPath(type, id), body, ...late }, 422, problem);
    refused(scenario, { method: 'PUT', path: itemPath(type, MISSING_ID), body, ...guard(type) }, 422, problem);
    get(scenario, type, id);
  });
}

export const contradictions = [twoContents, allAtOnce];
