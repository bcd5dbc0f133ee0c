/**
 * Deletes all records that some filters find, or none. They are looked for outside the transaction, like a list, since
 * that may take long; inside, those that are still found are deleted.
 */
import type { Caller } from '../../caller.ts';
import { MAX_IN_VALUES } from '../../field-types/field-type.ts';
import type { RecordType } from '../../model/model.ts';
import { Problem } from '../../problem.ts';
import type { Filter } from '../../query/list-query.ts';
import { operators } from '../../query/operators.ts';
import type { Dialect, Writer } from '../driver.ts';
import type { Reads } from '../read/reads.ts';
import type { DeletedRecords, Store } from '../store.ts';
import { unavailable } from '../unavailable.ts';
import { countBelow, deleteRecords, tooManyRows } from './release.ts';
import type { WriteSession } from './session.ts';
import type { Stamp } from './stamps.ts';

type DeletionRequest = Parameters<Store['deleteFound']>[0] & { readonly stamp: Stamp };

interface Deletion extends Pick<DeletionRequest, 'query' | 'most'> {
  readonly found: readonly number[];
  /** What the database said before they were looked for; undefined if they are looked at once more in any case. */
  readonly before: string | undefined;
}

interface FoundOptions {
  readonly dialect: Dialect;
  readonly reads: Reads;
  readonly writeRows: number;
  readonly sessionOf: (writer: Writer, request: DeletionRequest) => WriteSession;
  readonly transact: <T>(request: DeletionRequest, work: (writer: Writer) => Promise<T>) => Promise<T>;
  readonly write: <T>(work: (writer: Writer) => Promise<T>, caller: Caller | undefined) => Promise<T>;
}

/** How often what was found is looked for again because something was written meanwhile. */
const ATTEMPTS = 5;

export function createDeleteFound(options: FoundOptions): (request: DeletionRequest) => Promise<DeletedRecords> {
  const { dialect, reads, writeRows, sessionOf, transact, write } = options;
  const { written } = dialect.revision;
  const stamp = async (writer: Writer): Promise<string> =>
    written === undefined ? '' : String(await writer.value({ sql: written }, []));

  async function attempt(request: DeletionRequest): Promise<DeletedRecords | undefined> {
    const { query, most, caller, dryRun } = request;
    const isHeavy = written !== undefined && !query.filters.every(isQuick);
    const before = isHeavy ? await write(stamp, caller) : undefined;
    const found = await reads.found({ ...query, limit: Math.min(most, writeRows) + 1 }, caller);
    if (found.length === 0) return { deleted: 0, affected: 0, ...(dryRun ? { effects: [] } : {}) };
    return transact(request, (writer) => deleteThem(writer, request, { query, most, found, before }));
  }

  /** undefined if it is not known whether they are still found. */
  async function deleteThem(
    writer: Writer,
    request: DeletionRequest,
    deletion: Deletion,
  ): Promise<DeletedRecords | undefined> {
    const session = sessionOf(writer, request);
    const { type } = deletion.query.view;
    const still = await stillFound(writer, session, deletion);
    if (still === undefined) return undefined;
    const affected = await countAffected(session, type, still, deletion.most);
    await deleteRecords(session, type, still, '');
    return { deleted: still.length, affected, ...(session.effects ? { effects: session.effects.all() } : {}) };
  }

  async function stillFound(
    writer: Writer,
    { tables }: WriteSession,
    { query, found, before }: Deletion,
  ): Promise<readonly number[] | undefined> {
    if (before !== undefined) return before === (await stamp(writer)) ? found : undefined;
    const { type } = query.view;
    if (tables.locks) await writer.column(tables.of(type).hold('update'), [JSON.stringify(found)]);
    const still: number[] = [];
    for (let at = 0; at < found.length; at += MAX_IN_VALUES)
      still.push(...(await reads.among(writer, query, found.slice(at, at + MAX_IN_VALUES))));
    return still;
  }

  async function countAffected(
    session: WriteSession,
    type: RecordType,
    still: readonly number[],
    most: number,
  ): Promise<number> {
    const limit = Math.min(most, writeRows);
    const rows = still.length > limit ? 0 : (await countBelow(session, type, still, limit - still.length, true)).rows;
    const affected = still.length + rows;
    if (affected <= limit) return affected;
    throw most <= writeRows ? tooManyAffected(most) : tooManyRows(writeRows, { parameter: '_cnd' }, 'The request');
  }

  return async (request) => {
    for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
      const done = await attempt(request);
      if (done !== undefined) return done;
    }
    throw unavailable('changing');
  };
}

/** Bytes of a value that is compared for thousands of records within milliseconds. */
const SHORT = 1024;

/** Whether a filter can be tested again for thousands of records while other writes wait. */
function isQuick(filter: Filter): boolean {
  if ('items' in filter) return filter.items.every((item) => item.every(isQuick));
  if (filter.kind !== 'value') return false;
  const { field } = filter.path;
  return field === undefined || operators[filter.operator].perByte === 0 || field.type.longest(field) <= SHORT;
}

function tooManyAffected(most: number): Problem {
  const message =
    `The request would delete or unlink more records than the ${most} that max-affected allows; nothing was deleted. ` +
    'Use narrower filters or a higher max-affected; with dryRun=true, the response says which records it would be';
  return new Problem('too-many-affected', message, {
    errors: [{ header: 'Prefer', code: 'too-many-affected', message }],
  });
}
