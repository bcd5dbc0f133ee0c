/** Creates, changes and deletes records: validates bodies and passes them to the store. */
import { escapeStep, inDocumentOrder, isObject, type JsonObject, unescapedSteps } from '../json/json.ts';
import {
  documentOf,
  identifierIn,
  linkKeyIn,
  ITEM_TAG,
  type RecordType,
  type UniqueMembers,
  type Variant,
} from '../model/model.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { entryOf } from '../model/rights.ts';
import type { DeleteQuery, UpsertQuery, View, WriteQuery } from '../query/list-query.ts';
import { ON } from '../query/resolve.ts';
import type { Retried, WriteItem, WriteRequest, WriteVerb, WrittenRecords } from '../storage/store.ts';
import type { Validator } from '../validation/compile.ts';
import { validatedFor } from '../validation/visible.ts';
import type { ParsedRecord } from './body.ts';
import type { OperationContext, WriteArguments, WriteOperation, WriteResult } from './operation.ts';
import * as conditions from './operation.ts';

/** Runs the write, only once per idempotency key; dry runs and faulty bodies ignore the key. */
async function done<R extends Pick<WriteRequest, 'dryRun'> & Partial<Pick<WriteRequest, 'faults'>>, W>(
  context: OperationContext,
  args: WriteArguments<unknown>,
  request: R,
  write: WriteVerb<R, W>,
  answer: (written: W) => WriteResult,
): Promise<WriteResult> {
  const { dryRun = false, faults = [] } = request;
  const once = dryRun || faults.length > 0 ? undefined : args.once;
  return write(request, answer, once && { ...once, again: (retried) => resultOf(context, args, retried) });
}

function recordsResult(
  context: OperationContext,
  args: WriteArguments<unknown>,
  { records, effects }: WrittenRecords,
  isNew: boolean,
): WriteResult {
  const identifiers = records.map(({ identifier }) => identifier);
  // The client may not read a record without a body.
  const bodies = records.flatMap(({ body }) => (body === '' ? [] : body));
  const isUnread = records.length > 0 && bodies.length === 0;
  const status = isNew ? 201 : args.minimal || isUnread ? 204 : 200;
  return { ...resultOf(context, args, { status, identifiers, bodies }), effects };
}

/** `bodies`: the records that still exist, as they are now, even for a retry. */
function resultOf(
  { type, rights }: OperationContext,
  { minimal, body: { isArray } }: WriteArguments<unknown>,
  { status, identifiers, bodies }: Retried,
): WriteResult {
  const isGone = identifiers.length > 0 && bodies.length === 0;
  const json = isArray && !isGone ? `[${bodies.join(',')}]` : bodies[0];
  return {
    status: status as WriteResult['status'],
    json: minimal || status === 204 ? undefined : json,
    tag: isArray || json === undefined ? undefined : conditions.tagOf(type, json),
    created: isArray || status !== 201 || (isGone && rights.tables) ? undefined : identifiers[0],
  };
}

const validated: typeof validatedFor = (rights, type, validate, items, known) =>
  rights.key === ''
    ? { faults: validate(items, known), isHidden: false }
    : validatedFor(rights, type, validate, items, known);

/** Throws the faults of a body, or returns them if the store may find more. `known`: faults found before. */
function faultsIn(
  { type, rights }: OperationContext,
  validate: Validator,
  items: readonly WriteItem[],
  known: readonly Fault[] = [],
): readonly Fault[] {
  const { faults, isHidden } = validated(rights, type, validate, items, known);
  const isAll = isHidden || !items.some(({ body }) => asksStored(type, body));
  if (faults.length > 0 && isAll) throw faultyRequest('invalid-body', faults);
  return faults;
}

/** Whether stored records may cause more faults: in read-only fields, relations and checks. */
const asksStored = ({ checks, fields, relations }: RecordType, body: JsonObject): boolean =>
  checks.length > 0 || Object.keys(body).some((key) => relations.has(key) || fields.get(key)?.readOnly === true);

/** The variant with the fields that a role may send and not read. */
const wholeOfVariant = ({ variants }: RecordType, { variant }: View): Variant => variants.get(variant.name) ?? variant;

/** Creates or updates the records of a body. `known`: the faults of their identifiers and tags. */
async function writeItems(
  context: OperationContext,
  args: WriteArguments<WriteQuery>,
  verb: 'create' | 'update',
  items: readonly WriteItem[],
  known: readonly Fault[],
  how: { readonly mergePatch: boolean; readonly precondition?: (() => void) | undefined },
): Promise<WriteResult> {
  const { type, store, validators, author, rights } = context;
  const { query, body, caller, minimal } = args;
  const faults = faultsIn(context, validators[verb](wholeOfVariant(type, query.view)), items, [
    ...body.faults,
    ...known,
  ]);
  const unread = body.isArray && minimal;
  const request = { type, items, raw: body.raw, faults, ...query, ...how, unread, author, rights, caller };
  const answer = (written: WrittenRecords): WriteResult => recordsResult(context, args, written, verb === 'create');
  return done(context, args, request, store.write, answer);
}

/** Creates one record or several, with nested records. */
export const create: WriteOperation<WriteQuery | UpsertQuery> = async (context, args) => {
  const { preconditions: mode } = context.type;
  const { preconditions, body, query } = args;
  if ('unique' in query) return upsert(context, { ...args, query });
  if (body.isArray)
    conditions.refusePreconditions(preconditions, mode, 'new records have no entity tags yet: leave it out');
  const message = `"${ITEM_TAG}" is the tag of a record that is to be changed, and this one is to be made: leave it out`;
  const tagged = body.records.filter(({ tag }) => tag !== undefined);
  const known = tagged.map(({ pointer }) => ({ pointer: conditions.tagAt(pointer), code: 'reserved-key', message }));
  const precondition = body.isArray ? undefined : () => conditions.refuseIfMatch(preconditions, mode);
  const items = body.records.map((record) => ({ ...record, identifier: undefined }));
  return writeItems(context, args, 'create', items, known, { mergePatch: false, precondition });
};

const updating =
  (mergePatch: boolean): WriteOperation<WriteQuery> =>
  async (context, args) => {
    const { id: identifier, preconditions, body } = args;
    const precondition = conditions.preconditionOf(preconditions, context.type.preconditions);
    const items = body.records.map((record) => ({ ...record, identifier, precondition }));
    return writeItems(context, args, 'update', items, [], { mergePatch });
  };

/** Omitted keys keep their values. */
export const update = updating(false);

/** Merges `any` values and open keys (RFC 7396). */
export const patch = updating(true);

const OWN_TAGS = `send the tag of each record as its "${ITEM_TAG}"`;

/** Each item contains its record's identifier, and optionally the required tag. */
export const updateMany: WriteOperation<WriteQuery> = async (context, args) => {
  const { type } = context;
  const { records } = args.body;
  conditions.refusePreconditions(args.preconditions, type.preconditions, OWN_TAGS);
  const items = records.map((record) => ({
    ...record,
    identifier: identifierIn(record.body, type),
    precondition: conditions.preconditionOfItem(record, type.preconditions),
  }));
  const known = records.flatMap((record) => misnamedIn(type, record));
  return writeItems(context, args, 'update', items, known, { mergePatch: true });
};

function misnamedIn(type: RecordType, record: ParsedRecord): readonly Fault[] {
  const { body, pointer } = record;
  const { name } = type.identifier;
  const wrong = conditions.wrongTag(record);
  if ((body[name] ?? null) !== null) return wrong;
  const message = `"${name}" is required: it says which record to change`;
  return [{ pointer: `${pointer}/${escapeStep(name)}`, code: 'required', message }, ...wrong];
}

/** Returns the deleted record, without a tag. */
export const deleteOne: WriteOperation<WriteQuery> = async (context, args) => {
  const { type, store, author, rights } = context;
  const { id: identifier, query, preconditions, caller, minimal } = args;
  const precondition = conditions.preconditionOf(preconditions, type.preconditions);
  const request = { type, identifier, ...query, author, rights, caller, precondition };
  return done(context, args, request, store.delete, ({ body, effects }) => deletion(minimal, body, effects));
};

const deletion = (minimal: boolean, json: string, effects: WriteResult['effects']): WriteResult =>
  minimal ? { status: 204, json: undefined, effects } : { status: 200, json, effects };

/** Brings back a deleted record, with what the deletion took. */
export const restore: WriteOperation<WriteQuery> = async (context, args) => {
  const { type, store, author, rights } = context;
  const { id: identifier, query, preconditions, caller } = args;
  conditions.refuseIfMatch(preconditions, type.preconditions);
  const request = { type, identifier, ...query, author, rights, caller };
  return done(context, args, request, store.restore, (written) => recordsResult(context, args, written, false));
};

/** Deletes all records that match the filters, or none if they exceed `most`. */
export const deleteFound: WriteOperation<DeleteQuery> = async (context, args) => {
  const { type, store, author, rights } = context;
  const { query, preconditions, caller, minimal, maxAffected: most } = args;
  const cure = 'a collection has no entity tag to compare: leave it out';
  conditions.refusePreconditions(preconditions, type.preconditions, cure);
  const request = { ...query, most, author, rights, caller };
  return done(context, args, request, store.deleteFound, ({ deleted, affected, effects }) =>
    deletion(minimal, JSON.stringify({ deleted, affected }), effects),
  );
};

/** Updates the record that has the unique values of a body, or creates it. */
export const upsert: WriteOperation<UpsertQuery> = async (context, args) => {
  const { type, store, validators, author, rights } = context;
  const { query, preconditions, caller, minimal } = args;
  const { records, raw, isArray, faults } = args.body;
  const mode = type.preconditions;
  if (isArray) conditions.refusePreconditions(preconditions, mode, OWN_TAGS);
  const validate = validators.create(wholeOfVariant(type, query.view));
  const unknown = records.map((record) => ({ ...record, identifier: undefined }));
  const { faults: all, isHidden } = validated(rights, type, validate, unknown, faults);
  const { set = {} } = entryOf(rights, type.name, 'create') ?? {};
  const keyed = unknown.map((item) => ({ ...item, body: { ...set, ...item.body } }));
  const keyFaults = keyFaultsIn(type, all, query.unique, keyed, faults);
  const shared = { type, raw, ...query, author, rights, caller };
  // Such values match no record: checks the body like that of a create, to report all of its faults.
  if (keyFaults.length > 0 && !isArray && !isHidden && faults.length === 0) {
    const faultsOfCreate = faultsIn(context, () => keyFaults, unknown);
    const creation = { ...shared, items: unknown, faults: faultsOfCreate, mergePatch: false };
    return done(context, args, creation, store.write, (written) => recordsResult(context, args, written, true));
  }
  if (keyFaults.length > 0) throw faultyRequest('invalid-body', keyFaults);
  const tags = isArray ? records.flatMap(conditions.wrongTag) : [];
  const soleTag = isArray ? undefined : conditions.preconditionOf(preconditions, mode);
  const request = {
    ...shared,
    items: records.map((record, index) => ({
      ...record,
      key: keyed[index]?.body ?? record.body,
      precondition: isArray ? conditions.preconditionOfItem(record, mode) : soleTag,
      absent: () => {
        if (!isArray) return conditions.refuseAnyMatch(preconditions, mode);
        if (mode === 'off' || record.tag === undefined) return;
        const message = `There is no record with these values; leave "${ITEM_TAG}" out to create it`;
        throw conditions.preconditionFailed({ pointer: conditions.tagAt(record.pointer) }, message);
      },
    })),
    faultsIn: (found: readonly WriteItem[]) => faultsIn(context, validate, found, [...faults, ...tags]),
    unread: isArray && minimal,
  };
  const answer = (written: WrittenRecords & { readonly made: number }): WriteResult =>
    recordsResult(context, args, written, !isArray && written.made > 0);
  return done(context, args, request, store.upsert, answer);
};

/** Faults of a body without valid identifying values, else none. `known`: faults of items that are no objects. */
function keyFaultsIn(
  type: RecordType,
  faults: readonly Fault[],
  { members }: UniqueMembers,
  items: readonly WriteItem[],
  known: readonly Fault[],
): readonly Fault[] {
  const isArray = items[0]?.pointer !== '';
  const strange = new Set(known.map((fault) => ('pointer' in fault ? fault.pointer : '')));
  const records = items.filter(({ pointer }) => !strange.has(pointer));
  const missing = records.flatMap(({ body, pointer }) =>
    members.flatMap((member): readonly Fault[] => {
      const { name } = member;
      const value = body[name] ?? null;
      const at = { pointer: `${pointer}/${escapeStep(name)}`, code: 'required' };
      // A record without an identifier is a new one.
      if (value === null && name === type.identifier.name) return [];
      if (value === null)
        return [{ ...at, message: `"${name}" is required: ${ON}= says that it identifies the record` }];
      if (!('link' in member) || !isObject(value)) return [];
      const { name: identifier } = member.target.identifier;
      // A link must refer to a stored record: otherwise each upsert would create another.
      if ((value[identifier] ?? null) !== null || linkKeyIn(member, value)) return [];
      const message = `"${name}" must name its record by "${identifier}": ${ON}= says that it identifies the ${type.name}`;
      return [{ ...at, message }];
    }),
  );
  // Only the identifier of a link is part of the key, or what names its record instead.
  const isKey = (fault: Fault): boolean => {
    const steps = 'pointer' in fault ? unescapedSteps(fault.pointer) : [];
    const [first, second] = isArray ? steps.slice(1) : steps;
    const member = members.find(({ name }) => name === first);
    if (!member || !('link' in member) || second === undefined) return member !== undefined;
    const link = items[isArray ? Number(steps[0]) : 0]?.body[member.name] ?? null;
    return second === member.target.identifier.name || (isObject(link) && linkKeyIn(member, link) !== undefined);
  };
  if (missing.length === 0 && !faults.some(isKey)) return [];
  // In an array, records may exist already, and some faults are only those of a create.
  const isOfCreate = ({ code }: Fault): boolean => code === 'required' || code === 'read-only';
  const certain = faults.filter((fault) => items.length === 1 || isKey(fault) || !isOfCreate(fault));
  return inDocumentOrder([...missing, ...certain], documentOf(items));
}
