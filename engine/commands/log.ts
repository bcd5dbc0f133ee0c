/** `prune` deletes old entries of the log of changes. */
import { StartError } from '../problem.ts';
import { print } from '../process.ts';
import { createFeed } from '../storage/log/feed.ts';
import { command, STRING, withDatabase } from './command.ts';

const PRUNE =
  'records prune --older-than DAYS: deletes the entries of histories that are older; the service deletes those older than HISTORY_DAYS by itself';

export const prune = command(PRUNE, { 'older-than': STRING }, [], async ({ 'older-than': days = '' }, _, settings) => {
  if (!/^\d{1,5}$/.test(days)) throw new StartError(`--older-than must be a number of days, such as 30\n${PRUNE}`);
  const deleted = await withDatabase(settings, (_model, driver) => createFeed(driver).forget(Number(days)));
  if (deleted === undefined) throw new StartError('The database has no histories; nothing was deleted');
  print(`${deleted} entries were deleted`);
  return 0;
});
