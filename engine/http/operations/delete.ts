/** DELETE of one record: the answer is the record as it was, which no longer has a tag. */
import type { Operation } from '../exchange.ts';
import { parseIdentifier } from '../identifier.ts';
import { preconditionOf } from '../preconditions.ts';
import { writeAnswer } from '../record-answer.ts';
import type { Service } from '../service.ts';

export function remove({ type, store, queries }: Service): Operation {
  return async ({ request, caller, target, identifier: text }) => {
    const identifier = parseIdentifier(text);
    const view = queries.view(target.query);
    const written = await store.delete({ identifier, view, caller, ...preconditionOf(request, type.preconditions) });
    return writeAnswer(request, 200, written.body, {});
  };
}
