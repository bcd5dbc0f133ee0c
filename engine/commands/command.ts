/** What the command line can do: one file per command, and what all of them share. */
import { once } from 'node:events';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { errorText } from '../log.ts';
import { Problem } from '../problem.ts';
import { reasonOf, StartError } from '../start-error.ts';
import { printError } from '../terminal.ts';
import { checkSchema } from '../check.ts';
import { formatDiagnostics } from '../descriptor/report.ts';
import type { Model } from '../model/model.ts';

export interface Command {
  /** Resolves with the exit code. A StartError that it throws is printed, with exit code 1. */
  run(options: readonly string[]): Promise<number>;
}

type Flags<Name extends string> = Readonly<Record<Name, boolean>>;

/** Options without a value, such as `--json`; any other is an error. */
export function readFlags<Name extends string>(options: readonly string[], names: readonly Name[]): Flags<Name> {
  const known: ParseArgsConfig['options'] = Object.fromEntries(names.map((name) => [name, { type: 'boolean' }]));
  try {
    const { values } = parseArgs({ args: [...options], options: known });
    return Object.fromEntries(names.map((name) => [name, values[name] === true])) as Flags<Name>;
  } catch (error) {
    const hint = names.length === 0 ? 'it takes none' : `it takes ${names.map((name) => `--${name}`).join(', ')}`;
    throw new StartError(`Options of this command: ${hint}, not "${options.join(' ')}"`, { cause: error });
  }
}

/** SIGTERM or SIGINT, whichever comes first. Any further one finds no listener, and ends the process at once. */
export async function stopSignal(): Promise<void> {
  const heard = new AbortController();
  const signals = ['SIGTERM', 'SIGINT'].map((name) => once(process, name, { signal: heard.signal }));
  await Promise.race(signals);
  heard.abort();
}

/** Runs to the end of the process. */
export function runProcess(run: () => Promise<number>): void {
  // What Node itself would print of an error may hold values of records.
  process.once('uncaughtException', (error) => {
    printError(errorText(error));
    process.exit(1);
  });
  void exitCode(run).then((code) => (process.exitCode = code));
}

/** What an operator can act on, as it is; of a fault of ours, where it happened. */
export const messageOf = (error: unknown): string =>
  error instanceof StartError || error instanceof Problem || isOfSystem(error) ? error.message : errorText(error);

/** A full disk, for instance. */
const isOfSystem = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

async function exitCode(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    printError(messageOf(error));
    return 1;
  }
}

// Options with values and words without: parsed, or refused with the command's usage.

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

// The model of a schema directory, for commands that need a faultless one.

/** Throws a StartError with every diagnostic. */
export function readModel(directory: string): Model {
  const { schema, diagnostics } = checkSchema(directory);
  if (schema === undefined) throw new StartError(formatDiagnostics(diagnostics));
  return schema.model;
}
