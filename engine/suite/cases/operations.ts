/** Each operation that a type offers, from its smallest record to its fullest; 405 for each that it does not. */
import type { Case, Expectation } from '../case.ts';
import { caseOf, type Context } from '../context.ts';
import { entriesOf } from '../json-tree.ts';
import { collectionPath, guard, itemPath, MISSING_ID } from '../addresses.ts';
import { COLLECTION, ITEM, METHODS } from '../doors.ts';
import { fullBody, smallBody } from '../obtain.ts';
import { get, list, post, put, remove } from '../requests.ts';
import { refused, type Scenario, step } from '../scenario.ts';
import type { RecordType } from '../../model/model.ts';
import type { Id } from '../reference/world.ts';

const GROUP = 'operations';

const PATHS = [
  { operations: COLLECTION, path: (type: RecordType) => collectionPath(type) },
  { operations: ITEM, path: (type: RecordType) => itemPath(type, MISSING_ID) },
] as const;
const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Reads the record in each way that the type offers. */
function readAll(scenario: Scenario, type: RecordType, id: Id): void {
  get(scenario, type, id);
  list(scenario, type, [id], {});
  if (type.operations.has('get')) sameHead(scenario, itemPath(type, id));
}

/** What GET says of its answer, HEAD says without it. */
function sameHead(scenario: Scenario, path: string, headers: Expectation['headers'] = {}): void {
  const expected = { ...headers, 'content-type': 'application/json', 'content-length': '{length}' };
  step(scenario, { method: 'GET', path }, { status: 200, headers: expected });
  step(scenario, { method: 'HEAD', path }, { status: 200, headers: expected, empty: true });
}

function lifeOf(context: Context, title: string, body: typeof smallBody): Case[] {
  const { type } = context;
  if (!type.operations.has('create')) return [];
  return caseOf(context, GROUP, `${title}, read it, delete it`, (scenario) => {
    const id = post(scenario, type, body(scenario, type));
    readAll(scenario, type, id);
    if (!type.operations.has('delete')) return;
    remove(scenario, type, id);
    get(scenario, type, id);
    refused(scenario, { method: 'DELETE', path: itemPath(type, id), ...guard(type) }, 404, {
      code: 'record-not-found',
    });
  });
}

/** Keys that are left out stay as they are, and nothing is written where nothing differs. */
function updates(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('create') || !type.operations.has('update')) return [];
  return ['PUT', 'PATCH'].flatMap((method) =>
    caseOf(context, GROUP, `${method} ${itemPath(type, '…')} all fields, some, none`, (scenario) => {
      const id = post(scenario, type, fullBody(scenario, type));
      put(scenario, type, id, {}, {}, method);
      for (const [key, value] of entriesOf(fullBody(scenario, type))) {
        if (type.fields.has(key)) put(scenario, type, id, { [key]: value }, {}, method);
      }
      get(scenario, type, id);
      put(scenario, type, id, fullBody(scenario, type), {}, method);
      get(scenario, type, id);
    }),
  );
}

/** What GET answers can be put back, and changes nothing. */
function roundTrip(context: Context): Case[] {
  const { type } = context;
  if (!['create', 'get', 'update'].every((name) => [...type.operations].some((one) => one === name))) return [];
  return caseOf(context, GROUP, `PUT ${itemPath(type, '…')} what GET answered`, (scenario) => {
    const id = post(scenario, type, fullBody(scenario, type));
    const body = { $ref: 'answer' };
    step(scenario, { method: 'GET', path: itemPath(type, id) }, { status: 200, body });
    step(scenario, { method: 'PUT', path: itemPath(type, id), body, ...guard(type) }, { status: 200, body });
    get(scenario, type, id);
  });
}

const allowed = (type: RecordType, operations: readonly (keyof typeof METHODS)[]): string[] => [
  ...operations.filter((name) => type.operations.has(name)).flatMap((name) => METHODS[name]),
  'OPTIONS',
];

function options(context: Context): Case[] {
  const { type } = context;
  return PATHS.flatMap(({ operations, path }) =>
    caseOf(context, GROUP, `OPTIONS ${path(type)}`, (scenario) => {
      const allow = allowed(type, operations);
      const patches = allow.includes('PATCH') ? 'application/merge-patch+json, application/json' : null;
      step(
        scenario,
        { method: 'OPTIONS', path: path(type) },
        { status: 204, headers: { allow: allow.join(', '), 'accept-patch': patches } },
      );
    }),
  );
}

/** Methods that a path lacks: refused before anything else is looked at. */
function disabled(context: Context): Case[] {
  const { type } = context;
  return PATHS.flatMap(({ operations, path }) => {
    const allow = allowed(type, operations);
    return ALL_METHODS.filter((method) => !allow.includes(method)).flatMap((method) =>
      caseOf(context, GROUP, `${method} ${path(type)} is not offered`, (scenario) => {
        const body = method.startsWith('P') ? { body: {} } : {};
        const problem =
          method === 'HEAD' ? { empty: true as const } : { problem: { code: 'method-not-allowed' as const } };
        step(
          scenario,
          { method, path: path(type), ...body },
          { status: 405, headers: { allow: allow.join(', ') }, ...problem },
        );
      }),
    );
  });
}

function heads(context: Context): Case[] {
  const { type } = context;
  if (!type.operations.has('list')) return [];
  return caseOf(context, GROUP, `HEAD ${collectionPath(type)}`, (scenario) => {
    sameHead(scenario, collectionPath(type, ['_cnd[limit][1]=0']), { 'x-total-count': '{total}' });
    const whole = { method: 'HEAD', path: collectionPath(type) };
    step(scenario, whole, { status: 200, headers: { 'x-total-count': '{total}' }, empty: true });
  });
}

export const operations = (context: Context): readonly Case[] => [
  ...lifeOf(context, `POST ${collectionPath(context.type)} the smallest record`, smallBody),
  ...lifeOf(context, `POST ${collectionPath(context.type)} the fullest record`, fullBody),
  ...updates(context),
  ...roundTrip(context),
  ...heads(context),
  ...options(context),
  ...disabled(context),
];
