/** GET of one record. */
import { andThen } from '../../awaitable.ts';
import { entityTag } from '../entity-tag.ts';
import type { Operation } from '../exchange.ts';
import { parseIdentifier } from '../identifier.ts';
import { noSuchRecord, readAnswer } from '../record-answer.ts';
import type { Service } from '../service.ts';

export function get({ type, store, queries }: Service): Operation {
  const tagOf = type.preconditions === 'off' ? () => undefined : entityTag;
  return ({ request, caller, target, identifier: text }) => {
    const identifier = parseIdentifier(text);
    const view = queries.view(target.query);
    return andThen(store.get(view, identifier, caller), (found) => {
      const record = found ?? noSuchRecord(type, identifier);
      return readAnswer(request, record, tagOf(record));
    });
  };
}
