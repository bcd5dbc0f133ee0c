/** Creates, changes and deletes records, those of a JSON text. */
import {
  escapeStep,
  inDocumentOrder,
  invalidJson,
  isObject,
  type JsonObject,
  type JsonValue,
  type KeptMembers,
  kindOf,
  type RawValues,
  readJson,
  type TextLimits,
  unescapedSteps,
} from '../json/json.ts';
import { memoized } from '../memo.ts';
import { documentOf, identifierIn, ITEM_TAG, type RecordType, type UniqueMembers } from '../model/model.ts';
import { type Fault, faultyRequest, type Problem, reasonOf } from '../problem.ts';
import type { DeleteQuery, UpsertQuery, WriteQuery } from '../query/list-query.ts';
import { ON } from '../query/resolve.ts';
import type { Precondition, Upserted, UpsertItem, WriteItem, WrittenRecords } from '../storage/store.ts';
import { validatedFor, type Validator } from '../validation/compile.ts';
import {
  done,
  faultsIn,
  type OperationContext,
  preconditionAt,
  preconditionOf,
  recordsResult,
  refuseAnyMatch,
  refuseIfMatch,
  refusePreconditions,
  type WriteArguments,
  type WriteOperation,
  type WriteResult,
  wrongTag,
} from './operation.ts';
import type { BodyShape } from './table.ts';

// Bodies, before they are validated.

export interface ParsedRecord {
  readonly body: JsonObject;
  readonly pointer: string;
  /** The value of an item of an array under ITEM_TAG. */
  readonly tag: JsonValue | undefined;
}

export interface Body {
  readonly records: readonly ParsedRecord[];
  readonly isArray: boolean;
  readonly raw: RawValues;
  /** Faults so far; the rest is still checked. An item that is not a record is one without keys. */
  readonly faults: readonly Fault[];
  /** Of records on lines: the number of the line of each, from 1. */
  readonly lines?: readonly number[];
}

export const NO_BODY: Body = Object.freeze({ records: [], isArray: false, raw: new Map(), faults: [] });

export interface BodyLimits extends TextLimits {
  /** Records of an array that is written at once. */
  readonly batchLimit: number;
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
const TOO_LARGE = rawJSON('1e999');

export function textOf(value: unknown): string {
  try {
    // JSON.parse makes Infinity of a number that is too large.
    return (
      JSON.stringify(value, (_, inner: unknown) => (inner === Infinity || inner === -Infinity ? TOO_LARGE : inner)) ??
      'null'
    );
  } catch (error) {
    if (error instanceof RangeError) throw invalidJson('The body is nested too deep');
    throw invalidJson(`The body cannot be written as JSON: ${reasonOf(error)}`);
  }
}

export const parseJson = (
  text: string,
  type: RecordType,
  limits: TextLimits,
  what?: string,
): ReturnType<typeof readJson> =>
  readJson(text, { limits, kept: keptMembers(type), ...(what === undefined ? {} : { what }) });

/** Reads a JSON text as a body of this shape. */
export function readBody(text: string, shape: BodyShape, type: RecordType, limits: BodyLimits): Body {
  const { value, raw, faults } = parseJson(text, type, limits);
  if (Array.isArray(value) && shape !== 'record') {
    const { records, faults: strange } = itemsOf(value, limits.batchLimit);
    return { records, isArray: true, raw, faults: [...strange, ...faults] };
  }
  if (isObject(value) && shape !== 'records')
    return { records: [{ body: value, pointer: '', tag: undefined }], isArray: false, raw, faults };
  const { name } = type.identifier;
  const expected = {
    record: 'The body must be a JSON object',
    records: `The body must be an array of records, each with its "${name}"`,
    either: 'The body must be a JSON object, or an array of them',
  }[shape];
  const cure = ` (one record is changed by PATCH of its own path, with its ${name} at the end)`;
  const message = `${expected}, not ${kindOf(value)}${isObject(value) ? cure : ''}`;
  throw faultyRequest('invalid-body', [{ pointer: '', code: 'type', message }]);
}

function itemsOf(values: readonly JsonValue[], most: number): Pick<Body, 'records' | 'faults'> {
  if (values.length > most) throw tooManyItems(most, values.length);
  const faults: Fault[] = [];
  const records = values.map((value, index): ParsedRecord => {
    const pointer = `/${index}`;
    if (isObject(value)) return itemOf(value, pointer);
    faults.push({ pointer, code: 'type', message: `Item ${index} must be a JSON object, not ${kindOf(value)}` });
    return { body: {}, pointer, tag: undefined };
  });
  return { records, faults };
}

export function itemOf(value: JsonObject, pointer: string): ParsedRecord {
  if (!Object.hasOwn(value, ITEM_TAG)) return { body: value, pointer, tag: undefined };
  const tag = value[ITEM_TAG];
  // The object itself is kept: its raw texts are found by it.
  Reflect.deleteProperty(value, ITEM_TAG);
  return { body: value, pointer, tag };
}

/** `count` is undefined for lines: those that are too many are not read. */
export function tooManyItems(most: number, count?: number): Problem {
  const found = count === undefined ? `The body has more than ${most} records` : `The array has ${count} records`;
  const message = `${found}; at most ${most} are written at once. Send it in parts`;
  return faultyRequest('batch-too-large', [{ pointer: '', code: 'batch-too-large', message }]);
}

// Values that are stored as they are written: those of fields that keep text, and unknown keys of open types.

/** undefined if the bodies of the type hold none, themselves or in nested records. */
const keptMembers = memoized((type: RecordType): KeptMembers | undefined =>
  mayKeep(type) ? membersOf(type) : undefined,
);

const membersOf = memoized((type: RecordType): KeptMembers => ({
  of: (key) => {
    const relation = type.relations.get(key);
    return relation ? membersOf(relation.target) : keepsText(type, key) ? 'text' : undefined;
  },
}));

function mayKeep(root: RecordType): boolean {
  const types = new Set([root]);
  for (const { open, fields, relations } of types) {
    if (open || [...fields.values()].some((field) => field.type.keepsText)) return true;
    for (const { target } of relations.values()) types.add(target);
  }
  return false;
}

function keepsText({ fields, open, identifier }: RecordType, key: string): boolean {
  const field = fields.get(key);
  if (field) return field.type.keepsText === true;
  return open && key !== ITEM_TAG && key !== '__proto__' && !(identifier.inRecord && key === identifier.name);
}

// Writes.

interface Writing {
  readonly verb: 'create' | 'update';
  readonly validator: Validator;
  readonly item: (record: ParsedRecord) => Pick<WriteItem, 'identifier' | 'precondition'>;
  /** Of a record in an array: what is wrong with its identifier or its tag. */
  readonly faultsOf?: (record: ParsedRecord) => readonly Fault[];
  readonly mergePatch: boolean;
  readonly several: boolean;
  readonly precondition?: () => void;
}

async function writeItems(
  context: OperationContext,
  given: WriteArguments<WriteQuery>,
  { verb, validator, item, faultsOf = () => [], several, ...how }: Writing,
): Promise<WriteResult> {
  const { type, store, author, rights } = context;
  const { query, body, caller, minimal } = given;
  const items = body.records.map((record) => ({ body: record.body, pointer: record.pointer, ...item(record) }));
  const faults = faultsIn(context, validator, items, [...body.faults, ...body.records.flatMap(faultsOf)]);
  const unread = several && minimal;
  const request = { type, items, raw: body.raw, faults, ...query, ...how, unread, author, rights, caller };
  const answer = (written: WrittenRecords): WriteResult =>
    recordsResult(type, written, minimal, several, verb === 'create');
  return done(context, given, request, store[verb], store.once[verb], answer, several);
}

/** Creates one record, or several, with all that is nested in them. */
export const create: WriteOperation<WriteQuery> = async (context, given) => {
  const { preconditions: mode } = context.type;
  const { query, preconditions } = given;
  const { isArray } = given.body;
  if (isArray) refusePreconditions(preconditions, mode, 'new records have no entity tags yet: leave it out');
  const message = `"${ITEM_TAG}" is the tag of a record that is to be changed, and this one is to be made: leave it out`;
  return writeItems(context, given, {
    verb: 'create',
    validator: context.validators.create(query.view.variant),
    item: () => ({ identifier: undefined }),
    faultsOf: ({ tag, pointer }) =>
      tag === undefined ? [] : [{ pointer: tagAt(pointer), code: 'reserved-key', message }],
    mergePatch: false,
    several: isArray,
    ...(isArray ? {} : { precondition: () => refuseIfMatch(preconditions, mode) }),
  });
};

const updating =
  (mergePatch: boolean): WriteOperation<WriteQuery> =>
  async (context, given) => {
    const { id: identifier, query, preconditions } = given;
    const precondition = preconditionOf(preconditions, context.type.preconditions);
    return writeItems(context, given, {
      verb: 'update',
      validator: context.validators.update(query.view.variant),
      item: () => ({ identifier, precondition }),
      mergePatch,
      several: false,
    });
  };

/** Keys that are left out stay as they are. */
export const update = updating(false);

/** Merges `any` values and open keys (RFC 7396). */
export const patch = updating(true);

const OWN_TAGS = `send the tag of each record as its "${ITEM_TAG}"`;

const tagAt = (pointer: string): string => `${pointer}/${ITEM_TAG}`;

/** The condition of an item of an array, which has its tag inside. */
const ownPrecondition = (type: RecordType, { pointer, tag }: ParsedRecord): Precondition | undefined =>
  preconditionAt(tagAt(pointer), typeof tag === 'string' ? tag : undefined, type.preconditions);

/** Each item names its record by the identifier, and perhaps the tag that it must have. */
export const updateMany: WriteOperation<WriteQuery> = async (context, given) => {
  const { type, validators } = context;
  refusePreconditions(given.preconditions, type.preconditions, OWN_TAGS);
  return writeItems(context, given, {
    verb: 'update',
    validator: validators.update(given.query.view.variant),
    item: (record) => ({
      identifier: identifierIn(record.body, type),
      precondition: ownPrecondition(type, record),
    }),
    faultsOf: (record) => misnamedIn(type, record),
    mergePatch: true,
    several: true,
  });
};

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
export const deleteOne: WriteOperation<WriteQuery> = async (context, given) => {
  const { type, store, author, rights } = context;
  const { id: identifier, query, preconditions, caller, minimal } = given;
  const precondition = preconditionOf(preconditions, type.preconditions);
  const request = { type, identifier, ...query, author, rights, caller, precondition };
  return done(context, given, request, store.delete, store.once.delete, ({ body, effects }) => ({
    status: minimal ? 204 : 200,
    json: minimal ? undefined : body,
    effects,
  }));
};

/** Deletes all records that the filters find or none, and never more than `most`. */
export const deleteFound: WriteOperation<DeleteQuery> = async (context, given) => {
  const { type, store, author, rights } = context;
  const { query, preconditions, caller, minimal, most } = given;
  refusePreconditions(preconditions, type.preconditions, 'a collection has no entity tag to compare: leave it out');
  const request = { ...query, most, author, rights, caller };
  return done(context, given, request, store.deleteFound, store.once.deleteFound, ({ deleted, affected, effects }) => ({
    status: minimal ? 204 : 200,
    json: minimal ? undefined : JSON.stringify({ deleted, affected }),
    effects,
  }));
};

// Writes by unique values: the record that has those of a body is updated, or created where there is none.

export const upsert: WriteOperation<UpsertQuery> = async (context, given) => {
  const { type, store, validators, author, rights } = context;
  const { query, body, preconditions, caller, minimal } = given;
  const { records, raw, isArray, faults } = body;
  const { unique, ...asked } = query;
  if (isArray) refusePreconditions(preconditions, type.preconditions, OWN_TAGS);
  const validate = validators.upsert(query.view.variant);
  const unknown = records.map((record) => ({ ...record, identifier: undefined }));
  const { faults: all, isHidden } = validatedFor(rights, type, validate, unknown, faults);
  const unfit = keyFaultsIn(type, all, unique, unknown, faults, isArray);
  // With such values no record can be looked for: the faults of one record are reported as of a new one.
  if (unfit.length > 0 && !isArray && !isHidden && faults.length === 0) {
    const found = faultsIn(context, () => unfit, unknown);
    const request = { type, items: unknown, raw, faults: found, mergePatch: false, author, rights, caller };
    await store.create({ ...request, ...asked });
  }
  if (unfit.length > 0) throw faultyRequest('invalid-body', unfit);
  const tags = isArray ? records.flatMap(({ pointer, tag }) => wrongTag(pointer, tag)) : [];
  const soleTag = isArray ? undefined : preconditionOf(preconditions, type.preconditions);
  const request = {
    type,
    unique,
    items: records.map((record): UpsertItem => ({
      body: record.body,
      pointer: record.pointer,
      precondition: isArray ? ownPrecondition(type, record) : soleTag,
      absent: () => (isArray ? refuseTag(type, record) : refuseAnyMatch(preconditions, type.preconditions)),
    })),
    raw,
    faultsIn: (found: readonly WriteItem[]) => faultsIn(context, validate, found, [...faults, ...tags]),
    ...asked,
    unread: isArray && minimal,
    author,
    rights,
    caller,
  };
  const answer = (written: Upserted): WriteResult =>
    recordsResult(type, written, minimal, isArray, !isArray && written.made > 0);
  return done(context, given, request, store.upsert, store.once.upsert, answer, isArray);
};

function refuseTag({ preconditions: mode }: RecordType, { pointer, tag }: ParsedRecord): void {
  if (mode === 'off' || tag === undefined) return;
  const message = `There is no record with these values; leave "${ITEM_TAG}" out to create it`;
  throw faultyRequest('precondition-failed', [{ pointer: tagAt(pointer), code: 'precondition-failed', message }]);
}

/**
 * All faults, if what identifies a record is not there or not well-formed: such values are not looked for. Otherwise none.
 * `known`: faults of items that are not records.
 */
function keyFaultsIn(
  type: RecordType,
  found: readonly Fault[],
  { members }: UniqueMembers,
  items: readonly WriteItem[],
  known: readonly Fault[],
  isArray: boolean,
): readonly Fault[] {
  const strange = new Set(known.map((fault) => ('pointer' in fault ? fault.pointer : '')));
  const records = items.filter(({ pointer }) => !strange.has(pointer));
  const missing = records.flatMap(({ body, pointer }) =>
    members.flatMap((member): readonly Fault[] => {
      const { name } = member;
      const value = body[name] ?? null;
      const at = { pointer: `${pointer}/${escapeStep(name)}`, code: 'required' };
      if (value === null)
        return [{ ...at, message: `"${name}" is required: ${ON}= says that it identifies the record` }];
      if (!('link' in member) || !isObject(value)) return [];
      const { name: identifier } = member.target.identifier;
      // A new record each time would make a new one of this type each time.
      if ((value[identifier] ?? null) !== null) return [];
      const message = `"${name}" must name its record by "${identifier}": ${ON}= says that it identifies the ${type.name}`;
      return [{ ...at, message }];
    }),
  );
  // Of a link only the identifier says which record it is.
  const isKey = (fault: Fault): boolean => {
    const steps = 'pointer' in fault ? unescapedSteps(fault.pointer).slice(isArray ? 1 : 0) : [];
    const member = members.find(({ name }) => name === steps[0]);
    if (!member || !('link' in member)) return member !== undefined;
    return steps.length === 1 || (steps.length === 2 && steps[1] === member.target.identifier.name);
  };
  const unfit = found.filter(isKey);
  if (missing.length + unfit.length === 0) return [];
  // Of several records, others may be there: what new ones lack says nothing.
  return inDocumentOrder([...missing, ...(items.length === 1 ? found : unfit)], documentOf(items));
}
