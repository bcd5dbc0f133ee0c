/** What clients may prefer, and repeating a create safely. */
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { collectionPath, guard, itemPath } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { get, post } from '../requests.ts';
import { refused, step } from '../scenario.ts';

const GROUP = 'preferences';

/** The write is done, the record is not sent. */
function minimal(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  return caseOf(context, GROUP, `POST ${collectionPath(type)} Prefer: return=minimal`, (scenario) => {
    const body = fullBody(scenario, type);
    const made = scenario.reference.create(type, body);
    if (!('changes' in made)) throw made;
    const headers = { prefer: 'return=minimal' };
    const applied = { 'preference-applied': 'return=minimal' };
    const located = { ...applied, location: itemPath(type, made.id) };
    step(
      scenario,
      { method: 'POST', path: collectionPath(type), headers, body },
      { status: 204, headers: located, empty: true },
      made.changes,
    );
    if (!type.operations.has('update')) return;
    const request = {
      method: 'PUT',
      path: itemPath(type, made.id),
      headers: { ...guard(type).headers, ...headers },
      body: {},
    };
    step(scenario, request, { status: 204, headers: applied, empty: true });
    get(scenario, type, made.id);
  });
}

function uncounted(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('list')) return [];
  return caseOf(context, GROUP, `GET ${collectionPath(type)} Prefer: count=none`, (scenario) => {
    const path = collectionPath(type, ['_cnd[limit][1]=0']);
    const headers = { 'x-total-count': null, 'preference-applied': 'count=none' };
    step(scenario, { method: 'GET', path, headers: { prefer: 'count=none' } }, { status: 200, headers, body: [] });
  });
}

/** The same key with the same body makes one record; with another body it is a mistake. */
function idempotent(context: Context): Case[] {
  const { type, seeds } = context;
  if (!type.operations.has('create') || type.fields.size === 0) return [];
  return caseOf(context, GROUP, `POST ${collectionPath(type)} twice with one Idempotency-Key`, (scenario) => {
    const [body, other] = [fullBody(scenario, type), fullBody(scenario, type)];
    const made = scenario.reference.create(type, body);
    if (!('changes' in made)) throw made;
    const request = {
      method: 'POST',
      path: collectionPath(type),
      headers: { 'idempotency-key': `suite-${(seeds.next += 1)}` },
    };
    const expect = { status: 201, headers: { location: itemPath(type, made.id) }, body: made.body };
    step(scenario, { ...request, body }, expect, made.changes);
    step(scenario, { ...request, body }, expect);
    refused(scenario, { ...request, body: other }, 422);
    get(scenario, type, made.id);
    post(scenario, type, other);
  });
}

export const preferences = (context: Context): readonly Case[] => [
  ...minimal(context),
  ...uncounted(context),
  ...idempotent(context),
];
