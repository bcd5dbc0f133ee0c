/** Entity tags: answers that are known already, and writes that come too late. */
import type { RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { collectionPath, guard, itemPath, MISSING_ID } from '../addresses.ts';
import { doors, withBody } from '../doors.ts';
import { listQuery } from '../query-text.ts';
import { fullBody } from '../obtain.ts';
import { get, post, put, remove } from '../requests.ts';
import { refused, type Scenario, step } from '../scenario.ts';
import type { Id } from '../reference/world.ts';

const GROUP = 'preconditions';

/** Binds the tag of what GET answers now. */
function readTag(scenario: Scenario, type: RecordType, id: Id, name: string): void {
  step(scenario, { method: 'GET', path: itemPath(type, id) }, { status: 200, headers: { etag: `{${name}}` } });
}

/** Methods that change, or delete, a record. */
const changesOf = (type: RecordType): readonly string[] =>
  ['PUT', 'PATCH', 'DELETE'].filter((method) => doors(type).some((door) => door.method === method));

const readable = ({ type }: Context): boolean =>
  type.operations.has('create') && type.operations.has('get') && type.preconditions !== 'off';

function known(context: Context): Case[] {
  const { type } = context;
  return caseOf(context, GROUP, `GET ${itemPath(type, '…')} If-None-Match`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    readTag(scenario, type, id, 'tag');
    const path = itemPath(type, id);
    for (const value of ['{tag}', 'W/{tag}', '"other", {tag}', '*']) {
      step(
        scenario,
        { method: 'GET', path, headers: { 'if-none-match': value } },
        { status: 304, empty: true, headers: { etag: '{tag}' } },
      );
    }
    const body = scenario.reference.get(type, id) ?? {};
    step(scenario, { method: 'GET', path, headers: { 'if-none-match': '"other"' } }, { status: 200, body });
  });
}

/** A write with the tag of what was read before another write. */
function late(context: Context): Case[] {
  const { type } = context;
  const writable = type.defaultVariant.fields.find(
    (field) => !field.readOnly && field.type.good(field, 1) !== field.type.good(field, 2),
  );
  if (!type.operations.has('update') || writable === undefined) return [];
  return caseOf(context, GROUP, `PUT ${itemPath(type, '…')} If-Match`, (scenario) => {
    const body = (seed: number) => ({ [writable.name]: writable.type.good(writable, seed) });
    const id = post(scenario, type, { ...fullBody(scenario, type), ...body(1) });
    readTag(scenario, type, id, 'old');
    put(scenario, type, id, body(2));
    const path = itemPath(type, id);
    const methods = ['PUT', 'PATCH', ...(type.operations.has('delete') ? ['DELETE'] : [])];
    for (const method of methods) {
      const sent = {
        method,
        path,
        headers: { 'if-match': '{old}' },
        ...(method === 'DELETE' ? {} : { body: body(3) }),
      };
      refused(scenario, sent, 412, { code: 'precondition-failed', headers: ['If-Match'] });
    }
    readTag(scenario, type, id, 'new');
    const same = scenario.reference.get(type, id) ?? {};
    step(
      scenario,
      { method: 'PUT', path, headers: { 'if-match': '{new}' }, body: body(2) },
      { status: 200, body: same },
    );
    get(scenario, type, id);
  });
}

function requiredHeader(context: Context): Case[] {
  const { type } = context;
  if (type.preconditions !== 'required') return [];
  return caseOf(context, GROUP, `${itemPath(type, '…')} without If-Match`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    for (const method of changesOf(type)) {
      const request = withBody({ method, path: itemPath(type, id) });
      refused(scenario, request, 428, { code: 'precondition-required', headers: ['If-Match'] });
    }
    get(scenario, type, id);
  });
}

/** A page changes with the records on it and with those before and after. */
function knownPage(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('list') || !type.identifier.inRecord) return [];
  return caseOf(context, GROUP, `GET ${collectionPath(type)} If-None-Match`, (scenario) => {
    // The last one is not on the page, nor next to it: only the total tells that it goes.
    const ids = [1, 2, 3].map(() => post(scenario, type, fullBody(scenario, type)));
    const own = { path: type.identifier.name, operator: 'in', ids } as const;
    const order = [{ path: type.identifier.name, descending: false }];
    const path = collectionPath(type, listQuery({ filters: [own], order, offset: 0, limit: 1 }));
    const again = { method: 'GET', path, headers: { 'if-none-match': '{page}' } };
    step(scenario, { method: 'GET', path }, { status: 200, headers: { etag: '{page}', 'x-total-count': '3' } });
    step(scenario, again, { status: 304, empty: true, headers: { etag: '{page}' } });
    const last = ids.at(-1);
    if (!type.operations.has('delete') || last === undefined) return;
    remove(scenario, type, last);
    step(scenario, again, { status: 200, headers: { 'x-total-count': '2' } });
  });
}

/** What is to be made has no tag that it could match; a write that wants nothing to be there finds something. */
function absent(context: Context): Case[] {
  const { type } = context;
  const failed = (header: string) => ({ code: 'precondition-failed', headers: [header] }) as const;
  return caseOf(context, GROUP, `${collectionPath(type)} If-Match where nothing is, If-None-Match: *`, (scenario) => {
    const body = fullBody(scenario, type);
    const creation = { method: 'POST', path: collectionPath(type), headers: { 'if-match': '"x"' }, body };
    refused(scenario, creation, 412, failed('If-Match'));
    const id = post(scenario, type, body);
    const headers = { ...guard(type).headers, 'if-none-match': '*' };
    for (const method of changesOf(type)) {
      const request = withBody({ method, path: itemPath(type, id), headers });
      refused(scenario, request, 412, failed('If-None-Match'));
    }
    get(scenario, type, id);
  });
}

function missing(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('update')) return [];
  return caseOf(context, GROUP, `PUT ${itemPath(type, MISSING_ID)} If-Match: "x"`, (scenario) => {
    const request = { method: 'PUT', path: itemPath(type, MISSING_ID), body: {}, headers: { 'if-match': '"x"' } };
    refused(scenario, request, 404, { code: 'record-not-found' });
  });
}

export const preconditions = (context: Context): readonly Case[] => [
  ...(readable(context)
    ? [...known(context), ...late(context), ...requiredHeader(context), ...knownPage(context), ...absent(context)]
    : []),
  ...missing(context),
];
