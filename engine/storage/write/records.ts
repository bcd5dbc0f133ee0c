/** The verbs that write the records of a body: resolved as a whole, applied in one transaction, and read back inside it. */
import type { Identifier } from '../../model/identifier.ts';
import { relationsIn } from '../../model/model.ts';
import { Problem, throwTogether } from '../../problem.ts';
import type { View } from '../../query/list-query.ts';
import { Overtaken } from '../driver.ts';
import type { CreateRequest, WriteItem, WriteRequest, WrittenRecords } from '../store.ts';
import { refuseConflicts } from './conflicts.ts';
import { type FindShown, lockNamed } from './locks.ts';
import { apply } from './apply.ts';
import { numberOf } from './plan.ts';
import { effectsOf } from './effects.ts';
import { planWrite } from './plan.ts';
import { numbersFor, previewReader } from './preview.ts';
import { checkBody, requireFound, resolveBody } from './resolve.ts';
import { createSingle, updateSingle } from './single.ts';
import { rowOf } from './tables.ts';
import { sessionOf } from './session.ts';
import type { Stamped, Transaction, Verb } from './verb.ts';

interface RecordsRequest extends Omit<CreateRequest, 'view'> {
  readonly view?: View;
  /** Called once the records are locked. */
  readonly locked?: () => Promise<void>;
  readonly readOnlyToo?: boolean;
}

/** A dry run only plans. */
export async function writeRecords(
  transaction: Transaction,
  request: Stamped<RecordsRequest>,
): Promise<WrittenRecords> {
  const { writer, reads, tables, driver, isSearched } = transaction;
  const { type, items, view, caller, unread = !view } = request;
  const session = sessionOf(transaction, writer, { ...request, records: items, isSearched });
  const expected = items.flatMap(({ identifier, precondition }) =>
    precondition && identifier !== undefined ? [{ identifier, precondition }] : [],
  );
  const tagged = expected.map(({ identifier }) => identifier);
  const findShown = view && tagged.length > 0 ? shownTo(transaction, view, tagged) : undefined;
  const isNew = items.every(({ body, identifier }) => identifier === undefined && relationsIn(type, body).length === 0);
  const isLocked = isNew || (await lockNamed(session, type, items, findShown));
  await request.locked?.();
  const roots = await resolveBody(session, type);
  checkBody(session);
  requireFound(session, roots);
  request.precondition?.();
  if (view && expected.length > 0) {
    const texts = await reads.records(writer, view, tagged, caller);
    const bodies = texts.map((text, index) => text ?? notFound(view, tagged[index] ?? 0));
    throwTogether(bodies.map((body, index) => () => expected[index]?.precondition(body)));
    if (!isLocked) throw new Overtaken();
  }
  const plan = await planWrite(session, roots);
  if (isSearched) await refuseConflicts(session);
  if (isSearched && tables.checkNow && !request.dryRun) await writer.run(tables.checkNow, []);
  const made = request.dryRun ? await numbersFor(session, plan) : await apply(session, plan);
  const identifiers = plan.roots.map((row) => numberOf(row, made));
  const reader =
    request.dryRun && view && !unread
      ? await previewReader({ session, plan, made, dialect: driver.dialect, reads }, view)
      : writer;
  const texts = view && !unread ? await reads.records(reader, view, identifiers, caller) : undefined;
  const records = identifiers.map((identifier, index) => ({
    identifier,
    body: view && texts ? (texts[index] ?? notFound(view, identifier)) : '',
  }));
  return { records, ...(request.dryRun ? { effects: effectsOf(session, plan, made) } : {}) };
}

/** Finds the related records that the client's ETags cover, to lock them too. */
export const shownTo = (
  { reads, writer }: Transaction,
  view: View,
  tagged: readonly Identifier[],
): FindShown | undefined =>
  view.relations.length > 0
    ? async () => {
        const shown = await reads.shown(writer, view, tagged);
        if (shown === undefined && tagged.length > 1) throw tagsTooLarge();
        return shown;
      }
    : undefined;

function tagsTooLarge(): Problem {
  const message =
    'The tags of this batch were made from too many related records; send fewer records at once, or take tags of less with fields= or include=';
  return new Problem('too-many-related', message);
}

export function notFound({ type }: View, identifier: Identifier): never {
  throw new Problem('record-not-found', `There is no ${type.name} ${identifier}`);
}

function rowIn({
  view,
  items,
}: Pick<WriteRequest, 'view'> & { readonly items: readonly Partial<WriteItem>[] }): string | undefined {
  const [{ identifier } = {}] = items;
  return items.length === 1 && identifier !== undefined ? rowOf(view.type, identifier) : undefined;
}

function shownAgain({ view, unread }: Pick<WriteRequest, 'view' | 'unread'>): View | undefined {
  return unread ? undefined : view;
}

const kept = ({ records }: WrittenRecords): readonly Identifier[] => records.map(({ identifier }) => identifier);

export const OF_RECORDS = { row: rowIn, kept, view: shownAgain };

export const create: Verb<CreateRequest, WrittenRecords> = { run: writeRecords, single: createSingle, ...OF_RECORDS };

export const update: Verb<WriteRequest, WrittenRecords> = { run: writeRecords, single: updateSingle, ...OF_RECORDS };
