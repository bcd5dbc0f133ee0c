/** Creates, changes and deletes records. */
import { escapeStep } from '../json/json.ts';
import { ITEM_TAG } from '../model/bodies.ts';
import { identifierIn, type RecordType } from '../model/model.ts';
import type { Fault } from '../problem.ts';
import type { DeleteQuery, WriteQuery } from '../query/list-query.ts';
import type { WriteItem } from '../storage/store.ts';
import type { Validator } from '../validation/compile.ts';
import type { ParsedRecord } from './body.ts';
import {
  type BodyArguments,
  done,
  faultsIn,
  type OneArguments,
  type OperationContext,
  recordsResult,
  type WriteArguments,
  type WriteResult,
} from './operation.ts';
import { preconditionAt, preconditionOf, refuseIfMatch, refusePreconditions, wrongTag } from './preconditions.ts';

interface CheckedItems {
  readonly verb: 'create' | 'update';
  readonly items: readonly WriteItem[];
  readonly validator: Validator;
  /** Faults of items that are known already. */
  readonly known: readonly Fault[];
  readonly mergePatch: boolean;
  /** Whether an array is answered. */
  readonly several: boolean;
  readonly precondition?: () => void;
}

async function writeItems(
  context: OperationContext,
  given: BodyArguments<WriteQuery>,
  { verb, items, validator, known, several, ...how }: CheckedItems,
): Promise<WriteResult> {
  const { type, store, author, rights } = context;
  const { query, body, caller, minimal } = given;
  const checked = faultsIn(context, validator, items, body.raw, known);
  const unread = several && minimal;
  const request = { type, items, raw: body.raw, ...checked, ...query, ...how, unread, author, rights, caller };
  return done(context, given, request, {
    write: store[verb],
    writeOnce: store.once[verb],
    answer: (written) => recordsResult(type, written, { minimal, several, isNew: verb === 'create' }),
    several,
  });
}

/** Creates one record, or several, with all that is nested in them. */
export async function create(context: OperationContext, given: BodyArguments<WriteQuery>): Promise<WriteResult> {
  const { preconditions: mode } = context.type;
  const { query, body, preconditions } = given;
  const { records, isArray, faults } = body;
  if (isArray) refusePreconditions(preconditions, mode, 'new records have no entity tags yet: leave it out');
  return writeItems(context, given, {
    verb: 'create',
    items: records.map((record) => ({ body: record.body, pointer: record.pointer, identifier: undefined })),
    validator: context.validators.create(query.view.variant),
    known: [...faults, ...records.flatMap(tagOfNew)],
    mergePatch: false,
    several: isArray,
    ...(isArray ? {} : { precondition: () => refuseIfMatch(preconditions, mode) }),
  });
}

function tagOfNew({ tag, pointer }: ParsedRecord): readonly Fault[] {
  const message = `"${ITEM_TAG}" is the tag of a record that is to be changed, and this one is to be made: leave it out`;
  return tag === undefined ? [] : [{ pointer: `${pointer}/${ITEM_TAG}`, code: 'reserved-key', message }];
}

type UpdateArguments = OneArguments<WriteQuery> & BodyArguments<WriteQuery>;

/** Keys that are left out stay as they are. */
export const update = (context: OperationContext, given: UpdateArguments): Promise<WriteResult> =>
  updateOne(context, given, false);

/** Merges `any` values and open keys (RFC 7396). */
export const patch = (context: OperationContext, given: UpdateArguments): Promise<WriteResult> =>
  updateOne(context, given, true);

async function updateOne(context: OperationContext, given: UpdateArguments, mergePatch: boolean): Promise<WriteResult> {
  const { id: identifier, query, body, preconditions } = given;
  const precondition = preconditionOf(preconditions, context.type.preconditions);
  return writeItems(context, given, {
    verb: 'update',
    items: body.records.map((record) => ({ body: record.body, pointer: record.pointer, identifier, precondition })),
    validator: context.validators.update(query.view.variant),
    known: body.faults,
    mergePatch,
    several: false,
  });
}

/** Each item names its record by the identifier, and perhaps the tag that it must have. */
export async function updateMany(context: OperationContext, given: BodyArguments<WriteQuery>): Promise<WriteResult> {
  const { type, validators } = context;
  const { query, body, preconditions } = given;
  refusePreconditions(preconditions, type.preconditions, `send the tag of each record as its "${ITEM_TAG}"`);
  return writeItems(context, given, {
    verb: 'update',
    items: body.records.map((record) => namedItem(type, record)),
    validator: validators.update(query.view.variant),
    known: [...body.faults, ...body.records.flatMap((record) => misnamedIn(type, record))],
    mergePatch: true,
    several: true,
  });
}

function namedItem(type: RecordType, { body, pointer, tag }: ParsedRecord): WriteItem {
  const expected = typeof tag === 'string' ? tag : undefined;
  const precondition = preconditionAt(`${pointer}/${ITEM_TAG}`, expected, type.preconditions);
  return { body, pointer, identifier: identifierIn(body, type), precondition };
}

function misnamedIn(type: RecordType, { body, pointer, tag }: ParsedRecord): readonly Fault[] {
  const { name } = type.identifier;
  const wrong = wrongTag(pointer, tag);
  if (identifierIn(body, type) !== undefined) return wrong;
  const isMissing = (body[name] ?? null) === null;
  const message = isMissing
    ? `"${name}" is required: it says which record to change`
    : `"${name}" must be an identifier: an integer from 1 to 2^53-1`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: isMissing ? 'required' : 'type', message }, ...wrong];
}

/** The result is the record as it was, which no longer has a tag. */
export async function deleteOne(context: OperationContext, given: OneArguments<WriteQuery>): Promise<WriteResult> {
  const { type, store, author, rights } = context;
  const { id: identifier, query, preconditions, caller, minimal } = given;
  const precondition = preconditionOf(preconditions, type.preconditions);
  const request = { type, identifier, ...query, author, rights, caller, precondition };
  return done(context, given, request, {
    write: store.delete,
    writeOnce: store.once.delete,
    answer: ({ body, effects }) => ({ status: minimal ? 204 : 200, json: minimal ? undefined : body, effects }),
  });
}

/** Deletes all records that the filters find or none, and never more than `most`. */
export async function deleteFound(
  context: OperationContext,
  given: WriteArguments<DeleteQuery> & { readonly most: number },
): Promise<WriteResult> {
  const { type, store, author, rights } = context;
  const { query, preconditions, caller, minimal, most } = given;
  refusePreconditions(preconditions, type.preconditions, 'a collection has no entity tag to compare: leave it out');
  const request = { ...query, most, author, rights, caller };
  return done(context, given, request, {
    write: store.deleteFound,
    writeOnce: store.once.deleteFound,
    answer: ({ deleted, affected, effects }) => ({
      status: minimal ? 204 : 200,
      json: minimal ? undefined : JSON.stringify({ deleted, affected }),
      effects,
    }),
  });
}
