/** Deletes a record, and what goes with it. */
import { wholeBody } from '../../model/model.ts';
import { Overtaken } from '../driver.ts';
import type { RecordDeletion, Written } from '../store.ts';
import { tooManyRows } from './cascade.ts';
import { lockNamed } from './locks.ts';
import { apply } from './apply.ts';
import { effectsOf } from './effects.ts';
import { planDeletion } from './plan.ts';
import { notFound, shownTo } from './records.ts';
import { deleteSingle } from './single.ts';
import { sessionOf } from './session.ts';
import { rowOf } from './tables.ts';
import type { Stamped, Transaction, Verb } from './verb.ts';

async function run(transaction: Transaction, request: Stamped<RecordDeletion>): Promise<Written> {
  const { writer, reads } = transaction;
  const { type, view, identifier, precondition, caller } = request;
  const session = sessionOf(transaction, writer, request);
  const shown = precondition && shownTo(transaction, view, [identifier]);
  const isLocked = await lockNamed(session, type, [wholeBody({}, identifier)], shown);
  const body = (await reads.record(writer, view, identifier, caller)) ?? notFound(view, identifier);
  precondition?.(body);
  if (precondition && !isLocked) throw new Overtaken();
  const deletion = { type, identifiers: [identifier], pointer: '' };
  const { plan } = await planDeletion(session, deletion, session.writeRows, (_, through) =>
    tooManyRows(session.writeRows, { relation: through }, `"${through}"`),
  );
  if (request.dryRun) return { identifier, body, effects: effectsOf(session, plan, []) };
  await apply(session, plan);
  return { identifier, body };
}

export const remove: Verb<RecordDeletion, Written> = {
  run,
  single: deleteSingle,
  row: ({ view, identifier }) => rowOf(view.type, identifier),
  kept: () => [],
};
