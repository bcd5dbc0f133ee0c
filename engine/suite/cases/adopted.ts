/** Types whose records clients cannot create: the cases change one that is there and put it back. */
import type { Field } from '../../model/model.ts';
import { adopt, BEFORE, read, write } from '../adopting.ts';
import { guard, itemPath } from '../addresses.ts';
import type { Case, Expectation, Step } from '../case.ts';
import type { Context } from '../context.ts';
import { withHeaders } from '../doors.ts';
import { conditional, uniqueCase } from './adopted-rules.ts';

const GROUP = 'operations';
/** Two values that differ, so that the second one is a change whatever was there before. */
function fieldCase({ type, seeds }: Context, field: Field): Case {
  const id = `${type.name}:1`;
  const values = [(seeds.next += 1), (seeds.next += 1)].map((seed) => field.type.good(field, seed));
  const [first = null, second = null] = values;
  const differs = !field.type.equal(first, second);
  const other = { [field.name]: second };
  return {
    type: type.name,
    group: GROUP,
    title: `PUT ${itemPath(type, '…')} ${field.name}, then what was there before`,
    steps: [
      ...adopt(type, id),
      write(type, id, { [field.name]: first }, undefined),
      write(type, id, other, differs ? [type.table] : []),
      read(type, id, { $merge: [BEFORE, other] }),
    ],
    cleanup: [write(type, id, BEFORE, undefined), read(type, id, BEFORE)],
    leaves: {},
  };
}

function refusedCase({ type }: Context, field: Field): Case {
  const id = `${type.name}:1`;
  const values = [...field.type.bad(field), ...(field.nullable ? [] : [null])];
  const steps = values.map((value): Step => ({
    request: { method: 'PUT', path: itemPath(type, id), body: { [field.name]: value }, ...guard(type) },
    expect: { status: 422, problem: { code: 'invalid-body', pointers: [`/${field.name}`] } },
    changes: [],
  }));
  const title = `PUT ${itemPath(type, '…')} ${field.name}: refused values`;
  return {
    type: type.name,
    group: GROUP,
    title,
    steps: [...adopt(type, id), ...steps, read(type, id, BEFORE)],
    cleanup: [],
    leaves: {},
  };
}

/** Deletes a record that no request can make again; answered with it, or without. */
function deletion({ type }: Context, preference: 'minimal' | 'representation'): Case {
  const id = `${type.name}:1`;
  const prefer = `return=${preference}`;
  const request = withHeaders({ method: 'DELETE', path: itemPath(type, id), ...guard(type) }, { prefer });
  const headers = { 'preference-applied': prefer };
  const expect: Expectation =
    preference === 'minimal' ? { status: 204, headers, empty: true } : { status: 200, headers, body: BEFORE };
  const gone: Step = {
    request: { method: 'GET', path: itemPath(type, id) },
    expect: { status: 404, problem: { code: 'record-not-found' } },
    changes: [],
  };
  return {
    type: type.name,
    group: GROUP,
    title: `DELETE ${itemPath(type, '…')} Prefer: ${prefer}`,
    steps: [...adopt(type, id), { request, expect, changes: [type.table] }, gone],
    cleanup: [],
    leaves: {},
    irreversible: true,
  };
}

export function adopted(context: Context): readonly Case[] {
  const { type } = context;
  const { operations, identifier } = type;
  if (operations.has('create') || !operations.has('list') || !operations.has('get') || !identifier.inRecord) return [];
  const fields = type.defaultVariant.fields.filter((field) => !field.readOnly);
  return [
    ...(operations.has('update')
      ? [
          ...fields.flatMap((field) => [fieldCase(context, field), refusedCase(context, field)]),
          ...fields.filter(({ unique }) => unique).map((field) => uniqueCase(context, field)),
          conditional(context),
        ]
      : []),
    ...(operations.has('delete') && type.referrers.length === 0
      ? [deletion(context, 'minimal'), deletion(context, 'representation')]
      : []),
  ];
}
