/** Writes by unique values: the record that has those of a body is updated, or created where there is none. */
import { inDocumentOrder, enclosing, escapeStep, isObject, type JsonValue } from '../json/json.ts';
import { documentOf, ITEM_TAG } from '../model/bodies.ts';
import type { RecordType, UniqueMembers } from '../model/model.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import { ON } from '../query/resolve.ts';
import type { UpsertQuery } from '../query/list-query.ts';
import type { UpsertItem, WriteItem } from '../storage/store.ts';
import { validatedFor } from '../validation/rights.ts';
import type { ParsedRecord } from './body.ts';
import {
  type BodyArguments,
  done,
  faultsIn,
  type OperationContext,
  recordsResult,
  type WriteResult,
} from './operation.ts';
import {
  preconditionAt,
  preconditionOf,
  type Preconditions,
  refuseAnyMatch,
  refusePreconditions,
  wrongTag,
} from './preconditions.ts';

export async function upsert(context: OperationContext, given: BodyArguments<UpsertQuery>): Promise<WriteResult> {
  const { type, store, validators, author, rights } = context;
  const { query, body, preconditions, caller, minimal } = given;
  const { records, raw, isArray, faults } = body;
  const { unique, ...asked } = query;
  if (isArray)
    refusePreconditions(preconditions, type.preconditions, `send the tag of each record as its "${ITEM_TAG}"`);
  const validate = validators.upsert(query.view.variant);
  const unknown = records.map((record) => ({ ...record, identifier: undefined }));
  const validateAll = (some: readonly WriteItem[], known: readonly Fault[]): readonly Fault[] =>
    validate(some, raw, { faults: known });
  const { faults: all, isHidden } = validatedFor(rights, type, validateAll, unknown, faults);
  const unfit = keyFaultsIn(type, all, unique, unknown, faults);
  // With such values no record can be looked for: the faults of one record are reported as of a new one.
  if (unfit.length > 0 && !isArray && !isHidden && faults.length === 0) {
    const checked = faultsIn(context, () => unfit, unknown, raw);
    await store.create({ type, items: unknown, raw, ...checked, ...asked, mergePatch: false, author, rights, caller });
  }
  if (unfit.length > 0) throw faultyRequest('invalid-body', unfit);
  const tags = isArray ? records.flatMap(({ pointer, tag }) => wrongTag(pointer, tag)) : [];
  const request = {
    type,
    unique,
    items: records.map((record) => (isArray ? itemOf(type, record) : soleItem(type, preconditions, record))),
    raw,
    checked: (found: readonly WriteItem[]) => faultsIn(context, validate, found, raw, tags),
    ...asked,
    unread: isArray && minimal,
    author,
    rights,
    caller,
  };
  return done(context, given, request, {
    write: store.upsert,
    writeOnce: store.once.upsert,
    answer: (written) =>
      recordsResult(type, written, { minimal, several: isArray, isNew: !isArray && written.made > 0 }),
    several: isArray,
  });
}

const soleItem = (
  { preconditions: mode }: RecordType,
  preconditions: Preconditions,
  { body, pointer }: ParsedRecord,
): UpsertItem => ({
  body,
  pointer,
  absent: () => refuseAnyMatch(preconditions, mode),
  precondition: preconditionOf(preconditions, mode),
});

function itemOf({ preconditions: mode }: RecordType, { body, pointer, tag }: ParsedRecord): UpsertItem {
  const at = `${pointer}/${ITEM_TAG}`;
  const precondition = preconditionAt(at, typeof tag === 'string' ? tag : undefined, mode);
  return { body, pointer, precondition, absent: () => refuseTag(at, mode === 'off' ? undefined : tag) };
}

function refuseTag(pointer: string, tag: JsonValue | undefined): void {
  if (tag === undefined) return;
  const message = `There is no record with these values; leave "${ITEM_TAG}" out to create it`;
  throw faultyRequest('precondition-failed', [{ pointer, code: 'precondition-failed', message }]);
}

/**
 * All faults, if what identifies a record is not there or not well-formed, or if any are `known`: such values are not
 * looked for. Otherwise none.
 */
function keyFaultsIn(
  type: RecordType,
  found: readonly Fault[],
  { members }: UniqueMembers,
  items: readonly WriteItem[],
  known: readonly Fault[],
): readonly Fault[] {
  const strange = new Set(known.map((fault) => ('pointer' in fault ? fault.pointer : '')));
  const records = items.filter(({ pointer }) => !strange.has(pointer));
  const missing = records.flatMap(({ body, pointer }) =>
    members.flatMap((member): readonly Fault[] => {
      const { name } = member;
      const value = body[name] ?? null;
      const fault = (message: string): readonly Fault[] => [
        { pointer: `${pointer}/${escapeStep(name)}`, code: 'required', message },
      ];
      if (value === null) return fault(`"${name}" is required: ${ON}= says that it identifies the record`);
      if (!('link' in member) || !isObject(value)) return [];
      const { name: identifier } = member.target.identifier;
      // A new record each time would make a new one of this type each time.
      if ((value[identifier] ?? null) !== null) return [];
      return fault(
        `"${name}" must name its record by "${identifier}": ${ON}= says that it identifies the ${type.name}`,
      );
    }),
  );
  // Of a link only the identifier says which record it is, and what another place says of the record is for later.
  const [values, links] = [new Set<string>(), new Set<string>()];
  for (const { pointer } of items)
    for (const member of members) {
      const place = `${pointer}/${escapeStep(member.name)}`;
      if ('link' in member) links.add(place).add(`${place}/${escapeStep(member.target.identifier.name)}`);
      else values.add(place);
    }
  const isKey = (fault: Fault): boolean =>
    'pointer' in fault &&
    fault.code !== 'contradiction' &&
    (links.has(fault.pointer) || enclosing(fault.pointer).some((place) => values.has(place)));
  const unfit = found.filter(isKey);
  if (missing.length + unfit.length + known.length === 0) return [];
  // Of several records, others may be there: what new ones lack says nothing.
  const told = known.length === 0 ? unfit : found.filter(({ code }) => code !== 'required');
  return inDocumentOrder([...missing, ...(items.length === 1 ? found : told)], documentOf(items));
}
