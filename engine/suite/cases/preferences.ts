/** What clients may prefer, and repeating a create safely. */
import type { JsonObject } from '../../json.ts';
import { collectionPath, guard, itemPath } from '../addresses.ts';
import type { Case, Expectation } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { doors, withBody, withHeaders } from '../doors.ts';
import { fullBody } from '../obtain.ts';
import { accepted, etag, get, post } from '../requests.ts';
import { refused, step } from '../scenario.ts';

const GROUP = 'preferences';

/** Each write, answered as the client prefers it: with the record, or without. */
function returning(context: Context, preference: 'minimal' | 'representation'): Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  const prefer = { prefer: `return=${preference}` };
  const answer = (status: number, body: JsonObject, more: Readonly<Record<string, string | null>>): Expectation => {
    const headers = { 'preference-applied': prefer.prefer, ...more };
    return preference === 'minimal' ? { status: 204, headers, empty: true } : { status, headers, body };
  };
  return caseOf(
    context,
    GROUP,
    `POST ${collectionPath(type)} Prefer: return=${preference}, then each write`,
    (scenario) => {
      const sent = fullBody(scenario, type);
      const { id, body, changes } = accepted(scenario.reference.create(type, sent));
      const made = answer(201, body, { location: itemPath(type, id), ...etag(type) });
      step(scenario, { method: 'POST', path: collectionPath(type), headers: prefer, body: sent }, made, changes);
      const path = itemPath(type, id);
      for (const door of doors(type).filter(({ method }) => method === 'PUT' || method === 'PATCH'))
        step(scenario, withHeaders(withBody({ ...door, path }), prefer), answer(200, body, etag(type)));
      get(scenario, type, id);
      if (!type.operations.has('delete')) return;
      const gone = accepted(scenario.reference.remove(type, id));
      const removal = withHeaders({ method: 'DELETE', path, ...guard(type) }, prefer);
      step(scenario, removal, answer(200, gone.body, { etag: null }), gone.changes);
      get(scenario, type, id);
    },
  );
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
    const made = accepted(scenario.reference.create(type, body));
    const request = {
      method: 'POST',
      path: collectionPath(type),
      headers: { 'idempotency-key': `suite-${(seeds.next += 1)}` },
    };
    const expect = { status: 201, headers: { location: itemPath(type, made.id) }, body: made.body };
    step(scenario, { ...request, body }, expect, made.changes);
    step(scenario, { ...request, body }, expect);
    refused(scenario, { ...request, body: other }, 422, { code: 'idempotency-conflict' });
    get(scenario, type, made.id);
    post(scenario, type, other);
  });
}

function badKeys(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  return caseOf(context, GROUP, `POST ${collectionPath(type)} with an Idempotency-Key that is none`, (scenario) => {
    for (const key of ['two words', 'x'.repeat(256), '']) {
      const headers = { 'idempotency-key': key };
      const request = { method: 'POST', path: collectionPath(type), headers, body: fullBody(scenario, type) };
      refused(scenario, request, 400, { code: 'invalid-header', headers: ['Idempotency-Key'] });
    }
  });
}

export const preferences = (context: Context): readonly Case[] => [
  ...returning(context, 'minimal'),
  ...returning(context, 'representation'),
  ...uncounted(context),
  ...idempotent(context),
  ...badKeys(context),
];
