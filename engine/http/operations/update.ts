/** PUT and PATCH of one record: keys that are left out stay as they are. */
import { bodyParser } from '../body.ts';
import { isLarge } from '../content.ts';
import type { Operation } from '../exchange.ts';
import { parseIdentifier } from '../identifier.ts';
import { PATCH_BODY, RECORD_BODY } from '../negotiation.ts';
import { preconditionOf } from '../preconditions.ts';
import { tagHeader, writeAnswer } from '../record-answer.ts';
import { faultsIn, type Service } from '../service.ts';

export function update(service: Service, method: string): Operation {
  const { type, store, queries, validators, readContent, largeTurn, limits } = service;
  const mergePatch = method === 'PATCH';
  const parse = bodyParser(type, limits);
  const bodyTypes = mergePatch ? PATCH_BODY : RECORD_BODY;
  return async (exchange) => {
    const { request, caller, target, identifier: text } = exchange;
    const content = await readContent(exchange, bodyTypes);
    const identifier = parseIdentifier(text);
    const view = queries.view(target.query);
    const { body, raw } = parse(content);
    if (isLarge(content)) await largeTurn();
    const { faults, disagreements } = faultsIn(service, validators.update(view.variant), { body, raw }, identifier);
    const precondition = preconditionOf(request, type.preconditions);
    const written = await store.update({
      type,
      identifier,
      body,
      raw,
      faults,
      disagreements,
      mergePatch,
      view,
      caller,
      ...precondition,
    });
    return writeAnswer(request, 200, written.body, tagHeader(type, written.body));
  };
}
