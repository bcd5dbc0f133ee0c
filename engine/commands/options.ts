/** Options with values and words without: parsed, or refused with the command's usage. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { reasonOf, StartError } from '../start-error.ts';

type Known = NonNullable<ParseArgsConfig['options']>;

/** `usage` is what a wrong command line is answered with; `words` is how many may stand without an option. */
export function readOptions<O extends Known>(args: readonly string[], options: O, words: number, usage: string) {
  const parsed = parse(args, options, usage);
  if (parsed.positionals.length <= words) return parsed;
  throw new StartError(`"${parsed.positionals[words] ?? ''}" is one word too many\n${usage}`);
}

function parse<O extends Known>(args: readonly string[], options: O, usage: string) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new StartError(`${reasonOf(error)}\n${usage}`, { cause: error });
  }
}
