/** Records that are there already: taken as they are, changed, and put back. */
import type { JsonValue } from '../json.ts';
import type { RecordType } from '../model/model.ts';
import { collectionPath, guard, itemPath } from './addresses.ts';
import type { Step } from './case.ts';

/** What the record was when it was adopted. */
export const BEFORE = { $ref: 'before' };

/** The first record of the list; without one the case is skipped. */
export function adopt(type: RecordType, id: string): readonly Step[] {
  const first = { method: 'GET', path: collectionPath(type, ['_cnd[limit][1]=1', 'fields=']) };
  const body = [{ [type.identifier.name]: { $ref: id } }];
  return [
    { request: first, expect: { status: 200, body, orSkip: true }, changes: [] },
    { request: { method: 'GET', path: itemPath(type, id) }, expect: { status: 200, body: BEFORE }, changes: [] },
  ];
}

export function write(type: RecordType, id: string, body: JsonValue, changes: readonly string[] | undefined): Step {
  const after = { $merge: [BEFORE, body] };
  return {
    request: { method: 'PUT', path: itemPath(type, id), body, ...guard(type) },
    expect: { status: 200, body: after },
    changes,
  };
}

export const read = (type: RecordType, id: string, body: JsonValue): Step => ({
  request: { method: 'GET', path: itemPath(type, id) },
  expect: { status: 200, body },
  changes: [],
});
