/** POST of a new record; under an Idempotency-Key once, however often it is sent. */
import { bodyParser } from '../body.ts';
import { isLarge } from '../content.ts';
import type { Exchange, Operation } from '../exchange.ts';
import { onceOf } from '../idempotency.ts';
import { RECORD_BODY } from '../negotiation.ts';
import { refuseIfMatch } from '../preconditions.ts';
import { tagHeader, type Whole, writeAnswer } from '../record-answer.ts';
import { faultsIn, type Service } from '../service.ts';
import type { Written } from '../../storage/store.ts';

export function create(service: Service): Operation {
  const { type, store, queries, validators, readContent, largeTurn, limits } = service;
  const parse = bodyParser(type, limits);
  return async (exchange) => {
    const { request, caller, target } = exchange;
    const content = await readContent(exchange, RECORD_BODY);
    const once = onceOf(exchange, content, service);
    const view = queries.view(target.query);
    const { body, raw } = parse(content);
    if (isLarge(content)) await largeTurn();
    const { faults, disagreements } = faultsIn(service, validators.create(view.variant), { body, raw });
    const precondition = (): void => refuseIfMatch(request);
    const wanted = { type, body, raw, faults, disagreements, mergePatch: false, view, caller, precondition };
    if (once !== undefined && faults.length === 0)
      return store.createOnce(wanted, once, (written) => created(service, exchange, written));
    return created(service, exchange, await store.create(wanted));
  };
}

function created({ type, path }: Service, { request, target }: Exchange, { identifier, body }: Written): Whole {
  const Location = `${target.base}${path}/${identifier}`;
  return writeAnswer(request, 201, body, { Location, ...tagHeader(type, body) });
}
