/** What other records forbid: values that must be unique, and deleting what is referred to. */
import type { JsonObject } from '../../json.ts';
import type { Field, Index, RecordType, Relation } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { newChild } from '../nested-samples.ts';
import { freshValue } from '../samples.ts';
import { collectionPath, linkTo } from '../addresses.ts';
import { fullBody, obtain, smallBody } from '../obtain.ts';
import { get, post, put, refusedPost, refusedPut, remove } from '../requests.ts';
import { refused, type Scenario } from '../scenario.ts';

const GROUP = 'conflicts';

const isField = (member: Field | Relation): member is Field => !('link' in member);

/** Values for every member of the index; each call gives others. */
function memberValues(scenario: Scenario, { members }: Index): JsonObject {
  const values = members.map((member) =>
    isField(member) ? freshValue(member, scenario.seeds) : linkTo(member.target, obtain(scenario, member.target)),
  );
  return Object.fromEntries(members.map((member, index) => [member.name, values[index] ?? null]));
}

function uniqueCase(context: Context, index: Index): Case[] {
  const { type } = context;
  const names = index.members.map(({ name }) => name).join(', ');
  return caseOf(context, GROUP, `POST ${collectionPath(type)} the same ${names} twice`, (scenario) => {
    const values = memberValues(scenario, index);
    const first = post(scenario, type, { ...fullBody(scenario, type), ...values });
    refusedPost(scenario, type, { ...fullBody(scenario, type), ...values });
    const second = post(scenario, type, { ...fullBody(scenario, type), ...memberValues(scenario, index) });
    if (type.operations.has('update')) {
      for (const method of ['PUT', 'PATCH']) refusedPut(scenario, type, second, values, method);
      put(scenario, type, first, values);
    }
    get(scenario, type, second);
    emptyMembers(scenario, type, index);
  });
}

/** Null is equal to nothing, itself included. */
function emptyMembers(scenario: Scenario, type: RecordType, { members }: Index): void {
  const empty = members.filter((member) => (isField(member) ? member.nullable && !member.readOnly : !member.required));
  if (empty.length < members.length) return;
  const nulls = Object.fromEntries(members.map(({ name }) => [name, null]));
  post(scenario, type, { ...fullBody(scenario, type), ...nulls });
  post(scenario, type, { ...fullBody(scenario, type), ...nulls });
}

/** Values equal to each other though they are written differently, where the type has such edges. */
function spelledDifferently(context: Context, field: Field): Case[] {
  const { type } = context;
  const edges = field.type.edges(field);
  const [one, other] =
    edges.flatMap((a) => edges.filter((b) => a !== b && field.type.equal(a, b)).map((b) => [a, b] as const))[0] ?? [];
  if (one === undefined || other === undefined) return [];
  return caseOf(
    context,
    GROUP,
    `POST ${collectionPath(type)} ${field.name} once as ${String(one)} and once as ${String(other)}`,
    (scenario) => {
      post(scenario, type, { ...smallBody(scenario, type), [field.name]: one });
      refusedPost(scenario, type, { ...smallBody(scenario, type), [field.name]: other });
    },
  );
}

/** A new nested record conflicts after its parent and its elder sister are written: nothing of them stays. */
function nestedConflict(context: Context, relation: Relation): Case[] {
  const { type } = context;
  const field = relation.fields.find((one) => one.unique && !one.readOnly);
  if (field === undefined || !relation.toMany || relation.nested === 'link') return [];
  return caseOf(
    context,
    GROUP,
    `POST ${collectionPath(type)} ${relation.name} with the same ${field.name} twice`,
    (scenario) => {
      const id = post(scenario, type, fullBody(scenario, type));
      const twins = [newChild(scenario, relation, [type]), newChild(scenario, relation, [type])];
      const value = freshValue(field, scenario.seeds);
      const body = {
        ...fullBody(scenario, type),
        [relation.name]: twins.map((twin) => ({ ...twin, [field.name]: value })),
      };
      refused(scenario, { method: 'POST', path: collectionPath(type), body }, 409, { code: 'unique-conflict' });
      if (type.operations.has('update')) refusedPut(scenario, type, id, body);
      get(scenario, type, id);
    },
  );
}

/** Deleting a record that another one belongs to: refused, or the other goes too, or it loses the link. */
function deletion(context: Context, relation: Relation): Case[] {
  const { type } = context;
  const { target, link } = relation;
  if (link.at !== 'source' || !target.operations.has('delete') || !target.operations.has('create')) return [];
  const title = `DELETE ${collectionPath(target)} that ${relation.name} of ${type.name} refers to (${link.reference.onDelete})`;
  return caseOf(context, GROUP, title, (scenario) => {
    const referred = obtain(scenario, target);
    const referring = post(scenario, type, { ...fullBody(scenario, type), [relation.name]: linkTo(target, referred) });
    remove(scenario, target, referred);
    get(scenario, target, referred);
    get(scenario, type, referring);
  });
}

/** The rows of a join table go with either side. */
function joinDeletion(context: Context, relation: Relation): Case[] {
  const { type } = context;
  const { target, link } = relation;
  if (link.at !== 'join' || !target.operations.has('delete') || !target.operations.has('create')) return [];
  return caseOf(
    context,
    GROUP,
    `DELETE ${collectionPath(target)} that is among ${relation.name} of ${type.name}`,
    (scenario) => {
      const ids = [obtain(scenario, target), obtain(scenario, target)];
      const id = post(scenario, type, {
        ...fullBody(scenario, type),
        [relation.name]: ids.map((one) => linkTo(target, one)),
      });
      const [first] = ids;
      if (first !== undefined) remove(scenario, target, first);
      get(scenario, type, id);
    },
  );
}

export function conflicts(context: Context): readonly Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  const unique = type.indexes.filter((index) => index.unique);
  const single = unique.flatMap(({ members: [member, ...others] }) =>
    member && others.length === 0 && isField(member) ? [member] : [],
  );
  return [
    ...unique.flatMap((index) => uniqueCase(context, index)),
    ...single.flatMap((field) => spelledDifferently(context, field)),
    ...[...type.relations.values()].flatMap((relation) => [
      ...nestedConflict(context, relation),
      ...deletion(context, relation),
      ...joinDeletion(context, relation),
    ]),
  ];
}
