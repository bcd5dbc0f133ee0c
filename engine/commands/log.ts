/** The log of changes: `prune` deletes its old entries, `erase` takes out what it says of a record, and deletes that. */
import { ALL_RIGHTS } from '../model/rights.ts';
import { failureOf, Problem, StartError } from '../problem.ts';
import { print } from '../process.ts';
import { defaultView, ownFields } from '../query/paths.ts';
import { createFeed } from '../storage/log/feed.ts';
import { eraseEntries, LOG_TABLE } from '../storage/log/recording.ts';
import { createReads } from '../storage/read/reads.ts';
import { createWrites } from '../storage/write/writes.ts';
import { command, STRING, withDatabase } from './command.ts';
import { namedRecord } from './delete.ts';

const PRUNE =
  'records prune --older-than DAYS: deletes the entries of histories that are older; the service deletes those older than HISTORY_DAYS by itself';

export const prune = command(PRUNE, { 'older-than': STRING }, [], async ({ 'older-than': days = '' }, _, settings) => {
  if (!/^\d{1,5}$/.test(days)) throw new StartError(`--older-than must be a number of days, such as 30\n${PRUNE}`);
  const deleted = await withDatabase(settings, (_model, driver) => createFeed(driver).forget(Number(days)));
  if (deleted === undefined) throw new StartError('The database has no histories; nothing was deleted');
  print(`${deleted} entries were deleted`);
  return 0;
});

const ERASE =
  'records erase TYPE ID: deletes a record, and removes its values, those of what it owned, and who wrote them from the history';

export const erase = command(ERASE, {}, ['TYPE', 'ID'], async (_, [name, text], settings) => {
  const entries = await withDatabase(settings, async (own, driver) => {
    const { model, type, identifier } = await namedRecord(own, driver, name, text);
    const writes = createWrites(driver, createReads(driver), { served: () => model });
    const view = ownFields(defaultView(type, type.defaultVariant, ALL_RIGHTS));
    const hasLog = (await driver.existing()).includes(LOG_TABLE);
    return driver.write(async (writer) => {
      const missing = await failureOf(writes.remove(writer, { type, view, identifier }));
      if (missing && !(missing instanceof Problem && missing.code === 'record-not-found')) throw missing;
      const erased = hasLog ? await eraseEntries(writer, driver.dialect, model, type, identifier) : 0;
      if (missing && erased === 0) throw new StartError(`There is no ${name} ${text}`);
      return erased;
    });
  });
  print(`Erased ${name} ${text}: ${entries} entries of the history are empty`);
  return 0;
});
