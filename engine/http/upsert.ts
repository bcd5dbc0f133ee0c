/** PUT of a collection: the record with the unique values of the body is updated, or created where there is none. */
import { inDocumentOrder } from '../document-order.ts';
import { escapeStep, type JsonObject } from '../json.ts';
import type { UniqueMembers } from '../model/model.ts';
import { type Fault, faultyRequest } from '../problem.ts';
import type { Upserted, UpsertRequest } from '../storage/store.ts';
import { tagHeader, type Whole, writeAnswer } from './answer.ts';
import { bodyParser } from './body.ts';
import { preconditionOf, refuseAnyMatch } from './conditions.ts';
import { isLarge } from './content.ts';
import { RECORD_BODY } from './negotiation.ts';
import { created, faultsIn, onceOf, only, reported, type Service } from './operations.ts';
import type { Exchange, ServeOperation } from './request.ts';

export function upsert(service: Service): ServeOperation {
  const { type, store, queries, validators, readContent, largeTurn, limits, author } = service;
  const parse = bodyParser(type, limits, 'record');
  return async (exchange) => {
    const { request, caller, target } = exchange;
    const content = await readContent(exchange, RECORD_BODY);
    const once = onceOf(exchange, content, service);
    const { view, dryRun, unique } = queries.upsert(target.query);
    const { records, raw } = parse(content);
    const { body, pointer } = only(records);
    if (isLarge(content)) await largeTurn();
    const [create, update] = [validators.create(view.variant), validators.update(view.variant)];
    const itemsOf = (identifier: number | undefined) => [{ body, pointer, identifier }];
    const unfit = keyFaultsIn(create(itemsOf(undefined), raw), unique, body);
    // With such values it cannot be looked for: whatever is wrong with it is told as of a new record.
    if (unfit.length > 0) {
      const items = itemsOf(undefined);
      const found = faultsIn(service, () => unfit, items, raw);
      await store.create({ type, items, raw, ...found, mergePatch: false, view, author, caller, dryRun });
      throw faultyRequest('invalid-body', unfit);
    }
    const wanted: UpsertRequest = {
      type,
      unique,
      body,
      raw,
      checked: (identifier) => faultsIn(service, identifier === undefined ? create : update, itemsOf(identifier), raw),
      view,
      author,
      caller,
      dryRun,
      absent: () => refuseAnyMatch(request),
      ...preconditionOf(request, type.preconditions),
    };
    const answered = (written: Upserted): Whole => answerOf(service, exchange, written);
    return once === undefined || dryRun
      ? answered(await store.upsert(wanted))
      : store.upsertOnce(wanted, once, answered);
  };
}

/** All faults, if what identifies the record is not there or not well-formed; otherwise none. */
function keyFaultsIn(found: readonly Fault[], { members }: UniqueMembers, body: JsonObject): readonly Fault[] {
  const places = new Map(members.map(({ name }) => [`/${escapeStep(name)}`, name]));
  // Of a link only the identifier says which record it is, and what another place says of the record is for later.
  const keys = members.map((member) => ({
    at: `/${escapeStep(member.name)}`,
    target: 'link' in member && member.target,
  }));
  const isKey = (fault: Fault): boolean =>
    'pointer' in fault &&
    fault.code !== 'contradiction' &&
    keys.some(({ at, target }) =>
      target === false
        ? `${fault.pointer}/`.startsWith(`${at}/`)
        : [at, `${at}/${escapeStep(target.identifier.name)}`].includes(fault.pointer),
    );
  const missing = [...places].flatMap(([pointer, name]): readonly Fault[] => {
    if ((body[name] ?? null) !== null) return [];
    return [{ pointer, code: 'required', message: `"${name}" is required: on= says that it identifies the record` }];
  });
  if (missing.length === 0 && !found.some(isKey)) return [];
  const others = found.filter(
    (fault) => !missing.some((one) => 'pointer' in one && 'pointer' in fault && fault.pointer === one.pointer),
  );
  return inDocumentOrder([...missing, ...others], body);
}

function answerOf(service: Service, exchange: Exchange, written: Upserted): Whole {
  if (written.isNew) return created(service, exchange, written);
  const { body } = only(written.records);
  const answer = writeAnswer(exchange.request, 200, body, tagHeader(service.type, body));
  return reported(service, 200, answer, written.effects);
}
