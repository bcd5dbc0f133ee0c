/** Creates one record, or several, with all that is nested in them. */
import { ITEM_TAG } from '../model/bodies.ts';
import type { Fault } from '../problem.ts';
import type { WriteQuery } from '../query/list-query.ts';
import type { ParsedRecord } from './body.ts';
import {
  type BodyArguments,
  done,
  faultsIn,
  oneResult,
  type OperationContext,
  severalResult,
  type WriteResult,
} from './operation.ts';
import { refuseIfMatch, refusePreconditions } from './preconditions.ts';

export async function create(context: OperationContext, given: BodyArguments<WriteQuery>): Promise<WriteResult> {
  const { type, store, validators, author, rights } = context;
  const { query, body, preconditions, caller, minimal } = given;
  const { records, isArray, raw, faults } = body;
  if (isArray)
    refusePreconditions(preconditions, type.preconditions, 'new records have no entity tags yet: leave it out');
  const items = records.map(({ body: record, pointer }) => ({ body: record, pointer, identifier: undefined }));
  const known = [...faults, ...records.flatMap(tagOfNew)];
  const request = {
    type,
    items,
    raw,
    ...faultsIn(context, validators.create(query.view.variant), items, raw, known),
    ...query,
    author,
    rights,
    caller,
    mergePatch: false,
    unread: isArray && minimal,
    precondition: isArray ? undefined : () => refuseIfMatch(preconditions, type.preconditions),
  };
  return done(context, given, request, {
    write: store.create,
    writeOnce: store.once.create,
    resultOf: (written) => (isArray ? severalResult(given, written, true) : oneResult(context, given, written, true)),
    several: isArray,
  });
}

function tagOfNew({ tag, pointer }: ParsedRecord): readonly Fault[] {
  const message = `"${ITEM_TAG}" is the tag of a record that is to be changed, and this one is to be made: leave it out`;
  return tag === undefined ? [] : [{ pointer: `${pointer}/${ITEM_TAG}`, code: 'reserved-key', message }];
}
