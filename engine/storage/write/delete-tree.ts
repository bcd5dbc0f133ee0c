/**
 * Deletes a record and everything that goes with it, in short transactions, children before parents, so that requests are
 * served in between. It can be stopped at any time and run again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Model, RecordType } from '../../model/model.ts';
import { ConstraintError, type Driver, type Writer } from '../driver.ts';
import { cutWithin, goingIn, removeLevel } from './apply.ts';
import { type Below, walkCascade } from './cascade.ts';
import { createSession, onlyReading, UNLIMITED_ROWS, type WriteSession } from './session.ts';
import { createStamp, stampValues } from './stamps.ts';
import { createTables } from './tables.ts';

/** Rows of one transaction. */
const CHUNK = 1000;
/** Milliseconds between two transactions, at least, for the writes of others. */
const PAUSE = 5;

/** A record outside the tree refers to one in it. Nothing was deleted, unless it was added during the deletion. */
export class TreeRestricted extends Error {}

/** Returns whether there was such a record. `onRows` is told how many rows were deleted or unlinked. */
export async function deleteTree(
  model: Model,
  driver: Driver,
  type: RecordType,
  identifier: number,
  onRows: (rows: number) => void,
): Promise<boolean> {
  const { dialect } = driver;
  const { quote, oneOfPairs } = dialect;
  const tables = createTables(dialect, () => model);
  const unlocked = createTables({ ...dialect, locks: false }, () => model);
  const stamp = createStamp(undefined, null);
  const sessionOf = (writer: Writer, using = tables): WriteSession =>
    createSession(writer, using, dialect.name, { mergePatch: false, readOnlyToo: false }, { stamp });
  if ((await driver.get(tables.of(type).load, [identifier])) === undefined) return false;
  const root = { type, identifiers: [identifier], pointer: '' };
  const tree = await walkCascade(sessionOf(onlyReading(driver), unlocked), root, UNLIMITED_ROWS);
  const [fault] = tree.faults;
  if (fault) throw new TreeRestricted(`${fault.message}, and does not go with it: delete it first, or unlink it`);

  /** One transaction, and time for others. */
  async function step(work: (session: WriteSession) => Promise<{ readonly changes: number }>): Promise<void> {
    const began = performance.now();
    const { changes } = await driver.write((writer) => work(sessionOf(writer)));
    onRows(changes);
    // SQLite has one writer, and it is not handed on in turn.
    if (!dialect.locks && changes > 0) await delay(Math.max(PAUSE, performance.now() - began));
  }

  /** Those that still have the link by which they were found: another write may have moved the others. */
  async function stillBelow(writer: Writer, below: RecordType, some: readonly number[], via: Below): Promise<number[]> {
    const rows = await writer.all(tables.of(below).linked(via.column), [JSON.stringify(some)]);
    return rows.filter(([, parent]) => via.parents.has(Number(parent))).map(([id]) => Number(id));
  }

  for (const { table, pairs } of tree.pairs) {
    const sides = [table.left.column, table.right.column].map(quote) as [string, string];
    const sql = `delete from ${quote(table.name)} where ${oneOfPairs(...sides)}`;
    for (const some of chunksOf(pairs)) await step(async ({ writer }) => writer.run({ sql }, [JSON.stringify(some)]));
  }
  for (const { type: below, reference, identifiers, via } of tree.unlinked)
    for (const some of chunksOf(identifiers))
      await step(async (session) => {
        const still = JSON.stringify(await stillBelow(session.writer, below, some, via));
        const { filled, unlinkMany } = session.tables.of(below);
        return session.writer.run(unlinkMany(reference.column), [...stampValues(session, filled), still]);
      });
  const going = goingIn(tree.levels);
  try {
    for (const { type: below, identifiers, via } of tree.levels.toReversed())
      for (const some of chunksOf(identifiers))
        await step(async (session) => {
          const still = via ? await stillBelow(session.writer, below, some, via) : some;
          const level = { type: below, identifiers: still };
          await cutWithin(session, level, going);
          return removeLevel(session, level);
        });
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new TreeRestricted('Something refers to a record that would be deleted, and does not go with it');
  }
  return true;
}

function* chunksOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += CHUNK) yield all.slice(from, from + CHUNK);
}
