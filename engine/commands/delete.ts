/** `delete` deletes a record and its cascade in short transactions. */
import { setTimeout as delay } from 'node:timers/promises';
import { expectedOf, type Identifier, parserOf } from '../model/identifier.ts';
import type { Model, RecordType } from '../model/model.ts';
import { Problem, StartError } from '../problem.ts';
import { print } from '../process.ts';
import { inGroups } from '../storage/dialect.ts';
import { ConstraintError, type Driver, type Writer } from '../storage/driver.ts';
import { createReads } from '../storage/read/reads.ts';
import { RefusedByOthers } from '../storage/unavailable.ts';
import { unlinkWithin, byType, removeLevel } from '../storage/write/apply.ts';
import { type Below, type Refusal, TOO_DEEP, walkCascade } from '../storage/write/cascade.ts';
import { createSession, onlyReading, UNLIMITED_ROWS, type WriteSession } from '../storage/write/session.ts';
import { createTables } from '../storage/write/tables.ts';
import { createStamp, stampsOf } from '../storage/columns.ts';
import { planFor } from '../storage/migrate/apply.ts';
import { BOOLEAN, command, createProgress, typeNamed, withDatabase } from './command.ts';

const USAGE =
  'records delete TYPE ID --chunked: deletes a record and everything that goes with it, in short transactions; if interrupted, run it again';

export const remove = command(
  USAGE,
  { chunked: BOOLEAN },
  ['TYPE', 'ID'],
  async ({ chunked }, [name, text], settings) => {
    if (chunked !== true)
      throw new StartError(
        `--chunked is missing; to delete a record in one transaction, send DELETE to its path\n${USAGE}`,
      );
    const { found, rows } = await withDatabase(settings, async (own, driver) => {
      const { model, type, identifier } = await namedRecord(own, driver, name, text);
      let count = 0;
      const report = createProgress();
      const progress = (more: number): void => report((count += more));
      return { found: await deleteTree(model, driver, type, identifier, progress), rows: count };
    });
    if (!found) throw new StartError(`There is no ${name} ${text}; nothing was deleted`);
    print(`Deleted ${name} ${text}: ${rows} rows were deleted or unlinked`);
    return 0;
  },
);

/** The record that arguments name, and the model with the names in the tables. */
export async function namedRecord(own: Model, driver: Driver, name: string, text: string) {
  const { identifier: known } = typeNamed(own, name);
  const identifier = parserOf(known)(text);
  if (identifier === undefined) throw new StartError(`"${text}" is not an identifier; expected ${expectedOf(known)}`);
  const { steps, kept, model } = await planFor(own, driver);
  if (steps.length > 0 || kept.some(({ code }) => code === 'drop-type' || code === 'drop-relation'))
    throw new StartError('The tables do not match the descriptors; see `records plan`. Nothing was deleted.');
  return { model, type: typeNamed(model, name), identifier };
}

const CHUNK = 1000;
/** Minimum milliseconds between transactions. */
const PAUSE = 5;

/**
 * Deletes a record and its cascade in short transactions, children before parents. It can be stopped and rerun. If a record
 * outside the tree refers into it, nothing is deleted, unless that record was added meanwhile.
 */
export async function deleteTree(
  model: Model,
  driver: Driver,
  type: RecordType,
  identifier: Identifier,
  onRows: (rows: number) => void,
): Promise<boolean> {
  const { dialect } = driver;
  const tables = createTables(dialect, () => model);
  const unlocked = createTables({ ...dialect, locks: false }, () => model);
  const stamp = createStamp(undefined, null);
  const reads = createReads(driver);
  const sessionOf = (writer: Writer, using = tables): WriteSession =>
    createSession({ writer, reads, tables: using, driver, writeRows: UNLIMITED_ROWS, isSearched: false }, { stamp });
  if ((await driver.get(tables.of(type).load, [identifier])) === undefined) return false;
  const root = { type, identifiers: [identifier], pointer: '' };
  const reading = sessionOf(onlyReading(driver), unlocked);
  const refusal: Refusal = () => new Problem('too-many-rows', TOO_DEEP);
  const walk = walkCascade(reading, [root], UNLIMITED_ROWS, refusal);
  const { levels, unlinked, pairs } = await walk.catch((error: unknown) => {
    const [fault] = error instanceof Problem ? error.errors : [];
    throw fault ? new StartError(`${fault.message}, and does not go with it: delete it first, or unlink it`) : error;
  });

  async function step<T>(
    all: readonly T[],
    work: (session: WriteSession, chunk: readonly T[]) => Promise<{ readonly changes: number }>,
  ): Promise<void> {
    for (const chunk of inGroups(all, CHUNK)) {
      const began = performance.now();
      const { changes } = await driver.write((writer) => work(sessionOf(writer), chunk));
      onRows(changes);
      // SQLite's write lock is not fair: the pause lets other processes write.
      if (!dialect.locks && changes > 0) await delay(Math.max(PAUSE, performance.now() - began));
    }
  }

  /** Omits records that another write has moved since the walk. */
  async function stillBelow(writer: Writer, below: RecordType, some: readonly Identifier[], via: Below) {
    const rows = await writer.all(tables.of(below).linksIn(via.column).rows, [JSON.stringify(some)]);
    const links = rows as readonly (readonly [identifier: Identifier, parent: Identifier])[];
    return links.filter(([, parent]) => via.parents.has(parent)).map(([id]) => id);
  }

  for (const { table, pairs: lost } of pairs)
    await step(lost, async ({ writer }, some) => writer.run(tables.rows(table).remove, [JSON.stringify(some)]));
  for (const { type: below, reference, identifiers, via } of unlinked)
    await step(identifiers, async (session, some) => {
      const still = JSON.stringify(await stillBelow(session.writer, below, some, via));
      const { filled, linksIn } = session.tables.of(below);
      const stamps = stampsOf(session, filled).map(([, value]) => value);
      return session.writer.run(linksIn(reference.column).cut, [...stamps, still]);
    });
  const deleted = byType(levels);
  try {
    for (const { type: below, identifiers, via } of levels.toReversed())
      await step(identifiers, async (session, some) => {
        const still = via ? await stillBelow(session.writer, below, some, via) : some;
        const level = { type: below, identifiers: still };
        await unlinkWithin(session, level, deleted);
        return removeLevel(session, level);
      });
  } catch (error) {
    if (error instanceof RefusedByOthers) throw new StartError(error.message, { cause: error });
    if (!(error instanceof ConstraintError)) throw error;
    throw new StartError('Something refers to a record that would be deleted, and does not go with it');
  }
  return true;
}
