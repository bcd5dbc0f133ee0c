/** Updates one record, or several. Keys that are left out stay as they are. */
import { escapeStep } from '../json/json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { identifierIn, type RecordType } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import type { WriteQuery } from '../query/list-query.ts';
import type { WriteItem } from '../storage/store.ts';
import type { ParsedRecord } from './body.ts';
import {
  type BodyArguments,
  done,
  faultsIn,
  type OneArguments,
  oneResult,
  type OperationContext,
  severalResult,
  type WriteResult,
} from './operation.ts';
import { preconditionAt, preconditionOf, refusePreconditions, wrongTag } from './preconditions.ts';

type UpdateArguments = OneArguments<WriteQuery> & BodyArguments<WriteQuery>;

export const update = (context: OperationContext, given: UpdateArguments): Promise<WriteResult> =>
  updateOne(context, given, false);

/** Merges `any` values and open keys (RFC 7396). */
export const patch = (context: OperationContext, given: UpdateArguments): Promise<WriteResult> =>
  updateOne(context, given, true);

async function updateOne(context: OperationContext, given: UpdateArguments, mergePatch: boolean): Promise<WriteResult> {
  const { type, store, validators, author, rights } = context;
  const { id, query, body, preconditions, caller } = given;
  const precondition = preconditionOf(preconditions, type.preconditions);
  const items = body.records.map((record) => ({
    body: record.body,
    pointer: record.pointer,
    identifier: id,
    precondition,
  }));
  const checked = faultsIn(context, validators.update(query.view.variant), items, body.raw, body.faults);
  const request = { type, items, raw: body.raw, ...checked, ...query, mergePatch, author, rights, caller };
  return done(context, given, request, {
    write: store.update,
    writeOnce: store.once.update,
    resultOf: (written) => oneResult(context, given, written),
  });
}

/** Each item names its record by the identifier, and perhaps the tag that it must have. */
export async function updateMany(context: OperationContext, given: BodyArguments<WriteQuery>): Promise<WriteResult> {
  const { type, store, validators, author, rights } = context;
  const { query, body, preconditions, caller, minimal } = given;
  refusePreconditions(preconditions, type.preconditions, `send the tag of each record as its "${ITEM_TAG}"`);
  const items = body.records.map((record) => namedItem(type, record));
  const misnamed = body.records.flatMap((record, index) => misnamedIn(type, record, items[index]?.identifier));
  const known = [...body.faults, ...misnamed];
  const checked = faultsIn(context, validators.update(query.view.variant), items, body.raw, known);
  const request = {
    type,
    items,
    raw: body.raw,
    ...checked,
    ...query,
    mergePatch: true,
    unread: minimal,
    author,
    rights,
    caller,
  };
  return done(context, given, request, {
    write: store.update,
    writeOnce: store.once.update,
    resultOf: (written) => severalResult(given, written),
    several: true,
  });
}

function namedItem(type: RecordType, { body, pointer, tag }: ParsedRecord): WriteItem {
  const expected = typeof tag === 'string' ? tag : undefined;
  const precondition = preconditionAt(`${pointer}/${ITEM_TAG}`, expected, type.preconditions);
  return { body, pointer, identifier: identifierIn(body, type), precondition };
}

function misnamedIn(
  { identifier: { name } }: RecordType,
  { body, pointer, tag }: ParsedRecord,
  identifier: number | undefined,
): readonly Fault[] {
  const wrong = wrongTag(pointer, tag);
  if (identifier !== undefined) return wrong;
  const isMissing = (body[name] ?? null) === null;
  const message = isMissing
    ? `"${name}" is required: it says which record to change`
    : `"${name}" must be an identifier: an integer from 1 to 2^53-1`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: isMissing ? 'required' : 'type', message }, ...wrong];
}
