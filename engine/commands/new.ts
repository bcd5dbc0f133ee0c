/** `new TYPE`: writes a descriptor to start from. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { checkSchema } from '../check.ts';
import { template } from '../describe/describe.ts';
import { GRAMMAR_FILE } from '../descriptor/grammar.ts';
import { loadDescriptors, shownPath } from '../descriptor/load.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import { nameFault } from '../descriptor/texts.ts';
import { snakeCase } from '../names.ts';
import { reasonOf, StartError } from '../problem.ts';
import { print, printError } from '../process.ts';
import { command } from './command.ts';

const USAGE = 'records new TYPE, for example "records new GiftCard"';

export const create = command(USAGE, {}, 1, async (_, [type], { schemaDirectory }) => {
  if (type === undefined) throw new StartError(USAGE);
  const file = writeDescriptor(type, schemaDirectory);
  const faults = checkSchema(schemaDirectory).diagnostics.filter((one) => one.file === file);
  if (faults.length > 0) printError(formatDiagnostics(faults));
  print(`Wrote ${file}. Edit it, then run "records check" and "records start" (or "records dev").`);
  return faults.some(({ severity }) => severity === 'error') ? 1 : 0;
});

/** Returns the path of the new file. */
export function writeDescriptor(type: string, directory: string): string {
  const fault = nameFault(type);
  if (fault) throw new StartError(fault.message);
  const known = existsSync(directory)
    ? loadDescriptors(directory).files.map(({ descriptor, file }) => ({ name: descriptor.type, file }))
    : [];
  const same = known.find(({ name }) => name.toLowerCase() === type.toLowerCase());
  if (same) throw new StartError(`The type ${same.name} already exists, in ${same.file}`);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, `${snakeCase(type).replaceAll('_', '-') || type}.yaml`);
  const text = template({
    type,
    grammar: relative(directory, GRAMMAR_FILE).replaceAll('\\', '/'),
    other: known[0]?.name ?? type,
  });
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new StartError(`${shownPath(file)} cannot be written: ${reasonOf(error)}`);
  }
  return shownPath(file);
}
