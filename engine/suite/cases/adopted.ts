/** Types whose records clients cannot create: the cases change one that is there and put it back. */
import type { JsonValue } from '../../json.ts';
import type { Field, RecordType } from '../../model/model.ts';
import type { Case, Step } from '../case.ts';
import type { Context } from '../context.ts';
import { collectionPath, guard, itemPath } from '../addresses.ts';

const GROUP = 'operations';
const BEFORE = { $ref: 'before' };

/** The first record of the list; without one the case is skipped. */
function adopt(type: RecordType, id: string): readonly Step[] {
  const first = { method: 'GET', path: collectionPath(type, ['_cnd[limit][1]=1', 'fields=']) };
  const body = [{ [type.identifier.name]: { $ref: id } }];
  return [
    { request: first, expect: { status: 200, body, orSkip: true }, changes: [] },
    { request: { method: 'GET', path: itemPath(type, id) }, expect: { status: 200, body: BEFORE }, changes: [] },
  ];
}

function write(type: RecordType, id: string, body: JsonValue, changes: readonly string[] | undefined): Step {
  const after = { $merge: [BEFORE, body] };
  return {
    request: { method: 'PUT', path: itemPath(type, id), body, ...guard(type) },
    expect: { status: 200, body: after },
    changes,
  };
}

const read = (type: RecordType, id: string, body: JsonValue): Step => ({
  request: { method: 'GET', path: itemPath(type, id) },
  expect: { status: 200, body },
  changes: [],
});

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

/** Deletes a record that no request can make again. */
function deletion({ type }: Context): Case {
  const id = `${type.name}:1`;
  const request = { method: 'DELETE', path: itemPath(type, id), ...guard(type) };
  const gone: Step = {
    request: { method: 'GET', path: itemPath(type, id) },
    expect: { status: 404, problem: {} },
    changes: [],
  };
  const steps = [...adopt(type, id), { request, expect: { status: 200, body: BEFORE }, changes: [type.table] }, gone];
  return {
    type: type.name,
    group: GROUP,
    title: `DELETE ${itemPath(type, '…')}`,
    steps,
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
      ? fields.flatMap((field) => [fieldCase(context, field), refusedCase(context, field)])
      : []),
    ...(operations.has('delete') && type.referrers.length === 0 ? [deletion(context)] : []),
  ];
}
