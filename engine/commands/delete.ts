/** `delete` deletes a record and its cascade in short transactions. */
import { StartError } from '../problem.ts';
import { planFor } from '../storage/migrate/apply.ts';
import { print } from '../process.ts';
import { BOOLEAN, command, createProgress, typeNamed, withDatabase } from './command.ts';
import { deleteTree } from './delete-tree.ts';

const USAGE =
  'records delete TYPE ID --chunked: deletes a record and everything that goes with it, in short transactions; if interrupted, run it again';

const LINKING: ReadonlySet<string> = new Set(['drop-type', 'drop-relation']);

export const remove = command(USAGE, { chunked: BOOLEAN }, 2, async ({ chunked }, [name = '', text = ''], settings) => {
  const identifier = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(identifier))
    throw new StartError(`"${text}" is not an identifier; expected an integer of 1 or more\n${USAGE}`);
  if (chunked !== true)
    throw new StartError(
      `--chunked is missing; to delete a record in one transaction, send DELETE to its path\n${USAGE}`,
    );
  const { found, rows } = await withDatabase(settings, async (own, driver) => {
    typeNamed(own, name);
    const { steps, kept, model } = await planFor(own, driver);
    if (steps.length > 0 || kept.some(({ code }) => LINKING.has(code)))
      throw new StartError('The tables do not match the descriptors; see `records plan`. Nothing was deleted.');
    let count = 0;
    const report = createProgress();
    const progress = (more: number): void => report((count += more));
    return { found: await deleteTree(model, driver, typeNamed(model, name), identifier, progress), rows: count };
  });
  if (!found) throw new StartError(`There is no ${name} ${identifier}; nothing was deleted`);
  print(`Deleted ${name} ${identifier}: ${rows} rows were deleted or unlinked`);
  return 0;
});
