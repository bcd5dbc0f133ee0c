/** Writes by unique values: the record that has those of a body is updated, or created where there is none. */
import type { IncomingMessage } from 'node:http';
import type { Operation } from '../descriptor/descriptor.ts';
import { inDocumentOrder } from '../json/document-order.ts';
import { enclosing, escapeStep, isObject, type JsonValue } from '../json.ts';
import { documentOf, ITEM_TAG } from '../model/bodies.ts';
import type { UniqueMembers } from '../model/model.ts';
import { type Fault, faultyRequest, Problem } from '../problem.ts';
import { ON } from '../query/accepted.ts';
import type { Upserted, UpsertItem, WriteItem } from '../storage/store.ts';
import { tagHeader, type Whole, writeAnswer } from './answer.ts';
import { isMinimal } from './preferences.ts';
import type { Body, ParsedRecord } from './body.ts';
import { preconditionAt, preconditionOf, refuseAnyMatch, refuseConditions } from './preconditions.ts';
import { onLines } from './lines.ts';
import { type BodyTypes, NEW_RECORDS, RECORD_BODY } from './negotiation.ts';
import {
  arrayOf,
  create,
  created,
  done,
  faultsIn,
  onceOf,
  only,
  reported,
  retried,
  type Service,
  wrongTag,
} from './operations.ts';
import type { ParseBody } from './record-lines.ts';
import type { Exchange, ServeOperation } from './request.ts';

/** PUT of a collection: one record. */
export function upsert(service: Service): ServeOperation {
  return upserting(service, RECORD_BODY, service.parsers.record);
}

/** POST of a collection: new records, or with `on` records that may be there already. */
export function post(service: Service, withheld: ReadonlySet<Operation>): ServeOperation {
  const [createAll, upsertAll] = [create(service), upsertMany(service, withheld)];
  return (exchange) => {
    const { query } = exchange.target;
    return (query !== '' && new URLSearchParams(query).has(ON) ? upsertAll : createAll)(exchange);
  };
}

function upsertMany(service: Service, withheld: ReadonlySet<Operation>): ServeOperation {
  const serve = upserting(service, NEW_RECORDS, service.parsers.posted);
  return (exchange) => {
    if (!service.type.operations.has('update')) throw notUpdatable(service, withheld);
    return serve(exchange);
  };
}

function upserting(service: Service, bodyTypes: BodyTypes, parse: ParseBody): ServeOperation {
  const { queries, readContent } = service;
  return async (exchange) => {
    const { request, target } = exchange;
    const content = await readContent(exchange, bodyTypes);
    const once = onceOf(exchange, content, service);
    const query = queries.upsert(target.query);
    const body = parse(content, exchange);
    if (body.isArray)
      refuseConditions(request, service.type.preconditions, `send the tag of each record as its "${ITEM_TAG}"`);
    return onLines(body, () => write(service, exchange, { body, once, query }));
  };
}

function notUpdatable({ type: { name } }: Service, withheld: ReadonlySet<Operation>): Problem {
  if (withheld.has('update'))
    return new Problem('forbidden', `The token does not allow updates of ${name}, which ${ON}= asks for; leave it out`);
  const message = `${name} does not offer updates, which "${ON}" asks for; leave it out`;
  return faultyRequest('invalid-query', [{ parameter: ON, code: 'not-offered', message }]);
}

interface ReadUpsert {
  readonly body: Body;
  readonly once: ReturnType<typeof onceOf>;
  readonly query: ReturnType<Service['queries']['upsert']>;
}

async function write(service: Service, exchange: Exchange, { body, once, query }: ReadUpsert): Promise<Whole> {
  const { type, store, validators, author } = service;
  const { request, caller } = exchange;
  const { records, raw, isArray, faults } = body;
  const { view, dryRun, unique } = query;
  const validate = validators.upsert(view.variant);
  const unknown = records.map((record) => ({ ...record, identifier: undefined }));
  const unfit = keyFaultsIn(type, validate(unknown, raw, { faults }), unique, unknown, faults);
  // With such values they cannot be looked for: whatever is wrong with one record is told as of a new one.
  if (unfit.length > 0 && !isArray && faults.length === 0) {
    const found = faultsIn(service, () => unfit, unknown, raw);
    await store.create({ type, items: unknown, raw, ...found, mergePatch: false, view, author, caller, dryRun });
  }
  if (unfit.length > 0) throw faultyRequest('invalid-body', unfit);
  const tags = isArray ? records.flatMap(wrongTag) : [];
  const wanted = {
    type,
    unique,
    items: records.map((record) => (isArray ? itemOf(service, record) : soleItem(service, request, record))),
    raw,
    checked: (found: readonly WriteItem[]) => faultsIn(service, validate, found, raw, tags),
    view,
    unread: isArray && isMinimal(request),
    author,
    caller,
    dryRun,
  };
  const answered = (written: Upserted): Whole => (isArray ? manyAnswer : oneAnswer)(service, exchange, written);
  return done(once, wanted, answered, retried(service, request, isArray), store.upsert, store.once.upsert);
}

function soleItem({ type }: Service, request: IncomingMessage, { body, pointer }: ParsedRecord): UpsertItem {
  return {
    body,
    pointer,
    absent: () => refuseAnyMatch(request, type.preconditions),
    ...preconditionOf(request, type.preconditions),
  };
}

function itemOf({ type: { preconditions } }: Service, { body, pointer, tag }: ParsedRecord): UpsertItem {
  const place = `${pointer}/${ITEM_TAG}`;
  const precondition = preconditionAt(place, typeof tag === 'string' ? tag : undefined, preconditions);
  return { body, pointer, precondition, absent: () => refuseTag(place, preconditions === 'off' ? undefined : tag) };
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
  type: Service['type'],
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
        `"${name}" must name its record by "${identifier}": ${ON}= says that it identifies the ${type.recordName}`,
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

function oneAnswer(service: Service, exchange: Exchange, written: Upserted): Whole {
  if (written.made > 0) return created(service, exchange, written);
  const { body } = only(written.records);
  const answer = writeAnswer(exchange.request, 200, body, tagHeader(service.type, body));
  return reported(service, 200, answer, written.effects);
}

const manyAnswer = (service: Service, { request }: Exchange, { records, effects }: Upserted): Whole =>
  reported(service, 200, writeAnswer(request, 200, arrayOf(records), {}), effects);
