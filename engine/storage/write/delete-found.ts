/** Deletes the records that match filters: a search before the transaction, which deletes only those that still match. */
import { MAX_IN_VALUES } from '../../field-types/field-type.ts';
import type { Identifier } from '../../model/identifier.ts';
import { wholeOf } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { DeletedRecords, DeleteFoundRequest } from '../store.ts';
import { type Refusal, tooManyRows } from './cascade.ts';
import { apply } from './apply.ts';
import { effectsOf } from './effects.ts';
import { planDeletion } from './plan.ts';
import { sessionOf } from './session.ts';
import type { Stamped, Transaction, Verb } from './verb.ts';

type DeletionRequest = DeleteFoundRequest & { readonly found?: readonly Identifier[] };

/** Records per statement on SQLite, where other requests wait for it. */
const SQLITE_BATCH = 20;

export const deleteFound: Verb<DeletionRequest, DeletedRecords> = {
  prepare: async ({ reads, writeRows = Infinity }, request) => {
    const { query, most, caller } = request;
    return { ...request, found: await reads.found({ ...query, limit: Math.min(most, writeRows) + 1 }, caller) };
  },
  run,
  row: () => undefined,
  kept: ({ deleted, affected }) => [deleted, affected],
  // Keys of older releases lack counts.
  again: ([deleted, affected]) =>
    typeof deleted === 'number' && typeof affected === 'number' ? { deleted, affected } : undefined,
};

async function run(transaction: Transaction, request: Stamped<DeletionRequest>): Promise<DeletedRecords> {
  const { writer, reads, writeRows = Infinity } = transaction;
  const { query, most, found = [] } = request;
  const type = wholeOf(query.view.type);
  const tooMany: Refusal = (_deletion, _through, affected) =>
    affected > most ? tooManyAffected(most) : tooManyRows(writeRows, { parameter: '_cnd' }, 'The request');
  const session = sessionOf(transaction, writer, request);
  const { locks, of } = session.tables;
  if (locks && found.length > 0) await writer.column(of(type).hold('update'), [JSON.stringify(found)]);
  const identifiers: Identifier[] = [];
  const some = locks ? MAX_IN_VALUES : SQLITE_BATCH;
  for (let at = 0; at < found.length; at += some)
    for (const one of await reads.among(writer, query, found.slice(at, at + some))) identifiers.push(one);
  const { plan, affected } = await planDeletion(session, { type, identifiers, pointer: '' }, writeRows, tooMany, most);
  const counts = { deleted: identifiers.length, affected };
  if (request.dryRun) return { ...counts, effects: effectsOf(session, plan, []) };
  await apply(session, plan);
  return counts;
}

function tooManyAffected(most: number): Problem {
  const message =
    `The request would delete or unlink more records than the ${most} that max-affected allows; nothing was deleted. ` +
    'Use narrower filters or a higher max-affected; where it is high enough, dryRun=true says which records it would be';
  return new Problem('too-many-affected', message, {
    errors: [{ header: 'Prefer', code: 'too-many-affected', message }],
  });
}
