/** Types whose records clients cannot create: entity tags, preferences, and values that another record has. */
import type { Field } from '../../model/model.ts';
import { adopt, BEFORE, read, write } from '../adopting.ts';
import { collectionPath, itemPath } from '../addresses.ts';
import type { Case, Expectation, Request, Step } from '../case.ts';
import type { Context } from '../context.ts';
import { doors, withBody, withHeaders } from '../doors.ts';
import { freshValue } from '../samples.ts';

const GROUP = 'operations';

/** Entity tags and preferences, with writes that change nothing. */
export function conditional({ type }: Context): Case {
  const id = `${type.name}:1`;
  const path = itemPath(type, id);
  const tagged = type.preconditions !== 'off';
  const etag = tagged ? '"{tag}"' : null;
  const changing = doors(type).filter(({ method }) => method === 'PUT' || method === 'PATCH');
  const send = (request: Request, expect: Expectation): Step => ({
    request: withBody({ ...request, path }),
    expect,
    changes: [],
  });
  const late = doors(type)
    .filter(({ method }) => method !== 'GET' && method !== 'POST')
    .map((door) =>
      send(withHeaders(door, { 'if-match': '"other"' }), { status: 412, problem: { code: 'precondition-failed' } }),
    );
  const preferred = changing.flatMap((door) => [
    send(withHeaders(door, { prefer: 'return=minimal' }), {
      status: 204,
      headers: { etag, 'preference-applied': 'return=minimal' },
      empty: true,
    }),
    send(withHeaders(door, { prefer: 'return=representation' }), {
      status: 200,
      headers: { etag, 'preference-applied': 'return=representation' },
      body: BEFORE,
    }),
  ]);
  const known = send(
    { method: 'GET', path, headers: { 'if-none-match': '"{tag}"' } },
    { status: 304, headers: { etag }, empty: true },
  );
  return {
    type: type.name,
    group: GROUP,
    title: `${path} If-Match, If-None-Match, Prefer`,
    steps: [
      ...adopt(type, id),
      send({ method: 'GET', path }, { status: 200, headers: { etag }, body: BEFORE }),
      ...(tagged ? [known] : []),
      ...late,
      ...preferred,
    ],
    cleanup: [],
    leaves: {},
  };
}

/** A value that the first of two records was given is refused to the second one. */
export function uniqueCase({ type, seeds }: Context, field: Field): Case {
  const [first, second] = [`${type.name}:1`, `${type.name}:2`];
  const key = type.identifier.name;
  const both = collectionPath(type, ['_cnd[limit]=0', '_cnd[limit]=2', 'fields=']);
  const body = [{ [key]: { $ref: first } }, { [key]: { $ref: second } }];
  const value = { [field.name]: freshValue(field, seeds) };
  const taken = doors(type)
    .filter(({ method }) => method === 'PUT' || method === 'PATCH')
    .map((door): Step => ({
      request: { ...door, path: itemPath(type, second), body: value },
      expect: { status: 409, problem: { code: 'unique-conflict', pointers: [`/${field.name}`] } },
      changes: [],
    }));
  return {
    type: type.name,
    group: GROUP,
    title: `PUT ${itemPath(type, '…')} ${field.name} of another record`,
    steps: [
      { request: { method: 'GET', path: both }, expect: { status: 200, body, orSkip: true }, changes: [] },
      read(type, first, BEFORE),
      write(type, first, value, [type.table]),
      ...taken,
    ],
    cleanup: [write(type, first, BEFORE, undefined), read(type, first, BEFORE)],
    leaves: {},
  };
}
