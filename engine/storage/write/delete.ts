/** Deletes a record, or those that match filters, and what goes with them. */
import { MAX_IN_VALUES } from '../../field-types/field-type.ts';
import type { Identifier } from '../../model/identifier.ts';
import { wholeOf } from '../../model/model.ts';
import { faultyRequest, type Problem } from '../../problem.ts';
import { inGroups } from '../dialect.ts';
import { Overtaken } from '../driver.ts';
import type { DeletedRecords, DeleteFoundRequest, RecordDeletion, Written } from '../store.ts';
import { allow } from './allowed.ts';
import { apply } from './apply.ts';
import { type Refusal, tooManyRows } from './cascade.ts';
import { effectsOf } from './dry-run.ts';
import { lockNamed, shownTo } from './locks.ts';
import { planDeletion } from './plan.ts';
import { createSession, type Stamped, type Transaction } from './session.ts';

/** Records per statement on SQLite, where other requests wait for it. */
const SQLITE_BATCH = 20;

export async function deleteOne(transaction: Transaction, request: Stamped<RecordDeletion>): Promise<Written> {
  const { writer, reads } = transaction;
  const { type, view, identifier, precondition, caller, dryRun } = request;
  const session = createSession(transaction, request);
  const shown = precondition && shownTo(transaction, view, [identifier]);
  const isLocked = await lockNamed(session, type, [{ body: {}, identifier, pointer: '' }], shown);
  const [body = ''] = await reads.records(writer, view, [identifier], caller);
  const allowed = await allow(session, [{ type, action: 'delete', records: [identifier], pointer: '' }]);
  precondition?.(body);
  if (precondition && !isLocked) throw new Overtaken();
  const deletion = { type, identifiers: [identifier], pointer: '' };
  const { plan } = await planDeletion(session, allowed, deletion, session.writeRows, (_, through) =>
    tooManyRows(session.writeRows, { relation: through }, `"${through}"`),
  );
  if (dryRun) return { identifier, body, effects: effectsOf(session, plan, []) };
  await apply(session, plan);
  return { identifier, body };
}

/** `candidates`: by a search before the transaction, which deletes only those that still match. */
export async function deleteFound(
  transaction: Transaction,
  request: Stamped<DeleteFoundRequest> & { readonly candidates?: readonly Identifier[] },
): Promise<DeletedRecords> {
  const { writer, reads, writeRows } = transaction;
  const { query, most, candidates = [], dryRun } = request;
  const type = wholeOf(query.view.type);
  const tooMany: Refusal = (_deletion, _through, affected) =>
    affected > most ? tooManyAffected(most) : tooManyRows(writeRows, { parameter: '_cnd' }, 'The request');
  const session = createSession(transaction, request);
  const { locks, of } = session.tables;
  if (locks && candidates.length > 0)
    await writer.column(of(type).locking('update').lock, [JSON.stringify(candidates)]);
  const identifiers: Identifier[] = [];
  for (const some of inGroups(candidates, locks ? MAX_IN_VALUES : SQLITE_BATCH))
    identifiers.push(...(await reads.among(writer, query, some)));
  const deletion = { type, identifiers, pointer: '' };
  const allowed = await allow(session, [{ type, action: 'delete', records: identifiers, pointer: '' }]);
  const { plan, affected } = await planDeletion(session, allowed, deletion, writeRows, tooMany, most);
  const counts = { deleted: identifiers.length, affected };
  if (dryRun) return { ...counts, effects: effectsOf(session, plan, []) };
  await apply(session, plan);
  return counts;
}

function tooManyAffected(most: number): Problem {
  const message =
    `The request would delete or unlink more records than the ${most} that max-affected allows; nothing was deleted. ` +
    'Use narrower filters or a higher max-affected; where it is high enough, dryRun=true says which records it would be';
  return faultyRequest('too-many-affected', [{ header: 'Prefer', code: 'too-many-affected', message }]);
}
