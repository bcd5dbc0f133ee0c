/** POST of a new record. */
import { parseBody } from '../body.ts';
import type { Operation } from '../exchange.ts';
import { RECORD_BODY } from '../negotiation.ts';
import { refuseIfMatch } from '../preconditions.ts';
import { tagHeader, writeAnswer } from '../record-answer.ts';
import { requireValid, type Service } from '../service.ts';

export function create({ type, path, store, queries, validators, readContent }: Service): Operation {
  return async ({ request, target }) => {
    const content = await readContent(request, RECORD_BODY);
    const view = queries.view(target.query);
    const body = parseBody(content);
    requireValid(validators.create(view.variant), body);
    refuseIfMatch(request);
    const written = await store.create({ type, body, mergePatch: false, view });
    const Location = `${target.base}${path}/${written.identifier}`;
    return writeAnswer(request, 201, written.body, { Location, ...tagHeader(type, written.body) });
  };
}
