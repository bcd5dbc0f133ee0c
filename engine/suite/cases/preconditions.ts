/** Entity tags: answers that are known already, and writes that come too late. */
import type { RecordType } from '../../model/model.ts';
import type { Case } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { itemPath, MISSING_ID } from '../addresses.ts';
import { fullBody } from '../obtain.ts';
import { get, post, put } from '../requests.ts';
import { refused, type Scenario, step } from '../scenario.ts';
import type { Id } from '../reference/world.ts';

const GROUP = 'preconditions';

/** Binds the tag of what GET answers now. */
function readTag(scenario: Scenario, type: RecordType, id: Id, name: string): void {
  step(scenario, { method: 'GET', path: itemPath(type, id) }, { status: 200, headers: { etag: `{${name}}` } });
}

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
      refused(scenario, sent, 412, { code: 'precondition-failed' });
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
    const path = itemPath(type, id);
    if (type.operations.has('update'))
      refused(scenario, { method: 'PUT', path, body: {} }, 428, { code: 'precondition-required' });
    if (type.operations.has('delete'))
      refused(scenario, { method: 'DELETE', path }, 428, { code: 'precondition-required' });
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
  ...(readable(context) ? [...known(context), ...late(context), ...requiredHeader(context)] : []),
  ...missing(context),
];
